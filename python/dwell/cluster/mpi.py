# SPDX-License-Identifier: MIT
"""MPI: which rank this process is, without MPI itself.

`mpirun -n 4 dwell run -o run.dwell script.py` needs nothing of this. A program that starts the
recording itself gives each rank a file of its own:

    dwell.install(log_file=rank_file("run.dwell"))
"""

import os

from .. import _core


def rank() -> int:
    """The number of this process among those of its job; 0 outside of one."""
    return _core.rank()[0]


def size() -> int:
    """How many processes the job has; 1 outside of one."""
    return _core.rank()[1]


def rank_file(file: str | os.PathLike[str]) -> str:
    """run.rank3.dwell of run.dwell, as `dwell run` names it; the file itself outside of a job."""
    name = os.fspath(file)
    if size() == 1:
        return name
    return f"{name.removesuffix('.dwell')}.rank{rank()}.dwell"
