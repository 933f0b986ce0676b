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
from typing import NamedTuple

from . import _core
from ._machine import git
from .timing import CONFIDENCE, Timing, format_time

FILE_NAME = ".dwell-history.sqlite"
_VERSION = 1
_TABLE = """CREATE TABLE IF NOT EXISTS timing (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    saved REAL NOT NULL,      -- seconds since 1970
    committed REAL,           -- of the commit, when the files were as in one
    revision TEXT NOT NULL,   -- of the commit, with a + when files differed from it
    python TEXT NOT NULL,
    loops INTEGER NOT NULL,
    runs_ns TEXT NOT NULL,    -- a JSON list
    run_group INTEGER NOT NULL,
    machine TEXT NOT NULL     -- a JSON object
)"""


class HistoryError(Exception):
    """A file that is no history, or a name that is not in it."""


class Entry(NamedTuple):
    when: float
    revision: str
    python: str
    timing: Timing


def default_file() -> str:
    """At the root of the repository, else in this directory."""
    return os.path.join(git("rev-parse", "--show-toplevel") or os.getcwd(), FILE_NAME)


@contextmanager
def _opened(file: str) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(file)) as connection, connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise HistoryError(f"{file}: written by a newer dwell")
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            yield connection
    except sqlite3.Error as error:
        raise HistoryError(f"{file}: {error}") from None


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
    )
    with _opened(file) as connection:
        connection.execute(
            "INSERT INTO timing (name, saved, committed, revision, python, loops, runs_ns,"
            " run_group, machine) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )


def entries(file: str, name: str) -> list[Entry]:
    """The timings of that name, in the order of their commits."""
    if not os.path.exists(file):
        raise HistoryError(f"{file}: no such file; 'dwell time --save {name} STMT' makes it")
    with _opened(file) as connection:
        rows = connection.execute(
            "SELECT coalesce(committed, saved), revision, python, loops, runs_ns, run_group"
            " FROM timing WHERE name = ? ORDER BY 1, id",
            (name,),
        ).fetchall()
        names = connection.execute("SELECT DISTINCT name FROM timing ORDER BY 1").fetchall()
    if not rows:
        known = ", ".join(row[0] for row in names) or "nothing"
        raise HistoryError(f"{file}: no timings of '{name}'; there are: {known}")
    return [
        Entry(when, revision, python, Timing(name, loops, json.loads(runs), group=group))
        for when, revision, python, loops, runs, group in rows
    ]


def _change(before: Timing, after: Timing) -> str:
    """How a timing differs from the one before it, if that can be told: not from the runs of one
    process, which may differ from those of the next for no reason in the code."""
    if not before.group or not after.group:
        return ""
    groups = (before.group, after.group)
    found = _core.compare_runs(before.timings, after.timings, groups, False, CONFIDENCE, "", "")
    return str(found["change"])


def _changes(timings: list[Timing]) -> list[str]:
    return [
        "",
        *(_change(before, after) for before, after in pairwise(timings)),
    ]


def _bounds(timings: list[Timing]) -> tuple[float, float]:
    low, high = min(t.ci[0] for t in timings), max(t.ci[1] for t in timings)
    margin = (high - low) * 0.05 or high * 0.05
    return low - margin, high + margin


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


def plot(found: list[Entry], width: int) -> str:
    """The history as lines for a terminal."""
    timings = [entry.timing for entry in found]
    bounds = _bounds(timings)
    strip = max(width - 60, 20)
    lines = [
        f"{_day(entry.when)}  {entry.revision[:13]:13}  "
        f"{entry.python:8} {format_time(entry.timing.median):>8}  "
        f"{_strip(entry.timing, bounds, strip)}  {change}".rstrip()
        for entry, change in zip(found, _changes(timings), strict=True)
    ]
    low, high = format_time(bounds[0]), format_time(bounds[1])
    return "\n".join([*lines, " " * 46 + low + high.rjust(strip - len(low))])


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
        parts.append(
            f'<text x="{points[at][0]:.1f}" y="{bottom + 24}" text-anchor="middle">'
            f"{html.escape(found[at].revision[:9] or _day(found[at].when))}</text>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _day(when: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(when))


def _svg_point(
    entry: Entry, x: float, height: float, ends: tuple[float, float], change: str
) -> str:
    title = f"{entry.revision} {_day(entry.when)}: {format_time(entry.timing.median)} {change}"
    kind = change.rpartition(" ")[2]
    return (
        f'<path class="whisker" d="M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}"/>'
        f'<circle class="{kind}" cx="{x:.1f}" cy="{height:.1f}" r="4">'
        f"<title>{html.escape(title.strip())}</title></circle>"
    )
