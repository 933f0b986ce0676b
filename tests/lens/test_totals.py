# SPDX-License-Identifier: MIT
"""Every export holds the time that the report holds: one recording is compared with itself."""

import json
from pathlib import Path

import pytest

from .totals import Totals, chrome

WITHIN = 0.001

# Runs, waits, works in the kernel, forks and ends in other places than Python code.
PROGRAM = """
import json, os, sys, threading, time
import dwell

def work(rounds):
    for _ in range(rounds):
        with dwell.region("outer"):
            json.dumps(list(range(300)))
            with dwell.region("inner"):
                sum(range(3000))
                time.sleep(0.0005)

threads = [threading.Thread(target=work, args=(60,)) for _ in range(2)]
for thread in threads:
    thread.start()
with open("/dev/urandom", "rb") as noise:
    for _ in range(20):
        noise.read(1 << 20)
work(60)
for thread in threads:
    thread.join()
if child := os.fork():
    os.waitpid(child, 0)
else:
    work(60)
"""


@pytest.fixture
def record(tmp_path, run_dwell):
    """Runs the program; the recording of it and its child."""

    def run(*options):
        (tmp_path / "program.py").write_text(PROGRAM)
        done = run_dwell("run", "-q", *options, "-o", "x.dwell", "program.py")
        assert done.returncode == 0, done.stderr
        return [tmp_path / "x.dwell"]

    return run


def assert_equal(found, truth):
    off = {name: value / truth - 1 for name, value in found.items()}
    assert not {name for name, part in off.items() if abs(part) > WITHIN}, off


@pytest.mark.parametrize(
    "options",
    [(), ("--mode", "wall"), ("--no-native",), ("--mode", "wall", "--no-native")],
    ids=" ".join,
)
def test_totals_of_samples(options, record, dwell_program, tmp_path):
    totals = Totals(dwell_program, record("--timeline", *options), tmp_path)
    processes = json.loads(totals.report("--by", "process,thread", "--format", "json"))["rows"]
    assert len({row["process"] for row in processes}) == 2
    assert_equal(totals.of_samples(), totals.samples_reported())


def test_totals_of_samples_without_a_timeline(record, dwell_program, tmp_path):
    totals = Totals(dwell_program, record(), tmp_path)
    assert_equal(totals.of_samples(timeline=False), totals.samples_reported())


def test_totals_of_merged_samples(record, run_dwell, dwell_program, tmp_path):
    apart = Totals(dwell_program, record("--timeline"), tmp_path)
    merged = tmp_path / "merged"
    assert run_dwell("merge", *apart.files, "-o", merged).returncode == 0
    totals = Totals(dwell_program, [merged], tmp_path)
    assert totals.samples_reported() == apart.samples_reported()
    assert_equal(totals.of_samples(), apart.samples_reported())


def regions_reported(totals):
    rows = json.loads(totals.report("--by", "region", "--format", "json"))["rows"]
    return sum(row["self_ns"] for row in rows if row["path"])


@pytest.mark.parametrize("timeline", [True, False])
def test_totals_of_regions(timeline, record, dwell_program, tmp_path):
    options = ["--timeline"] if timeline else []
    totals = Totals(dwell_program, record("--regions", *options), tmp_path)
    assert_equal(totals.of_all(2, timeline), regions_reported(totals))


def test_totals_of_regions_beside_samples(record, dwell_program, tmp_path):
    totals = Totals(dwell_program, record("--timeline"), tmp_path)
    regions, samples = regions_reported(totals), totals.samples_reported()
    assert_equal(totals.of_all(2, True, "--by", "region"), regions)
    assert_equal({"chrome": chrome(totals.export("chrome"), 1)}, regions + samples)


def test_totals_of_calls(record, dwell_program, tmp_path):
    totals = Totals(dwell_program, record("--calls"), tmp_path)
    functions = json.loads(totals.report("--by", "function", "--format", "json"))["rows"]
    reported = sum(function["call_total"]["self"] for function in functions)
    assert_equal(totals.of_all(2, False), reported)


def test_totals_of_stacks_without_frames(run_dwell, dwell_program, tmp_path):
    """Of a tool that could not read some. They are numbers of samples and no times."""
    path: Path = tmp_path / "x.folded"
    path.write_text("<module> (x.py:3);f (x.py:2) 5\n 2\n")
    totals = Totals(dwell_program, [path], tmp_path)
    assert totals.export("collapsed").splitlines()[-1] == b"<main>;[no frames] 2"
    assert b"\ntotals: 7\n" in totals.export("callgrind")
    assert json.loads(totals.report("--format", "json"))["measures"][0]["all"] == 7
