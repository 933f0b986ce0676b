# SPDX-License-Identifier: MIT
"""Numbers of lines apart from the profiler that collected them: added up, printed, kept."""

import os
import pickle
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from . import _core, _files

_Key = tuple[str, int, str]
_Timing = tuple[int, int, int]  # line, hits, time in units
_UNIT = 1e-9


class LineStats:
    """line_profiler's LineStats: `timings` by (file, first line, name), in units of `unit`."""

    unit = _UNIT

    def __init__(
        self,
        timings: dict[_Key, list[_Timing]] | None = None,
        unit: float = _UNIT,
        *,
        functions: "Iterable[_core.LineFunction]" = (),
        sources: dict[str, str] | None = None,
    ) -> None:
        self._functions: dict[_Key, _Function] = {}
        self._sources = dict(sources or {})
        for function in functions:
            self._add(function)
        for (file, first, name), lines in (timings or {}).items():
            rows = [_row(line, hits, round(time * unit / _UNIT)) for line, hits, time in lines]
            self._add((file, first, name, 0, rows))

    def _add(self, function: "_core.LineFunction") -> None:
        file, first, name, calls, lines = function
        self._functions.setdefault((file, first, name), _Function()).add(calls, lines)

    @property
    def timings(self) -> dict[_Key, list[_Timing]]:
        """The lines that ran, in nanoseconds."""
        return {
            key: [(row[0], row[1], row[2]) for row in function.rows() if row[1]]
            for key, function in self._functions.items()
        }

    def rows(self) -> "list[_core.LineFunction]":
        """Everything: (file, first line, name, calls, lines), as LineTracer gives it."""
        return [(*key, each.calls, each.rows()) for key, each in self._functions.items()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LineStats) and self.timings == other.timings

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: "LineStats") -> "LineStats":
        return LineStats.from_stats_objects(self, other)

    def __iadd__(self, other: "LineStats") -> "LineStats":
        for function in other.rows():
            self._add(function)
        self._sources = other._sources | self._sources
        return self

    @classmethod
    def from_stats_objects(cls, *stats: "LineStats") -> "LineStats":
        """The sum of several."""
        total = cls()
        for each in stats:
            total += each
        return total

    @classmethod
    def from_files(cls, *files: str | os.PathLike[str]) -> "LineStats":
        """The sum of recordings: of dwell, or pickles of line_profiler (.lprof)."""
        return cls.from_stats_objects(*map(_read, files))

    def to_file(self, file: str | os.PathLike[str]) -> None:
        """Writes a recording, for from_files() and `dwell report`."""
        with open(file, "wb", opener=_files.private) as out:
            out.write(self.log())

    def log(self) -> bytes:
        """The bytes of a recording."""
        files = {key[0] for key in self._functions}
        texts = {file: self._source(file) for file in sorted(files)}
        return _core.line_log(self.rows(), {file: text for file, text in texts.items() if text})

    def _source(self, file: str) -> str:
        return self._sources.get(file) or _files.source_text(file)

    def print(
        self,
        stream: TextIO | None = None,
        output_unit: float | None = None,
        stripzeros: bool = False,
        details: bool = True,
        summarize: bool = False,
        sort: bool = False,
        rich: bool = False,
        *,
        callees: bool = False,
        config: Any = None,
    ) -> None:
        """Prints the report; output_unit is in seconds, a microsecond if not given."""
        if not self._functions:
            print("No functions were added to the profiler.", file=stream or sys.stdout)
            return
        text = _core.render_lines(
            self.log(),
            unit=output_unit or 1e-6,
            strip_zeros=stripzeros,
            details=details,
            summarize=summarize,
            sort=sort,
            callees=callees,
        )
        (stream or sys.stdout).write(text.decode("utf-8", "replace"))


def _row(line: int, hits: int, time: int) -> "_core.LineRow":
    return (line, hits, time, time, time, 0, [])


class _Function:
    """The sums of one function."""

    def __init__(self) -> None:
        self.calls = 0
        self._lines: dict[int, tuple[list[int], dict[tuple[str, str, int], list[int]]]] = {}

    def add(self, calls: int, lines: "Iterable[_core.LineRow]") -> None:
        self.calls += calls
        for line, hits, time, alone, inclusive, suspended, callees in lines:
            sums, edges = self._lines.setdefault(line, ([0] * 5, {}))
            for index, value in enumerate((hits, time, alone, inclusive, suspended)):
                sums[index] += value
            for name, file, first, callee_calls, callee_time in callees:
                edge = edges.setdefault((name, file, first), [0, 0])
                edge[0] += callee_calls
                edge[1] += callee_time

    def rows(self) -> "list[_core.LineRow]":
        return [
            (line, *sums, [(*callee, *edge) for callee, edge in edges.items()])  # type: ignore
            for line, (sums, edges) in sorted(self._lines.items())
        ]


def _read(file: str | os.PathLike[str]) -> LineStats:
    with open(file, "rb") as recording:
        data = recording.read()
    if data[:1] == b"\x80":
        return _read_pickle(data, os.fspath(file))
    return _read_log(data)


def _read_log(data: bytes) -> LineStats:
    rows, sources = _core.line_rows(data)
    stats = LineStats(sources=sources)
    for function, line, callee, *values in rows:
        sums = stats._functions.setdefault(function, _Function())
        if line == 0:
            sums.calls += values[0]
        elif callee is None:
            sums.add(0, [(line, *values, [])])  # type: ignore[list-item]
        else:
            file, first, name = callee
            edge = (name, file, first, values[0], values[1])
            sums.add(0, [(line, 0, 0, 0, 0, 0, [edge])])
    return stats


class _Unpickler(pickle.Unpickler):
    """Reads line_profiler's LineStats and nothing else: a pickle can run anything."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "LineStats" and module.startswith("line_profiler"):
            return _ForeignStats
        if (module, name) in (("copyreg", "_reconstructor"), ("builtins", "object")):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in a line profile")


class _ForeignStats:
    timings: dict[_Key, list[_Timing]]
    unit: float


def _read_pickle(data: bytes, file: str) -> LineStats:
    import io

    try:
        stats = _Unpickler(io.BytesIO(data)).load()
        return LineStats(stats.timings, stats.unit)
    except Exception as error:
        raise ValueError(f"{file}: not a line profile: {error}") from None


load_stats = LineStats.from_files


def show_text(
    stats: dict[_Key, list[_Timing]],
    unit: float,
    output_unit: float | None = None,
    stream: TextIO | None = None,
    stripzeros: bool = False,
    details: bool = True,
    summarize: bool = False,
    sort: bool = False,
    rich: bool = False,
    *,
    config: Any = None,
) -> None:
    """Prints the `timings` of a LineStats."""
    LineStats(stats, unit).print(stream, output_unit, stripzeros, details, summarize, sort)
