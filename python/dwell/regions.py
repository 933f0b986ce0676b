# SPDX-License-Identifier: MIT
"""Marked regions: install(), func() and what belongs to them."""

import functools
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from . import _children, _core, _files, _process
from ._snapshot import Snapshot, snapshot
from .reporters import ConsoleReporter, Reporter

_F = TypeVar("_F", bound=Callable[..., Any])


class RegionProfiler:
    """What install() started; reports when the program ends."""

    def __init__(self, reporter: Reporter, trace_file: str | None, log_file: str | None) -> None:
        self._reporter = reporter
        self._trace_file = trace_file
        self._log_file = log_file
        self._pid = os.getpid()
        self._finished = False

    region = staticmethod(_core.region)
    iter_proxy = staticmethod(_core.iter_proxy)

    @staticmethod
    def func(name: str | None = None, asglobal: bool = False) -> Callable[[_F], _F]:
        return func(name, asglobal)

    def snapshot(self) -> Snapshot:
        return snapshot()

    def finalize(self) -> None:
        """Ends the recording, writes the files and prints the report; once."""
        if self._finished or not _core.is_active():
            return
        self._finished = True
        if os.getpid() != self._pid:  # a forked child writes its log, and leaves reports to us
            _core.stop()
            return
        last = snapshot()
        log_file = _core.log_file()
        if getattr(self._reporter, "is_for_people", False):
            _core.say_reported()  # `dwell run` need not do it again
        _core.stop()
        self._reporter.dump_profiler(last)
        if self._log_file is not None and log_file != self._log_file:
            from shutil import copyfile

            _core.flush_last()  # `dwell run` records elsewhere, and samples beside
            copyfile(log_file, self._log_file)
        _children.gather(self._log_file)
        if self._trace_file is not None:
            _write_trace(log_file, self._trace_file)
            if self._log_file is None and log_file == _trace_log(self._trace_file):
                os.unlink(log_file)

    def _finalize_at_exit(self) -> None:
        try:
            self.finalize()
        except Exception as error:
            sys.stderr.write(f"dwell: the report failed: {error}\n")


def _write_trace(log_file: str, trace_file: str) -> None:
    try:
        _core.export(log_file, "chrome", trace_file)
    except ValueError:  # nothing was entered, so there is no timeline
        with open(trace_file, "w", opener=_files.private) as out:
            out.write('{"traceEvents": []}\n')


_installed: RegionProfiler | None = None


def _trace_log(trace_file: str) -> str:
    """Where events wait until the program ends; a killed program leaves it for `dwell export`."""
    return trace_file + ".dwell"


def install(
    reporter: Reporter | None = None,
    chrome_trace_file: str | os.PathLike[str] | None = None,
    log_file: str | os.PathLike[str] | None = None,
    *,
    timeline: bool = False,
    cpu: bool = False,
    follow: bool = False,
    debug_mode: bool = False,
    timer_cls: Any = None,
) -> RegionProfiler:
    """Turns regions on. When the program ends, `reporter` prints what they took.

    chrome_trace_file gets the timeline for chrome://tracing or Perfetto; log_file
    gets everything, crash-safe, for the `dwell` program (with the timeline if
    asked). cpu=True measures CPU time beside wall time. follow=True records the regions
    of Python programs that this one starts, too; when it ends the recordings of all
    children become part of log_file.

    debug_mode and timer_cls are arguments of region_profiler's install() that do nothing here.
    """
    global _installed
    if debug_mode:
        message = (
            "debug_mode has no effect: timeline=True with a log_file keeps every entry and exit"
        )
        warnings.warn(message, stacklevel=2)
    if timer_cls is not None:
        warnings.warn("timer_cls has no effect: dwell has its own clock", stacklevel=2)
    if _installed is not None:
        warnings.warn("dwell.install() must be called only once", stacklevel=2)
        return _installed
    trace = None if chrome_trace_file is None else os.path.abspath(chrome_trace_file)
    log = None if log_file is None else os.path.abspath(log_file)
    timeline = timeline or trace is not None
    if follow:
        _children.follow(log, ["regions", *["timeline"] * timeline, *["cpu"] * cpu])
    if _core.is_active():  # under `dwell run`
        _core.widen(timeline, cpu)
    else:
        _process.describe()
        _core.start(log or _trace_log(trace) if trace else log, timeline=timeline, cpu=cpu)
    _installed = RegionProfiler(reporter or ConsoleReporter(), trace, log)
    _process.stop_at_end(_installed._finalize_at_exit)
    return _installed


def func(
    name: str | None = None, as_global: bool = False, *, asglobal: bool = False
) -> Callable[[_F], _F]:
    """A decorator: each call of the function is a region named `function()`.

    The body is measured, also of generators and coroutines, whose time asleep is
    told apart. What is decorated keeps its signature and its kind.
    """

    def decorate(function: Any) -> Any:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(decorate(function.__func__))
        label = name or getattr(function, "__name__", None) or type(function).__name__
        return _wrapper(function, _core.Region(f"{label}()", as_global or asglobal))

    return decorate


def _wrapper(function: Any, region: _core.Region) -> Any:
    """A function of the same kind that runs `function` inside the region."""
    import inspect  # takes long to load

    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def async_generator(*args: Any, **kwargs: Any) -> Any:
            with region:
                inner = function(*args, **kwargs)
                step = anext(inner)
                while True:
                    try:
                        item = await step
                    except StopAsyncIteration:
                        return
                    try:
                        sent = yield item
                    except GeneratorExit:
                        await inner.aclose()
                        raise
                    except BaseException as error:
                        step = inner.athrow(error)
                    else:
                        step = inner.asend(sent)

        return async_generator
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with region:
                return await function(*args, **kwargs)

        return coroutine
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            with region:
                return (yield from function(*args, **kwargs))

        return generator

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with region:
            return function(*args, **kwargs)

    return call


class AsyncIterProxy:
    """iter_proxy() over an async iterator: each await of the next item is an entry."""

    def __init__(self, iterable: Any, region: _core.Region) -> None:
        self._iterator: AsyncIterator[Any] = aiter(iterable)
        self._region = region

    def __aiter__(self) -> "AsyncIterProxy":
        return self

    async def __anext__(self) -> Any:
        with self._region:
            return await anext(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)
