# SPDX-License-Identifier: MIT
"""dwell.compare(): which of several pieces of code is faster, by how much, and how sure that is."""

import os
from typing import Any, NamedTuple

from . import _core
from ._time_worker import Code, overhead_ns
from .timing import (
    CONFIDENCE,
    Timed,
    Timing,
    caller_globals,
    check_code,
    check_counts,
    name_of,
    naming,
    save,
    timing_of,
    with_progress,
)

_REPEAT_MIN, _REPEAT_MAX = 10, 40
_BUDGET_SECONDS = 10.0


class Difference(NamedTuple):
    """One piece of code beside the first: `ratio` is its time to the first's."""

    ratio: float
    ci: tuple[float, float]
    bootstrap_ci: tuple[float, float]
    p_value: float
    mann_whitney_p: float
    cliffs_delta: float
    outcome: str
    verdict: str


class Comparison:
    """Several timings, made side by side, and what sets each apart from the first.

    `ratio` is the second one's time to the first one's, `ci` its confidence interval,
    `bootstrap_ci` that of the ratio of the medians by resampling. `p_value` (two-sided) is by
    Wilcoxon's signed ranks, as `ci` is, for timings that compare() made side by side, and else
    `mann_whitney_p`. `cliffs_delta` is the chance that a run of the second takes longer less the
    chance that it takes less, `outcome` one of "faster", "slower", "same" and "unknown", and
    `verdict` a sentence. `differences` has these for all but the first.
    """

    def __init__(self, timings: list[Timing], confidence: float = CONFIDENCE) -> None:
        self.timings = timings
        self.confidence = confidence
        self.differences = [
            _difference(timings[0], other, letters(0), letters(index), confidence)
            for index, other in enumerate(timings[1:], 1)
        ]
        first = self.differences[0]
        self.ratio, self.ci, self.bootstrap_ci = first.ratio, first.ci, first.bootstrap_ci
        self.p_value, self.mann_whitney_p = first.p_value, first.mann_whitney_p
        self.cliffs_delta = first.cliffs_delta
        self.outcome, self.verdict = first.outcome, first.verdict

    @property
    def warnings(self) -> list[str]:
        """The warnings of the timings, each after the letter of its timing."""
        return [
            f"{letters(index)}: {warning}"
            for index, timing in enumerate(self.timings)
            for warning in timing.warnings
        ]

    def __str__(self) -> str:
        width = max(len(timing.name) for timing in self.timings)
        rows = [
            f"{letters(index)}: {timing.name:{min(width, 40)}}  {timing}"
            for index, timing in enumerate(self.timings)
        ]
        return "\n".join([*rows, *(difference.verdict for difference in self.differences)])

    def __repr__(self) -> str:
        return f"<Comparison : {self.verdict}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def save(self, file: str) -> None:
        """Writes the runs to a log, with a description of the machine."""
        save(self.timings, file)


