# SPDX-License-Identifier: MIT
"""Functions that profile lines while they run. A generator or coroutine does so only
while it is awake, so what runs between its steps is not profiled by it."""

import functools
import inspect
import sys
import types
from collections.abc import AsyncGenerator, Callable, Generator
from types import MethodType
from typing import Any

from . import _core

_CACHED = type(functools.lru_cache(len))
_ITERABLE_COROUTINE = 0x100  # CO_ITERABLE_COROUTINE: of types.coroutine


_WRAPPABLE = (
    types.FunctionType,
    MethodType,
    classmethod,
    staticmethod,
    property,
    functools.cached_property,
    functools.partial,
    functools.partialmethod,
    _CACHED,
)


def can_wrap(target: object) -> bool:
    """Whether it keeps its kind when it is wrapped."""
    return isinstance(target, _WRAPPABLE)


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
    if isinstance(target, _CACHED):
        return functools.lru_cache(**target.cache_parameters())(wrap(target.__wrapped__, profiler))
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
    wrapped: Callable[..., Any] = functools.wraps(function)(make(function, profiler))
    if make is _generator and function.__code__.co_flags & _ITERABLE_COROUTINE:
        wrapped = types.coroutine(wrapped)
    return wrapped


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
    """A coroutine, or what else can be awaited, that is profiled step by step."""

    def __init__(self, coroutine: Any, profiler: _core.LineTracer) -> None:
        self._coroutine = coroutine
        self._profiler = profiler

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from _steps(self._coroutine.__await__(), self._profiler))


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
            argument = yield item
            step, item = inner.send, None  # which would live on while the next one is made
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


def _unknown_to_the_loop(asend: Callable[[None], Any]) -> Any:
    """The first step of an async generator that the event loop does not close at its end: it
    closes the one around it, which closes this one."""
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _async_generator(
    function: Callable[..., Any], profiler: _core.LineTracer
) -> Callable[..., Any]:
    async def profiled(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        step = _unknown_to_the_loop(inner.asend)
        while True:
            try:
                item = await _Awake(step, profiler)
            except StopAsyncIteration:
                return
            try:
                step = inner.asend((yield item))
            except GeneratorExit:
                await _Awake(inner.aclose(), profiler)
                raise
            except BaseException as error:
                step = inner.athrow(error)

    return profiled
