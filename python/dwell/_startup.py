# SPDX-License-Identifier: MIT
"""Starts recording in a program run by `dwell run`, before its first line.

The environment says what to record; it is taken out of the environment at once,
so that the program does not see it and its children are not recorded.
"""

import os
import sys

from . import _core, _process


def _start() -> None:
    timeline, cpu, log_file = os.environ.pop("DWELL_RUN").split(" ", 2)
    _process.describe()
    try:
        _core.start(log_file, timeline == "timeline", cpu == "cpu")
    except OSError as error:
        sys.stderr.write(f"dwell: {log_file}: {error.strerror}; nothing is recorded\n")
        return
    _process.stop_at_end(_core.stop)


_start()
