# SPDX-License-Identifier: MIT
"""Labels: decorated functions, and threads of executors.

Loaded when labels are first asked for; from then on work that is submitted to an executor has the
labels of whoever submits it.
"""

import functools
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import _core
from ._core import label as label
from ._core import labels as labels


def decorate(label: _core.Label, function: Any) -> Any:
    """A function of the same kind that runs `function` with the label."""
    import inspect  # takes long to load

    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorate(label, function.__func__))
    if not callable(function):
        message = f"a label decorates functions, not {type(function).__name__}"
        raise TypeError(message)
    if inspect.isasyncgenfunction(function):
        return _async_generator(label, function)
    if inspect.iscoroutinefunction(function):
        return _coroutine(label, function)
    if inspect.isgeneratorfunction(function):
        return _generator(label, function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with label:
            return function(*args, **kwargs)

    return call


def _coroutine(label: _core.Label, function: Any) -> Any:
    @functools.wraps(function)
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        with label:
            return await function(*args, **kwargs)

    return coroutine


def _generator(label: _core.Label, function: Any) -> Any:
    """Whoever iterates over it does not have the label meanwhile."""

    @functools.wraps(function)
    def generator(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        step = functools.partial(next, inner)
        while True:
            try:
                with label:
                    item = step()
            except StopIteration as end:
                return end.value
            try:
                sent = yield item
            except GeneratorExit:
                with label:
                    inner.close()
                raise
            except BaseException as error:
                step = functools.partial(inner.throw, error)
            else:
                step = functools.partial(inner.send, sent)

    return generator


def _async_generator(label: _core.Label, function: Any) -> Any:
    @functools.wraps(function)
    async def async_generator(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        step = anext(inner)
        while True:
            try:
                with label:
                    item = await step
            except StopAsyncIteration:
                return
            try:
                sent = yield item
            except GeneratorExit:
                with label:
                    await inner.aclose()
                raise
            except BaseException as error:
                step = inner.athrow(error)
            else:
                step = inner.asend(sent)

    return async_generator


def _runs_elsewhere(executor: ThreadPoolExecutor) -> bool:
    """Whether its threads run functions in other interpreters, which get them as copies."""
    module = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(executor, module.InterpreterPoolExecutor)


def _carry_to_executors() -> None:
    submit: Any = ThreadPoolExecutor.submit

    @functools.wraps(submit)
    def submit_with_labels(self: ThreadPoolExecutor, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return submit(self, fn if _runs_elsewhere(self) else _core.carry(fn), *args, **kwargs)

    ThreadPoolExecutor.submit = submit_with_labels  # type: ignore[assignment, method-assign]


_problem = _core.label_start()
if _problem is not None:
    sys.stderr.write(f"dwell: samples, calls and lines have no labels: {_problem}\n")
_carry_to_executors()
