# SPDX-License-Identifier: MIT
"""Allocations by call path: numbers that are known beforehand."""

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import dwell.memory
from dwell import _core

from ..compiled import compile_library
from ..conftest import Program

NATIVE = """
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static void *volatile kept;
__attribute__((noinline)) static void *take_one(size_t size)
{
    void *block = malloc(size);
    kept = block;
    return block;
}
void take(size_t count, size_t size) { while (count--) take_one(size); }
void take_and_give(size_t count, size_t size) { while (count--) free(take_one(size)); }
void grow(size_t count, size_t size)
{
    char *block = NULL;
    for (size_t i = 1; i <= count; i++)
        kept = block = realloc(block, i * size);
}
void all_kinds(size_t size)
{
    void *block;
    if (posix_memalign(&block, 64, size))
        abort();
    kept = block;
    kept = aligned_alloc(64, size);
    kept = memalign(64, size);
    kept = valloc(size);
    kept = calloc(1, size);
    kept = strdup("0123456789");
}
void *map(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void unmap(void *start, size_t size) { munmap(start, size); }
static void *work(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        void *block = take_one(500);
        if (i % 2)
            free(block);
    }
    return unused;
}
void in_threads(int count)
{
    pthread_t threads[64];
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    directory = tmp_path_factory.mktemp("native")
    library = ctypes.CDLL(str(compile_library(directory, "native", NATIVE, "-O1", "-pthread")))
    library.take.argtypes = library.take_and_give.argtypes = [ctypes.c_size_t] * 2
    library.grow.argtypes = [ctypes.c_size_t] * 2
    library.map.restype = ctypes.c_void_p
    library.map.argtypes = library.all_kinds.argtypes = [ctypes.c_size_t]
    library.unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    yield
    _core.memory_mark(None)
    if _core.memory_is_on():
        _core.memory_stop()


def exact() -> dwell.memory.track:
    return dwell.memory.track(mode="exact")


def row(tracked: dwell.memory.track, function: str, *keys: str, **labels: str) -> dict[str, int]:
    """What a function has itself, in all its rows."""
    sums: dict[str, int] = {}
    for found in tracked.rows("function", *keys):
        if found["function"].split()[0] != function:
            continue
        if any(found[key] != value for key, value in labels.items()):
            continue
        for name, number in found.items():
            if isinstance(number, dict):
                sums[name] = sums.get(name, 0) + number["self"]
    return sums


def lines_of(tracked: dwell.memory.track, function: str) -> dict[str, dict]:
    rows = tracked.rows("python")
    return {found["python"]: found for found in rows if found["python"].endswith(f" ({function})")}


def leak(kept: list, count: int) -> None:
    for i in range(count):
        kept[i] = object()


def test_objects_that_leak_are_counted_one_by_one():
    kept: list = [None] * 12_345
    with exact() as tracked:
        leak(kept, 12_345)
    line = max(lines_of(tracked, "leak").values(), key=lambda found: found["live"]["self"])
    assert line["python"] == f"test_memory.py:{leak.__code__.co_firstlineno + 2} (leak)"
    assert line["live"]["self"] == line["allocations"]["self"] == 12_345
    assert line["live_bytes"]["self"] == 12_345 * object.__basicsize__


def test_allocated_less_freed_is_live(native: ctypes.CDLL):
    with exact() as tracked:
        native.take(100, 1000)
        native.take_and_give(250, 2000)
    # A call of the library by the way of ctypes makes native code the innermost.
    numbers = row(tracked, "take_one")
    assert numbers["allocations"] == 350 and numbers["live"] == 100
    assert numbers["alloc_bytes"] == 100 * 1000 + 250 * 2000
    assert numbers["live_bytes"] == 100 * 1000
    assert numbers["temporary"] == 250


def test_allocator_of_native_code_is_told_apart(native: ctypes.CDLL):
    with exact() as tracked:
        native.take(10, 100_000)
        kept = bytearray(50_000)
    by = {found["allocator"]: found["live_bytes"]["total"] for found in tracked.rows("allocator")}
    assert by["malloc"] >= 1_000_000
    assert 50_000 <= by["python"] < 500_000
    assert len(kept) == 50_000


def test_all_ways_to_allocate_are_seen(native: ctypes.CDLL):
    with exact() as tracked:
        native.all_kinds(6400)
    numbers = row(tracked, "all_kinds")
    assert (numbers["live"], numbers["live_bytes"]) == (5, 5 * 6400)


def test_a_block_that_grows_is_one_block(native: ctypes.CDLL):
    with exact() as tracked:
        native.grow(100, 1000)
    numbers = row(tracked, "grow")
    assert (numbers["allocations"], numbers["live"]) == (100, 1)
    assert numbers["live_bytes"] == 100_000
    assert numbers["alloc_bytes"] == 1000 * sum(range(101))


def test_mapped_memory_is_reserved_and_not_live(native: ctypes.CDLL):
    with exact() as tracked:
        start = native.map(40_960_000)
        native.unmap(start + 4_096_000, 4_096_000)  # from the middle
        native.unmap(start, 4096)
    numbers = row(tracked, "map")
    assert numbers["reserved_bytes"] == 40_960_000 - 4_096_000 - 4096
    assert numbers["live_bytes"] == numbers["peak_bytes"] == 0
    native.unmap(start, 40_960_000)


def test_threads_that_python_never_saw_are_counted(native: ctypes.CDLL):
    with exact() as tracked:
        native.in_threads(8)
    numbers = row(tracked, "take_one")
    assert (numbers["allocations"], numbers["live"]) == (8000, 4000)
    assert numbers["live_bytes"] == 4000 * 500
    threads = {found["thread"] for found in tracked.rows("thread") if found["live"]["self"]}
    assert len(threads) >= 8


def test_eight_threads_of_python_are_counted_exactly():
    size = 20_000

    def work(kept: list) -> None:
        for i in range(500):
            kept[i % 50] = bytearray(size)

    kept: list[list] = [[None] * 50 for _ in range(8)]
    threads = [threading.Thread(target=work, args=[mine]) for mine in kept]
    with exact() as tracked:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    work_line = max(lines_of(tracked, _name(work)).values(), key=lambda line: line["live"]["self"])
    assert work_line["live_bytes"]["self"] >= 8 * 50 * size
    assert work_line["live_bytes"]["self"] < 8 * 50 * (size + 200)
    assert work_line["allocations"]["self"] >= 8 * 500 * 2  # the object, and its bytes


def _name(function) -> str:
    return function.__qualname__


def test_what_another_thread_frees_is_not_live_where_it_was_made():
    blocks: list = []

    def produce() -> None:
        blocks.extend(bytearray(30_000) for _ in range(300))

    def consume() -> None:
        blocks.clear()

    with exact() as tracked:
        for part in (produce, consume):
            thread = threading.Thread(target=part)
            thread.start()
            thread.join()
    made = [found for found in tracked.rows("function") if _name(produce) in found["function"]]
    assert sum(found["alloc_bytes"]["self"] for found in made) >= 300 * 30_000
    assert sum(found["live_bytes"]["self"] for found in made) < 30_000


def my_func() -> list:
    a = [1] * (10**6)
    b = [2] * (2 * 10**7)
    del b
    return a


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_lists_of_8_and_160_megabytes(mode):
    with dwell.memory.track(mode=mode) as tracked:
        kept = my_func()
    first = my_func.__code__.co_firstlineno
    lines = lines_of(tracked, "my_func")
    a, b = (lines[f"test_memory.py:{first + i} (my_func)"] for i in (1, 2))
    assert a["peak_bytes"]["self"] == pytest.approx(8e6, rel=0.02)
    assert a["live_bytes"]["self"] == pytest.approx(8e6, rel=0.02)
    assert b["peak_bytes"]["self"] == pytest.approx(160e6, rel=0.02)
    assert b["live_bytes"]["self"] == 0
    assert tracked.totals()["peak_bytes"] == pytest.approx(168e6, rel=0.02)
    assert len(kept) == 10**6


def test_the_peak_is_of_one_moment():
    def first() -> None:
        bytearray(6_000_000)

    def second() -> None:
        kept = bytearray(5_000_000)
        bytearray(4_000_000)
        del kept

    with exact() as tracked:
        first()
        second()
    peak = {}
    for found in tracked.rows("function"):
        for function in (first, second):
            if _name(function) in found["function"]:
                peak[function] = found["peak_bytes"]["self"]
    assert peak[first] < 1000  # what Python keeps of a function that ran
    assert peak[second] == pytest.approx(9_000_000, rel=0.01)


def test_marks_tell_when_what_is_left_was_allocated():
    kept: list = [None] * 3000
    with exact() as tracked:
        dwell.memory.mark("first")
        leak(kept, 3000)
        dwell.memory.mark("second")
        leak(kept, 1000)
        dwell.memory.mark(None)
    assert row(tracked, "leak", "mark", mark="first")["live"] == 2000
    assert row(tracked, "leak", "mark", mark="second")["live"] == 1000


def test_labels_and_regions_are_those_of_the_allocation(recording):
    kept: list = [None] * 700
    with exact() as tracked:
        with dwell.region("loading"), dwell.label(step="one"):
            leak(kept, 700)
    assert row(tracked, "leak", "region", "step", region="loading", step="one")["live"] == 700


def test_a_recording_begins_with_nothing_and_ends_for_good(native: ctypes.CDLL):
    kept = [bytearray(10_000) for _ in range(100)]
    with exact() as tracked:
        kept.clear()  # unknown, and no less than nothing is live
    assert tracked.totals()["live_bytes"] < 100_000
    native.take(50, 1000)
    with exact() as again:
        native.take(20, 1000)
    assert row(again, "take_one")["live"] == 20


def test_two_recordings_at_once_are_refused():
    with exact():
        with pytest.raises(RuntimeError, match="already"):
            dwell.memory.track().start()
    with pytest.raises(ValueError, match="'sampled' or 'exact', not 'all'"):
        dwell.memory.track(mode="all")  # type: ignore[arg-type]


def test_code_that_comes_and_goes_is_told_apart():
    names = [f"made_{i}" for i in range(200)]
    with exact() as tracked:
        for name in names:
            scope: dict = {}
            exec(compile(f"def {name}(): return bytearray(5000)", name, "exec"), scope)
            scope[name]()
    by = {found["function"].split()[0]: found for found in tracked.rows("function")}
    assert all(by[name]["alloc_bytes"]["self"] >= 5000 for name in names)


def test_samples_tell_what_was_allocated_within_their_error(native: ctypes.CDLL):
    """3000 samples have a standard error of 1.8 %; five of these happen to nobody."""
    with dwell.memory.track() as tracked:
        native.take_and_give(1_500_000, 1024)
        native.take(100, 1_000_000)
    numbers = row(tracked, "take_one")
    assert numbers["alloc_bytes"] == pytest.approx(1_500_000 * 1024 + 100_000_000, rel=0.1)
    assert numbers["allocations"] == pytest.approx(1_500_000, rel=0.1)
    assert numbers["live_bytes"] == pytest.approx(100_000_000, rel=0.5)


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_native_code_without_python_has_its_stack(mode, native: ctypes.CDLL):
    with dwell.memory.track(mode=mode) as tracked:
        native.take(200, 1_000_000)
    assert row(tracked, "take_one")["live_bytes"] == pytest.approx(200e6, rel=0.5)
    (caller,) = {found["python"] for found in tracked.rows("python") if found["live"]["self"] > 99}
    assert caller.endswith(f" ({_name(test_native_code_without_python_has_its_stack)})")


def test_numpy_temporaries_are_counted_once():
    numpy = pytest.importorskip("numpy")

    def temporaries(a):
        for _ in range(50):
            a + 1

    a = numpy.zeros(100_000)
    temporaries(a)
    with exact() as tracked:
        temporaries(a)
    allocated = sum(
        found["alloc_bytes"]["self"]
        for found in tracked.rows("python")
        if _name(temporaries) in found["python"]
    )
    assert allocated == pytest.approx(50 * 800_000, rel=0.01)


HOW_PYTHON_ALLOCATES = """
import dwell.memory
def make():
    return [bytes(i) for i in range(2000)]
