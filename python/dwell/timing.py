# SPDX-License-Identifier: MIT
"""dwell.timeit(): how long code takes, and how far that figure can be trusted."""

import ast
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from . import _core
from ._time_worker import Code, overhead_ns

_T = TypeVar("_T")
Timed = str | ast.Module | Callable[[], object]

CONFIDENCE = 0.95
_LONG_SECONDS = 2.0


class Timing:
    """How long code took: `repeat` runs of `loops` loops each. Times are in seconds.

    It has the attributes of IPython's TimeitResult. `average`, `stdev` (of the population),
    `best`, `worst` and `timings` are for one loop, as are `median`, `mad`, `iqr` and `ci`, the
    interval that holds the median with `ci_confidence`: at least `confidence`, with enough
    runs. Of runs in fresh processes, `group` in each, these are of the processes' medians; and so
    is `outliers`, how many are far from the others. `group` is 0 when all runs were made in one
    process. `warnings` has a sentence for each reason why the figures cannot be trusted.
    """

    def __init__(
        self,
        name: str,
        loops: int,
        runs_ns: list[int],
        *,
        compile_time: float = 0.0,
        user: float = 0.0,
        system: float = 0.0,
        peak_rss: int = 0,
        gc_runs: int = 0,
        overhead: float = 0.0,
        group: int = 0,
        confidence: float = CONFIDENCE,
        properties: dict[str, str] | None = None,
    ) -> None:
        self.name = name
        self.loops = loops
        self.runs_ns = runs_ns
        self.repeat = len(runs_ns)
        self.all_runs = [ns * 1e-9 for ns in runs_ns]
        self.timings = [seconds / loops for seconds in self.all_runs]
        self.compile_time = compile_time
        self.user = user
        self.system = system
        self.peak_rss = peak_rss
        self.gc_runs = gc_runs
        self.overhead = overhead
        self.group = group
        self.confidence = confidence
        self.properties = properties or {}
        found = _core.summarize_runs([ns / loops for ns in runs_ns], loops, group, confidence)
        self.average: float = found["mean"] * 1e-9
        self.stdev: float = found["stdev"] * 1e-9
        self.best: float = found["min"] * 1e-9
        self.worst: float = found["max"] * 1e-9
        self.median: float = found["median"] * 1e-9
        self.mad: float = found["mad"] * 1e-9
        self.iqr: float = (found["q3"] - found["q1"]) * 1e-9
        self.ci: tuple[float, float] = (found["interval"][0] * 1e-9, found["interval"][1] * 1e-9)
        self.ci_confidence: float = found["confidence"]
        self.outliers: int = found["outliers"]
        self.warnings: list[str] = found["warnings"].splitlines()

    @property
    def peak_bytes(self) -> int | None:
        """The most that one loop has allocated at a time, where that was asked for."""
        text = self.properties.get("peak_bytes")
        return int(text) if text else None

    def note_peak(self, peak: int | None) -> None:
        if peak is not None:
            self.properties["peak_bytes"] = str(peak)

    def __str__(self) -> str:
        return self.line()

    def line(self, digits: int = 3) -> str:
        """The line that %timeit prints."""
        runs = "run" if self.repeat == 1 else "runs"
        loops = "loop" if self.loops == 1 else "loops"
        return (
            f"{format_time(self.average, digits)} ± {format_time(self.stdev, digits)} per loop "
            f"(mean ± std. dev. of {self.repeat} {runs}, {self.loops:,} {loops} each)"
        )

    def __repr__(self) -> str:
        return f"<Timing : {self}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def save(self, file: str) -> None:
        """Writes the runs to a log, with a description of the machine."""
        save([self], file)


def format_time(seconds: float, digits: int = 3) -> str:
    """1.23e-05 is "12.3 µs"."""
    return _core.format_time(seconds * 1e9, digits)


def save(timings: "list[Timing]", file: str) -> None:
    """Writes timings to one log, with a description of the machine."""
    from ._machine import describe

    _core.write_timings(
        file, describe(), [(t.name, t.properties, t.loops, t.runs_ns) for t in timings]
    )


def name_of(code: Timed) -> str:
    """What people call the code."""
    if isinstance(code, ast.Module):
        code = ast.unparse(code)
    if isinstance(code, str):
        return "; ".join(line.strip() for line in code.strip().splitlines()) or "pass"
    inner = getattr(code, "func", code)  # of a functools.partial
    name: str = getattr(inner, "__qualname__", None) or type(code).__name__
    return name.rpartition("<locals>.")[2]


