# SPDX-License-Identifier: MIT
"""Files that dwell makes, and sources that it reads."""

import os
import stat

_SOURCE_MAX = 2 << 20  # what a recording keeps of a file


def private(path: str, flags: int) -> int:
    """For open(): a new file is for its owner alone, since it tells much about a program."""
    return os.open(path, flags, 0o600)


def private_unlinked(path: str, flags: int) -> int:
    """The same for a name that nobody has given: one that is a link is not followed."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def source_text(file: str) -> str:
    """The text of a source, or of code that is in no file. Code may claim to be from any file."""
    import linecache

    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return "".join(linecache.getlines(file))
    if not stat.S_ISREG(status.st_mode):
        return ""
    if status.st_size <= _SOURCE_MAX:
        return "".join(linecache.getlines(file))
    try:
        with open(file, "rb") as source:
            return source.read(_SOURCE_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
