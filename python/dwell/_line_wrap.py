# SPDX-License-Identifier: MIT
"""Functions that profile lines while they run. A generator or coroutine does so only
while it is awake, so what runs between its steps is not profiled by it."""

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from types import MethodType
from typing import Any

from . import _core


def wrap(target: Any, profiler: _core.LineTracer) -> Any:
    """The same kind of thing, with its functions enabling the profiler."""
    if isinstance(target, (classmethod, staticmethod)):
        return type(target)(wrap(target.__func__, profiler))
    if isinstance(target, MethodType):
        return MethodType(wrap(target.__func__, profiler), target.__self__)
    if isinstance(target, property):
        get, set_, delete = (
            part and wrap(part, profiler) for part in (target.fget, target.fset, target.fdel)
        )
        return property(get, set_, delete, target.__doc__)
    if isinstance(target, functools.cached_property):
        wrapped = functools.cached_property(wrap(target.func, profiler))
        wrapped.attrname = target.attrname
        return wrapped
    if isinstance(target, (functools.partial, functools.partialmethod)):
        return type(target)(wrap(target.func, profiler), *target.args, **target.keywords)
    return _wrap_function(target, profiler)


def _wrap_function(function: Callable[..., Any], profiler: _core.LineTracer) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):
        make = _coroutine
    elif inspect.isasyncgenfunction(function):
        make = _async_generator
    elif inspect.isgeneratorfunction(function):
        make = _generator
    else:
        make = _plain
    return functools.wraps(function)(make(function, profiler))


def _plain(function: Callable[..., Any], profiler: _core.LineTracer) -> Callable[..., Any]:
    enable, disable = profiler.enable_by_count, profiler.disable_by_count

    def profiled(*args: Any, **kwargs: Any) -> Any:
        enable()
        try:
            return function(*args, **kwargs)
        finally:
            disable()

    return profiled


def _coroutine(function: Callable[..., Any], profiler: _core.LineTracer) -> Callable[..., Any]:
    async def profiled(*args: Any, **kwargs: Any) -> Any:
        return await _Awake(function(*args, **kwargs), profiler)

    return profiled


class _Awake:
    """A coroutine that is profiled step by step."""

    def __init__(self, coroutine: Any, profiler: _core.LineTracer) -> None:
        self._coroutine = coroutine
        self._profiler = profiler

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from _steps(self._coroutine, self._profiler))


def _generator(function: Callable[..., Any], profiler: _core.LineTracer) -> Callable[..., Any]:
    def profiled(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _steps(function(*args, **kwargs), profiler))

    return profiled


def _steps(inner: Any, profiler: _core.LineTracer) -> Generator[Any, Any, Any]:
    """Drives a generator or coroutine as `yield from` would, and profiles each step."""
    step, argument = inner.send, None
    while True:
        profiler.enable_by_count()
        try:
            item = step(argument)
        except StopIteration as stop:
            return stop.value
        finally:
            profiler.disable_by_count()
        try:
            step, argument = inner.send, (yield item)
        except GeneratorExit:
            with _Enabled(profiler):
                inner.close()
            raise
        except BaseException as error:
            step, argument = inner.throw, error


class _Enabled:
    def __init__(self, profiler: _core.LineTracer) -> None:
        self._profiler = profiler

    def __enter__(self) -> None:
        self._profiler.enable_by_count()

    def __exit__(self, *_: object) -> None:
        self._profiler.disable_by_count()


def _async_generator(
    function: Callable[..., Any], profiler: _core.LineTracer
) -> Callable[..., Any]:
    async def profiled(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        step, argument = inner.asend, None
        while True:
            try:
                item = await _Awake(step(argument), profiler)
            except StopAsyncIteration:
                return
            try:
                step, argument = inner.asend, (yield item)
            except GeneratorExit:
                await _Awake(inner.aclose(), profiler)
                raise
            except BaseException as error:
                step, argument = inner.athrow, error

    return profiled
