# SPDX-License-Identifier: MIT
"""LineProfiler: hits are exact and times right, whatever the lines are made of."""

import asyncio
import functools
import gc
import sys
import threading
import time
from pathlib import Path

import pytest

import dwell
from dwell import LineProfiler

from ..line_rows import Clock, hits_of, load, profiled, rows_of, seconds_of, spin
from ..measured import Near, assert_between, repeated


@repeated
def test_times_agree_with_an_independent_clock() -> None:
    clock = Clock()

    def lines() -> None:
        clock.sleep(0.05, "a")
        clock.spin(0.03, "b")
        for _ in range(4):
            clock.spin(0.01, "c")
        clock.sleep(0.02, "d"), clock.spin(0.02, "d")

    rows = rows_of(profiled(lines), "lines")
    assert {line: row[0] for line, row in rows.items()} == {1: 1, 2: 1, 3: 5, 4: 4, 5: 1}
    assert rows[1][1] == clock["a"]
    assert rows[2][1] == clock["b"]
    assert rows[4][1] == clock["c"]
    assert rows[5][1] == clock["d"]


@repeated
def test_total_is_the_sum_of_lines_and_the_time_of_the_call() -> None:
    def work() -> None:
        spin(0.01)
        for _ in range(1000):
            pass
        spin(0.01)

    profiler = LineProfiler(work)
    with profiler:
        began = time.perf_counter()
        work()
        took = time.perf_counter() - began
    assert sum(seconds_of(profiler, "work").values()) == Near(took)


@repeated
def test_recursion_is_not_counted_twice() -> None:
    clock = Clock()

    def recurse(n: int) -> None:
        clock.sleep(0.01, "outermost" if n == 3 else "inside")
        if n:
            recurse(n - 1)

    profiler = LineProfiler(recurse)
    with profiler:
        began = time.perf_counter()
        recurse(3)
        took = time.perf_counter() - began
    rows = rows_of(profiler, "recurse")
    assert {line: row[0] for line, row in rows.items()} == {1: 4, 2: 4, 3: 3}
    assert sum(row[1] for row in rows.values()) * 1e-9 == Near(took)
    assert rows[1][1] > 0.039e9  # the sleeps are where they were slept
    assert_between(0, rows[3][1], 0.002e9)  # and not in the calls again
    assert rows[3][3] == clock["inside"]  # inclusive: all but the outermost sleep


@repeated
def test_recursion_through_another_function() -> None:
    clock = Clock()

    def even(n: int) -> None:
        clock.spin(0.002, "even")
        if n:
            odd(n - 1)

    def odd(n: int) -> None:
        clock.spin(0.002, "odd")
        if n:
            even(n - 1)

    profiler = LineProfiler(even, odd)
    with profiler:
        began = time.perf_counter()
        even(20)
        took = time.perf_counter() - began
    assert hits_of(profiler, "even") == {1: 11, 2: 11, 3: 10}
    assert hits_of(profiler, "odd") == {1: 10, 2: 10, 3: 10}
    rows = rows_of(profiler, "even")
    assert rows[1][1] == clock["even"]
    assert rows[3][1] == clock["odd"]  # the time in which `even` stood here, innermost
    assert_between(0, rows[3][2], 0.002e9)  # self
    assert_between(took * 0.8e9, rows[3][3], took * 1e9)  # inclusive: all but the first spin


def test_deep_recursion() -> None:
    def down(n: int) -> int:
        if n == 0:
            return 0
        return 1 + down(n - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(12_000)
    try:
        profiler = profiled(down, 10_000)
    finally:
        sys.setrecursionlimit(limit)
    assert hits_of(profiler, "down") == {1: 10_001, 2: 1, 3: 10_000}


@repeated
def test_eight_threads_at_once() -> None:
    profiler = LineProfiler()
    clock = Clock()

    @profiler
    def work(n: int) -> None:
        for _ in range(n):
            time.sleep(0)
        clock.sleep(0.02)

    started_before = threading.Event()
    early = threading.Thread(target=lambda: (started_before.wait(), work(100)))
    early.start()
    threads = [threading.Thread(target=work, args=(100,)) for _ in range(7)]
    for thread in threads:
        thread.start()
    started_before.set()
    for thread in (early, *threads):
        thread.join()
    assert hits_of(profiler, "work") == {2: 808, 3: 800, 4: 8}
    assert rows_of(profiler, "work")[4][1] == clock["sleep"]
    assert profiler.enable_count == 0


def test_threads_in_a_function_that_is_not_decorated() -> None:
    def work() -> None:
        for _ in range(1000):
            pass

    profiler = LineProfiler(work)
    with profiler:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert hits_of(profiler, "work") == {1: 8008, 2: 8000}


@repeated
def test_await_shows_active_and_suspended_time() -> None:
    clock = Clock()

    async def work() -> None:
        await asyncio.sleep(0.05)
        clock.spin(0.02)
        await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(work() for _ in range(10)))

    profiler = LineProfiler(work)
    with profiler:
        asyncio.run(main())
    rows = rows_of(profiler, "work")
    assert {line: row[0] for line, row in rows.items()} == {1: 10, 2: 10, 3: 10}
    assert_between(0, rows[1][1], 0.02e9)  # active
    assert rows[1][4] > 0.5e9  # suspended: ten of them slept 0.05 s each, and waited for others
    assert rows[2][1] == clock["spin"]
    assert rows[2][4] == 0


