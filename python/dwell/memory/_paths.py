# SPDX-License-Identifier: MIT
"""What was allocated on which path, and which paths count: what limits and leaks are judged by."""

import fnmatch
import itertools
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from .. import _core

_SHOWN_PATHS = 5
_SHOWN_FRAMES = 6
_MACHINERY = ("/_pytest/", "/pluggy/", f"{os.path.dirname(__file__)}/")
_UNITS = {
    "": 1,
    "B": 1,
    "K": 1 << 10,
    "M": 1 << 20,
    "G": 1 << 30,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}

Frame = tuple[str, str, int]  # function, file, line


def parse_size(size: str | int) -> int:
    """As GNU tools have it, "24M" and "24 MiB" are 24 * 1024 * 1024, "24 MB" is 24 million."""
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", size)
    if not found or found[2].upper() not in _UNITS:
        raise ValueError(f"a size is something like '24 MB' or '512 KiB', not {size!r}")
    return round(float(found[1]) * _UNITS[found[2].upper()])


def size_text(size: int) -> str:
    number = float(size)
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.1f} {unit}" if unit != "B" else f"{size} B"
        number /= 1024
    return f"{number:.2f} GiB"


@dataclass(frozen=True)
class Path:
    """What one thread allocated with one stack, in bytes; the outermost function is first."""

    tid: int
    mark: str | None
    stack: tuple[Frame, ...]
    allocated: int
    live: int
    peak: int

    def __str__(self) -> str:
        """The innermost functions, out to what runs the test or measures."""
        shown = list(itertools.takewhile(_is_of_program, reversed(self.stack)))[:_SHOWN_FRAMES]
        lines = [
            f"{file}:{line} in {function}" if line else f"{function} ({os.path.basename(file)})"
            for function, file, line in shown or self.stack[-1:]
        ]
        return "\n".join(f"      {line}" for line in lines or ["outside of any Python code"])


def _is_of_program(frame: Frame) -> bool:
    return not any(part in frame[1] for part in _MACHINERY)


def read(log: bytes) -> list[Path]:
    """All paths of a recording but those of dwell's own work."""
    paths = [
        Path(tid, mark, tuple(stack), allocated, live, peak)
        for tid, mark, stack, allocated, live, peak in _core.memory_paths(log)
    ]
    return [path for path in paths if not any(frame[0] == "<dwell>" for frame in path.stack)]


class Patterns:
    """Functions, as lists and files of suppressions name them: FUNCTION or FILE:FUNCTION, each with
    *, ? and [...]; a FILE is the end of a path."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [self._parts(pattern) for pattern in patterns]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    @staticmethod
    def _parts(pattern: str) -> tuple[str, str]:
        file, colon, function = pattern.partition(":")
        is_name = not colon or function.startswith(":")  # std::vector
        return ("*", pattern) if is_name else (file, function)

    @staticmethod
    def _has(parts: tuple[str, str], frame: Frame) -> bool:
        function, file, _ = frame
        return fnmatch.fnmatchcase(function, parts[1]) and (
            fnmatch.fnmatchcase(file, parts[0]) or fnmatch.fnmatchcase(file, "*/" + parts[0])
        )

    def match(self, path: Path) -> bool:
        return any(self._has(parts, frame) for frame in path.stack for parts in self._patterns)


def read_suppressions(suppressions: str | os.PathLike[str] | Iterable[str] | None) -> Patterns:
    """Of a file: a pattern a line; what is behind # is left out. Or of a list of patterns."""
    if suppressions is None:
        return Patterns(())
    if not isinstance(suppressions, (str, os.PathLike)):
        return Patterns(suppressions)
    with open(suppressions, encoding="utf-8") as file:
        lines = [line.partition("#")[0].strip() for line in file]
    return Patterns(filter(None, lines))


@dataclass(frozen=True)
class Scope:
    """Which paths count."""

    only: Patterns
    suppressed: Patterns

    def choose(self, paths: Iterable[Path]) -> list[Path]:
        return [
            path
            for path in paths
            if (not self.only or self.only.match(path)) and not self.suppressed.match(path)
        ]


def describe(sizes: Iterable[tuple[int, Path]]) -> str:
    """The largest, with their stacks, the innermost function first."""
    largest = sorted(sizes, key=lambda item: -item[0])
    worth = sum(size for size, _ in largest) / 100
    shown = [(size, path) for size, path in largest[:_SHOWN_PATHS] if size >= max(worth, 1)]
    lines = [f"  {size_text(size)} of\n{path}" for size, path in shown]
    rest = sum(size for size, _ in largest[len(shown) :])
    return "\n".join([*lines, *([f"  {size_text(rest)} elsewhere"] if rest else [])])
