# SPDX-License-Identifier: MIT
"""What a recording says about its process, and how it ends with it.

`dwell run` loads this into every program, so it imports no more than it must.
"""

import atexit
import os
import sys

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WAYS_OUT = ("_exit", "execv", "execve")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def describe() -> None:
    _core.describe("argv", " ".join(map(_quoted, sys.orig_argv)))
    _core.describe("program", _program_name(sys.orig_argv[1:]))
    _core.describe("python", sys.version.split()[0])


def _quoted(word: str) -> str:
    """The word as a shell would need it."""
    return word if word and _PLAIN.issuperset(word) else "'" + word.replace("'", "'\\''") + "'"


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


def stop_at_end(stop: "Callable[[], object]", flush: "Callable[[], None]") -> None:
    """Calls `stop` when the program ends, and `flush` before it leaves without atexit."""
    atexit.register(stop)
    for name in _WAYS_OUT:
        setattr(os, name, _flushing(getattr(os, name), flush))


def _flushing(leave: "Callable[..., Any]", flush: "Callable[[], None]") -> "Callable[..., Any]":
    def leave_after_flush(*args: "Any", **kwargs: "Any") -> "Any":
        flush()
        return leave(*args, **kwargs)

    leave_after_flush.__name__ = leave_after_flush.__qualname__ = leave.__name__
    leave_after_flush.__doc__ = leave.__doc__
    leave_after_flush.__module__ = "os"  # where pickle looks for it
    leave_after_flush.__wrapped__ = leave  # type: ignore[attr-defined]
    return leave_after_flush
