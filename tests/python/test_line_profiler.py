# SPDX-License-Identifier: MIT
"""LineProfiler as an object: what can be decorated and added, reports, files."""

import asyncio
import functools
import io
import json
import statistics
import time
import types
from collections.abc import Callable
from pathlib import Path

import pytest

import dwell
from dwell import LineProfiler

from ..line_rows import hits_of, load, profiled, rows_of, spin
from ..measured import assert_between, repeated


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
        tasks = [asyncio.create_task(work(n)) for n in (1, 2)]
        await asyncio.sleep(0)  # both sleep now
        time.sleep(0.01)
        return await asyncio.gather(*tasks), [i async for i in numbers(2)]

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
    assert {row[2] for row in everything.get_stats().rows()} == {"f", "A.a", "A.B.b"}
    exact = LineProfiler()
    assert exact.add_module(module, scoping_policy="exact") == 1
    assert exact.add_class(module.A, scoping_policy="exact") == 1
    assert {row[2] for row in exact.get_stats().rows()} == {"f", "A.a"}
    assert everything.add_class(module.A) == 0  # they are there already
    wrapping = LineProfiler()
    wrapping.add_class(module.A, wrap=True)
    assert module.A().a() == 2
    assert hits_of(wrapping, "a") == {1: 1}


def test_what_has_no_lines_is_said() -> None:
    with pytest.warns(UserWarning, match="<built-in function len> has no Python code"):
        LineProfiler().add_function(len)


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


def called(n: int) -> int:
    return n + 1


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


@repeated
def test_same_as_line_profiler() -> None:
    line_profiler = pytest.importorskip("line_profiler")
    kinds = (line_profiler.LineProfiler, LineProfiler)
    expected, found = best_rows(kinds, textwork, 200)
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    costs = [rows[1][2] / rows[1][1] for rows in best_rows(kinds, empty_lines, 2000)]
    for (_, hits, a), (_, _, b) in zip(expected, found, strict=True):
        theirs_net, ours_net = a - hits * costs[0], b - hits * costs[1]
        noise = hits * costs[0] + 100_000  # by what their own cost varies on a busy machine
        allowed = max(0.2 * theirs_net, noise)
        assert_between(theirs_net - allowed, ours_net, theirs_net + allowed)


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


class Sealed(type):
    def __setattr__(cls, name: str, value: object) -> None:
        raise TypeError(f"{cls.__name__} is sealed")


def test_a_class_that_cannot_be_changed_is_profiled_while_the_profiler_is_on() -> None:
    class Closed(metaclass=Sealed):
        def method(self) -> int:
            return 1

        def other(self) -> int:
            return 2

    profiler = dwell.LineProfiler()
    with pytest.warns(UserWarning, match=r"Closed'> lets nobody wrap method, other: profiled only"):
        assert profiler(Closed) is Closed
    Closed().method()
    with profiler:
        Closed().method()
    rows = {name: rows for (_, _, name), rows in profiler.get_stats().timings.items()}
    (method,) = [rows[name] for name in rows if name.endswith("method")]
    assert [hits for _, hits, _ in method] == [1]
    assert profiler.add_class(Closed) == 0
    assert [function.__name__ for function in profiler.functions] == ["method", "other"]


def test_a_class_does_not_own_functions_of_other_modules() -> None:
    class Holder:
        encode = staticmethod(json.dumps)
        decode = json.loads
        dumper = functools.partial(json.dump)
        mean = property(statistics.mean)

        def own(self) -> int:
            return 1

    before = dict(vars(Holder))
    for add in (
        lambda profiler: profiler.add_class(Holder, wrap=True),
        lambda profiler: profiler.add_function(Holder),
        lambda profiler: profiler(Holder),
    ):
        profiler = dwell.LineProfiler()
        add(profiler)
        assert [function.__name__ for function in profiler.functions] == ["own"]
    for name in ("encode", "decode", "dumper", "mean"):
        assert vars(Holder)[name] is before[name]


class StandsForNothing:
    """As flask.request does outside of a request."""

    @property
    def __dict__(self):  # type: ignore[override]
        raise RuntimeError("there is no request")

    def __getattr__(self, name: str) -> None:
        raise RuntimeError("there is no request")


def test_a_module_may_hold_what_cannot_be_looked_at(tmp_path: Path) -> None:
    module = load(tmp_path / "held.py", "def work():\n    return 1\n")
    module.request = StandsForNothing()  # type: ignore[attr-defined]
    profiler = LineProfiler()
    assert profiler.add_module(module, wrap=True) == 1
    assert module.work() == 1
    assert [rows[0][1] for rows in profiler.get_stats().timings.values()] == [1]


def test_show_text_prints_the_timings() -> None:
    def work() -> int:
        return 1

    profiler = LineProfiler(work)
    profiler.runcall(work)
    stats = profiler.get_stats()
    printed, shown = io.StringIO(), io.StringIO()
    stats.print(printed)
    dwell.show_text(stats.timings, stats.unit, stream=shown)
    assert shown.getvalue() == printed.getvalue() != ""
