# SPDX-License-Identifier: MIT
"""dwell: where a Python program, and the native code under it, spends its time."""

from . import _core, reporter_columns, reporters
from ._core import __version__, count, instant, iter_proxy, region
from .progress import progress
from .regions import RegionProfiler, func, install
from .snapshot import Snapshot, snapshot

__all__ = [
    "RegionProfiler",
    "Snapshot",
    "__version__",
    "count",
    "func",
    "get_include",
    "get_library_dir",
    "install",
    "instant",
    "iter_proxy",
    "progress",
    "region",
    "reporter_columns",
    "reporters",
    "snapshot",
]


def get_include() -> str:
    """The directory of dwell.h, for the compiler's -I."""
    return _beside("include")


def get_library_dir() -> str:
    """The directory of libdwell.so, for the linker's -L and -rpath."""
    return _beside("lib")


def _beside(name: str) -> str:
    return f"{_core.__file__.rpartition('/')[0]}/{name}"
