# SPDX-License-Identifier: MIT
"""Lines: dwell.LineProfiler takes the place of line_profiler.LineProfiler."""

import linecache
import os
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any, TextIO, TypeVar

from . import _core, _files
from ._line_stats import LineStats, load_stats, show_text
from ._line_targets import functions_of
from ._line_wrap import can_wrap, wrap
from ._scoping import ScopingPolicy, members_in_scope

__all__ = ["LineProfiler", "LineStats", "ScopingPolicy", "load_stats", "show_text"]

_T = TypeVar("_T")


class LineProfiler(_core.LineTracer):
    """Times the lines of the functions that it is given, in all threads.

    As a decorator it profiles while the decorated function runs. Functions that are
    added with add_function() are profiled whenever it is enabled. callees=True also
    measures what each line calls, memory=True how much memory is resident before and after it.
    """

    timer_unit = 1e-9

    def __init__(
        self,
        *functions: Callable[..., Any],
        callees: bool = False,
        memory: bool = False,
        **_: Any,
    ) -> None:
        super().__init__(callees, memory)
        self.functions: list[FunctionType] = []
        self._sources: dict[str, str] = {}
        for function in functions:
            self.add_function(function)

    def __call__(self, target: _T) -> _T:
        """Adds a function, method, property, partial or class; what is returned profiles it."""
        if isinstance(target, type):
            self.add_class(target, wrap=True)
            return target
        self.add_callable(target)
        wrapped: _T = wrap(target, self)
        return wrapped

    wrap_callable = __call__

    def add_function(self, function: Callable[..., Any]) -> None:
        """Profiles the function whenever the profiler is enabled."""
        if not any(True for _ in functions_of(function)):
            message = f"{function!r} has no Python code, so it has no lines to profile"
            warnings.warn(message, stacklevel=2)
        self.add_callable(function)

    def add_callable(
        self,
        target: Any,
        guard: Callable[[FunctionType], bool] | None = None,
        name: str | None = None,
    ) -> int:
        """The same for anything that holds functions; 1 when one of them is new."""
        added = 0
        for function in functions_of(target):
            if guard and guard(function):
                continue
            if self.add_code(function.__code__):
                added = 1
                self.functions.append(function)
        return added

    def add_code(self, code: CodeType) -> bool:
        """The same for a code object, of a function or a module; True when it is new."""
        if not self._add(code):
            return False
        self._keep_source(code.co_filename)
        return True

    def _keep_source(self, file: str) -> None:
        """Keeps the text as it is now, not as it may be when the report is printed."""
        if file not in self._sources:
            linecache.checkcache(file)
            self._sources[file] = _files.source_text(file)

    def add_class(
        self,
        cls: type,
        *,
        scoping_policy: ScopingPolicy | str | dict[str, Any] | None = None,
        wrap: bool = False,
    ) -> int:
        """Adds the methods of a class; wrap=True also makes them enable the profiler."""
        return self._add_namespace(cls, scoping_policy, wrap, set())

    def add_module(
        self,
        module: ModuleType,
        *,
        scoping_policy: ScopingPolicy | str | dict[str, Any] | None = None,
        wrap: bool = False,
    ) -> int:
        """Adds the functions and classes of a module."""
        return self._add_namespace(module, scoping_policy, wrap, set())

    def _add_namespace(self, space: Any, policy: Any, wraps: bool, seen: set[int]) -> int:
        if id(space) in seen:
            return 0
        seen.add(id(space))
        added = 0
        refused = []
        for name, member in members_in_scope(space, policy):
            if isinstance(member, (type, ModuleType)):
                added += self._add_namespace(member, policy, wraps, seen)
                continue
            added += self.add_callable(member)
            if wraps and can_wrap(member) and any(True for _ in functions_of(member)):
                try:
                    setattr(space, name, wrap(member, self))
                except Exception:  # a metaclass may forbid it in any way
                    refused.append(name)
        if refused:
            names = ", ".join(refused)
            message = f"{space!r} lets nobody wrap {names}: profiled only while the profiler is on"
            warnings.warn(message, stacklevel=3)
        return added

    def enable(self) -> None:
        """Starts collecting lines."""
        self.enable_by_count()

    def disable(self) -> None:
        """Stops collecting lines, however often it was enabled."""
        while self.enable_count:
            self.disable_by_count()

    def __enter__(self) -> "LineProfiler":
        self.enable_by_count()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.disable_by_count()

    def run(self, cmd: str) -> "LineProfiler":
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd: str, globals: dict[str, Any], locals: dict[str, Any]) -> "LineProfiler":
        with self:
            exec(cmd, globals, locals)
        return self

    def runcall(self, func: Callable[..., _T], /, *args: Any, **kwargs: Any) -> _T:
        with self:
            return func(*args, **kwargs)

    def get_stats(self) -> LineStats:
        """What was collected so far."""
        return LineStats(
            log=self._log({file: text for file, text in self._sources.items() if text})
        )

    def dump_stats(self, filename: str | os.PathLike[str]) -> None:
        """Writes a recording, for load_stats() and `dwell report`."""
        self.get_stats().to_file(filename)

    def print_stats(
        self,
        stream: TextIO | None = None,
        output_unit: float | None = None,
        stripzeros: bool = False,
        details: bool = True,
        summarize: bool = False,
        sort: bool = False,
        rich: bool = False,
        *,
        callees: bool = False,
        config: Any = None,
    ) -> None:
        """Prints the lines of all functions, with hits and times."""
        self.get_stats().print(
            stream, output_unit, stripzeros, details, summarize, sort, rich, callees=callees
        )
