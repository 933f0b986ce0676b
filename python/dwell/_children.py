# SPDX-License-Identifier: MIT
"""Children of a program that records itself: how they are told to record, too, and how their files
become part of its own."""

import os
import sys

from . import _core, _process

_VARIABLE = "DWELL_RUN"  # _dwell_startup reads it
_followed: dict[str, list[str]] = {}  # what to record, by the file of this process
_process_id = 0  # of who follows


def are_followed_already() -> bool:
    """By `dwell run`, or by the process that has started this one."""
    return _VARIABLE in os.environ and not (_followed and os.getpid() == _process_id)


def follow(file: str | None, words: list[str]) -> None:
    """Has the Python programs that this one starts record into files beside its own."""
    global _process_id
    if file is None:
        raise ValueError("follow=True needs a file: children write theirs beside it")
    if are_followed_already():
        return
    if not _process_id:
        _process.watch_signals(False)
        _process.name_children()
        os.register_at_fork(after_in_child=_core.go_on)
    _process_id = os.getpid()
    _followed.setdefault(file, []).extend(words)
    _tell()


def _tell() -> None:
    """Whoever was asked for first has the children."""
    for file, words in _followed.items():
        options = [*dict.fromkeys(words), "subprocesses", "started", f"by={_process_id}"]
        os.environ[_VARIABLE] = f"{','.join(options)} {file}"
        return
    os.environ.pop(_VARIABLE, None)


def gather(file: str | None) -> None:
    """Makes the files of children that have ended part of this one, which is complete."""
    if file not in _followed or os.getpid() != _process_id:
        return
    del _followed[file]
    _tell()
    import subprocess  # takes long to load

    command = [sys.executable, "-m", "dwell", "merge", "--children", file]
    environment = {key: value for key, value in os.environ.items() if key != _VARIABLE}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    sys.stderr.write(done.stderr)
