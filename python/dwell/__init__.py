# SPDX-License-Identifier: MIT
"""dwell: where a Python program, and the native code under it, spends its time and memory.

Programs that are measured import this, so it loads no more than the core; everything else comes
when it is first asked for. The types of all are in __init__.pyi.
"""

import sys

from . import _core
from ._core import __version__, count, instant, iter_proxy, region

_HOMES = {
    "Comparison": "comparison",
    "LineProfiler": "lines",
    "LineStats": "lines",
    "Profile": "calls",
    "RegionProfiler": "regions",
    "Snapshot": "_snapshot",
    "Timing": "timing",
    "compare": "comparison",
    "describe": "calls",
    "func": "regions",
    "install": "regions",
    "label": "_labels",
    "labels": "_labels",
    "load_stats": "lines",
    "plot": "_plot",
    "process_label": "_process",
    "profile": "_profile_decorator",
    "progress": "_progress",
    "run": "calls",
    "runctx": "calls",
    "sampling": "_sampling",
    "show_text": "lines",
    "snapshot": "_snapshot",
    "start": "_sampling",
    "stop": "_sampling",
    "timeit": "timing",
}
_MODULES = (
    "calls",
    "comparison",
    "heap",
    "lines",
    "memory",
    "middleware",
    "profiler",
    "regions",
    "reporter_columns",
    "reporters",
    "timing",
)

__all__ = [
    "__version__",
    "count",
    "get_include",
    "get_library_dir",
    "instant",
    "iter_proxy",
    "load_ipython_extension",
    "region",
    "reporter_columns",
    "reporters",
    *_HOMES,
]


def __getattr__(name):
    from importlib import import_module

    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=sys.modules[__name__])


def __dir__():
    return sorted({*globals(), *__all__, *_MODULES})


def get_include():
    """The directory of dwell.h, for the compiler's -I."""
    return _beside("include")


def get_library_dir():
    """The directory of libdwell.so, for the linker's -L and -rpath."""
    return _beside("lib")


def load_ipython_extension(shell):
    """%load_ext dwell: the magics %lprun, %%lprun_all, %dwell, %dtime and %memit."""
    from ._magics import Magics

    Magics(shell).register()


def _beside(name):
    return f"{_core.__file__.rpartition('/')[0]}/{name}"
