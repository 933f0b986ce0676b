# SPDX-License-Identifier: MIT
"""Many recordings as one, by `dwell merge`."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import TypeVar

_T = TypeVar("_T")
AT_ONCE = 500  # files


def in_groups(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


def merge_files(files: Sequence[str], out: str) -> None:
    """Merging is associative, so that very many files can be merged in groups."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(out) or ".", prefix=".dwell-") as parts:
        while len(files) > AT_ONCE:
            merged = []
            for group in in_groups(files, AT_ONCE):
                merged.append(f"{parts}/{len(os.listdir(parts))}.dwell")
                _merge(group, merged[-1])
            files = merged
        sys.stderr.write(_merge(files, f"{parts}/all.dwell"))
        os.replace(f"{parts}/all.dwell", out)


def _merge(files: Sequence[str], out: str) -> str:
    """What it says about losses. A file that cannot be read, as that of a process which was killed
    at once, does not keep the others from being merged."""
    command = [sys.executable, "-m", "dwell", "merge", *files, "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and not os.path.exists(out):
        raise OSError(done.stderr.strip().removeprefix("dwell: "))
    return done.stderr
