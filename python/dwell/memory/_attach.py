# SPDX-License-Identifier: MIT
"""`dwell attach PID --memory`, in two processes: the command, and the program that it records.

From Python 3.14 on, a process runs a script for another at its next safe point. What it runs begins
the recording and a thread, which ends it when the command says so, is gone, or the time is over."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

_ENTER_SECONDS = 10.0  # for the process to come to a safe point
_LOOK_SECONDS = 0.1
_INTERVAL_NS = 100_000_000
_TROUBLE = 1

_SCRIPT = """\
def _dwell_enter(place, home, version, *arguments):
    import os, sys
    try:
        if sys.version_info[:2] != version:
            raise RuntimeError("the dwell that attaches is for another version of Python")
        sys.path.append(home)
        try:
            from dwell.memory import _attach
        finally:
            sys.path.remove(home)
        answer = _attach.enter(place, *arguments)
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    with open(os.path.join(place, "answer.part"), "w") as file:
        file.write(answer)
    os.rename(os.path.join(place, "answer.part"), os.path.join(place, "answer"))

_dwell_enter(*ARGUMENTS)
del _dwell_enter
"""


def enter(place: str, command: int, file: str, mode: Any, seconds: float) -> str:
    """In the program: begins to record. The answer is empty, or says why not."""
    import threading

    from .. import _core
    from ._track import track

    if _core.memory_is_on():
        return "its memory is recorded already"
    _core.sampler_own_work(True)  # what is allocated here is not the program's
    try:
        tracked = track(file, mode=mode, follows=False)
        tracked.start()
        with contextlib.suppress(ValueError):  # something reads them already
            _core.gauges_start(file, _INTERVAL_NS, False)
        threading.Thread(
            target=_leave, args=(tracked, place, command, seconds), name="dwell-attach", daemon=True
        ).start()
    finally:
        _core.sampler_own_work(False)
    return ""


def _leave(tracked: Any, place: str, command: int, seconds: float) -> None:
    """In a thread of the program: ends the recording when its time has come."""
    from .. import _core

    until = time.monotonic() + seconds
    while (
        time.monotonic() < until
        and not os.path.exists(os.path.join(place, "stop"))
        and os.path.exists(f"/proc/{command}")
    ):
        time.sleep(_LOOK_SECONDS)
    _core.gauges_stop()
    tracked.stop()
    with contextlib.suppress(OSError), open(os.path.join(place, "stopped"), "w"):
        pass


class _Attached:
    """In the command: the program as it is seen from there."""

    def __init__(self, pid: int, place: str) -> None:
        self._pid = pid
        self._place = place

    def _has(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._place, name))

    def is_there(self) -> bool:
        try:
            with open(f"/proc/{self._pid}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()[0] != b"Z"
        except OSError:
            return False

    def _wait_for(self, name: str, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self._has(name) and self.is_there() and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS / 5)
        return self._has(name)

    def enter(self, arguments: tuple[Any, ...]) -> str:
        """Why the program could not be entered; empty when it could."""
        script = os.path.join(self._place, "enter.py")
        home = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        with open(script, "w", encoding="utf-8") as file:
            given = (self._place, home, tuple(sys.version_info[:2]), *arguments)
            file.write(_SCRIPT.replace("ARGUMENTS", repr(given)))
        done = subprocess.run(
            [f"/proc/{self._pid}/exe", "-I", "-S", "-c",
             "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])", str(self._pid), script],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["its Python could not be run"])[-1]
        if not self._wait_for("answer", _ENTER_SECONDS):
            os.unlink(script)  # it must not begin later
            return "it is in C code, and did not come to a place where it runs Python code"
        with open(os.path.join(self._place, "answer"), encoding="utf-8") as file:
            return file.read()

    def wait(self, seconds: float, ends: "_Ends") -> None:
        until = time.monotonic() + seconds + _ENTER_SECONDS
        while not (ends.asked or self._has("stopped")) and self.is_there():
            if time.monotonic() > until:
                return
            time.sleep(_LOOK_SECONDS / 5)

    def stop(self) -> None:
        with open(os.path.join(self._place, "stop"), "w"):
            pass
        self._wait_for("stopped", _ENTER_SECONDS)


class _Ends:
    """Ctrl-C and SIGTERM are noted, whenever they come; one that is ignored stays so."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._ask)

    def _ask(self, number: int, frame: Any) -> None:
        self.asked = True


def main(arguments: list[str]) -> int:
    """PID FILE MODE SECONDS"""
    pid, file, mode, seconds = int(arguments[0]), *arguments[1:3], float(arguments[3])
    ends = _Ends()
    with tempfile.TemporaryDirectory(prefix="dwell-attach-") as place:
        attached = _Attached(pid, place)
        reason = attached.enter((os.getpid(), os.path.abspath(file), mode, seconds))
        if reason:
            print(f"dwell: process {pid}: {reason}", file=sys.stderr)
            return _TROUBLE
        attached.wait(seconds, ends)
        attached.stop()
        if not attached.is_there():
            print(f"dwell: process {pid} has ended", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
