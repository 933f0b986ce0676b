# SPDX-License-Identifier: MIT
"""The command that records a running process: its words, files and refusals."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import Program
from .attached import SPIN
from .conftest import AS_ROOT, MAY_READ, Attach, Start, scheduling

pytestmark = MAY_READ


def test_file_says_what_was_recorded(start: Start, attach: Attach):
    process = start(SPIN, "a b", sleeps=False)
    attached = attach(process, "--duration", "0.3").wait()
    checked = attached.dwell("check")
    assert f"process    {process.pid}\n" in checked
    assert re.search(r"program +\S+python\S* \S+program.py 'a b'\n", checked)
    assert ".".join(map(str, sys.version_info[:3])) in checked


def test_process_that_sleeps_is_not_even_scheduled(start: Start, attach: Attach):
    process = start("import time\nprint('ready', flush=True)\ntime.sleep(1000)\n")
    before = scheduling(process.pid)
    attach(process, "--rate", "1000", "--duration", "0.3").wait()
    assert scheduling(process.pid) == before and "TracerPid:\t0" in before


def test_result_of_the_program_is_the_same(start: Start, attach: Attach):
    process = start(
        "print('ready', flush=True)\n"
        "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "print(fib(25))\n",
        sleeps=False,
    )
    attached = attach(process, "--rate", "max")
    attached.wait()
    assert process.wait() == 0
    assert process.stdout and process.stdout.read() == "75025\n"


def test_default_name_of_the_file(start: Start, run_dwell: Program, tmp_path: Path):
    process = start(SPIN, sleeps=False)
    result = run_dwell("attach", str(process.pid), "--duration", "0.2")
    assert result.returncode == 0
    assert (tmp_path / f"program.{process.pid}.dwell").exists()


def test_attaching_again_and_again_leaves_the_process_alone(start: Start, run_dwell: Program):
    process = start(SPIN, sleeps=False)
    for _ in range(20):
        result = run_dwell("attach", str(process.pid), "--duration", "0.02", "-q", "-o", "x.dwell")
        assert result.returncode == 0 and result.stderr == ""
    assert process.poll() is None


@AS_ROOT
def test_other_users_process_is_refused_with_the_way_out(
    start: Start, tmp_path: Path, dwell_program: str
):
    process = start(SPIN, sleeps=False)
    program = Path("/tmp") / f"dwell-attach-{os.getpid()}"  # the installed one may be out of reach
    shutil.copy(dwell_program, program)
    try:
        result = subprocess.run(
            [program, "attach", str(process.pid), "-o", "/dev/null"],
            capture_output=True,
            text=True,
            user=65534,
            cwd="/",
        )
    finally:
        program.unlink()
    assert result.returncode == 1
    assert result.stderr == (
        f"dwell: process {process.pid}: no permission to read its memory: "
        "it is another user's (or runs with other privileges); run dwell as root\n"
    )


def test_not_python_and_no_process(run_dwell: Program, tmp_path: Path):
    with subprocess.Popen(["sleep", "100"]) as other:
        result = run_dwell("attach", str(other.pid))
        other.kill()
    assert result.returncode == 1
    assert result.stderr == f"dwell: process {other.pid}: not a Python process\n"
    result = run_dwell("attach", str(other.pid))
    assert result.stderr == f"dwell: process {other.pid}: no such process\n"
    assert not list(tmp_path.glob("*.dwell"))


def test_file_that_cannot_be_written(start: Start, run_dwell: Program):
    process = start(SPIN, sleeps=False)
    result = run_dwell("attach", str(process.pid), "-o", "/nowhere/x.dwell")
    assert result.returncode == 1
    assert result.stderr == "dwell: /nowhere/x.dwell: No such file or directory\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "attach needs one process id"),
        (["abc"], "'abc' is not a process id"),
        (["1", "--rate", "fast"], "--rate needs samples a second"),
        (["1", "--rate", "0"], "--rate needs samples a second"),
        (["1", "--mode", "idle"], "no mode 'idle'; there are: wall, cpu"),
        (["1", "--duration", "-1"], "--duration needs a number of seconds"),
    ],
)
def test_bad_usage(run_dwell: Program, words: list[str], complaint: str):
    result = run_dwell("attach", *words)
    assert result.returncode == 2
    assert result.stderr.startswith(f"dwell: {complaint}")
