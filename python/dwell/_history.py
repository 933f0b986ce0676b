# SPDX-License-Identifier: MIT
"""Named timings over time, in an SQLite file, and their plots."""

import html
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from . import _core, _files
from ._machine import git
from .memory._paths import size_text
from .timing import CONFIDENCE, Timing, format_time

FILE_NAME = ".dwell-history.sqlite"
_APPLICATION_ID = 0x6477_656C  # "dwel"
_VERSION = 2
_TABLE = """CREATE TABLE timing (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    saved REAL NOT NULL,      -- seconds since 1970
    committed REAL,           -- of the commit, when the files were as in one
    revision TEXT NOT NULL,   -- of the commit, with a + when files differed from it
    python TEXT NOT NULL,
    loops INTEGER NOT NULL,
    runs_ns TEXT NOT NULL,    -- a JSON list
    run_group INTEGER NOT NULL,  -- runs of each process, 0 when one made them all
    machine TEXT NOT NULL,    -- a JSON object
    peak_bytes INTEGER        -- the peak of memory of a loop, where it was asked for
)"""


class HistoryError(Exception):
    """A file that is not a history, or a name that is not in it."""


class Entry(NamedTuple):
    when: float
    revision: str
    python: str
    timing: Timing


def default_file() -> str:
    """At the root of the repository, else in this directory."""
    return os.path.join(git("rev-parse", "--show-toplevel") or os.getcwd(), FILE_NAME)


def _is_ours(connection: sqlite3.Connection, file: str) -> bool:
    """Whether it is a history; False when nothing is in it yet."""

    def one(query: str) -> int:
        return int(connection.execute(query).fetchone()[0])

    if one("PRAGMA application_id") == _APPLICATION_ID:
        if one("PRAGMA user_version") > _VERSION:
            raise HistoryError(f"{file}: written by a newer dwell")
        return True
    if one("PRAGMA application_id") or one("SELECT count(*) FROM sqlite_master"):
        raise HistoryError(f"{file}: a database of another program")
    return False


def _bring_up(connection: sqlite3.Connection, is_ours: bool) -> None:
    """Makes the table, or gives that of an older dwell what it lacks."""
    if not is_ours:
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(_TABLE)
    elif not _has_peaks(connection):
        connection.execute("ALTER TABLE timing ADD COLUMN peak_bytes INTEGER")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _has_peaks(connection: sqlite3.Connection) -> bool:
    return any(row[1] == "peak_bytes" for row in connection.execute("PRAGMA table_info(timing)"))


@contextmanager
def _opened(file: str, mode: str) -> Iterator[sqlite3.Connection]:
    """`mode` is ro or rwc, as SQLite has them."""
    if mode == "rwc" and not os.path.lexists(file):
        os.close(_files.private(file, os.O_CREAT | os.O_EXCL))  # SQLite would let others read it
    address = f"{Path(file).absolute().as_uri()}?mode={mode}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection, connection:
            is_ours = _is_ours(connection, file)
            if mode != "ro":
                _bring_up(connection, is_ours)
            yield connection
    except sqlite3.Error as error:
        raise HistoryError(f"{file}: {error}") from None


def check(file: str) -> None:
    """Raises HistoryError unless timings can be added to what is there, if anything is."""
    if os.path.exists(file):
        with _opened(file, "ro"):
            pass


def _commit_time(revision: str) -> float | None:
    """None without a commit, and for files that were changed after it."""
    if not revision or revision.endswith("+"):
        return None
    text = git("show", "--no-patch", "--format=%ct", revision)
    return float(text) if text else None


