# SPDX-License-Identifier: MIT
"""What a recording says about its process, and how it ends with it."""

import atexit
import functools
import os
import shlex
import sys
from collections.abc import Callable
from typing import Any

from . import _core

_ways_out = ("_exit", "execv", "execve")


def describe() -> None:
    program = sys.orig_argv[1:] or [sys.executable]
    _core.describe("argv", shlex.join(sys.orig_argv))
    _core.describe("program", _program_name(program))
    _core.describe("python", sys.version.split()[0])


def _program_name(arguments: list[str]) -> str:
    """What a person would call the program: its script, -m module or -c."""
    for index, argument in enumerate(arguments):
        if argument == "-m" and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument == "-c":
            return "-c"
        if not argument.startswith("-"):
            return os.path.basename(argument)
    return "python"


def stop_at_end(stop: Callable[[], None]) -> None:
    """Calls `stop` however the process ends, as far as Python can see it coming."""
    atexit.register(stop)
    for name in _ways_out:
        setattr(os, name, _stopping(getattr(os, name)))


def _stopping(leave: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(leave)
    def leave_after_flush(*args: Any, **kwargs: Any) -> Any:
        _core.flush_last()
        return leave(*args, **kwargs)

    return leave_after_flush
