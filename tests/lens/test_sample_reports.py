# SPDX-License-Identifier: MIT
"""What reports of real recordings of samples say, and what they leave out."""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

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
    assert sum(row["samples"]["self"] for row in report["rows"]) == header
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


SPIN = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

fib(27)
"""


@pytest.fixture
def spun(recorded):
    return recorded(SPIN)


def test_callers_of_samples_are_not_called_calls(spun, run_dwell):
    table = done(run_dwell("report", spun, "--callers"))
    assert "samples   self s  total s" in table and "calls" not in table
    assert re.search(r"^ +\d+ +\d+\.\d{3} +\d+\.\d{3}  .*\(fib\)$", table, re.MULTILINE)
    head = done(run_dwell("report", spun, "--callees", "--format", "csv")).splitlines()[0]
    assert head.endswith(",callee_lineno,cpu,cpu_self,samples,samples_self")
    report = json.loads(done(run_dwell("report", spun, "--callers", "--format", "json")))
    callers = [row for row in report["rows"] if row["callee"] == "fib"]
    [fib] = [
        row
        for row in json.loads(done(run_dwell("report", spun, "--format", "json")))["rows"]
        if row["name"] == "fib"
    ]
    assert callers and not {"calls", "call_total"} & set(callers[0])
    assert max(row["samples"]["total"] for row in callers) <= fib["samples"]["total"]
    assert report["sampling"]


def test_callers_of_counts_have_no_seconds(run_dwell, tmp_path):
    (tmp_path / "x.folded").write_text("a;b;b 2\na;c 3\n")
    table = done(run_dwell("report", "x.folded", "--callers"))
    assert "samples     self    total\n" in table
    assert re.search(r"^b +<- +2 +0 +2  a$", table, re.MULTILINE)
    rows = done(run_dwell("report", "x.folded", "--callers", "--format", "csv"))
    assert "\na,,0,c,,0,3,3\n" in rows


@pytest.mark.parametrize("column", ["p50", "p99", "average", "min", "max", "cpu", "open"])
def test_samples_have_no_shortest_and_no_longest(spun, column, run_dwell):
    for options in (["--columns", f"name,{column}"], ["--by", "thread", "--sort", column]):
        result = run_dwell("report", spun, *options)
        assert (result.returncode, result.stdout) == (2, "")
        assert f"no '{column}'" in result.stderr and result.stderr.count("\n") == 1
    exported = run_dwell("export", spun, "--to", "csv", "--columns", f"name,{column}")
    assert exported.returncode == 2 and f"no '{column}'" in exported.stderr


def test_rows_of_samples_have_no_durations_as_data(spun, run_dwell):
    rows = json.loads(done(run_dwell("export", spun, "--to", "json")))["rows"]
    assert {"samples", "total_ns", "self_ns"} <= set(rows[0])
    assert not {"count", "min_ns", "p50_ns", "average_ns", "open"} & set(rows[0])
    head = done(run_dwell("report", spun, "--by", "path", "--format", "csv")).splitlines()[0]
    assert head == "id,name,parent_id,parent_name,total_us,self_us,samples"


@pytest.mark.parametrize("command", [["report"], ["merge", "-o", "both.dwell"]])
def test_cpu_and_wall_time_are_not_added_up(spun, command, recorded, run_dwell, tmp_path):
    wall = recorded(SPIN, "--mode", "wall", name="wall.dwell")
    result = run_dwell(*command, spun, wall)
    assert (result.returncode, result.stdout) == (1, "")
    assert "CPU time, others of wall time: these cannot be added up" in result.stderr
    assert not (tmp_path / "both.dwell").exists()
    assert run_dwell("report", spun, recorded(SPIN, name="again.dwell")).returncode == 0


def test_help_says_what_is_shown_by_default(run_dwell):
    text = done(run_dwell("report", "--help"))
    assert "function (the default for samples and calls)" in text
    assert max(map(len, text.splitlines())) <= 95


STARTED = """
import dwell

def spin():
    for _ in range(3_000_000):
        pass

dwell.start("x.prof")
spin()
dwell.stop()
"""


def test_a_profile_for_pprof_is_read_too(python_program, run_dwell):
    python_program(STARTED)
    report = done(run_dwell("report", "x.prof"))
    assert re.search(r"^ *[89]\d\.\d\d|^ 100.00 .* spin \(", report, re.MULTILINE)
    assert re.search(r"^MainThread ", done(run_dwell("report", "x.prof", "--by", "thread")), re.M)
    done(run_dwell("export", "x.prof", "--to", "pprof", "-o", "again.prof"))
    for by in ("function", "line", "module"):
        again = done(run_dwell("report", "again.prof", "--by", by))
        assert again == done(run_dwell("report", "x.prof", "--by", by))


def test_a_recording_comes_back_from_pprof(recorded, run_dwell):
    name = recorded(TWO_THREADS)
    done(run_dwell("export", name, "--to", "pprof", "-o", "x.pb.gz"))
    for by in ("line", "module"):
        before = done(run_dwell("report", name, "--by", by))
        assert done(run_dwell("report", "x.pb.gz", "--by", by)) == before


def test_a_broken_profile_is_one_sentence(recorded, run_dwell, tmp_path):
    done(run_dwell("export", recorded(SPIN), "--to", "pprof", "-o", "x.pb.gz"))
    whole = (tmp_path / "x.pb.gz").read_bytes()
    (tmp_path / "cut.pb.gz").write_bytes(whole[: len(whole) // 2])
    result = run_dwell("report", "cut.pb.gz")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("dwell: cut.pb.gz: damaged") and result.stderr.count("\n") == 1


def test_every_export_says_how_samples_were_taken(recorded, run_dwell, tmp_path):
    name = recorded(SPIN, "--timeline")
    header = done(run_dwell("report", name)).splitlines()[0]
    assert json.loads(done(run_dwell("export", name, "--to", "speedscope")))["name"].startswith(
        header
    )
    chrome = json.loads(done(run_dwell("export", name, "--to", "chrome")))
    assert chrome["otherData"]["sampling"].startswith(header)
    for lens in ("collapsed", "csv", "dot", "pstats"):
        result = run_dwell("export", name, "--to", lens, "-o", f"x.{lens}")
        assert f"dwell: {header}\n" in result.stderr
    assert f"dwell: {header}\n" in run_dwell("report", name, "--format", "csv").stderr
    assert header in done(run_dwell("export", name, "--to", "callgrind"))
    assert header in done(run_dwell("export", name, "--to", "svg"))


DEEP = """
def down(n):
    return sum(range(300_000)) if n == 0 else down(n - 1) + 1

for _ in range(10):
    down(60)
"""


def in_terminal(columns, *command, cwd):
    """What the command writes to a terminal of that width."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(command, stdout=writer, cwd=cwd) as process:
        os.close(writer)
        text = b""
        with contextlib.suppress(OSError):
            while piece := os.read(reader, 65536):
                text += piece
    os.close(reader)
    assert process.returncode == 0
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 160])
def test_lines_fit_into_a_terminal(columns, recorded, run_dwell, dwell_program, tmp_path):
    name = recorded(DEEP)
    for by in ("path", "thread", "function"):
        text = in_terminal(columns, dwell_program, "report", name, "--by", by, cwd=tmp_path)
        assert max(map(len, text.splitlines())) <= columns
    paths = in_terminal(columns, dwell_program, "report", name, "--by", "path", cwd=tmp_path)
    assert re.search(r"…(.* > )?down", paths)
    whole = done(run_dwell("report", name, "--by", "path"))
    assert "…" not in whole and " > ".join(["down"] * 61) in whole