def letters(index: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    before, at = divmod(index, 26)
    return (letters(before - 1) if before else "") + chr(ord("A") + at)


def _are_paired(first: Timing, other: Timing) -> bool:
    """Runs of the same number were made side by side."""
    session = first.properties.get("session")
    return (
        bool(session)
        and session == other.properties.get("session")
        and (first.repeat, first.group) == (other.repeat, other.group)
    )


def _difference(
    first: Timing, other: Timing, first_name: str, other_name: str, confidence: float
) -> Difference:
    def compared(is_paired: bool) -> dict[str, Any]:
        return _core.compare_runs(
            first.timings,
            other.timings,
            (first.group, other.group),
            is_paired,
            confidence,
            first_name,
            other_name,
        )

    found = compared(_are_paired(first, other))
    return Difference(
        found["ratio"],
        found["interval"],
        compared(is_paired=False)["interval"],
        found["p"],
        found["mann_whitney_p"],
        found["delta"],
        found["outcome"],
        found["verdict"],
    )


def new_session() -> str:
    """A number that timings made side by side share. It also decides their order."""
    return os.urandom(8).hex()


def schedule(count: int, rounds: int, session: str) -> list[int]:
    """Which of `count` is next: all of them in each round, in an order that chance decides.

    Of equal code either is then as likely to be the slower one of its round, whatever the
    machine does meanwhile; in a fixed order, as ABBA, noise that lasts for two runs favours the
    same one in two rounds.
    """
    import random

    chance = random.Random(session)
    return [at for _ in range(rounds) for at in chance.sample(range(count), count)]


def _fitting_repeat(run_seconds: float) -> int:
    """As many rounds as fit into the time that a person likes to wait."""
    fitting = int(_BUDGET_SECONDS / max(run_seconds, 1e-9)) // 2 * 2
    return min(max(fitting, _REPEAT_MIN), _REPEAT_MAX)


def agreed(loops: list[int]) -> list[int]:
    """The same number for all when they are at most a step of the calibration apart: a busy
    machine does not disturb long and short runs alike."""
    return [max(loops)] * len(loops) if max(loops) <= 2.5 * min(loops) else loops


def compare(
    a: Timed,
    b: Timed,
    *more: Timed,
    setup: Timed = "pass",
    globals: dict[str, Any] | None = None,
    repeat: int | None = None,
    number: int = 0,
    min_time: float = 0.02,
    gc: bool = False,
    subtract_overhead: bool = False,
    processes: int = 0,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Times callables or statements in turns and tells each from the first.

    The arguments are those of timeit(). Without `repeat` there are 40 runs of each, fewer (but
    10) when they are long. With `processes` each piece of code is run in so many fresh
    interpreters, which take turns, `repeat` (5) times in each: statements and callables that
    can be pickled by name, because nothing of this process is there.
    """
    codes = [a, b, *more]
    for code in codes:
        check_code(code)
    check_code(setup, "setup")
    check_counts(1 if repeat is None else repeat, number, confidence, processes, min_time)
    if processes:
        from ._time_process import RUNS, Alternative, time_in_processes

        if globals is not None:
            raise ValueError("globals cannot be sent to a fresh process; use setup instead")
        alternatives = [Alternative(code, setup, name_of(code), number) for code in codes]
        timings = time_in_processes(
            alternatives, processes, repeat or RUNS, min_time, gc, subtract_overhead, confidence
        )
        return Comparison(timings, confidence)
    space = caller_globals(globals)
    names = [name_of(code) for code in codes]
    compiled = []
    for code, name in zip(codes, names, strict=True):
        with naming(name):
            compiled.append(Code(code, setup, space))
    timings = _take_turns(
        compiled, names, repeat, number, min_time, gc, subtract_overhead, confidence
    )
    return Comparison(timings, confidence)


def _take_turns(
    codes: list[Code],
    names: list[str],
    repeat: int | None,
    number: int,
    min_time: float,
    gc: bool,
    subtract_overhead: bool,
    confidence: float,
) -> list[Timing]:
    sizes = []
    for code, name in zip(codes, names, strict=True):
        with naming(name):
            sizes.append(code.first_size(number, min_time, gc))
    round_seconds = sum(spent for _, spent in sizes) * 1e-9
    rounds = repeat or _fitting_repeat(round_seconds)
    loops = agreed([each for each, _ in sizes])
    empty = [overhead_ns(each) if subtract_overhead else 0 for each in loops]
    runs: list[list[int]] = [[] for _ in codes]
    for code in codes:
        code.start_over()
    session = new_session()
    for at in with_progress(schedule(len(codes), rounds, session), rounds * round_seconds):
        with naming(names[at]):
            runs[at].append(max(codes[at].run(loops[at], gc) - empty[at], 0))
    return [
        timing_of(code, name, each, spent, nothing, confidence, {"session": session})
        for code, name, each, spent, nothing in zip(codes, names, loops, runs, empty, strict=True)
    ]
