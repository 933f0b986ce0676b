# SPDX-License-Identifier: MIT
"""Snapshots of the heap from the command line: recorded, reported by type and by what retains most,
compared, exported; and leaks."""

import csv
import io
import json
import signal
import subprocess
import sys

import pytest

from dwell import heap

pytestmark = pytest.mark.any_python

PROGRAM = """
class Kept:
    def __init__(self, n):
        self.payload = bytes(n)
held = {"first": [Kept(1000) for _ in range(200)]}
from dwell import heap
import sys
heap.snapshot().save(sys.argv[1], "before")
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A file with one snapshot, and what the program itself said of it."""
    folder = tmp_path_factory.mktemp("heap")
    program = folder / "program.py"
    program.write_text(
        PROGRAM + "print([tuple(r) for r in heap.load(sys.argv[1]).types() if r.count])\n"
    )
    file = folder / "heap.dwell"
    said = subprocess.run(
        [sys.executable, program, file], check=True, capture_output=True, text=True
    ).stdout
    return file, {name: numbers for name, *numbers in eval(said)}


def dwell(*words, status=0):
    done = subprocess.run(
        [sys.executable, "-m", "dwell", *map(str, words)], capture_output=True, text=True
    )
    assert done.returncode == status, done.stderr
    return done.stdout


def test_types_have_guppys_columns_and_what_they_retain(recorded):
    file, said = recorded
    lines = dwell("report", file, "--by", "type").splitlines()
    assert lines[0].startswith("Partition of a set of ")
    assert lines[1].split()[:3] == ["Index", "Count", "%"]
    rows = {line.split()[-1]: line.split() for line in lines[2:]}
    assert rows["__main__.Kept"][1] == "200"
    for name, (count, size, retained) in said.items():
        if " " not in name:
            row = rows[name]
            assert (int(row[1]), int(row[3]), int(row[7])) == (count, size, retained), name


def test_rows_of_types_are_the_same_as_data(recorded):
    file, said = recorded
    rows = list(csv.DictReader(io.StringIO(dwell("report", file, "--by", "type", "--format=csv"))))
    assert len(rows) == len(said)
    data = json.loads(dwell("report", file, "--by", "type", "--format=json"))
    kept = next(row for row in data["rows"] if row["type"] == "__main__.Kept")
    assert kept["objects"]["self"] == 200 if isinstance(kept["objects"], dict) else True


def test_dominators_are_named_by_the_way_to_them(recorded):
    file, _ = recorded
    table = dwell("report", file, "--by", "dominator", "--limit", "8")
    assert "__main__.held['first']" in table


def test_objects_are_told_by_size_and_by_module(recorded):
    file, _ = recorded
    assert "1024-2047" in dwell("report", file, "--by", "size")
    assert "__main__" in dwell("report", file, "--by", "defined_in")


