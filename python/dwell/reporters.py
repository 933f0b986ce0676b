# SPDX-License-Identifier: MIT
"""What install() does with the regions when the program ends."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from ._snapshot import Snapshot

DEFAULT_CONSOLE_COLUMNS = (
    "indented_name",
    "total",
    "percents_of_total",
    "count",
    "min",
    "average",
    "max",
)
DEFAULT_CSV_COLUMNS = (
    "node_id",
    "name",
    "parent_id",
    "parent_name",
    "total_us",
    "total_inner_us",
    "count",
    "min_us",
    "average_us",
    "max_us",
)


class Reporter(Protocol):
    def dump_profiler(self, rp: "Snapshot") -> None: ...


class _TextReporter:
    lens: str

    def __init__(self, columns: Iterable[str], stream: TextIO | None) -> None:
        self.columns = tuple(columns)
        self.stream = stream

    def dump_profiler(self, rp: "Snapshot") -> None:
        text = rp.render(self.lens, columns=self.columns)
        stream = self.stream or sys.stderr
        if stream is not None:
            stream.write(text)


class ConsoleReporter(_TextReporter):
    """A table for people, on standard error unless told otherwise."""

    lens = "table"

    @property
    def is_for_people(self) -> bool:
        """Whether the table is on the terminal, or wherever the program's output goes."""
        return self.stream in (None, sys.stdout, sys.stderr)

    def __init__(
        self, columns: Iterable[str] = DEFAULT_CONSOLE_COLUMNS, stream: TextIO | None = None
    ) -> None:
        super().__init__(columns, stream)


class CsvReporter(_TextReporter):
    """Comma-separated values for programs."""

    lens = "csv"

    def __init__(
        self, columns: Iterable[str] = DEFAULT_CSV_COLUMNS, stream: TextIO | None = None
    ) -> None:
        super().__init__(columns, stream)


class SilentReporter:
    """Keeps the table in `rows`, a list of lists of str, the header first."""

    def __init__(self, columns: Iterable[str] = DEFAULT_CONSOLE_COLUMNS) -> None:
        self.columns = tuple(columns)
        self.rows: list[list[str]] = []

    def dump_profiler(self, rp: "Snapshot") -> None:
        import csv

        text = rp.render("csv", columns=self.columns)
        self.rows = list(csv.reader(text.splitlines(keepends=True)))
