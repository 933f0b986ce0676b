# SPDX-License-Identifier: MIT
"""Snapshots of the heap for `dwell run --heap`, in the program.

Little is imported: what is imported is on the heap.
"""

import _thread
import atexit
import os
import time

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_BUSY = 20  # snapshots take no more than this part of the time
_FIRST = 20  # at a region, so many are taken in any case


class Snapshots:
    """Snapshots into a recording: at the end, and when they are due. A forked child has none."""

    def __init__(self, log_file: str) -> None:
        self._file = log_file
        self._pid = os.getpid()
        self._at_region = 0  # how many were taken
        self._due = 0.0  # when the next at a region may be taken
        atexit.register(self.take, "exit")
        _core.heap_at_last(self._take_last)

    def take(self, reason: str) -> None:
        if os.getpid() != self._pid:
            return
        try:
            _core.HeapSnapshot().save(self._file, reason)
        except (OSError, MemoryError, RuntimeError) as error:
            os.write(2, f"dwell: the heap: {error}\n".encode())

    def take_every(self, seconds: float) -> None:
        _thread.start_new_thread(self._run, (seconds,))

    def take_at(self, number: int) -> None:
        """At a signal, unless the program does something with it."""
        import signal

        if signal.getsignal(number) in (signal.SIG_DFL, None):
            signal.signal(number, self._signalled)

    def take_around(self, region: str) -> None:
        """Where regions of that name begin and end."""
        _core.on_region(region, self._met)

    def _take_last(self) -> None:
        self.take("end")

    def _signalled(self, number: int, frame: "FrameType | None") -> None:
        self.take(f"signal {number}")

    def _met(self, reason: str) -> None:
        begin = time.monotonic()
        if self._at_region >= _FIRST and begin < self._due:
            return
        self._at_region += 1
        self.take(reason)
        end = time.monotonic()
        self._due = end + _BUSY * (end - begin)

    def _run(self, seconds: float) -> None:
        wait = seconds
        while True:
            time.sleep(wait)
            begin = time.monotonic()
            self.take(f"after {seconds:g} s")
            wait = max(seconds, _BUSY * (time.monotonic() - begin))


def watch_leaks(seconds: float) -> None:
    """Tells at the end what grew."""
    import sys

    from .heap import watch

    pid = os.getpid()
    watched = watch(seconds)
    watched.__enter__()

    def tell() -> None:
        if os.getpid() == pid and not watched.leaks.looks:  # once
            watched.__exit__()
            sys.stderr.write(f"dwell: {watched.leaks}\n")

    atexit.register(tell)
    _core.heap_at_last(tell)