def add(file: str, name: str, timing: Timing, revision: str, machine: dict[str, str]) -> None:
    row = (
        name,
        time.time(),
        _commit_time(revision),
        revision,
        timing.properties.get("python") or sys.version.split()[0],
        timing.loops,
        json.dumps(timing.runs_ns),
        timing.group,
        json.dumps(machine),
        timing.peak_bytes,
    )
    with _opened(file, "rwc") as connection:
        connection.execute(
            "INSERT INTO timing (name, saved, committed, revision, python, loops, runs_ns,"
            " run_group, machine, peak_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )


def entries(file: str, name: str) -> list[Entry]:
    """The timings of that name, in the order of their commits."""
    if not os.path.exists(file):
        raise HistoryError(f"{file}: no such file; 'dwell time --save {name} STMT' makes it")
    with _opened(file, "ro") as connection:
        peak = "peak_bytes" if _has_peaks(connection) else "NULL"
        rows = connection.execute(
            "SELECT coalesce(committed, saved), revision, python, loops, runs_ns, run_group, "
            f"{peak} FROM timing WHERE name = ? ORDER BY 1, id",
            (name,),
        ).fetchall()
        names = connection.execute("SELECT DISTINCT name FROM timing ORDER BY 1").fetchall()
    if not rows:
        known = ", ".join(row[0] for row in names) or "nothing"
        raise HistoryError(f"{file}: no timings of '{name}'; there are: {known}")
    found = []
    for when, revision, python, loops, runs, group, peak in rows:
        timing = Timing(name, loops, json.loads(runs), group=group)
        timing.note_peak(peak)
        found.append(Entry(when, revision, python, timing))
    return found


def _change(before: Timing, after: Timing) -> str:
    """How a timing differs from the one before it, if that can be told.

    The runs of a single process cannot: what sets it apart from the next one, as its memory
    layout, is in all of them.
    """
    if not before.group or not after.group:
        return ""
    found = _core.compare_runs(
        before.timings, after.timings, (before.group, after.group), False, CONFIDENCE, "", ""
    )
    return str(found["change"])


def _changes(timings: list[Timing]) -> list[str]:
    return [
        "",
        *(_change(before, after) for before, after in pairwise(timings)),
    ]


def _bounds(timings: list[Timing]) -> tuple[float, float]:
    low, high = min(t.ci[0] for t in timings), max(t.ci[1] for t in timings)
    margin = (high - low) * 0.05 or high * 0.05
    return max(low - margin, 0.0), high + margin or 1e-9


def _strip(timing: Timing, bounds: tuple[float, float], width: int) -> str:
    """The interval with the median in it, on a line from one bound to the other."""

    def place(seconds: float) -> int:
        return round((seconds - bounds[0]) / (bounds[1] - bounds[0]) * (width - 1))

    low, middle, high = (place(seconds) for seconds in (timing.ci[0], timing.median, timing.ci[1]))
    cells = [" "] * width
    cells[low : high + 1] = "─" * (high + 1 - low)
    cells[low], cells[high] = "├", "┤"
    cells[middle] = "●"
    return "".join(cells)


def _peaks(timings: list[Timing]) -> list[str]:
    """A column of the peaks of memory, when any is known."""
    known = [timing.peak_bytes for timing in timings]
    if not any(peak is not None for peak in known):
        return ["" for _ in known]
    return [f"{'' if peak is None else size_text(peak):>9}  " for peak in known]


_STRIP_MIN = 16  # below it, the ends of the axis run into each other


def plot(found: list[Entry], width: int) -> str:
    """The history as lines for a terminal."""
    timings = [entry.timing for entry in found]
    bounds = _bounds(timings)
    changes = _changes(timings)
    heads = [
        f"{_day(entry.when)}  {entry.revision[:13]:13}  "
        f"{entry.python:8} {format_time(entry.timing.median):>8}  {peak}"
        for entry, peak in zip(found, _peaks(timings), strict=True)
    ]
    strip = width - max(map(len, heads)) - max(map(len, changes)) - 2
    if strip < _STRIP_MIN:
        return "\n".join(
            (head + change).rstrip() for head, change in zip(heads, changes, strict=True)
        )
    lines = [
        f"{head}{_strip(entry.timing, bounds, strip)}  {change}".rstrip()
        for head, entry, change in zip(heads, found, changes, strict=True)
    ]
    low, high = format_time(bounds[0]), format_time(bounds[1])
    return "\n".join([*lines, " " * len(heads[0]) + low + high.rjust(strip - len(low))])


_SVG_WIDTH, _SVG_HEIGHT, _SVG_LEFT, _SVG_TOP = 800, 300, 80, 40
_SVG_STYLE = (
    "text{font:12px sans-serif;fill:#333}.title{font-weight:bold}"
    "path{fill:none;stroke:#2b6cb0}.whisker{stroke-opacity:.5}"
    "circle{fill:#2b6cb0}.slower{fill:#c53030}.faster{fill:#2f855a}.grid{stroke:#ddd}"
)


def svg(name: str, found: list[Entry]) -> str:
    """The history as a picture: medians with their intervals, changes in colour."""
    timings = [entry.timing for entry in found]
    low, high = _bounds(timings)
    right, bottom = _SVG_WIDTH - 20, _SVG_HEIGHT - 50
    step = (right - _SVG_LEFT) / max(len(found) - 1, 1)

    def y(seconds: float) -> float:
        return bottom - (seconds - low) / (high - low) * (bottom - _SVG_TOP)

    points = [(_SVG_LEFT + step * at, y(t.median)) for at, t in enumerate(timings)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SVG_WIDTH} {_SVG_HEIGHT}">',
        f"<style>{_SVG_STYLE}</style>",
        f'<text class="title" x="{_SVG_LEFT}" y="20">{html.escape(name)}</text>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        seconds = low + share * (high - low)
        parts.append(
            f'<path class="grid" d="M{_SVG_LEFT} {y(seconds):.1f}H{right}"/>'
            f'<text x="{_SVG_LEFT - 8}" y="{y(seconds) + 4:.1f}" text-anchor="end">'
            f"{format_time(seconds)}</text>"
        )
    line = "L".join(f"{x:.1f} {height:.1f}" for x, height in points)
    parts.append(f'<path d="M{line}"/>')
    for entry, (x, height), change in zip(found, points, _changes(timings), strict=True):
        ends = y(entry.timing.ci[0]), y(entry.timing.ci[1])
        parts.append(_svg_point(entry, x, height, ends, change))
    for at in sorted({0, len(found) // 2, len(found) - 1}):
        anchor = "end" if 0 < at == len(found) - 1 else "middle"
        parts.append(
            f'<text x="{points[at][0]:.1f}" y="{bottom + 24}" text-anchor="{anchor}">'
            f"{html.escape(_short_revision(found[at]))}</text>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _short_revision(entry: Entry) -> str:
    mark = "+" if entry.revision.endswith("+") else ""
    return entry.revision.rstrip("+")[:9] + mark or _day(entry.when)


def _day(when: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(when))


def _svg_point(
    entry: Entry, x: float, height: float, ends: tuple[float, float], change: str
) -> str:
    peak = entry.timing.peak_bytes
    size = "" if peak is None else f", peak memory {size_text(peak)}"
    median = format_time(entry.timing.median)
    title = f"{entry.revision} {_day(entry.when)}: {median}{size} {change}"
    kind = change.rpartition(" ")[2]
    return (
        f'<path class="whisker" d="M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}"/>'
        f'<circle class="{kind}" cx="{x:.1f}" cy="{height:.1f}" r="4">'
        f"<title>{html.escape(title.strip())}</title></circle>"
    )
