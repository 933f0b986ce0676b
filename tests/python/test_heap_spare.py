# SPDX-License-Identifier: MIT
"""Room that lists and dictionaries hold and nothing uses is told, of live and of saved heaps."""

import sys

import pytest

from dwell import heap


class Holder:
    pass


POINTER = 8
KEYS = 10_000
holder = Holder()


def spare_of(snapshot: heap.Snapshot, name: str) -> int:
    return sum(row.spare for row in snapshot.spare(1000) if row.name.endswith(name))


def test_lists_tell_what_they_were_given_too_much():
    holder.grown = []
    for number in range(100_001):
        holder.grown.append(number)
    holder.exact = [None] * 100_000
    snapshot = heap.snapshot()
    expected = sys.getsizeof(holder.grown) - sys.getsizeof([]) - len(holder.grown) * POINTER
    assert expected > 0
    assert spare_of(snapshot, "holder.grown") == expected
    assert spare_of(snapshot, "holder.exact") == 0


@pytest.mark.parametrize(("key", "entry"), [(str, 2 * POINTER), (int, 3 * POINTER)])
def test_dictionaries_tell_what_is_left_after_most_has_gone(key, entry):
    holder.table = {key(number): None for number in range(KEYS)}
    full = spare_of(heap.snapshot(), "holder.table")
    for number in range(KEYS - 10):
        del holder.table[key(number)]
    assert spare_of(heap.snapshot(), "holder.table") == full + (KEYS - 10) * entry
    size = sys.getsizeof(holder.table)
    assert size / 2 < full + KEYS * entry < size


def test_a_row_of_each_type_comes_first_and_has_all():
    holder.table = dict.fromkeys(range(KEYS))
    holder.table.clear()
    holder.many = [[number for number in range(9)] for _ in range(1000)]  # noqa: C416
    rows = heap.snapshot().spare(5)
    assert {row.type for row in rows[:2]} == {"list", "dict"}
    assert all(row.name for row in rows[2:]) and len(rows) == 7
    lists = next(row for row in rows if row.type == "list")
    each = sys.getsizeof(holder.many[0]) - sys.getsizeof([]) - 9 * POINTER
    assert lists.spare >= 1000 * each > 0
    assert "Spare" in str(rows)


def test_a_file_tells_the_same(tmp_path):
    holder.grown = []
    for number in range(100_001):
        holder.grown.append(number)
    snapshot = heap.snapshot()
    snapshot.save(tmp_path / "x.dwell")
    loaded = heap.load(tmp_path / "x.dwell")
    assert [row[:4] for row in loaded.spare(3)] == [row[:4] for row in snapshot.spare(3)]
