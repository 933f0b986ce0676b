# SPDX-License-Identifier: MIT
"""dwell: where a Python program, and the native code under it, spends its time."""

from typing import Any

from . import _core, reporter_columns, reporters
from ._core import __version__, count, instant, iter_proxy, region
from ._plot import plot
from ._profile_decorator import profile
from ._progress import progress
from ._sampling import sampling, start, stop
from ._snapshot import Snapshot, snapshot
from .calls import Profile, describe, run, runctx
from .comparison import Comparison, compare
from .lines import LineProfiler, LineStats, load_stats
from .regions import RegionProfiler, func, install
from .timing import Timing, timeit

__all__ = [
    "Comparison",
    "LineProfiler",
    "LineStats",
    "Profile",
    "RegionProfiler",
    "Snapshot",
    "Timing",
    "__version__",
    "compare",
    "count",
    "describe",
    "func",
    "get_include",
    "get_library_dir",
    "install",
    "instant",
    "iter_proxy",
    "load_ipython_extension",
    "load_stats",
    "plot",
    "profile",
    "progress",
    "region",
    "reporter_columns",
    "reporters",
    "run",
    "runctx",
    "sampling",
    "snapshot",
    "start",
    "stop",
    "timeit",
]


def get_include() -> str:
    """The directory of dwell.h, for the compiler's -I."""
    return _beside("include")


def get_library_dir() -> str:
    """The directory of libdwell.so, for the linker's -L and -rpath."""
    return _beside("lib")


def load_ipython_extension(shell: Any) -> None:
    """%load_ext dwell: the magics %lprun, %%lprun_all, %dwell and %dtime."""
    from ._magics import Magics

    Magics(shell).register()


def _beside(name: str) -> str:
    return f"{_core.__file__.rpartition('/')[0]}/{name}"
