# SPDX-License-Identifier: MIT
"""dwell: where a Python program, and the native code under it, spends its time.

What a program uses while it runs comes from the C core at once; the rest is
imported when it is first asked for, so that `dwell run` brings next to nothing
into a program that did not import dwell itself.
"""

import sys

from . import _core
from ._core import __version__, count, instant, iter_proxy, region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import reporter_columns, reporters
    from ._plot import plot
    from ._progress import progress
    from ._snapshot import Snapshot, snapshot
    from .calls import Profile, describe, run, runctx
    from .regions import RegionProfiler, func, install

__all__ = [
    "Profile",
    "RegionProfiler",
    "Snapshot",
    "__version__",
    "count",
    "describe",
    "func",
    "get_include",
    "get_library_dir",
    "install",
    "instant",
    "iter_proxy",
    "plot",
    "progress",
    "region",
    "reporter_columns",
    "reporters",
    "run",
    "runctx",
    "snapshot",
]

_HOMES = {
    "Profile": "calls",
    "describe": "calls",
    "run": "calls",
    "runctx": "calls",
    "plot": "_plot",
    "progress": "_progress",
    "RegionProfiler": "regions",
    "func": "regions",
    "install": "regions",
    "Snapshot": "_snapshot",
    "snapshot": "_snapshot",
    "reporter_columns": "reporter_columns",
    "reporters": "reporters",
}


def __getattr__(name: str) -> "Any":
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dwell' has no attribute {name!r}")
    __import__(f"dwell.{home}")
    module = sys.modules[f"dwell.{home}"]
    globals()[name] = value = module if home == name else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def get_include() -> str:
    """The directory of dwell.h, for the compiler's -I."""
    return _beside("include")


def get_library_dir() -> str:
    """The directory of libdwell.so, for the linker's -L and -rpath."""
    return _beside("lib")


def _beside(name: str) -> str:
    return f"{_core.__file__.rpartition('/')[0]}/{name}"