@repeated
def test_yield_shows_active_and_suspended_time() -> None:
    clock = Clock()

    def produce(n: int):
        for i in range(n):
            got = yield i
            clock.spin(0.002)
        return got

    profiler = LineProfiler(produce)
    with profiler:
        for _ in produce(10):
            clock.sleep(0.005)
    rows = rows_of(profiler, "produce")
    assert {line: row[0] for line, row in rows.items()} == {1: 11, 2: 10, 3: 10, 4: 1}
    assert rows[2][4] == clock["sleep"]
    assert_between(0, rows[2][1], 0.005e9)
    assert rows[3][1] == clock["spin"]


@repeated
def test_exceptions_end_lines() -> None:
    clock = Clock()

    def fails(n: int) -> None:
        clock.sleep(0.005, "fails")
        if n:
            raise ValueError(n)

    def catches() -> None:
        for n in range(4):
            try:
                fails(n)
            except ValueError:
                clock.sleep(0.005, "catches")

    profiler = LineProfiler(fails, catches)
    profiler.runcall(catches)
    assert hits_of(profiler, "fails") == {1: 4, 2: 4, 3: 3}
    hits = hits_of(profiler, "catches")
    assert (hits[3], hits[5]) == (4, 3)
    rows = rows_of(profiler, "catches")
    assert rows[3][1] == clock["fails"]
    assert rows[5][1] == clock["catches"]


def test_generator_that_is_thrown_into_and_closed() -> None:
    def produce():
        try:
            yield 1
        except KeyError:
            yield 2
        finally:
            spin(0.001)

    profiler = LineProfiler(produce)
    with profiler:
        first = produce()
        next(first)
        assert first.throw(KeyError()) == 2
        first.close()
        second = produce()
        next(second)
        second.close()
    hits = hits_of(profiler, "produce")
    assert (hits[2], hits[4], hits[6]) == (2, 1, 2)


CONSTRUCTS = """\
def constructs(n):
    with open("/dev/null"):
        pass
    try:
        x = 1
    finally:
        y = 2
    values = [
        i + 1
        for i in range(n)
    ]
    doubled = sum(
        value * 2
        for value in values
    )
    double = lambda value: (
        value * 2
    )
    double(1), double(2)
    match n:
        case 1:
            return None
        case 3:
            y = (
                x +
                doubled
            )
    return y
"""


def test_constructs(tmp_path: Path) -> None:
    module = load(tmp_path / "module.py", CONSTRUCTS)
    hits = hits_of(profiled(module.constructs, 3), "constructs")
    assert hits[2] == 1  # in with
    assert (hits[4], hits[6]) == (1, 1)  # in try, in finally
    assert hits[8] == 3  # the element of a list comprehension
    assert hits[12] == 3  # of a generator expression
    assert hits[16] == 2  # the body of a lambda
    assert hits[18] == 1
    assert (hits[19], hits[20], hits[22]) == (1, 1, 1)  # match, case 1, case 3
    assert hits[21] == 0  # could have run and did not
    assert hits[24] and hits[25] == 1  # the parts of a statement
    assert 0 not in hits and 10 not in hits and 14 not in hits  # def and brackets have no code


def test_a_comprehension_on_the_line_of_its_statement_is_that_line() -> None:
    def one_line(n: int) -> int:
        return sum(i for i in [j * 2 for j in range(n)])

    rows = rows_of(profiled(one_line, 1000), "one_line")
    assert rows[1][0] == 1
    assert rows[1][1] > 10_000


def test_decorated_functions_are_looked_through() -> None:
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args)

        return wrapper

    @decorate
    @functools.lru_cache
    @decorate
    def work(n):
        return n

    profiler = LineProfiler(work)
    with profiler:
        work(1), work(1), work(2)
    assert list(hits_of(profiler, "work").values()) == [2]  # the cache answered once


def test_same_name_and_line_in_different_files(tmp_path: Path) -> None:
    one = load(tmp_path / "one.py", "def work(n):\n    return n\n")
    two = load(tmp_path / "two.py", "def work(n):\n    return n * 2\n")
    profiler = LineProfiler(one.work, two.work)
    with profiler:
        one.work(1)
        two.work(1), two.work(2)
    timings = profiler.get_stats().timings
    assert timings[str(tmp_path / "one.py"), 1, "work"][0][:2] == (2, 1)
    assert timings[str(tmp_path / "two.py"), 1, "work"][0][:2] == (2, 2)


