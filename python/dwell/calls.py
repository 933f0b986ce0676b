# SPDX-License-Identifier: MIT
"""Exact calls: dwell.Profile takes the place of cProfile.Profile."""

import marshal
import pstats
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from . import _core, _files
from ._cost import cost

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
_Label = tuple[str, int, str]
_Numbers = tuple[int, int, float, float]


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


def describe(cls: type[_T], function: Callable[[_T], str] | None) -> None:
    """Lets a function say what signatures show for arguments of exactly this class.

    It is called with the argument each time, so it should be quick; only the first line
    of its text is shown. None takes the function away."""
    _core.CallTracer._describe(cls, function)


def _label(code: CodeType | None, name: str) -> _Label:
    """How pstats names a function."""
    if code is None:
        return ("~", 0, name)
    return (code.co_filename, code.co_firstlineno, name)


def _added(a: _Numbers, b: _Numbers) -> _Numbers:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]


class Profile(_core.CallTracer):
    """Counts and times every call, in all threads, with full call paths.

    all_threads=False counts only those of the thread that enables it.

    timer is a function without arguments to use as the clock; it returns seconds,
    or, with a timeunit, a number of such units. builtins=False leaves out C functions.

    signatures=True tells each function apart by the types of its arguments and the
    shapes of arrays: dot(a:ndarray(dtype=float32, shape=(16,)), n:int). elements=True also
    looks into short lists. Calls of a function that has more than max_signatures of them
    are counted together, as f(…).

    calibrated=True takes the time that measuring itself took out of the times again.
    """

    def __init__(
        self,
        timer: Callable[[], float] | None = None,
        timeunit: float = 0.0,
        subcalls: bool = True,
        builtins: bool = True,
        signatures: bool = False,
        *,
        elements: bool = False,
        max_signatures: int = 1000,
        calibrated: bool = False,
        all_threads: bool = True,
    ) -> None:
        super().__init__(timer, timeunit or 0.0, signatures, elements, max_signatures)
        self._subcalls = subcalls
        self._builtins = builtins
        self._signatures = signatures
        self._max_signatures = max_signatures
        self._calibrated = calibrated and timer is None
        self._all_threads = all_threads
        self._has_own_clock = timer is not None
        self.stats: dict[_Label, Any] = {}

    def enable(self, subcalls: bool | None = None, builtins: bool | None = None) -> None:
        """Starts collecting calls, in all threads unless the profile is of one thread."""
        if subcalls is not None:
            self._subcalls = subcalls
        wants_builtins = self._builtins if builtins is None else builtins
        self._enable(wants_builtins, False, self._all_threads)

    def _measured(self) -> "list[_core.CallEntry]":
        """The entries, with the cost of measuring taken out if that is wanted."""
        if not self._calibrated:
            return self._entries()
        self.disable()
        return self._entries(*cost(self._signatures))

    def overhead(self) -> float:
        """Seconds that measuring took, estimated by what a call costs on this machine."""
        self.disable()
        each = cost(self._signatures)
        python = sum(entry[2] for entry in self._entries() if entry[0] is not None)
        c = sum(entry[2] for entry in self._entries() if entry[0] is None)
        of_python = each.python_inside + each.python_outside
        return (python * of_python + c * (each.c_inside + each.c_outside)) * 1e-9

    def getstats(self) -> list[Entry]:
        """One entry for each function that was called."""
        return [
            Entry(code or name, count, recursive, total, inline, self._subentries(called))
            for code, name, count, recursive, total, inline, called in self._measured()
        ]

    def _subentries(self, called: "list[_core.CallEntry]") -> list[Subentry] | None:
        return [
            Subentry(code or name, count, recursive, total, inline)
            for code, name, count, recursive, total, inline, _ in (called if self._subcalls else [])
        ] or None

    def create_stats(self) -> None:
        self.disable()
        self.snapshot_stats()

    def snapshot_stats(self) -> None:
        """Brings `stats`, which pstats.Stats reads, up to date."""
        entries = self._measured()
        callers: dict[_Label, dict[_Label, _Numbers]] = {}
        self.stats = {}
        for code, name, count, recursive, total, inline, _ in entries:
            key = _label(code, name)
            before = self.stats.get(key, (0, 0, 0.0, 0.0))[:4]
            sums = _added(before, (count - recursive, count, inline, total))
            self.stats[key] = (*sums, callers.setdefault(key, {}))
        for code, name, *_, called in entries:
            key = _label(code, name)
            for callee, callee_name, count, recursive, total, inline, _ in (
                called if self._subcalls else ()
            ):
                edges = callers[_label(callee, callee_name)]
                before = edges.get(key, (0, 0, 0.0, 0.0))
                edges[key] = _added(before, (count, count - recursive, inline, total))

    def print_stats(self, sort: str | int | tuple[str | int, ...] = -1) -> None:
        keys = sort if isinstance(sort, tuple) else (sort,)
        stats: Any = pstats.Stats(self)  # type: ignore[arg-type]
        stats.strip_dirs().sort_stats(*keys).print_stats()
        self._print_overhead()
        for file, line, name in stats.stats:
            if name.endswith("(…)"):
                print(f"{file}:{line}({name}): calls beyond {self._max_signatures} signatures")

    def _print_overhead(self) -> None:
        if self._has_own_clock:
            return
        try:
            seconds = self.overhead()
        except ValueError:  # another profiler runs, so the cost cannot be measured
            return
        which = "taken out of" if self._calibrated else "part of"
        print(f"Measuring took about {seconds:.3f} seconds, {which} the times above.")

    def suspensions(self) -> dict[_Label, tuple[int, float]]:
        """How often generators and coroutines were resumed, and the seconds they slept."""
        return {
            _label(code, name): (resumes, seconds)
            for code, name, resumes, seconds in self._suspensions()
            if resumes
        }

    def dump_stats(self, file: str) -> None:
        """Writes a file for pstats.Stats(file)."""
        self.create_stats()
        with open(file, "wb", opener=_files.private) as out:
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

    async def __aenter__(self) -> "Profile":
        self.enable()
        return self

    async def __aexit__(
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
