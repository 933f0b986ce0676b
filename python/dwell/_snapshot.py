# SPDX-License-Identifier: MIT
"""The regions as they stand now, while the program goes on."""

import os
from functools import cached_property
from typing import Any, Literal

from . import _core, _files

By = Literal["region", "thread", "process", "path", "name", "function", "line", "module"]


class Snapshot:
    """A whole recording in memory, as it was when snapshot() was called."""

    def __init__(self, log: bytes, by: By = "region") -> None:
        self._log = log
        self._by: By = by  # how it is printed

    def render(
        self, lens: str = "table", *, by: By = "region", columns: tuple[str, ...] = ()
    ) -> str:
        """The output of a lens (`dwell export --to help` lists them) as text.

        The tables of samples are by function, line or module."""
        text = _core.render(self._log, lens, by, columns)
        return text.decode("utf-8", "surrogateescape")

    @cached_property
    def data(self) -> dict[str, Any]:
        """Everything as plain data: processes, threads, rows, counters."""
        import json

        loaded: dict[str, Any] = json.loads(self.render("json"))
        return loaded

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict for each region, parents before children; times in nanoseconds."""
        rows: list[dict[str, Any]] = self.data["rows"]
        return rows

    @property
    def counters(self) -> dict[str, int]:
        return {counter["name"]: counter["total"] for counter in self.data["counters"]}

    def __getitem__(self, path: str | tuple[str, ...]) -> dict[str, Any]:
        """The row of a region, by its name or by its path below <main>."""
        wanted = [path] if isinstance(path, str) else list(path)
        for row in self.rows:
            names = row["path"]
            if names == wanted or (isinstance(path, str) and names[-1:] == wanted):
                return row
        raise KeyError(path)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes a log that `dwell report` reads."""
        with open(file, "wb", opener=_files.private) as out:
            out.write(self._log)

    def __str__(self) -> str:
        return self.render(by=self._by)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """In IPython and notebooks."""
        printer.text(str(self))


def snapshot() -> Snapshot:
    """What the regions took so far, those still open included."""
    return Snapshot(_core.snapshot())
