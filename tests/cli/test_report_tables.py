# SPDX-License-Identifier: MIT
"""Reports for people: they fit the terminal, and say what their numbers are of."""

import re
import unicodedata

import pytest

from ..conftest import Program
from .conftest import MAY_READ, Attach, Start

pytestmark = pytest.mark.any_python

# Three children, each with a deep tree of regions of its own.
FORKING = """\
import os
import dwell

def descend(depth):
    if depth:
        with dwell.region(f"a region with a name that is long, at depth {depth}"):
            descend(depth - 1)

descend(2)
for _ in range(3):
    if not (pid := os.fork()):
        descend(40)
        os._exit(0)
    os.waitpid(pid, 0)
"""

# What takes 1 ms in all, under what takes 100, at the bottom of a chain.
CHAIN = """\
import time
import dwell

def wait(seconds):
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(left)

def chain(names):
    if not names:
        wait(1)
        with dwell.region("small"):
            pass
        return
    with dwell.region(names[0]):
        chain(names[1:])

chain(["outer", "a_middle_with_a_name_that_nobody_would_give_it", "another", "inner"])
"""


def width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "FW" else 1 for c in line)


@pytest.fixture
def report(tmp_path, run_dwell: Program):
    """Records the regions of a program, and reports what all its processes did."""

    def run(source: str, *options: str) -> str:
        (tmp_path / "program.py").write_text(source)
        if not (tmp_path / "all.dwell").exists():
            assert (
                run_dwell("run", "-q", "--regions", "-o", "x.dwell", "program.py").returncode == 0
            )
            files = sorted(file.name for file in tmp_path.glob("x*.dwell"))
            assert run_dwell("merge", *files, "-o", "all.dwell").returncode == 0
        shown = run_dwell("report", "all.dwell", *options)
        assert (shown.returncode, shown.stderr) == (0, "")
        return shown.stdout

    return run


def test_processes_of_a_merge_are_a_row_each(report):
    note, head, _, *rows = report(FORKING, "--by", "process").splitlines()
    assert re.fullmatch(r"percentages are of [\d.]+ m?s, the sum of the rows", note)
    assert head.split() == ["name", "total", "%", "of", "total", "self"]
    assert len(rows) == 4
    pids = {re.match(r"program\.py (\d+)  ", row)[1] for row in rows}
    assert len(pids) == 4
    shares = [float(re.search(r"([\d.]+)%", row)[1]) for row in rows]
    assert shares == sorted(shares, reverse=True) and abs(sum(shares) - 100) < 0.1


def test_threads_of_a_merge_are_a_row_each(report):
    rows = report(FORKING, "--by", "thread").splitlines()[3:]
    assert len(rows) == 4
    assert all(re.match(r"MainThread of program\.py \d+  ", row) for row in rows)


def test_trees_of_processes_are_there_for_those_who_ask(report):
    table = report(FORKING, "--by", "process", "--columns", "indented_name,count")
    assert table.count(". a region with a name that is long, at depth 40 ") == 3


@pytest.mark.parametrize("columns", ["80", "120"])
def test_tree_fits_the_width_that_is_asked_for(report, columns: str):
    wide = report(FORKING, "--format", "tree", "--by", "process", "--threshold", "0")
    tree = report(
        FORKING, "--format", "tree", "--by", "process", "--threshold", "0", "--width", columns
    )
    assert max(map(width, wide.splitlines())) > 150
    assert max(map(width, tree.splitlines()[1:])) <= int(columns)
    assert len(tree.splitlines()) == len(wide.splitlines())
    assert "…" in tree and "…" not in wide


def test_tree_leaves_out_what_is_small_and_joins_what_only_calls(report):
    whole = report(CHAIN, "--format", "tree", "--threshold", "0").splitlines()
    head, main, chain, left_out = report(CHAIN, "--format", "tree").splitlines()
    assert len(whole) == 1 + 6
    assert head.endswith("self  name") and main.endswith("  <main>")
    assert chain.endswith("└─ outer > … > inner")
    assert re.fullmatch(r"\(1 more of less than 1 % each, together [\d.]+ (us|ns)\)", left_out)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--threshold", "1%"], "--threshold goes with --format tree"),
        (["--format", "tree", "--threshold", "x"], "--threshold needs a share such as 1%"),
        (["--width", "-1"], "--width needs a number of columns, not '-1'"),
        (["--width", "8x"], "--width needs a number of columns, not '8x'"),
    ],
)
def test_bad_usage(run_dwell: Program, words: list[str], complaint: str):
    result = run_dwell("report", "x.dwell", *words)
    assert (result.returncode, result.stdout) == (2, "")
    assert complaint in result.stderr


IDLE = """\
import threading
def work():
    while True:
        sum(range(1000))
def consume():
    threading.Event().wait()
threading.Thread(target=consume, name="consumer", daemon=True).start()
print("ready", flush=True)
work()
"""


@MAY_READ
def test_threads_that_wait_are_idle_and_no_work(start: Start, attach: Attach):
    process = start(IDLE, sleeps=False)
    attached = attach(process)
    attached.wait_for_samples()
    while "\nconsumer (idle)  " not in attached.dwell("report", "--by", "thread"):
        assert attached.goes_on()
    process.kill()
    attached.wait()
    assert "idle: 1 of 2 threads only waited" in attached.stderr
    lines = attached.stderr.splitlines()
    work = next(i for i, line in enumerate(lines) if "  work (program.py:2)" in line)
    idle = [line for line in lines if " consume (program.py:5) (idle)" in line]
    assert len(idle) == 1 and lines.index(idle[0]) > work
    assert "(idle)" not in lines[work]
    threads = attached.dwell("report", "--by", "thread")
    assert "\nconsumer (idle)  " in threads and "\nMainThread  " in threads
