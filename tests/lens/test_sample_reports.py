# SPDX-License-Identifier: MIT
"""What reports of real recordings of samples say, and what they leave out."""

import json
import re

import pytest

READS = """
with open("/dev/zero", "rb") as zeros:
    for _ in range(200):
        zeros.read(1 << 20)
        sum(range(20_000))
"""

TWO_THREADS = """
import threading

def spin():
    for _ in range(2_000_000):
        pass

helper = threading.Thread(target=spin, name="the helper")
helper.start()
spin()
helper.join()
"""


def done(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def recorded(run_dwell):
    def record(program, *options, name="x.dwell"):
        done(run_dwell("run", "-q", *options, "-o", name, "-c", program))
        return name

    return record


def test_the_header_counts_the_samples_of_the_rows(recorded, run_dwell):
    name = recorded(READS)
    header = int(re.match(r"CPU time: (\d+) samples", done(run_dwell("report", name)))[1])
    report = json.loads(done(run_dwell("report", name, "--format", "json")))
    assert sum(row["self_samples"] for row in report["rows"]) == header
    assert [process["taken"] for process in report["sampling"]] == [header]


def test_the_header_has_the_rates_and_no_zeros(recorded, run_dwell):
    header = done(run_dwell("report", recorded(READS))).splitlines()[0]
    assert "1000 Hz asked" in header and "Hz obtained" in header
    assert not re.search(r"\b0 (missed|guessed|cut|retried)", header)


def test_threads_have_the_names_that_python_gave_them(recorded, run_dwell):
    rows = done(run_dwell("report", recorded(TWO_THREADS), "--by", "thread"))
    assert re.search(r"^MainThread ", rows, re.MULTILINE)
    assert re.search(r"^the helper ", rows, re.MULTILINE)


def test_the_main_thread_has_its_name_without_threading(recorded, run_dwell):
    name = recorded("import sys; assert 'threading' not in sys.modules\n" + READS)
    rows = done(run_dwell("report", name, "--by", "thread", "--format", "csv"))
    threads = {line.split(",")[1] for line in rows.splitlines()[1:] if line.split(",")[2] == ""}
    assert threads == {"MainThread"}
