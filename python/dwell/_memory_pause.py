# SPDX-License-Identifier: MIT
"""`dwell run --memory --pdb-above SIZE`: a debugger at the line after which there is more memory.

The resident memory of the process is read before each line of the program; lines of libraries are
left alone, so what they take is seen at the next line of the program."""

import os
import sys
from types import CodeType, FrameType
from typing import Any

from . import _core

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LIBRARY = f"{os.path.dirname(os.__file__)}/"
_TOOLS = (3, 4, 5)  # of sys.monitoring, that no kind of tool has to itself


def _is_of_program(code: CodeType) -> bool:
    file = code.co_filename
    return not file.startswith(("<frozen", _LIBRARY)) and "-packages/" not in file


class Pause:
    """Stops once, in whatever thread passes the limit first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._last: tuple[CodeType, int] | None = None  # the line that ran last
        self._tool: int | None = None

    def start(self) -> None:
        if sys.version_info >= (3, 12):
            self._tool = next(tool for tool in _TOOLS if not sys.monitoring.get_tool(tool))
            sys.monitoring.use_tool_id(self._tool, "dwell --pdb-above")
            line = sys.monitoring.events.LINE
            sys.monitoring.register_callback(self._tool, line, self._monitored)
            sys.monitoring.set_events(self._tool, line)
            return
        import threading

        threading.settrace(self._traced_call)
        sys.settrace(self._traced_call)

    def _stop(self) -> None:
        if sys.version_info >= (3, 12) and self._tool is not None:
            sys.monitoring.set_events(self._tool, 0)
            sys.monitoring.free_tool_id(self._tool)
            return
        import threading

        threading.settrace(None)
        sys.settrace(None)

    def _resident(self) -> int:
        return int(os.pread(self._statm, 64, 0).split()[1]) * _PAGE

    def _is_passed(self, code: CodeType, line: int) -> bool:
        if self._resident() > self._most:
            return True
        self._last = (code, line)
        return False

    def _monitored(self, code: CodeType, line: int) -> Any:
        if not _is_of_program(code):
            return sys.monitoring.DISABLE
        return self._debug(sys._getframe(1)) if self._is_passed(code, line) else None

    def _traced_call(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._traced if _is_of_program(frame.f_code) else None

    def _traced(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and self._is_passed(frame.f_code, frame.f_lineno):
            self._debug(frame)
            return frame.f_trace
        return self._traced

    def _debug(self, frame: FrameType) -> None:
        """The debugger is at this line, which has not run yet, and goes on from there."""
        _core.sampler_own_work(True)  # what is imported is not the program's
        import bdb
        import pdb

        _core.sampler_own_work(False)
        self._stop()
        sys.stderr.write(self._sentence())
        debugger = pdb.Pdb()
        debugger.reset()
        bdb.Bdb.set_trace(debugger, frame)
        debugger.interaction(frame, None)
        if debugger.quitting:
            raise bdb.BdbQuit

    def _sentence(self) -> str:
        after = ""
        if self._last:
            code, line = self._last
            after = f" after {code.co_filename}:{line} ({code.co_qualname})"
        return (
            f"dwell: the program has {self._resident() / (1 << 20):.1f} MiB{after}; 'c' goes on\n"
        )
