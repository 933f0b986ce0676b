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


class Snapshots:
    """Snapshots into a recording: at the end, and when they are due. A forked child has none."""

    def __init__(self, log_file: str) -> None:
        self._file = log_file
        self._pid = os.getpid()
        atexit.register(self.take, "exit")

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

    def _signalled(self, number: int, frame: "FrameType | None") -> None:
        self.take(f"signal {number}")

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
        if os.getpid() == pid:
            watched.__exit__()
            sys.stderr.write(f"dwell: {watched.leaks}\n")

    atexit.register(tell)
