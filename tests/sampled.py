# SPDX-License-Identifier: MIT
"""Samples of a recording, for tests to ask about."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from dwell import _core

from .measured import assert_between


class Frame(NamedTuple):
    kind: str
    name: str
    file: str
    line: int
    end_line: int
    column: int
    end_column: int


class Row(NamedTuple):
    thread: int
    thread_name: str
    state: str
    holds_gil: bool
    count: int
    weight_ns: int
    stack: tuple[Frame, ...]  # outermost first


class Samples:
    def __init__(self, log: bytes) -> None:
        self.info, rows = _core.sample_rows(log)
        self.rows = [Row(*row[:6], tuple(Frame(*frame) for frame in row[6])) for row in rows]
        self.weight_ns = sum(row.weight_ns for row in self.rows)

    @classmethod
    def of(cls, path: Path) -> "Samples":
        return cls(path.read_bytes())

    def where(self, fits: Callable[[Row], bool]) -> int:
        """Nanoseconds of the samples that fit."""
        return sum(row.weight_ns for row in self.rows if fits(row))

    def inside(self, name: str) -> float:
        """The share of samples with that function on the stack, in percent."""
        found = self.where(lambda row: any(frame.name == name for frame in row.stack))
        return 100 * found / self.weight_ns

    def shares(self, names: list[str]) -> dict[str, float]:
        """What the functions have of their common time, in percent."""
        parts = {name: self.inside(name) for name in names}
        whole = sum(parts.values())
        return {name: 100 * part / whole for name, part in parts.items()}

    def of_thread(self, name: str) -> int:
        return self.where(lambda row: row.thread_name == name)

    def assert_threads(self, took: dict[str, int]) -> None:
        """Threads have the CPU time that they measured, under their names."""
        for name, exact in took.items():
            assert_between(0.85 * exact - 10e6, self.of_thread(name), 1.02 * exact + 4e6)

    def edges(self, file: str) -> set[tuple[str, str]]:
        """Who calls whom among the functions of a file, whatever stands between them."""
        return {edge for row in self.rows for edge in _pairs(row, file)}


def _pairs(row: Row, file: str) -> Iterator[tuple[str, str]]:
    names = [f.name for f in row.stack if f.kind == "python" and f.file.endswith(file)]
    return pairwise(names)
