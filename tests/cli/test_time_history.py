# SPDX-License-Identifier: MIT
"""Timings that are kept: in logs, and in a history over commits."""

import json
import os
import re
import sqlite3
import sys
import xml.etree.ElementTree as ElementTree
from contextlib import closing

import pytest

from .revisions import ONCE, REVISIONS, git

pytestmark = pytest.mark.any_python


def test_a_log_is_reported(tmp_path, timed, run_dwell):
    done = timed("sum(range(10))", "sum(range(2000))", "-o", "x.dwell")
    report = run_dwell("report", "x.dwell")
    assert report.returncode == 0
    assert report.stdout.splitlines()[0].split() == [
        *("name", "median", "from", "to", "mean", "stdev", "runs", "loops")
    ]
    assert done.stdout.splitlines()[2] in report.stdout
    run_dwell("merge", "x.dwell", "-o", "merged.dwell")
    assert run_dwell("report", "merged.dwell").stdout == report.stdout
    properties = json.loads(run_dwell("report", "x.dwell", "--format", "json").stdout)["processes"][
        0
    ]["properties"]
    assert properties["argv"].endswith("'sum(range(2000))' -o x.dwell")
    assert {"cpu", "cores", "load", "kernel", "python_build"} <= set(properties)


def test_fresh_processes_in_a_log_are_units(timed, run_dwell):
    done = timed("1", "[1] * 500", "--processes", "6", "-r", "3", "-o", "x.dwell")
    assert done.stdout.splitlines()[2] in run_dwell("report", "x.dwell").stdout


def test_history_over_commits(repository, timed, run_dwell):
    environment = {**os.environ, "PYTHONPATH": "src"}
    saved = timed(*REVISIONS, "--processes", "6", "-r", "2", "--save", "f", env=environment)
    assert saved.returncode == 0, saved.stderr
    assert (repository / ".dwell-history.sqlite").exists()
    shown = run_dwell("time", "--history", "f", "--svg", "f.svg", cwd=repository / "src")
    first, second, axis = shown.stdout.splitlines()
    assert git(repository, "rev-parse", "--short=12", "HEAD~1") in first
    assert git(repository, "rev-parse", "--short=12", "HEAD") in second
    assert "●" in first and re.search(r"●.*x slower$", second)
    picture = ElementTree.parse(repository / "src" / "f.svg").getroot()
    circles = picture.findall("{http://www.w3.org/2000/svg}circle")
    assert [circle.get("class") for circle in circles] == ["", "slower"]


def test_history_of_several_statements_has_names_of_its_own(tmp_path, timed, run_dwell):
    timed("1", "2", "--save", "ints", "--history-file", "h.sqlite")
    rows = sqlite3.connect(tmp_path / "h.sqlite").execute("SELECT name FROM timing").fetchall()
    assert rows == [("ints: 1",), ("ints: 2",)]
    missing = run_dwell("time", "--history", "ints", "--history-file", "h.sqlite")
    assert missing.returncode == 2
    assert missing.stderr.endswith("no timings of 'ints'; there are: ints: 1, ints: 2\n")


def test_what_is_saved_is_of_fresh_processes(tmp_path, timed):
    timed("1", "--save", "x", "--history-file", "h.sqlite")
    timed("1", "--save", "x", "--history-file", "h.sqlite", "--processes", "2", "-r", "3")
    connection = sqlite3.connect(tmp_path / "h.sqlite")
    rows = connection.execute("SELECT run_group, runs_ns, python FROM timing").fetchall()
    assert [(group, len(json.loads(runs))) for group, runs, _ in rows] == [(5, 50), (3, 6)]
    assert {python for _, _, python in rows} == {sys.version.split()[0]}


def test_looking_at_a_history_writes_nothing(tmp_path, timed, run_dwell):
    timed(*ONCE, "1", "--save", "x", "--history-file", "h #1?.sqlite")
    file = tmp_path / "h #1?.sqlite"
    before = file.read_bytes()
    shown = run_dwell("time", "--history", "x", "--history-file", file.name)
    assert shown.returncode == 0, shown.stderr
    assert file.read_bytes() == before
    (tmp_path / "empty.sqlite").touch()
    run_dwell("time", "--history", "x", "--history-file", "empty.sqlite")
    assert (tmp_path / "empty.sqlite").read_bytes() == b""


@pytest.mark.parametrize("words", [("--save", "x", "1"), ("--history", "x")])
def test_databases_of_others_are_refused(tmp_path, timed, words):
    file = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE timing (id)")
    before = file.read_bytes()
    done = timed(*words, "--history-file", file.name)
    assert done.returncode == 2
    assert done.stderr == "dwell: other.sqlite: a database of another program\n"
    assert file.read_bytes() == before


def made_up_history(file, processes=True, spread_ns=1000):
    """Three commits, the second of them much slower, and files changed after the last."""
    from dwell import _history
    from dwell.timing import Timing

    for revision, around in (("a" * 12, 1e6), ("b" * 12, 2e6), ("c" * 12 + "+", 2e6)):
        runs = [int(around) + at * 7 % 10 * spread_ns for at in range(20)]
        timing = Timing("x", 1, runs, group=2 if processes else 0)
        _history.add(str(file), "x", timing, revision, {})


@pytest.mark.parametrize("processes", [True, False])
def test_only_processes_are_told_apart(tmp_path, run_dwell, processes):
    made_up_history(tmp_path / "h.sqlite", processes)
    shown = run_dwell("time", "--history", "x", "--history-file", "h.sqlite")
    assert ("x slower" in shown.stdout) == processes


@pytest.mark.parametrize("width", [60, 80, 200])
def test_plots_fit_the_terminal(tmp_path, run_dwell, width):
    made_up_history(tmp_path / "h.sqlite")
    shown = run_dwell(
        *("time", "--history", "x", "--history-file", "h.sqlite"),
        env={**os.environ, "COLUMNS": str(width)},
    )
    widest = max(map(len, shown.stdout.splitlines()))
    assert width - 3 <= widest <= width
    assert ("●" in shown.stdout) == (width > 60)


def test_labels_of_a_picture_are_whole(tmp_path, run_dwell):
    made_up_history(tmp_path / "h.sqlite", spread_ns=3_000_000)
    run_dwell("time", "--history", "x", "--history-file", "h.sqlite", "--svg", "x.svg")
    texts = (
        ElementTree.parse(tmp_path / "x.svg").getroot().findall("{http://www.w3.org/2000/svg}text")
    )
    assert (texts[-1].text, texts[-1].get("text-anchor")) == ("ccccccccc+", "end")
    assert not any((text.text or "").startswith("-") for text in texts)


def test_a_file_that_is_no_history_is_left_alone(tmp_path, timed):
    (tmp_path / "h.sqlite").write_text("this is no database, however long it may be" * 30)
    done = timed("1", "--save", "x", "--history-file", "h.sqlite")
    assert done.returncode == 2
    assert done.stderr == "dwell: h.sqlite: file is not a database\n"
    assert (tmp_path / "h.sqlite").read_text().startswith("this is no database")
