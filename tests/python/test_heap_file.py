# SPDX-License-Identifier: MIT
"""Snapshots of the heap in files: what is saved is there when it is loaded, and no values are."""

import gc
import subprocess
import sys

import pytest

from dwell import heap


class Kept:
    def __init__(self, payload):
        self.payload = payload


class Slotted:
    __slots__ = ("left", "right")


def holder(_cache={}):  # noqa: B006
    return _cache


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A snapshot, and the same from its file."""
    holder()[42] = {"foo": Kept(["x"] * 1000), "not an identifier": Kept("secret-7f3a")}
    holder()["slotted"] = Slotted()
    holder()["slotted"].left = Kept({"slot": Slotted()})
    file = tmp_path_factory.mktemp("heap") / "heap.dwell"
    snapshot = heap.snapshot()
    snapshot.save(file, "a test")
    yield snapshot, heap.load(file), file
    holder().clear()


def test_a_loaded_snapshot_has_the_tables_of_the_one_that_was_saved(pair):
    snapshot, loaded, _ = pair
    assert (loaded.objects, loaded.references, loaded.size) == (
        snapshot.objects,
        snapshot.references,
        snapshot.size,
    )
    assert loaded.types() == snapshot.types()
    assert loaded.garbage == snapshot.garbage
    assert [row[:3] for row in loaded.dominators(20)] == [
        row[:3] for row in snapshot.dominators(20)
    ]
    assert not loaded.diff(snapshot)


def test_a_loaded_snapshot_says_when_and_why_it_was_taken(pair):
    snapshot, loaded, _ = pair
    assert loaded.taken.reason == "a test"
    assert loaded.taken.pid == snapshot.taken.pid
    assert abs(loaded.taken.time - snapshot.taken.time) < 3600


def test_ways_have_the_names_of_attributes_keys_and_variables(pair):
    _, loaded, _ = pair
    ways = {row.name.partition(".holder")[2] for row in loaded.holders("Kept")}
    assert ways == {
        ".__defaults__[0][<int>]['foo']",
        ".__defaults__[0][<int>][<str>]",
        ".__defaults__[0]['slotted'].left",
    }
    (slotted, _) = sorted(row.name for row in loaded.holders(f"{__name__}.Slotted"))
    assert slotted.endswith("['slotted']")
    assert any(
        row.name.endswith(".holder.__defaults__[0][<int>]['foo'].payload")
        for row in loaded.holders("list", 10_000)
    )


def test_a_loaded_way_names_the_variable_of_a_default(pair):
    _, loaded, _ = pair
    number = loaded._core.largest_of("Kept", 1)[0]
    assert "default of _cache" in str(loaded._way(number))


def test_no_value_of_the_program_is_in_the_file(pair):
    from subprocess import run

    _, _, file = pair
    unpacked = b""
    data = file.read_bytes()
    while (at := data.find(b"\x28\xb5\x2f\xfd")) >= 0:  # a frame of zstd
        data = data[at:]
        unpacked += run(["zstd", "-dcq"], input=data, capture_output=True).stdout
        data = data[4:]
    text = unpacked + file.read_bytes()
    assert b"_cache" in unpacked  # names are there
    assert b"secret-7f3a" not in text
    assert b"not an identifier" not in text


def test_objects_cannot_be_asked_for_in_a_loaded_snapshot(pair):
    _, loaded, _ = pair
    with pytest.raises(ValueError, match="holders"):
        loaded.path_to_root(holder())


def test_names_of_what_is_gone_are_left_out(tmp_path):
    keeper = {"attribute": Kept([0])}
    holder()["keeper"] = keeper
    snapshot = heap.snapshot()
    del keeper
    holder().clear()
    snapshot.save(tmp_path / "late.dwell")
    loaded = heap.load(tmp_path / "late.dwell")
    assert loaded.types() == snapshot.types()
    assert all("attribute" not in row.name for row in loaded.holders("Kept", 100))


def test_a_file_may_have_several_snapshots(tmp_path):
    import dwell

    file = tmp_path / "all.dwell"
    profiler = dwell.install(dwell.reporters.SilentReporter(), log_file=str(file))
    try:
        heap.snapshot().save(file, "first")
        with dwell.region("work"):
            heap.snapshot().save(file, "second")
    finally:
        profiler.finalize()
    assert [s.taken.reason for s in heap.load_all(file)] == ["first", "second"]
    assert heap.load(file, 0).taken.reason == "first"


def test_a_file_that_is_no_log_is_an_error(tmp_path):
    (tmp_path / "x").write_text("nothing")
    with pytest.raises((OSError, ValueError), match="x"):
        heap.load(tmp_path / "x")


def test_garbage_is_ranked_by_what_it_holds():
    import gc

    gc.collect()  # what failed before may have left more
    gc.disable()
    try:
        for size in (10_000, 500_000):
            cycle = Kept(bytes(size))
            cycle.itself = cycle
        del cycle
        first, second = heap.snapshot().trash(2)
    finally:
        gc.enable()
        gc.collect()
    assert first.type.endswith("Kept") and 500_000 < first.retained < 502_000
    assert second.retained < first.retained


def test_tables_by_module_and_by_size_have_all_objects():
    snapshot = heap.snapshot()
    assert sum(row.count for row in snapshot.modules()) == snapshot.objects
    assert sum(row.size for row in snapshot.sizes()) == snapshot.size


def test_what_grows_is_told_with_what_holds_it():
    grown = holder()["grown"] = []
    with heap.watch(interval=None) as watched:
        for _ in range(5):
            grown.extend(Kept(None) for _ in range(100))
            watched.look()
    row = next(row for row in watched.leaks if row.type.endswith("Kept"))
    assert row.grown >= 400 and row.holder.endswith(": grown[…]")
    holder().clear()


def test_what_waits_for_a_collection_does_not_leak():
    was_on = gc.isenabled()
    gc.disable()
    with heap.watch(interval=None) as watched:
        for _ in range(6):
            for _ in range(200):
                knot = Kept(None)
                knot.payload = knot
            del knot
            watched.look()
    gc.collect()
    if was_on:
        gc.enable()
    assert not [leak.type for leak in watched.leaks if leak.type.endswith("Kept")]


def test_what_a_watch_remembers_does_not_leak():
    program = """
from dwell import heap
with heap.watch(interval=None) as watched:
    for _ in range(8):
        watched.look()
print(watched.leaks)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.startswith("Nothing grew steadily in 10 looks"), done.stdout + done.stderr


def test_a_leak_that_begins_late_and_ends_early_is_found():
    grown = holder()["grown"] = {}
    with heap.watch(interval=None) as watched:
        for turn in range(20):
            if 8 <= turn < 12:
                grown.update({f"k{turn}_{number}": Kept(None) for number in range(100)})
            watched.look()
    row = next(row for row in watched.leaks if row.type.endswith("Kept"))
    assert (row.grown, row.steps) == (400, 4)
    assert row.holder.endswith(": grown[<str>]")
    holder().clear()


def test_a_module_with_two_names_is_told_by_the_first(tmp_path):
    program = """
import sys
from dwell import heap
sys.modules["another"] = sys.modules["__main__"]
class Kept: pass
held = [Kept()]
heap.snapshot().save(sys.argv[1])
print(heap.load(sys.argv[1]).holders("Kept")[0].name)
"""
    words = [sys.executable, "-c", program, str(tmp_path / "heap.dwell")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout == "__main__.held[0]\n", done.stderr
