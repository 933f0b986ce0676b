# SPDX-License-Identifier: MIT
"""Memory of programs that end badly: killed, out of memory, on a full disk. What was recorded is
readable, and the program fares as it does without dwell."""

import json
import os
import signal
import subprocess
import time

import pytest

from ..measured import Off, repeated

MODES = pytest.mark.parametrize("mode", ["sampled", "exact"])
LEAK = """
import os, time
kept = []
def leak():
    for _ in range(100):
        kept.append(b"x" * 1_000_000)
leak()
print(os.getpid(), flush=True)
time.sleep(1000)
"""
FEW_MB = 300


def bytes_of(run_dwell, file, function, measure):
    done = run_dwell("report", file, "--by", "function", "--measure", measure, "--format", "json")
    rows = json.loads(done.stdout)["rows"] if done.returncode == 0 else []
    return sum(row[measure]["total"] for row in rows if row["name"] == function)


@MODES
def test_a_killed_program_leaves_all_that_was_written(mode, dwell_program, run_dwell, tmp_path):
    (tmp_path / "program.py").write_text(LEAK)
    command = [dwell_program, "run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py"]
    run = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    pid = int(run.stdout.readline())
    while bytes_of(run_dwell, "x.dwell", "leak", "live_bytes") < 60_000_000:
        assert run.poll() is None
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    assert bytes_of(run_dwell, "x.dwell", "leak", "live_bytes") >= 60_000_000
    report = run_dwell("report", "x.dwell")
    assert "did not close" in report.stdout + report.stderr


HUNGRY = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, ({FEW_MB} << 20, {FEW_MB} << 20))
kept = []
def eat():
    while True:
        kept.append(b"x" * 5_000_000)
"""


def be_off_if_given_up(done):
    """The program may take the last memory just while dwell writes, which one sentence tells."""
    if "x.dwell: out of memory; recording goes on without the file\n" in done.stderr:
        raise Off(done.stderr)


@MODES
@repeated
def test_a_program_that_runs_out_of_memory_and_goes_on(mode, run_dwell, tmp_path):
    (tmp_path / "program.py").write_text(
        HUNGRY + "try:\n    eat()\nexcept MemoryError:\n    print('caught', len(kept) > 10)\n"
    )
    done = run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py")
    be_off_if_given_up(done)
    assert (done.returncode, done.stdout, done.stderr) == (0, "caught True\n", "")
    assert bytes_of(run_dwell, "x.dwell", "eat", "peak_bytes") > 40_000_000
    assert run_dwell("check", "x.dwell").returncode == 0


@MODES
@repeated
def test_a_program_that_dies_of_it_dies_as_it_does_alone(mode, run_dwell, tmp_path):
    (tmp_path / "program.py").write_text(HUNGRY + "eat()\n")
    done = run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py")
    be_off_if_given_up(done)
    assert done.returncode == 1
    assert "MemoryError" in done.stderr and "dwell: " not in done.stderr
    assert bytes_of(run_dwell, "x.dwell", "eat", "peak_bytes") > 40_000_000


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a file system can be mounted by root only")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


MANY = """
for i in range(4000):
    exec(f'def function_{i}(): return [bytearray(2000) for _ in range(20)]\\nfunction_{i}()')
print('done')
"""


def test_a_disk_that_is_full_costs_what_comes_after(run_dwell, small_disk, tmp_path):
    (tmp_path / "program.py").write_text(MANY)
    file = small_disk / "x.dwell"
    (small_disk / "other").write_bytes(b"x" * 40_000)
    done = run_dwell("run", "-q", "--memory=exact", "-o", file, "program.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("No space left on device") == 1
    assert run_dwell("check", file).returncode in (0, 1)
    report = run_dwell("report", file)
    assert report.returncode == 0, report.stderr
