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
_OWN_NAMES = {
    *("process", "region", "task", "thread"),
    *("argv", "clock", "clock_shift", "cwd", "dwell", "host", "name", "parent", "ppid", "probes"),
    *("program", "python", "rank", "ranks"),
}
_FORK_DEPTH = 8  # frames from the fork to who knows what is forked
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def describe() -> None:
    _core.describe("argv", " ".join(map(_quoted, sys.orig_argv)))
    _core.describe("program", _program_name(sys.orig_argv[1:]))
    _core.describe("python", sys.version.split()[0])


def process_label(**labels: object) -> None:
    """Labels of all that this process does, in recordings that begin from now on.

    A label of a block counts before one of its process with the same name."""
    for name, value in labels.items():
        if name in _OWN_NAMES:
            raise ValueError(f"the label {name!r} is dwell's own")
        _core.describe(name, str(value))


def _quoted(word: str) -> str:
    """The word as a shell would need it."""
    return word if word and _PLAIN.issuperset(word) else "'" + word.replace("'", "'\\''") + "'"


def _program_name(arguments: list[str]) -> str:
    """What a person would call the program: its script, -m module, -c or -."""
    words = iter(arguments)
    for word in words:
        if word == "-" or not word.startswith("-"):
            return os.path.basename(word)
        option = word[1:].lstrip("bBdEiIOPqRsSuvx")  # the first that has a value
        if option[:1] == "c":
            return "-c"
        if option[:1] == "m":
            return option[1:] or next(words, "-m")
        if option in ("W", "X", "-check-hash-based-pycs"):
            next(words, None)
    return "python"


def watch_signals(needs_gil: bool) -> None:
    """Completes the recording when a signal ends the program."""
    try:
        _core.last_words_start(needs_gil)
    except OSError:  # no thread: then a signal costs the last half second
        return
    atexit.register(_core.last_words_stop)  # runs after all that are registered later


def name_children() -> None:
    """Has this process, and those that it forks, say what multiprocessing calls them."""
    os.register_at_fork(after_in_child=_name_forked)
    words = sys.orig_argv
    if "--multiprocessing-fork" in words:
        import multiprocessing.process  # noqa: F401  # as it will in any case

        _learn_name()
    elif any("multiprocessing.forkserver import main" in word for word in words):
        _core.describe("name", "forkserver")
    elif "--process-name" in words[:-1]:  # loky
        _core.describe("name", words[words.index("--process-name") + 1])


def _name_forked() -> None:
    """multiprocessing, and what is like it, forks where it knows the process."""
    frame = sys._getframe()
    for _ in range(_FORK_DEPTH):
        frame = frame.f_back  # type: ignore[assignment]
        if frame is None:
            return
        function = frame.f_code.co_name
        if function == "_launch":
            name = getattr(frame.f_locals.get("process_obj"), "name", None)
            if isinstance(name, str):
                _core.describe("name", name)
            return
        if function == "main" and frame.f_globals.get("__name__") == "multiprocessing.forkserver":
            _learn_name()
            return


def _learn_name() -> None:
    """The name comes by a pipe, and is given to what stands for the process until then."""
    process: Any = sys.modules["multiprocessing.process"]
    unnamed = process.current_process()
    plain = type(unnamed)

    def take_name(self: "Any", name: str) -> None:
        self.__class__ = plain
        self.name = name
        _core.describe("name", name)

    unnamed.__class__ = type(
        plain.__name__, (plain,), {"name": property(plain.name.fget, take_name)}
    )


def ipython_shell() -> "Any":
    """The IPython shell that runs in this program, or None."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def stop_at_end(stop: "Callable[[], object]") -> None:
    """Calls `stop` when the program ends; all probes write before it leaves without atexit.

    A `stop` written in C cannot be interrupted before it begins, by a second Ctrl-C for one.
    """
    atexit.register(stop)
    for name in _WAYS_OUT:
        if not hasattr(getattr(os, name), "_flushes_dwell"):
            setattr(os, name, _flushing(getattr(os, name)))


def _flushing(leave: "Callable[..., Any]") -> "Callable[..., Any]":
    def leave_after_flush(*args: "Any", **kwargs: "Any") -> "Any":
        _core.flush_last(True)
        try:
            return leave(*args, **kwargs)
        finally:
            _core.stay()

    leave_after_flush.__name__ = leave_after_flush.__qualname__ = leave.__name__
    leave_after_flush.__doc__ = leave.__doc__
    leave_after_flush.__module__ = "os"  # where pickle looks for it
    leave_after_flush.__wrapped__ = leave  # type: ignore[attr-defined]
    leave_after_flush._flushes_dwell = True  # type: ignore[attr-defined]
    return leave_after_flush
