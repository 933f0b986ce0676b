# SPDX-License-Identifier: MIT
"""Programs that record themselves follow their children when they are asked to."""

import json
import os
from pathlib import Path

import pytest

import dwell

STARTS = """
import multiprocessing, os, subprocess, sys
import dwell

def work(n):
    with dwell.region("work"):
        return sum(range(200_000)) and n

if __name__ == "__main__":
    {start}
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert sum(pool.map(work, range(10), 1)) == 45
    with dwell.region("work"):
        pass
    {stop}
    assert "DWELL_RUN" not in os.environ or not {is_stopped}
"""
INSTALL = "dwell.install(dwell.reporters.SilentReporter(), log_file='x.dwell', follow=True)"


def rows(run_dwell, tmp_path: Path, *words: str) -> list[dict]:
    done = run_dwell("report", tmp_path / "x.dwell", *words, "--format", "json")
    return json.loads(done.stdout)["rows"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_install(python_program, run_dwell, tmp_path, method):
    source = STARTS.format(start=INSTALL, stop="", is_stopped=False)
    done = python_program(source, method)
    assert (done.returncode, done.stderr) == (0, "")
    found = rows(run_dwell, tmp_path, "--by", "region", "--measure", "count")
    assert [row["count"]["total"] for row in found if row["region"] == "work"] == [11]
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_start_and_stop(python_program, run_dwell, tmp_path, method):
    start = "dwell.start('x.dwell', rate=5000, follow=True)"
    source = STARTS.format(start=start, stop="dwell.stop()", is_stopped=True)
    done = python_program(source, method)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]
    found = rows(run_dwell, tmp_path, "--by", "process", "--measure", "samples")
    assert any("PoolWorker-" in row["process"] for row in found)


def test_a_child_that_runs_the_same_start(python_program, tmp_path):
    """A module that is imported by spawned children, too, starts for all of them."""
    done = python_program(
        "import multiprocessing, dwell\n"
        "dwell.start('x.dwell', follow=True)\n"
        "def work(): pass\n"
        "if __name__ == '__main__':\n"
        "    process = multiprocessing.get_context('spawn').Process(target=work)\n"
        "    process.start()\n"
        "    process.join()\n"
        "    assert process.exitcode == 0\n"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]


def test_there_must_be_a_file():
    with pytest.raises(ValueError, match="needs a file"):
        dwell.start(follow=True)
    assert "DWELL_RUN" not in os.environ


def test_under_dwell_run_there_is_nothing_to_do(run_dwell, tmp_path):
    (tmp_path / "program.py").write_text(
        STARTS.format(start=INSTALL.replace("x.dwell", "y.dwell"), stop="", is_stopped=False)
    )
    done = run_dwell("run", "-q", "--regions", "-o", "x.dwell", "program.py", "fork")
    assert (done.returncode, done.stderr) == (0, "")
    found = rows(run_dwell, tmp_path, "--by", "region", "--measure", "count")
    assert [row["count"]["total"] for row in found if row["region"] == "work"] == [11]
