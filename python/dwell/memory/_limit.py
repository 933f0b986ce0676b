# SPDX-License-Identifier: MIT
"""dwell.memory.limit: code that must not have more memory than that."""

import functools
import inspect
import os
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from ._paths import Path, Patterns, Scope, describe, parse_size, read, read_suppressions, size_text
from ._track import Threads, track


class LimitExceeded(AssertionError):
    """The message has the paths that had most; `peak` is in bytes."""

    def __init__(self, message: str, peak: int) -> None:
        super().__init__(message)
        self.peak = peak


class limit:
    """Fails with LimitExceeded when code has more than so much memory at its peak.

    A context manager, and a decorator of functions and coroutine functions. Every allocation of
    Python and of malloc counts that is made inside; memory from before does not. `threads="own"`
    counts the thread that entered alone, `paths` only what these functions and those they call
    allocate, `suppressions`, a file or a list, leaves out what others do: see docs/memory.md."""

    def __init__(
        self,
        most: str | int,
        *,
        threads: Threads = "all",
        paths: Iterable[str] = (),
        suppressions: str | os.PathLike[str] | Iterable[str] | None = None,
    ) -> None:
        self.most = parse_size(most)
        self.peak: int | None = None
        self._threads: Threads = threads
        track(threads=threads)  # checks the word
        self._only = Patterns([paths] if isinstance(paths, str) else paths)
        self._suppressed = read_suppressions(suppressions)
        self._tracked: track | None = None
        self._entered = 0  # by the thread that measures
        self._thread: int | None = None

    def __enter__(self) -> "limit":
        if self._tracked and self._thread == threading.get_native_id():  # recursion
            self._entered += 1
            return self
        tracked = track(mode="exact", threads=self._threads)
        try:
            tracked.start()
        except RuntimeError:
            raise RuntimeError(
                "dwell records memory already: limits and recordings go one at a time"
            ) from None
        self._tracked, self._entered, self._thread = tracked, 1, threading.get_native_id()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._entered -= 1
        if self._entered or not self._tracked:
            return
        tracked, self._tracked = self._tracked, None
        tracked.stop()
        paths = Scope(self._only, self._suppressed).choose(read(tracked.log()))
        self.peak = sum(path.peak for path in paths)
        if exc is None and self.peak > self.most:
            raise LimitExceeded(self._message(paths), self.peak)

    def _message(self, paths: list[Path]) -> str:
        what = f"{size_text(self.peak or 0)} at the peak, and {size_text(self.most)} are allowed"
        return f"{what}:\n{describe((path.peak, path) for path in paths)}"

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a generator sleeps inside; use limit as a context manager around it")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return coroutine

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call