def check_code(code: object, what: str = "the code to time") -> None:
    if not isinstance(code, (str, ast.Module)) and not callable(code):
        raise TypeError(f"{what} must be a string or a callable, not {type(code).__name__}")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Notes on an exception which of several pieces of code raised it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"while timing {name}")
        raise


def with_progress(steps: "list[_T]", seconds: float) -> "Iterable[_T]":
    """The steps, with a bar on standard error when they take long and somebody watches."""
    if seconds < _LONG_SECONDS or sys.stderr is None or not sys.stderr.isatty():
        return steps
    from ._progress import progress

    bar: Iterator[_T] = progress(steps, "timing")
    return bar


def caller_globals(given: dict[str, Any] | None, depth: int = 2) -> dict[str, Any]:
    """The namespace for statements: the given one, else the caller's."""
    return sys._getframe(depth).f_globals if given is None else given


def timeit(
    stmt: Timed = "pass",
    setup: Timed = "pass",
    *,
    globals: dict[str, Any] | None = None,
    repeat: int = 7,
    number: int = 0,
    min_time: float = 0.2,
    gc: bool = False,
    subtract_overhead: bool = False,
    processes: int = 0,
    confidence: float = CONFIDENCE,
    name: str | None = None,
    cpu: bool = False,
) -> Timing:
    """Times a callable or a statement: `repeat` runs of `number` loops each.

    Without a number as many loops are taken (1, 2, 5, 10, 20, ...) as make a run last
    `min_time` seconds. `setup`, a statement or a callable, is run before each run and not
    timed. Statements see the names of the caller's module, or those of `globals`. The garbage
    collector is off during a run, unless gc=True. subtract_overhead=True takes the time of the
    empty loop out of each run. cpu=True measures the CPU time of the process, not the time that
    passes.

    With `processes` the runs are made in so many fresh interpreters, `repeat` in each.
    """
    check_code(stmt)
    check_code(setup, "setup")
    check_counts(repeat, number, confidence, processes, min_time)
    name = name or name_of(stmt)
    if processes:
        from ._time_process import Alternative, time_in_processes

        if globals is not None:
            raise ValueError("globals cannot be sent to a fresh process; use setup instead")
        if cpu:
            raise ValueError("CPU time is measured in this process only, not in fresh ones")
        alternative = Alternative(stmt, setup, name, number)
        return time_in_processes(
            [alternative], processes, repeat, min_time, gc, subtract_overhead, confidence
        )[0]
    code = Code(stmt, setup, caller_globals(globals))
    code.cpu = cpu
    loops, spent = code.first_size(number, min_time, gc)
    code.start_over()
    empty = overhead_ns(loops) if subtract_overhead else 0
    runs = [
        max(code.run(loops, gc) - empty, 0)
        for _ in with_progress(list(range(repeat)), repeat * spent * 1e-9)
    ]
    properties = {"clock": "cpu"} if cpu else None
    return timing_of(code, name, loops, runs, empty, confidence, properties)


def timing_of(
    code: Code,
    name: str,
    loops: int,
    runs_ns: list[int],
    empty_ns: int,
    confidence: float,
    properties: dict[str, str] | None = None,
) -> Timing:
    return Timing(
        name,
        loops,
        runs_ns,
        compile_time=code.compile_time,
        user=code.user,
        system=code.system,
        peak_rss=code.peak_rss,
        gc_runs=code.gc_runs,
        overhead=empty_ns * 1e-9 / loops,
        confidence=confidence,
        properties=properties,
    )


def check_counts(
    repeat: int, number: int, confidence: float, processes: int, min_time: float
) -> None:
    if repeat < 1:
        raise ValueError(f"repeat must be at least 1, not {repeat}")
    if number < 0:
        raise ValueError(f"number must be at least 1, or 0 to choose one, not {number}")
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be from 0.5 to below 1, not {confidence}")
    if processes < 0:
        raise ValueError(f"processes must be at least 1, or 0 for none, not {processes}")
    if not 0 < min_time < math.inf:
        raise ValueError(f"min_time must be a number of seconds above 0, not {min_time}")
