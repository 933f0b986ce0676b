# SPDX-License-Identifier: MIT
"""Exact calls: dwell.Profile takes the place of cProfile.Profile."""

import marshal
import pstats
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from . import _core

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Label = tuple[str, int, str]


class Subentry(NamedTuple):
    """Calls of one function by another."""

    code: CodeType | str
    callcount: int
    reccallcount: int
    totaltime: float
    inlinetime: float


class Entry(NamedTuple):
    """Calls of one function."""

    code: CodeType | str
    callcount: int
    reccallcount: int
    totaltime: float
    inlinetime: float
    calls: list[Subentry] | None


def label(code: CodeType | str) -> _Label:
    """How pstats names a function."""
    if isinstance(code, str):
        return ("~", 0, code)
    return (code.co_filename, code.co_firstlineno, code.co_name)


class Profile(_core.CallProfiler):
    """Counts and times every call, in all threads, with full call paths.

    timer is a function without arguments to use as the clock; it returns seconds,
    or, with a timeunit, a number of such units. builtins=False leaves out C functions.
    """

    def __init__(
        self,
        timer: Callable[[], float] | None = None,
        timeunit: float = 0.0,
        subcalls: bool = True,
        builtins: bool = True,
    ) -> None:
        super().__init__(timer, timeunit or 0.0)
        self._subcalls = subcalls
        self._builtins = builtins
        self.stats: dict[_Label, Any] = {}

    def enable(self, subcalls: bool | None = None, builtins: bool | None = None) -> None:
        """Starts collecting calls, in all threads."""
        if subcalls is not None:
            self._subcalls = subcalls
        self._enable(self._builtins if builtins is None else builtins)

    def getstats(self) -> list[Entry]:
        """One entry for each function that was called."""
        return [
            Entry(
                code or name,
                *numbers,
                [Subentry(c or n, *rest) for c, n, *rest, _ in calls] or None
                if self._subcalls
                else None,
            )
            for code, name, *numbers, calls in self._entries()
        ]

    def create_stats(self) -> None:
        self.disable()
        self.snapshot_stats()

    def snapshot_stats(self) -> None:
        """Brings `stats`, which pstats.Stats reads, up to date."""
        entries = self.getstats()
        callers: dict[_Label, dict[_Label, tuple[int, int, float, float]]] = {}
        self.stats = {}
        for entry in entries:
            mine = callers.setdefault(label(entry.code), {})
            _, count, recursive, total, inline, _ = entry
            self.stats[label(entry.code)] = count - recursive, count, inline, total, mine
        for entry in entries:
            for called in entry.calls or ():
                _, count, recursive, total, inline = called
                sums = callers[label(called.code)]
                numbers = (count, count - recursive, inline, total)
                before = sums.get(label(entry.code), (0, 0, 0.0, 0.0))
                sums[label(entry.code)] = tuple(a + b for a, b in zip(before, numbers, strict=True))

    def print_stats(self, sort: str | int | tuple[str | int, ...] = -1) -> None:
        keys = sort if isinstance(sort, tuple) else (sort,)
        pstats.Stats(self).strip_dirs().sort_stats(*keys).print_stats()

    def dump_stats(self, file: str) -> None:
        """Writes a file for pstats.Stats(file)."""
        self.create_stats()
        with open(file, "wb") as out:
            marshal.dump(self.stats, out)

    def run(self, cmd: str) -> "Profile":
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd: str, globals: dict[str, Any], locals: dict[str, Any]) -> "Profile":
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        self.enable()
        try:
            return func(*args, **kwargs)
        finally:
            self.disable()

    def __enter__(self) -> "Profile":
        self.enable()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.disable()


def run(statement: str, filename: str | None = None, sort: str | int = -1) -> None:
    """Profiles a statement run in __main__; prints its calls, or saves them to a file."""
    import __main__

    runctx(statement, __main__.__dict__, __main__.__dict__, filename, sort)


def runctx(
    statement: str,
    globals: dict[str, Any],
    locals: dict[str, Any],
    filename: str | None = None,
    sort: str | int = -1,
) -> None:
    """run() with the namespaces given."""
    profile = Profile()
    try:
        profile.runctx(statement, globals, locals)
    except SystemExit:
        pass
    finally:
        if filename is not None:
            profile.dump_stats(filename)
        else:
            profile.print_stats(sort)
