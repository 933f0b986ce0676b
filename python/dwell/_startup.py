# SPDX-License-Identifier: MIT
"""Starts recording in a program run by `dwell run`, before its first line.

The environment says what to record; it is taken out of the environment at once,
so that the program does not see it and its children are not recorded. What was
imported for that is forgotten again, but for the core: a program that does not
import dwell does not have it, and one that does gets all of it.
"""

import os
import sys

from . import _core, _process


def start() -> None:
    wanted, log_file = os.environ.pop("DWELL_RUN").split(" ", 1)
    options = wanted.split(",")
    _process.describe()
    try:
        if "calls" in options:
            _record_calls(log_file, "signatures" in options)
        else:
            _core.start(log_file, "timeline" in options, "cpu" in options)
            _process.stop_at_end(_core.stop)
    except OSError as error:
        sys.stderr.write(f"dwell: {log_file}: {error.strerror}; nothing is recorded\n")
    except Exception as error:
        sys.stderr.write(f"dwell: {error}; nothing is recorded\n")
    for name in ("dwell", "dwell._process", "dwell._startup"):
        del sys.modules[name]


def _record_calls(log_file: str, signatures: bool) -> None:
    profile = _core.CallTracer(signatures=True) if signatures else _core.CallTracer()
    profile._record(log_file)
    _process.stop_at_end(profile._finish, profile._finish)
    profile._enable(True, True)
