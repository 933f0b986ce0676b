# SPDX-License-Identifier: MIT
"""Memory that a process gets anew: malloc may give a block of what the process holds already."""

import mmap

_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE


def mapped(size: int) -> mmap.mmap:
    """A block that makes the process larger by its size, until it is given back."""
    return mmap.mmap(-1, size, flags=_FLAGS)
