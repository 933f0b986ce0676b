# SPDX-License-Identifier: MIT
"""A progress bar that is also a region."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Generic, TextIO, TypeVar

from . import _core

_T = TypeVar("_T")
_REDRAW_SECONDS = 0.1
_BAR_WIDTH = 20
_BLOCKS = " ▏▎▍▌▋▊▉█"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def _bar(share: float) -> str:
    eighths = round(min(share, 1.0) * _BAR_WIDTH * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[rest] if rest else "")).ljust(_BAR_WIDTH)


class _Progress(Generic[_T]):
    """Each iteration, from asking for an item to asking for the next, is an entry."""

    def __init__(
        self, iterable: Iterable[_T], name: str, total: int | None, stream: TextIO | None
    ) -> None:
        self._iterator = iter(iterable)
        self._name = name
        self._total = total
        self._stream = stream if stream is not None and stream.isatty() else None
        self._region = _core.Region(name, False, True)
        self._is_open = False
        self._count = 0
        self._start = self._drawn = time.monotonic()

    def __iter__(self) -> Iterator[_T]:
        return self

    def _enter_for_caller(self) -> _T:
        """The name tells the region probe that the loop's own frame holds the region."""
        if self._is_open:
            self._region.__exit__(None, None, None)
            self._count += 1
        self._region.__enter__()
        self._is_open = True
        try:
            item = next(self._iterator)
        except BaseException as error:
            self._region.__exit__(type(error), error, None)
            self._is_open = False
            self._draw(last=True)
            raise
        if self._stream is not None and time.monotonic() - self._drawn >= _REDRAW_SECONDS:
            self._draw()
        return item

    __next__ = _enter_for_caller

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):  # the loop was left early
            self._region.__exit__(None, None, None)
            self._draw(last=True)

    def __len__(self) -> int:
        if self._total is None:
            raise TypeError("the length of this progress is not known")
        return self._total

    def _draw(self, last: bool = False) -> None:
        if self._stream is None:
            return
        self._drawn = time.monotonic()
        elapsed = self._drawn - self._start
        rate = self._count / elapsed if elapsed else 0.0
        if self._total:
            share = self._count / self._total
            left = (self._total - self._count) / rate if rate else 0.0
            text = (
                f"{share:4.0%}|{_bar(share)}| {self._count}/{self._total} "
                f"[{_duration(elapsed)}<{_duration(left)}, {rate:.4g}/s]"
            )
        else:
            text = f"{self._count} [{_duration(elapsed)}, {rate:.4g}/s]"
        self._stream.write(f"\r{self._name}: {text}\x1b[K" + ("\n" if last else ""))
        self._stream.flush()


def progress(
    iterable: Iterable[_T],
    name: str | None = None,
    total: int | None = None,
    stream: TextIO | None = None,
) -> Iterator[_T]:
    """Iterates with a progress bar on standard error; each iteration is a region entry.

    The bar is drawn only on a terminal. Without a name the region is called after
    the line that calls progress().
    """
    if name is None:
        caller = sys._getframe(1)
        file = caller.f_code.co_filename.rpartition("/")[2]
        name = f"{caller.f_code.co_name}() <{file}:{caller.f_lineno}>"
    if total is None:
        try:
            total = len(iterable)  # type: ignore[arg-type]
        except Exception:  # no length, or none that an int can hold
            total = None
    return _Progress(iterable, name, total, sys.stderr if stream is None else stream)
