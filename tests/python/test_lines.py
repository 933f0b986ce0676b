# SPDX-License-Identifier: MIT
"""LineProfiler: hits are exact and times right, whatever the lines are made of."""

import asyncio
import functools
import gc
import importlib.util
import io
import signal
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

import dwell
from dwell import LineProfiler


def rows_of(profiler: LineProfiler, name: str) -> dict[int, tuple]:
    """The lines of a function by their offset from its first line, those that ran or could."""
    for _, first, found, _, lines in profiler._rows():
        if found.split(".")[-1] == name:
            return {row[0] - first: row[1:] for row in lines}
    raise AssertionError(f"{name} is not in {[each[2] for each in profiler._rows()]}")


def hits_of(profiler: LineProfiler, name: str) -> dict[int, int]:
    return {offset: row[0] for offset, row in rows_of(profiler, name).items()}


def seconds_of(profiler: LineProfiler, name: str) -> dict[int, float]:
    return {offset: row[1] * 1e-9 for offset, row in rows_of(profiler, name).items()}


class Clock:
    """Spins and sleeps that say how long they really took, by name: the independent clock."""

    def __init__(self) -> None:
        self.took: dict[str, float] = {}

    def spin(self, seconds: float, name: str = "spin") -> None:
        began = time.perf_counter()
        while time.perf_counter() < began + seconds:
            pass
        self._note(name, began)

    def sleep(self, seconds: float, name: str = "sleep") -> None:
        began = time.perf_counter()
        time.sleep(seconds)
        self._note(name, began)

    def _note(self, name: str, began: float) -> None:
        self.took[name] = self.took.get(name, 0.0) + time.perf_counter() - began

    def __getitem__(self, name: str) -> object:
        """Nanoseconds, within 5 %."""
        return pytest.approx(self.took[name] * 1e9, rel=0.05)


def spin(seconds: float) -> None:
    Clock().spin(seconds)


def profiled(function: Callable, *args: object, **options: bool) -> LineProfiler:
    profiler = LineProfiler(function, **options)
    profiler.runcall(function, *args)
    return profiler


# --- right numbers


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
    assert sum(seconds_of(profiler, "work").values()) == pytest.approx(took, rel=0.05)


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
    assert sum(row[1] for row in rows.values()) * 1e-9 == pytest.approx(took, rel=0.05)
    assert rows[1][1] > 0.039e9  # the sleeps are where they were slept
    assert rows[3][1] < 0.002e9  # and not in the calls again
    assert rows[3][3] == clock["inside"]  # inclusive: all but the outermost sleep


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
    assert rows[3][2] < 0.002e9  # self
    assert took * 0.8e9 < rows[3][3] < took * 1e9  # inclusive: all but the first spin


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
    assert rows[1][1] < 0.02e9  # active
    assert rows[1][4] > 0.5e9  # suspended: ten of them slept 0.05 s each, and waited for others
    assert rows[2][1] == clock["spin"]
    assert rows[2][4] == 0


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
    assert rows[2][1] < 0.005e9
    assert rows[3][1] == clock["spin"]


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


# --- whatever lines are made of


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


def load(path: Path, source: str):
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


# --- callees


def called(n: int) -> int:
    return n + 1


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
    assert rows[3][2] < 0.001e9  # the line's own time is without it
    assert by_line[4]["<built-in method builtins.sorted>"][0] == 1
    assert len(profiler._rows()) == 1  # what is only called is not profiled by line


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


# --- several at once, and on and off


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
        seen.append(profiler._rows())

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


# --- everything that can be decorated


def test_decorating_everything() -> None:
    profiler = LineProfiler()

    @profiler
    class Thing:
        def method(self):
            return self.value

        @property
        def value(self):
            return 1

        @classmethod
        def of_class(cls):
            return 2

        @staticmethod
        def static():
            return 3

        @functools.cached_property
        def cached(self):
            return 4

        half = functools.partialmethod(lambda self, a, b: a + b, 1)

    thing = Thing()
    assert (thing.method(), thing.value, Thing.of_class(), thing.of_class()) == (1, 1, 2, 2)
    assert (thing.static(), thing.cached, thing.cached, thing.half(2)) == (3, 4, 4, 3)
    hits = {name: hits_of(profiler, name) for name in ("method", "value", "of_class", "cached")}
    assert [sum(each.values()) for each in hits.values()] == [1, 2, 2, 1]
    assert sum(hits_of(profiler, "static").values()) == 1
    assert sum(hits_of(profiler, "<lambda>").values()) == 1
    assert profiler.enable_count == 0


