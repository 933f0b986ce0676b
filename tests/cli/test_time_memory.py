# SPDX-License-Identifier: MIT
"""`dwell time --memory`: the peak of what a statement allocates, beside its time."""

import json
import sqlite3
import sys
import venv
from contextlib import closing

import pytest

pytestmark = pytest.mark.any_python

BLOCK = "bytearray(10_000_000)"
QUICK = ("-r", "2", "-n", "1", "--memory")


def peaks(done):
    assert done.returncode in (0, 1), done.stderr
    return [timing["peak_bytes"] for timing in json.loads(done.stdout)["timings"]]


def test_the_peak_of_a_loop_is_exact_and_without_its_setup(timed):
    done = timed(*QUICK, "-s", "kept = bytearray(90_000_000)", BLOCK, f"{BLOCK} + {BLOCK}", "1")
    assert "peak memory of a loop: A 9.5 MiB, B 38.1 MiB, C " in done.stdout
    done = timed(*QUICK, "-n", "50", "--json", BLOCK)
    (peak,) = peaks(done)
    assert 10_000_000 <= peak < 10_010_000


def test_without_the_option_nothing_is_said_of_memory(timed):
    done = timed("-r", "2", "-n", "1", BLOCK)
    assert "memory" not in done.stdout
    assert peaks(timed("-r", "2", "-n", "1", "--json", BLOCK)) == [None]


@pytest.mark.parametrize("apart", [(), ("--processes", "1")])
def test_fail_if_larger_is_decided_by_the_peaks(timed, apart):
    larger = "bytearray(12_000_000)"
    limits = {"larger 5%": 1, "larger 1.1x": 1, "larger 30%": 0}
    for limit, status in limits.items():
        done = timed("-r", "2", "-n", "1", *apart, BLOCK, larger, "--fail-if", limit)
        assert done.returncode == status, done.stderr
        assert (f"dwell: B fails: {limit}\n" in done.stderr) == bool(status)
    done = timed("-r", "2", "-n", "1", *apart, larger, BLOCK, "--fail-if", "larger 5%")
    assert done.returncode == 0


def test_an_interpreter_without_dwell_has_no_peak_and_no_verdict(timed, tmp_path):
    venv.create(tmp_path / "bare")
    python = str(tmp_path / "bare" / "bin" / "python")
    common = ("--python", sys.executable, "--python", python, "--processes", "1", "-r", "1",
              "-n", "1", BLOCK)  # fmt: skip
    done = timed(*common, "--memory", "--json")
    known, unknown = peaks(done)
    assert known >= 10_000_000 and unknown is None
    done = timed(*common, "--fail-if", "larger 5%")
    assert done.returncode == 2
    assert "an interpreter has no dwell to count memory" in done.stderr


def test_the_history_has_peaks_also_one_that_an_older_dwell_began(timed, run_dwell, tmp_path):
    file = tmp_path / "h.sqlite"
    common = ("--save", "block", "--history-file", file, "--processes", "1", "-r", "1", "-n", "1")
    timed(*common, BLOCK)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("ALTER TABLE timing DROP COLUMN peak_bytes")
        connection.execute("PRAGMA user_version = 1")
    shown = run_dwell("time", "--history", "block", "--history-file", file)
    assert shown.returncode == 0 and "MiB" not in shown.stdout
    assert timed(*common, "--memory", BLOCK).returncode == 0
    shown = run_dwell("time", "--history", "block", "--history-file", file, "--svg", "h.svg")
    old, new, *_ = shown.stdout.splitlines()
    assert "MiB" not in old and "9.5 MiB" in new
    assert "peak memory 9.5 MiB" in (tmp_path / "h.svg").read_text()