def test_diff_tells_what_grew_between_two_snapshots_of_one_file(tmp_path):
    program = tmp_path / "grows.py"
    program.write_text(
        "import dwell, sys\n"
        "from dwell import heap\n"
        "class Kept: pass\n"
        "p = dwell.install(dwell.reporters.SilentReporter(), log_file=sys.argv[1])\n"
        "heap.snapshot().save(sys.argv[1])\n"
        "held = [Kept() for _ in range(5000)]\n"
        "heap.snapshot().save(sys.argv[1])\n"
        "p.finalize()\n"
    )
    file = tmp_path / "two.dwell"
    subprocess.run([sys.executable, program, file], check=True, stdout=subprocess.PIPE)
    text = dwell("diff", f"{file}#0", f"{file}#1", "--by", "type")
    assert "__main__.Kept" in text
    done = subprocess.run(
        [sys.executable, "-m", "dwell", "report", f"{file}#2"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "2 snapshots" in done.stderr


def test_flame_graphs_show_what_types_retain(recorded, tmp_path):
    file, _ = recorded
    stacks = dwell("export", file, "--to", "collapsed").splitlines()
    assert any("__main__.held['first']" in line and "Kept" in line for line in stacks)


def test_run_heap_takes_a_snapshot_at_the_end(tmp_path):
    program = tmp_path / "plain.py"
    program.write_text("class Kept: pass\nheld = [Kept() for _ in range(3000)]\n")
    file = tmp_path / "run.dwell"
    dwell("run", "--heap", "-q", "-o", file, program)
    table = dwell("report", file, "--by", "type", "--match", "Kept")
    assert " 3000 " in table and "__main__.Kept" in table


ENDS = {
    "os._exit": ("import os; os._exit(3)", 3),
    "kill": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    "raise": ("import signal; signal.raise_signal(signal.SIGTERM)", -signal.SIGTERM),
}


@pytest.mark.parametrize("end", ENDS)
def test_run_heap_takes_a_snapshot_however_the_program_ends(tmp_path, end):
    code, status = ENDS[end]
    program = tmp_path / "ends.py"
    program.write_text(f"class Kept: pass\nheld = [Kept() for _ in range(300)]\n{code}\n")
    dwell("run", "--heap", "-q", "-o", tmp_path / "run.dwell", program, status=status)
    (snapshot,) = heap.load_all(tmp_path / "run.dwell")
    assert snapshot.types().named("__main__.Kept").count == 300


@pytest.mark.parametrize("busy", ["while True: pass", "import signal; signal.pause()"])
def test_run_heap_takes_a_snapshot_when_somebody_ends_the_program(tmp_path, busy):
    program = tmp_path / "runs.py"
    program.write_text(
        "class Kept: pass\nheld = [Kept() for _ in range(300)]\n"
        f"print('ready', flush=True)\n{busy}\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-m", "dwell", "run", "--heap", "-q", "-o", tmp_path / "run.dwell"]
        + [program],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout.readline() == "ready\n"
    run.terminate()
    run.communicate()
    assert run.returncode == -signal.SIGTERM
    (snapshot,) = heap.load_all(tmp_path / "run.dwell")
    assert snapshot.types().named("__main__.Kept").count == 300


def test_a_forked_child_takes_no_snapshot(tmp_path):
    program = tmp_path / "forks.py"
    program.write_text(
        "import os\nif not os.fork(): os._exit(0)\n"
        "os.wait()\nif not os.fork(): os.kill(os.getpid(), 15)\nos.wait()\n"
    )
    dwell("run", "--heap", "-q", "-o", tmp_path / "run.dwell", program)
    assert [taken.taken.reason for taken in heap.load_all(tmp_path / "run.dwell")] == ["exit"]


def test_run_heap_takes_snapshots_where_a_region_begins_and_ends(tmp_path):
    program = tmp_path / "regions.py"
    program.write_text(
        "import dwell\n"
        "class Kept: pass\n"
        "held = []\n"
        "def load(count):\n"
        "    with dwell.region('a, b'):\n"
        "        held.extend(Kept() for _ in range(count))\n"
        "load(100)\n"
        "with dwell.region('other'): load(10)\n"
        "try:\n"
        "    with dwell.region('a, b'): raise KeyError('x')\n"
        "except KeyError as error: assert error.args == ('x',)\n"
    )
    file = tmp_path / "run.dwell"
    dwell("run", "--heap=region:a, b", "-q", "-o", file, program)
    taken = [(each.taken.reason, each.types().named("Kept").count) for each in heap.load_all(file)]
    begins, ends = "region a, b begins", "region a, b ends"
    assert taken == (
        [(begins, 0), (ends, 100), (begins, 100), (ends, 110)]
        + [(begins, 110), (ends, 110), ("exit", 110)]
    )


def test_a_report_in_the_middle_is_not_the_end(tmp_path):
    program = tmp_path / "goes_on.py"
    program.write_text(
        "import dwell, os, sys\n"
        "dwell.install(dwell.reporters.SilentReporter(), log_file=sys.argv[1]).finalize()\n"
        "class Late: pass\nlate = Late()\nos._exit(0)\n"
    )
    dwell("run", "--heap", "-q", "-o", tmp_path / "run.dwell", program, tmp_path / "own.dwell")
    (snapshot,) = heap.load_all(tmp_path / "run.dwell")
    assert snapshot.types().named("__main__.Late").count == 1


def test_several_regions_and_times_can_be_named(tmp_path):
    program = tmp_path / "several.py"
    program.write_text(
        "import dwell\nwith dwell.region('a'): pass\nwith dwell.region('b'): pass\n"
        "with dwell.region('c'): pass\n"
    )
    file = tmp_path / "run.dwell"
    words = ("--heap=region:a", "--heap=3600s", "--heap=region:b", "--heap=USR2")
    dwell("run", *words, "-q", "-o", file, program)
    taken = [each.taken.reason for each in heap.load_all(file)]
    assert taken == [f"region {name}" for name in ("a begins", "a ends", "b begins", "b ends")] + [
        "exit"
    ]


def test_a_region_that_runs_often_does_not_fill_the_file(tmp_path):
    program = tmp_path / "often.py"
    program.write_text("import dwell\nfor _ in range(300):\n    with dwell.region('x'): pass\n")
    dwell("run", "--heap=region:x", "-q", "-o", tmp_path / "run.dwell", program)
    assert 20 < len(heap.load_all(tmp_path / "run.dwell")) < 300


@pytest.mark.parametrize("value", ["region:", "region:" + "x" * 200, "soon", "0ms"])
def test_a_bad_time_for_snapshots_is_refused(value):
    done = subprocess.run(
        [sys.executable, "-m", "dwell", "run", f"--heap={value}", "x.py"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stderr.startswith("dwell: --heap")


def test_run_leaks_tells_type_holder_and_line(tmp_path):
    program = tmp_path / "leaks.py"
    program.write_text(
        "import time\n"
        "class Session:\n"
        "    def __init__(self): self.history = [0] * 100\n"
        "SESSIONS = {}\n"
        "def handle(n):\n"
        "    SESSIONS[n] = Session()\n"
        "def looks():\n"
        "    import gc\n"
        "    return sum(type(o).__name__ == 'watch' for o in gc.get_objects())\n"
        "from dwell.heap import _leaks\n"
        "import gc, sys\n"
        "(watched,) = [o for o in gc.get_objects() if type(o).__name__ == 'watch']\n"
        "n = 0\n"
        "while len(watched._looks) < 6:\n"
        "    handle(n); n += 1\n"
        "    time.sleep(0.0005)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "dwell", "run", "--leaks=20ms", "-q", "-o", tmp_path / "l.dwell"]
        + [program],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    after = done.stderr.partition("__main__.Session")[2].splitlines()
    assert after[1].strip() == "held by __main__.SESSIONS[<int>]"
    assert after[2].strip() == "made at leaks.py:6 (handle)"
    lines = done.stderr.partition("Lines of which more and more objects are alive:")[2].splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith(" leaks.py:3 (Session.__init__)"))
    assert lines[at + 1].strip() == "mostly list, held by __main__.SESSIONS[<int>].history"
