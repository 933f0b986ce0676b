# SPDX-License-Identifier: MIT
"""Memory that objects hold beside themselves is part of their sizes, and counted once."""

import ctypes
import mmap
import sys

import pytest

from dwell import heap

LARGE = 1_000_000


class Holder:
    pass


def retained(obj: object) -> int:
    return heap.snapshot().retained(obj)


def test_mapped_memory_counts_until_it_is_closed():
    holder = Holder()
    holder.map = mmap.mmap(-1, LARGE)
    assert LARGE < retained(holder) < LARGE + 1000
    holder.map.close()
    assert retained(holder) < 1000


def test_memory_of_ctypes_counts_where_it_is_owned():
    class Pair(ctypes.Structure):
        _fields_ = (("first", ctypes.c_char * LARGE), ("second", ctypes.c_int))

    holder = Holder()
    holder.owner = Pair()
    assert LARGE < retained(holder) < LARGE + 2000
    part = holder.owner.first  # of the same memory
    snapshot = heap.snapshot()
    assert snapshot.retained(part) < 1000
    assert sum(row.size for row in snapshot.types() if "c_char_Array" in row.type) < 1000
    small = ctypes.c_int(5)
    assert retained(small) == sys.getsizeof(small)


def test_no_code_of_a_structure_runs():
    class Loud(ctypes.Structure):
        _fields_ = (("bytes", ctypes.c_char * LARGE),)

        def __getattribute__(self, name):
            raise AssertionError("ran")

    loud = Loud()
    assert retained(loud) > LARGE


def test_a_memoryview_leads_to_what_it_shows():
    holder = Holder()
    holder.view = memoryview(bytearray(LARGE))[10:20]
    snapshot = heap.snapshot()
    assert LARGE < snapshot.retained(holder) < LARGE + 2000
    assert snapshot.retained(holder.view) > LARGE


def test_arrays_that_share_data_count_it_once():
    numpy = pytest.importorskip("numpy")
    holder = Holder()
    whole = numpy.zeros(LARGE // 8)
    holder.parts = [whole[i * 10 : i * 10 + 10] for i in range(100)]
    del whole
    assert LARGE < retained(holder) < LARGE + 50_000


def test_a_frame_of_pandas_retains_its_columns():
    pandas = pytest.importorskip("pandas")
    holder = Holder()
    holder.frame = pandas.DataFrame({name: range(LARGE // 32) for name in "abcd"}, dtype="int64")
    assert LARGE < retained(holder) < LARGE + 100_000
    texts = [f"text number {number}" for number in range(1000)]
    holder.frame = pandas.DataFrame({"text": pandas.Series(texts, dtype=object)})
    size = sum(map(sys.getsizeof, texts))
    del texts
    assert size < retained(holder) < size + 100_000


def test_arrow_buffers_count_once_and_for_all_that_show_them():
    arrow = pytest.importorskip("pyarrow")
    holder = Holder()
    holder.whole = arrow.array(range(LARGE // 8), arrow.int64())
    holder.parts = [holder.whole.slice(i, 10) for i in range(100)]
    holder.table = arrow.table({"x": holder.whole})
    holder.buffer = holder.whole.buffers()[1].slice(80, 8)
    snapshot = heap.snapshot()
    assert LARGE < snapshot.retained(holder) < LARGE + 50_000
    assert snapshot.retained(holder.whole) < 1000  # the parts keep it
    assert snapshot.types().named("<buffer>").size >= LARGE
    del holder.whole, holder.table, holder.buffer, holder.parts[1:]
    assert retained(holder.parts[0]) > LARGE


def test_arrow_memory_of_other_objects_belongs_to_these():
    arrow = pytest.importorskip("pyarrow")
    numpy = pytest.importorskip("numpy")
    holder = Holder()
    holder.numbers = numpy.zeros(LARGE // 8)
    holder.column = arrow.array(holder.numbers)
    assert LARGE < retained(holder) < LARGE + 10_000
    del holder.numbers
    assert retained(holder.column) > LARGE
    holder.column = arrow.py_buffer(bytes(LARGE))
    assert LARGE < retained(holder) < LARGE + 10_000
    holder.column = arrow.array(range(LARGE // 8), arrow.int64())
    holder.numbers = holder.column.to_numpy()
    assert LARGE < retained(holder) < LARGE + 10_000


def test_arrow_objects_with_nothing_in_them_do_no_harm():
    arrow = pytest.importorskip("pyarrow")
    kinds = ("Buffer", "Int64Array", "StringArray", "ChunkedArray", "Table", "RecordBatch")
    blank = [getattr(arrow.lib, name).__new__(getattr(arrow.lib, name)) for name in kinds]
    assert retained(blank) < 5000


def test_a_file_has_the_buffers(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    column = arrow.array(range(LARGE // 8), arrow.int64())
    snapshot = heap.snapshot()
    snapshot.save(tmp_path / "x.dwell")
    loaded = heap.load(tmp_path / "x.dwell").types().named("<buffer>")
    assert loaded == snapshot.types().named("<buffer>")
    assert loaded.size >= column.nbytes


def test_tensors_that_share_a_storage_count_it_once():
    torch = pytest.importorskip("torch")
    holder = Holder()
    holder.parts = [torch.zeros(LARGE // 4)[:10]]
    assert LARGE < retained(holder.parts[0]) < LARGE + 10_000
    holder.parts += [holder.parts[0][i:].detach() for i in range(10)]
    snapshot = heap.snapshot()
    assert LARGE < snapshot.retained(holder) < LARGE + 20_000
    assert snapshot.retained(holder.parts[0]) < 1000
    holder.parts = [torch.nn.Parameter(torch.zeros(LARGE // 4))]
    assert LARGE < retained(holder.parts[0]) < LARGE + 10_000


def test_memory_of_tensors_that_is_of_numpy_belongs_to_its_array():
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    holder = Holder()
    numbers = numpy.zeros(LARGE // 8)
    holder.parts = [numbers, torch.from_numpy(numbers), torch.from_numpy(numbers).numpy()]
    del numbers
    assert LARGE < retained(holder) < LARGE + 10_000


def test_no_code_of_a_subclass_of_tensors_runs():
    torch = pytest.importorskip("torch")
    ran = []

    class Tensor(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            ran.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    tensor = torch.zeros(10).as_subclass(Tensor)
    del ran[:]
    assert retained(tensor) > 0
    assert not ran
