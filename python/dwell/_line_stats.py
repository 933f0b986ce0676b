# SPDX-License-Identifier: MIT
"""Numbers of lines apart from the profiler that collected them: a recording in memory."""

import os
import pickle
import sys
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
        log: bytes | None = None,
    ) -> None:
        self._log = _log_of(timings or {}, unit) if log is None else log

    @property
    def timings(self) -> dict[_Key, list[_Timing]]:
        """The lines that ran, in nanoseconds."""
        return {
            (file, first, name): [row[:3] for row in lines if row[1]]
            for file, first, name, _, lines in self.rows()
        }

    def rows(self) -> "list[_core.LineFunction]":
        """Everything: (file, first line, name, calls, lines)."""
        return _core.line_rows(self._log)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LineStats) and self.timings == other.timings

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: "LineStats") -> "LineStats":
        return LineStats.from_stats_objects(self, other)

    def __iadd__(self, other: "LineStats") -> "LineStats":
        self._log = _core.add_logs((self._log, other._log))
        return self

    @classmethod
    def from_stats_objects(cls, *stats: "LineStats") -> "LineStats":
        """The sum of several."""
        return cls(log=_core.add_logs(tuple(each._log for each in stats))) if stats else cls()

    @classmethod
    def from_files(cls, *files: str | os.PathLike[str]) -> "LineStats":
        """The sum of recordings: of dwell, or pickles of line_profiler (.lprof)."""
        return cls.from_stats_objects(*map(_read, files))

    def to_file(self, file: str | os.PathLike[str]) -> None:
        """Writes a recording, for from_files() and `dwell report`."""
        with open(file, "wb", opener=_files.private) as out:
            out.write(self._log)

    def log(self) -> bytes:
        """The bytes of a recording."""
        return self._log

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
        out = stream or sys.stdout
        out.write(self._text(output_unit, stripzeros, details, summarize, sort, callees))

    def _text(
        self,
        output_unit: float | None = None,
        stripzeros: bool = False,
        details: bool = True,
        summarize: bool = False,
        sort: bool = False,
        callees: bool = False,
        heat: bool = False,
    ) -> str:
        """The report; with `heat` as HTML, in which the lines that take time are coloured."""
        if not self.rows():
            return "No functions were added to the profiler.\n"
        text = _core.render_lines(
            self._log,
            unit=output_unit or 1e-6,
            strip_zeros=stripzeros,
            details=details,
            summarize=summarize,
            sort=sort,
            callees=callees,
            heat=heat,
        )
        return text.decode("utf-8", "replace")


def _log_of(timings: dict[_Key, list[_Timing]], unit: float) -> bytes:
    texts = {file: _files.source_text(file) for file in sorted({key[0] for key in timings})}
    return _core.line_log(
        {
            key: [(line, hits, round(time * unit / _UNIT)) for line, hits, time in lines]
            for key, lines in timings.items()
        },
        {file: text for file, text in texts.items() if text},
    )


def _read(file: str | os.PathLike[str]) -> LineStats:
    with open(file, "rb") as recording:
        data = recording.read()
    if data[:1] == b"\x80":
        return _read_pickle(data, os.fspath(file))
    return LineStats(log=data)


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