def test_code_that_is_made_anew_adds_up() -> None:
    profiler = LineProfiler()
    source = "def inner(n):\n    return n\n"
    for _ in range(3):
        space: dict = {}
        exec(compile(source, "made.py", "exec"), space)
        profiler.add_function(space["inner"])
        profiler.runcall(space["inner"], 1)
    assert profiler.get_stats().timings["made.py", 1, "inner"][0][:2] == (2, 3)


def called(n: int) -> int:
    return n + 1


@repeated
def test_callees_of_a_line() -> None:
    def calls(n: int) -> None:
        for _ in range(n):
            called(len("abc"))
        time.sleep(0.01)
        sorted([3, 1, 2], key=called)

    profiler = profiled(calls, 5, callees=True)
    rows = rows_of(profiler, "calls")
    by_line = {line: {e[0]: e[3:] for e in row[5]} for line, row in rows.items()}
    assert by_line[2]["called"][0] == 5
    assert by_line[2]["<built-in method builtins.len>"][0] == 5
    count, took = by_line[3]["<built-in method time.sleep>"]
    assert count == 1 and took > 0.0099e9
    assert_between(0, rows[3][2], 0.001e9)  # the line's own time is without it
    assert by_line[4]["<built-in method builtins.sorted>"][0] == 1
    assert len(profiler.get_stats().rows()) == 1  # what is only called is not profiled by line


@repeated
def test_profiled_functions_are_callees_without_asking() -> None:
    clock = Clock()

    def outer() -> None:
        inner("a")
        inner("b")

    def inner(name: str) -> None:
        clock.spin(0.002, name)

    profiler = LineProfiler(outer, inner)
    profiler.runcall(outer)
    rows = rows_of(profiler, "outer")
    name, _, _, calls, took = rows[1][5][0]
    assert name.endswith("inner") and calls == 1
    assert took == clock["a"]
    assert rows[1][2] < rows[1][1]


def test_two_profilers_of_the_same_function() -> None:
    def work() -> int:
        return 1

    one, two = LineProfiler(work), LineProfiler(work)
    with one:
        work()
        with two:
            work()
        work()
    work()
    with two:
        work()
    assert hits_of(one, "work") == {1: 3}
    assert hits_of(two, "work") == {1: 2}


def test_off_means_off() -> None:
    def work(n: int) -> None:
        for _ in range(n):
            pass

    profiler = LineProfiler(work)
    profiler.runcall(work, 10)
    work(10_000)  # more than enough events for the code to be let go
    profiler.runcall(work, 10)
    assert hits_of(profiler, "work") == {1: 22, 2: 20}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 has no events of single code objects")
def test_code_is_let_go_when_nobody_listens() -> None:
    def work(n: int) -> None:
        for _ in range(n):
            pass

    profiler = LineProfiler(work)
    profiler.runcall(work, 1)
    tools = [tool for tool in range(6) if sys.monitoring.get_tool(tool) == "dwell"]
    assert any(sys.monitoring.get_local_events(tool, work.__code__) for tool in tools)
    work(10_000)
    assert not any(sys.monitoring.get_local_events(tool, work.__code__) for tool in tools)


def test_profiler_that_is_gone_leaves_nothing() -> None:
    def work() -> int:
        return 1

    for _ in range(100):
        profiled(work)
    gc.collect()
    work()
    assert hits_of(profiled(work), "work") == {1: 1}


def test_enabling_in_the_middle_of_a_function() -> None:
    profiler = LineProfiler()

    def work() -> None:
        profiler.enable()
        for _ in range(5):
            pass
        profiler.disable()

    profiler.add_function(work)
    work()
    hits = hits_of(profiler, "work")
    assert (hits[2], hits[3], hits[4]) == (6, 5, 1)


def test_reading_while_it_runs() -> None:
    profiler = LineProfiler()
    seen = []

    @profiler
    def work() -> None:
        spin(0.005)
        seen.append(profiler.get_stats().rows())

    work()
    _, _, _, calls, lines = seen[0][0]
    assert calls == 1
    assert [row[1] for row in lines] == [1, 1]
    assert lines[0][2] > 0.0049e9


def test_beside_calls_and_cprofile() -> None:
    import cProfile

    def work(n: int) -> None:
        for _ in range(n):
            called(1)

    profiler = LineProfiler(work)
    calls = dwell.Profile(signatures=False)
    with profiler, calls:
        work(10)
    with profiler:
        other = cProfile.Profile()
        other.runcall(work, 10)
    assert hits_of(profiler, "work") == {1: 22, 2: 20}
    counts = {
        entry.code.co_name: entry.callcount
        for entry in calls.getstats()
        if not isinstance(entry.code, str)
    }
    assert counts["called"] == 10