def test_decorating_partials_and_bound_methods() -> None:
    profiler = LineProfiler()

    def add(a, b):
        return a + b

    class Thing:
        def method(self):
            return 5

    assert profiler(functools.partial(add, 1))(2) == 3
    assert profiler(Thing().method)() == 5
    assert (hits_of(profiler, "add"), hits_of(profiler, "method")) == ({1: 1}, {1: 1})


def test_decorated_generators_pass_everything_on() -> None:
    profiler = LineProfiler()

    @profiler
    def echo():
        got = None
        while True:
            try:
                got = yield got
            except KeyError as error:
                got = repr(error)
            if got == "end":
                return "done"

    steps = echo()
    assert next(steps) is None
    assert steps.send(5) == 5
    assert steps.throw(KeyError("x")) == "KeyError('x')"
    with pytest.raises(StopIteration) as stop:
        steps.send("end")
    assert stop.value.value == "done"
    abandoned = echo()
    next(abandoned)
    del abandoned
    assert profiler.enable_count == 0
    assert hits_of(profiler, "echo")[5] == 4
    assert rows_of(profiler, "echo")[5][4] > 0  # it slept, although the profiler was off then


def test_decorated_coroutines_and_async_generators() -> None:
    profiler = LineProfiler()

    @profiler
    async def work(n):
        await asyncio.sleep(0.01)
        return n

    @profiler
    async def numbers(n):
        for i in range(n):
            got = yield i
            await asyncio.sleep(0)
            assert got in (None, "hello")

    async def main():
        steps = numbers(3)
        assert [await steps.asend(None), await steps.asend("hello")] == [0, 1]
        await steps.aclose()
        return await asyncio.gather(work(1), work(2)), [i async for i in numbers(2)]

    assert asyncio.run(main()) == ([1, 2], [0, 1])
    assert hits_of(profiler, "work") == {2: 2, 3: 2}
    assert rows_of(profiler, "work")[2][4] > 0.019e9
    assert hits_of(profiler, "numbers")[3] == 4
    assert profiler.enable_count == 0


def test_wrapped_functions_keep_their_looks() -> None:
    def work(a: int, b: str = "x") -> None:
        """Says what it does."""

    wrapped = LineProfiler()(work)
    assert (wrapped.__name__, wrapped.__doc__, wrapped.__wrapped__) == (
        "work",
        "Says what it does.",
        work,
    )

    async def awaits() -> None: ...

    assert asyncio.iscoroutinefunction(LineProfiler()(awaits))


# --- classes and modules


def test_adding_classes_and_modules(tmp_path: Path) -> None:
    module = load(
        tmp_path / "things.py",
        "from json import dumps\n"
        "def f():\n    return 1\n"
        "class A:\n"
        "    def a(self):\n        return 2\n"
        "    class B:\n"
        "        def b(self):\n            return 3\n",
    )
    everything = LineProfiler()
    assert everything.add_module(module) == 3
    assert {row[2] for row in everything._rows()} == {"f", "A.a", "A.B.b"}
    exact = LineProfiler()
    assert exact.add_module(module, scoping_policy="exact") == 1
    assert exact.add_class(module.A, scoping_policy="exact") == 1
    assert {row[2] for row in exact._rows()} == {"f", "A.a"}
    assert everything.add_class(module.A) == 0  # they are there already
    wrapping = LineProfiler()
    wrapping.add_class(module.A, wrap=True)
    assert module.A().a() == 2
    assert hits_of(wrapping, "a") == {1: 1}


def test_what_has_no_lines_is_said() -> None:
    with pytest.warns(UserWarning, match="<built-in function len> has no Python code"):
        LineProfiler().add_function(len)


# --- reports and files


def printed(profiler: LineProfiler, **options) -> str:
    out = io.StringIO()
    profiler.print_stats(out, **options)
    return out.getvalue()


def test_report() -> None:
    def do_stuff(numbers):
        s = sum(numbers)
        if s < 0:
            return None
        # half of it
        return [number / 2 for number in numbers]

    def unused():
        return 1

    profiler = LineProfiler(do_stuff, unused)
    wrapped = profiler(do_stuff)
    for _ in range(3):
        wrapped([1, 2, 3])
    text = printed(profiler)
    first = do_stuff.__code__.co_firstlineno
    lines = text.splitlines()
    assert lines[0] == "Timer unit: 1e-06 s"
    assert f"File: {__file__}" in lines
    assert any(
        line.startswith("Function: ") and line.endswith(f"do_stuff at line {first}")
        for line in lines
    )
    assert "Line #      Hits         Time  Per Hit   % Time  Line Contents" in lines
    row = next(line for line in lines if line.endswith("    s = sum(numbers)"))
    assert row.split()[:2] == [str(first + 1), "3"]
    assert next(line for line in lines if "return None" in line).split()[:2] == [
        str(first + 3),
        "0",
    ]
    assert next(line for line in lines if "# half" in line).split()[0] == str(first + 4)
    assert "unused" in text and "unused" not in printed(profiler, stripzeros=True)
    assert printed(profiler, output_unit=1e-3).startswith("Timer unit: 0.001 s")
    summary = printed(profiler, details=False, summarize=True)
    assert "Line #" not in summary and "do_stuff" in summary


