# SPDX-License-Identifier: MIT
"""How an object holds another, in the words of the program: an attribute, an index, a key.

No attribute is asked for that could run code of the program or make a dictionary.
"""

import types
from typing import Any

from .. import _core

# Attributes of built-in types that are no members and cost nothing to read.
_PARTS: dict[type, tuple[str, ...]] = {
    types.FunctionType: (
        "__closure__",
        "__defaults__",
        "__kwdefaults__",
        "__code__",
        "__globals__",
    ),
    types.CellType: ("cell_contents",),
    types.BuiltinFunctionType: ("__self__",),
    types.CodeType: (
        *("co_consts", "co_names", "co_filename", "co_name", "co_qualname"),
        *("co_linetable", "co_exceptiontable"),
    ),
}


def name(holder: object, held: object) -> str:
    """The reference from one object to another as one would write it; "" when it has no name."""
    found = _inside(holder, held) or _part(holder, held) or _member(holder, held)
    if found:
        return found
    attribute = _core.heap_attribute(holder, held)
    if attribute:
        return f".{attribute}"
    if held is type(holder):
        return ".__class__"
    if type(held) is dict and (isinstance(holder, types.ModuleType) or _has_dict(type(holder))):
        return ".__dict__"
    return ""


def key_text(key: object) -> str:
    """A key, if it is a number or an identifier; of other keys only the type is told."""
    if type(key) is int or (type(key) is str and key.isidentifier()):
        return repr(key)
    return f"<{type(key).__name__}>"


def _inside(holder: object, held: object) -> str:
    if isinstance(holder, dict):
        for key, value in dict.items(holder):
            if value is held:
                return f"[{key_text(key)}]"
        return "{a key}" if any(key is held for key in dict.keys(holder)) else ""
    if isinstance(holder, list | tuple):
        items = list.__iter__(holder) if isinstance(holder, list) else tuple.__iter__(holder)
        for index, item in enumerate(items):
            if item is held:
                return f"[{index}]"
    if isinstance(holder, set | frozenset):
        return "{an element}"
    return ""


def _part(holder: object, held: object) -> str:
    for part in _PARTS.get(type(holder), ()):
        try:
            if getattr(holder, part) is held:
                return f".{part}"
        except ValueError:  # an empty cell
            pass
    if type(holder).__name__ == "ndarray" and getattr(holder, "base", None) is held:
        return ".base"
    return ""


def _member(holder: object, held: object) -> str:
    """Slots, and what types written in C declare as members."""
    for cls in type.__getattribute__(type(holder), "__mro__"):
        members: dict[str, Any] = type.__getattribute__(cls, "__dict__")
        for attribute, member in members.items():
            if type(member) is types.MemberDescriptorType and _get(member, holder) is held:
                return f".{attribute}"
    return ""


def _get(member: Any, holder: object) -> object:
    try:
        return member.__get__(holder)
    except (AttributeError, TypeError):
        return None


def _has_dict(cls: type) -> bool:
    return issubclass(cls, type) or bool(type.__getattribute__(cls, "__dictoffset__"))