with dwell.memory.track(mode="{mode}") as tracked:
    kept = make()
    for _ in range(50):
        make()
print(tracked.totals()["live_bytes"])
"""


@pytest.mark.parametrize("mode", ["exact", "sampled"])
@pytest.mark.parametrize("allocator", ["malloc", "debug", "pymalloc_debug", "malloc_debug"])
def test_any_allocator_of_python_will_do(allocator, mode, python_program: Program):
    done = python_program(HOW_PYTHON_ALLOCATES.format(mode=mode), env={"PYTHONMALLOC": allocator})
    assert done.returncode == 0, done.stderr
    if mode == "exact":
        assert int(done.stdout) == pytest.approx(2000 * 1999 / 2 + 2000 * 33 + 16000, rel=0.05)


def test_callers_are_told_apart_at_any_depth():
    """Also when outer functions are known to stand where they stood, and then move on."""
    size = object.__basicsize__

    def allocate(kept: list, count: int) -> None:
        for i in range(count):
            kept[i] = object()

    def one(kept: list, count: int) -> None:
        allocate(kept, count)

    def deep(level: int, kept: list, rounds: int) -> None:
        if level:
            deep(level - 1, kept, rounds)
            return
        for _ in range(rounds):
            one(kept, 100)
            one(kept, 200)

    kept: list = [None] * 200
    rounds, until = 0, time.monotonic() + 0.3
    with exact() as tracked:
        while not rounds or time.monotonic() < until:
            deep(60, kept, 500)
            rounds += 500
    by_line: dict[int, int] = {}
    for _, _, stack, allocated, _, _ in _core.memory_paths(tracked.log()):
        names = [function.rpartition(".")[2] for function, _, _ in stack]
        if not names or names[-1] != "allocate":
            continue
        assert names.count("deep") == 61
        line = stack[len(names) - 3][2] - deep.__code__.co_firstlineno
        by_line[line] = by_line.get(line, 0) + allocated
    loops = {line: by_line.pop(line) - n * size * rounds for line, n in ((5, 100), (6, 200))}
    assert not by_line
    assert 0 <= loops[5] < 200 * rounds  # what `for` and `range` need
    assert abs(loops[6] - loops[5]) < 100 * size  # one of them is kept for the next


@pytest.mark.any_python
def test_threads_that_take_turns_lose_no_count(native: ctypes.CDLL):
    """The lock goes from thread to thread, with and without the GIL, and to forked children."""
    kept: list[list] = [[None] * 1000 for _ in range(3)]
    threads = [threading.Thread(target=leak, args=[mine, 1000]) for mine in kept]
    with exact() as tracked:
        for thread in threads:
            thread.start()
        native.in_threads(4)
        leak(kept[0], 1000)
        for _ in range(10):
            child = os.fork()
            if not child:
                os._exit(0 if bytearray(100) else 1)
            native.in_threads(2)
            assert os.waitpid(child, 0)[1] == 0
        for thread in threads:
            thread.join()
    assert row(tracked, "leak")["live"] == 3000
    numbers = row(tracked, "take_one")
    assert numbers, tracked.rows("function")
    assert (numbers["allocations"], numbers["live"]) == (24 * 1000, 24 * 500)


def test_small_blocks_that_were_sampled_are_freed_and_grow():
    """They come from elsewhere than the others, and go back there."""
    with dwell.memory.track() as tracked:
        for _ in range(20):
            kept = [bytes(i % 400) + b"x" for i in range(20_000)]
            grown: list = []
            for block in kept:
                grown += [block] * (len(block) % 7)
            kept.clear()
            grown.clear()
        del kept, grown
    totals = tracked.totals()
    assert totals["alloc_bytes"] > 20 * 20_000 * 200 * 0.7
    assert totals["live_bytes"] < totals["alloc_bytes"] * 0.05


def test_tracemalloc_beside_it_goes_on(python_program: Program):
    done = python_program(
        """