def test_stats_add_up_and_come_back(tmp_path: Path) -> None:
    def work(n):
        for _ in range(n):
            called(1)

    profiler = profiled(work, 5, callees=True)
    profiler.dump_stats(tmp_path / "one.lprof")
    stats = dwell.load_stats(tmp_path / "one.lprof")
    assert stats == profiler.get_stats()
    assert stats.rows() == profiler.get_stats().rows()
    both = dwell.load_stats(tmp_path / "one.lprof", tmp_path / "one.lprof")
    assert both == stats + stats
    key = next(iter(stats.timings))
    assert [row[1] for row in both.timings[key]] == [12, 10]
    out = io.StringIO()
    both.print(out)
    assert "called(1)" in out.getvalue()


def test_line_profilers_files_are_read(tmp_path: Path) -> None:
    line_profiler = pytest.importorskip("line_profiler")

    def work(n):
        for _ in range(n):
            pass

    theirs = line_profiler.LineProfiler(work)
    theirs.runcall(work, 5)
    theirs.dump_stats(str(tmp_path / "theirs.lprof"))
    stats = dwell.load_stats(tmp_path / "theirs.lprof")
    assert [row[:2] for row in next(iter(stats.timings.values()))] == [
        row[:2] for row in next(iter(theirs.get_stats().timings.values()))
    ]


def test_a_pickle_of_something_else_is_refused(tmp_path: Path) -> None:
    import pickle

    (tmp_path / "bad.lprof").write_bytes(pickle.dumps(print))
    with pytest.raises(ValueError, match=r"bad.lprof: not a line profile: .*builtins.print"):
        dwell.load_stats(tmp_path / "bad.lprof")


# --- beside line_profiler


def textwork(n: int) -> list:
    counts: dict = {}
    for i in range(n):
        word = f"word{sum(range(500 + i % 17)) % 17}"
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
        if i % 5 == 0:
            continue
        counts["total"] = counts.get("total", 0) + 1
    time.sleep(0.002)
    spin(0.002)
    while n > 0:
        n -= 3
    try:
        raise KeyError("x")
    except KeyError:
        n = 0
    return sorted(counts.items())


def test_same_as_line_profiler() -> None:
    line_profiler = pytest.importorskip("line_profiler")
    kinds = (line_profiler.LineProfiler, LineProfiler)
    expected, found = best_rows(kinds, textwork, 200)
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    costs = [rows[1][2] / rows[1][1] for rows in best_rows(kinds, empty_lines, 2000)]
    for (_, hits, a), (_, _, b) in zip(expected, found, strict=True):
        theirs_net, ours_net = a - hits * costs[0], b - hits * costs[1]
        noise = hits * costs[0] + 100_000  # by what their own cost varies on a busy machine
        assert ours_net == pytest.approx(theirs_net, rel=0.2, abs=noise)


def best_rows(kinds: tuple[type, ...], function: Callable, n: int) -> list[list[tuple]]:
    """The rows of each profiler, which take turns; of each line the shortest time it had."""
    runs: list[list] = [[] for _ in kinds]
    for _ in range(30):
        for kind, rows in zip(kinds, runs, strict=True):
            profiler = kind(function)
            profiler.runcall(function, n)
            rows.append(next(iter(profiler.get_stats().timings.values())))
    return [
        [(*rows[0][:2], min(row[2] for row in rows)) for rows in zip(*run, strict=True)]
        for run in runs
    ]


def empty_lines(n: int) -> None:
    for _ in range(n):
        pass


# --- what went wrong once


def test_a_pending_exception_outlives_the_profiler() -> None:
    def work() -> int:
        return 1

    profiled(work)
    with pytest.raises(ZeroDivisionError):
        print(LineProfiler(work), 1 / 0)


def test_a_callee_becomes_a_profiled_function_while_it_runs() -> None:
    profiler = LineProfiler(callees=True)

    def down(n: int) -> None:
        if n == 3:
            profiler.add_function(down)
        if n:
            down(n - 1)

    def outer() -> None:
        down(8)

    profiler.add_function(outer)
    with profiler:
        outer()
        outer()
    assert hits_of(profiler, "down")[1] > 9


