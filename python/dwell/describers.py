# SPDX-License-Identifier: MIT
"""Texts for arguments of types that libraries define: the types, sizes and places of their data.

Only what the libraries keep in their own objects is read, and only of exactly their classes,
so that no code of the user runs. An exception is taken to mean that there is nothing to say."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    _Describer = Callable[[Any], str]


def find(cls: type, name: str) -> "_Describer | None":
    """The function that describes objects of a class of a library known here."""
    for module, names, describer in _known:
        if name in names and _is_in(module, cls, name):
            return describer
    if _is_in("pyarrow.lib", cls, name) and _is_arrow_array(cls):
        return _arrow_array
    return None


def _is_in(module: str, cls: type, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and vars(loaded).get(name) is cls


def _own(instance: object, name: str) -> "Any":
    return object.__getattribute__(instance, name)


def _is_of(value: object, *packages: str) -> bool:
    return type(value).__module__.partition(".")[0] in packages


def _dtype(values: "Any") -> str:
    """The dtype of a column, if the library or NumPy made it."""
    return str(values.dtype) if _is_of(values, "numpy", "pandas") else type(values).__name__


def _length(index: "Any") -> str:
    return str(len(index)) if _is_of(index, "pandas") else "?"


def _distinct(names: "Iterable[str]") -> str:
    return "[" + ", ".join(sorted(set(names))) + "]"


def _frame(frame: "Any") -> str:
    manager = _own(frame, "_mgr")
    columns, rows = map(_length, manager.axes)
    dtypes = _distinct(_dtype(block.values) for block in manager.blocks[:_blocks_max])
    return f"DataFrame({rows}×{columns}, dtypes={dtypes})"


def _series(series: "Any") -> str:
    manager = _own(series, "_mgr")
    return f"Series(dtype={_dtype(manager.blocks[0].values)}, length={_length(manager.axes[0])})"


def _tensor(tensor: "Any") -> str:
    with sys.modules["torch"]._C.DisableTorchFunction():
        dtype = str(tensor.dtype).removeprefix("torch.")
        shape, device = tuple(tensor.shape), tensor.device
    return f"{type(tensor).__name__}(dtype={dtype}, shape={shape}, device={device})"


def _jax_array(array: "Any") -> str:
    return f"Array(dtype={array.aval.dtype}, shape={array.aval.shape})"


def _sparse(matrix: "Any") -> str:
    held = vars(matrix)
    shape = tuple(int(size) for size in held["_shape"])
    dtype = held["dtype"] if "dtype" in held else held["data"].dtype
    return f"{type(matrix).__name__}(dtype={dtype}, shape={shape})"


def _is_arrow_array(cls: type) -> bool:
    lib = sys.modules["pyarrow.lib"]
    return any(base in (lib.Array, lib.ChunkedArray) for base in cls.__mro__)


def _arrow_type(kind: "Any") -> str:
    return str(kind) if type(kind).__module__ == "pyarrow.lib" else type(kind).__name__


def _arrow_array(array: "Any") -> str:
    return f"{type(array).__name__}(type={_arrow_type(array.type)}, length={len(array)})"


def _arrow_table(table: "Any") -> str:
    types = _distinct(_arrow_type(kind) for kind in table.schema.types)
    return f"{type(table).__name__}({table.num_rows}×{table.num_columns}, types={types})"


_blocks_max = 100
_formats = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
_sparse_names = {f"{name}_{kind}" for name in _formats for kind in ("matrix", "array")}
_known: "tuple[tuple[str, set[str], _Describer], ...]" = (
    ("pandas", {"DataFrame"}, _frame),
    ("pandas", {"Series"}, _series),
    ("torch", {"Tensor"}, _tensor),
    ("torch.nn.parameter", {"Parameter"}, _tensor),
    ("jaxlib._jax", {"ArrayImpl"}, _jax_array),
    ("jaxlib.xla_extension", {"ArrayImpl"}, _jax_array),
    ("jax._src.array", {"ArrayImpl"}, _jax_array),
    ("pyarrow.lib", {"RecordBatch", "Table"}, _arrow_table),
    ("scipy.sparse", _sparse_names, _sparse),
)