import tracemalloc, dwell.memory
tracked = dwell.memory.track(mode="exact")
tracked.start()
tracemalloc.start()
kept = [bytearray(1000) for _ in range(1000)]
tracked.stop()
more = [bytearray(1000) for _ in range(1000)]
print(tracked.totals()["live"] >= 2000, tracemalloc.get_traced_memory()[0] >= 2_000_000)
tracemalloc.stop()
with dwell.memory.track(mode="exact") as again:
    more = [bytearray(1000) for _ in range(1000)]
print(again.totals()["allocations"] >= 2000)
"""
    )
    assert (done.returncode, done.stdout) == (0, "True True\nTrue\n"), done.stderr


def test_a_file_is_as_good_as_memory(tmp_path: Path, run_dwell: Program):
    kept: list = [None] * 100_000
    with dwell.memory.track(tmp_path / "x.dwell", mode="exact") as tracked:
        leak(kept, 100_000)
    assert row(tracked, "leak")["live"] == 100_000
    assert " (leak)" in tracked.report()
    assert " (leak)" in run_dwell("report", "x.dwell").stdout


def test_recordings_come_and_go_while_threads_allocate_and_fork(python_program: Program):
    done = python_program(
        """
import os, threading, dwell.memory
stops = False
def churn():
    while not stops:
        [bytearray(size) for size in range(1, 5000, 100)]
threads = [threading.Thread(target=churn) for _ in range(4)]
for thread in threads: thread.start()
for i in range(24):
    with dwell.memory.track(mode=["exact", "sampled"][i % 2]) as tracked:
        kept = [bytearray(900) for _ in range(1000)]
        if i % 3 == 0:
            child = os.fork()
            if not child:
                [bytes(100) for _ in range(1000)]
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    assert tracked.totals()["live_bytes"] < 1 << 30
stops = True
for thread in threads: thread.join()
""",
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