def test_an_idle_profiler_of_the_same_function_is_let_go() -> None:
    def work(n: int) -> None:
        for _ in range(n):
            pass

    idle, busy = LineProfiler(work), LineProfiler(work)
    idle.runcall(work, 1)
    busy.runcall(work, 10_000)
    busy.runcall(work, 10)
    idle.runcall(work, 1)
    assert hits_of(busy, "work") == {1: 10_012, 2: 10_010}
    assert hits_of(idle, "work") == {1: 4, 2: 2}


def test_objects_do_not_live_longer() -> None:
    class Thing(list):
        pass

    def work() -> weakref.ref:
        thing = Thing()
        append = thing.append
        append(1)
        return weakref.ref(thing)

    profiler = LineProfiler(work, callees=True)
    assert profiler.runcall(work)() is None


def test_things_that_make_up_attributes() -> None:
    from unittest import mock

    LineProfiler().add_callable(mock.call)  # comes to an end
    made_up = functools.partial(print)
    made_up.__wrapped__ = made_up
    assert LineProfiler().add_callable(made_up) == 0


def test_a_signal_is_not_lost() -> None:
    def work() -> None:
        signal.raise_signal(signal.SIGINT) or [].append(1)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    try:
        for profiler in (LineProfiler(work, callees=True), dwell.Profile()):
            with pytest.raises(KeyboardInterrupt), profiler:
                work()
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_last_reference_goes_while_a_name_is_made() -> None:
    holder = []

    class Gone:
        def __del__(self) -> None:
            holder.clear()

    def work() -> None:
        [[], [], [], []].append(1)

    holder.append(LineProfiler(work, callees=True))
    holder[0].enable()
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(3)
    try:
        gone = Gone()
        gone.me = gone
        del gone
        work()
    finally:
        gc.set_threshold(*before)


def test_cached_functions_keep_their_methods() -> None:
    profiler = LineProfiler()

    @profiler
    @functools.lru_cache(maxsize=5)
    def work(n: int) -> int:
        return n

    assert (work(1), work(1), work.cache_info().hits, work.cache_info().maxsize) == (1, 1, 1, 5)
    assert list(hits_of(profiler, "work").values()) == [1]


def test_coroutines_of_other_kinds() -> None:
    profiler = LineProfiler()

    @profiler
    @types.coroutine
    def old_style():
        yield
        return 3

    async def main() -> int:
        return await old_style()

    assert asyncio.run(main()) == 3
    assert sum(hits_of(profiler, "old_style").values()) == 2


def test_an_exception_that_leaves_the_with_block() -> None:
    def work() -> int:
        return 1

    with pytest.raises(ValueError, match="own"), LineProfiler(work):
        raise ValueError("own")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 tells of C functions only")
def test_a_class_and_its_instances_are_different_callees() -> None:
    class Thing:
        def __call__(self) -> int:
            return 1

    def work() -> None:
        thing = Thing()
        thing()

    rows = rows_of(profiled(work, callees=True), "work")
    (made,), (called_,) = rows[1][5], rows[2][5]
    assert "Thing" in made[0] and made != called_ and made[0] != called_[0]


def test_an_abandoned_async_generator_is_closed_by_the_loop() -> None:
    profiler = LineProfiler()
    closed = []

    @profiler
    async def numbers():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    kept = []

    async def main() -> None:
        kept.append(numbers())
        await anext(kept[0])

    asyncio.run(main())
    assert closed == [True]


def test_instances_stay_what_they_are_when_their_module_is_wrapped(tmp_path: Path) -> None:
    module = load(
        tmp_path / "models.py",
        "class Model:\n    def __call__(self):\n        return self.train()\n"
        "    def train(self):\n        return 2\n"
        "model = Model()\n",
    )
    profiler = LineProfiler()
    profiler.add_module(module, wrap=True)
    assert (module.model.train(), module.model()) == (2, 2)


def test_threads_do_not_go_on_in_a_forked_child(python_program) -> None:
    done = python_program(
        "import os, sys, threading, time, dwell\n"
        "def work():\n"
        "    time.sleep(0.3)\n"
        "profiler = dwell.LineProfiler(work)\n"
        "profiler.enable()\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "time.sleep(0.1)\n"
        "if os.fork() == 0:\n"
        "    time.sleep(0.2)\n"
        "    rows = profiler._rows()[0][4]\n"
        "    print(rows[0][2] < 0.2e9)\n"
        "    sys.stdout.flush()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "for thread in threads: thread.join()\n"
    )
    assert done.stdout == "True\n"
