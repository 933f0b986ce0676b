# SPDX-License-Identifier: MIT
"""`--at TIME`: what was alive at a moment of a recording."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from ..conftest import Program

pytestmark = pytest.mark.any_python
MIB = 1 << 20

# Each step lasts until two chunks of rows (type 22) and a clock (type 2) were written since it
# began: reading the file allocates, so there is always something new to write.
STEPS = """
import os, sys, time

def chunks(kind):
    try:
        with open(LOG, 'rb') as file:
            return file.read().count(bytes([0x44, 0x57, 0x43, 0x4b, kind, 0]))
    except FileNotFoundError:
        return 0

def wait_for_a_moment():
    rows = chunks(22)
    while chunks(22) < rows + 2:
        time.sleep(0.01)
    clocks = chunks(2)
    while chunks(2) < clocks + 1:
        time.sleep(0.01)

def hold(mib):
    data = bytearray(mib << 20)
    wait_for_a_moment()
    return data

"""
PARENT = STEPS + "LOG = os.path.abspath('x.dwell')\n"
GROW_AND_SHRINK = PARENT + "first = hold(64)\nsecond = hold(128)\ndel second\nwait_for_a_moment()\n"
WITH_CHILD = (
    PARENT
    + """
import subprocess
first = hold(64)
subprocess.run([sys.executable, 'child.py'], check=True)
wait_for_a_moment()
"""
)
CHILD = (
    STEPS
    + """
LOG = f'x.{os.getpid()}.dwell'
def hold_in_child(mib):
    data = bytearray(mib << 20)
    wait_for_a_moment()
hold_in_child(32)
"""
)


def lasted(run_dwell: Program, file: str) -> float:
    text = run_dwell("check", file).stdout
    number, unit = re.search(r"lasted +([\d.]+) (\w+)", text).groups()
    return float(number) * {"s": 1, "ms": 1e-3, "min": 60}[unit]


def live(run_dwell: Program, file: str, at: float) -> dict[str, int]:
    """Of the functions that hold something, in MiB."""
    done = run_dwell(
        "report", file, "--at", f"{at:.2f}", "--by", "function", "--measure", "live_bytes",
        "--format", "json",
    )  # fmt: skip
    if done.returncode:
        assert "nothing was recorded up to" in done.stderr
        return {}
    rows = json.loads(done.stdout)["rows"]
    held = {row["function"].split(" ")[0]: row["live_bytes"]["self"] // MIB for row in rows}
    return {name: mib for name, mib in held.items() if name.startswith("hold") and mib}


def history(run_dwell: Program, file: str) -> list[dict[str, int]]:
    """What was there, from the start to the end, each state once."""
    states: list[dict[str, int]] = []
    for i in range(int(lasted(run_dwell, file) / 0.2) + 2):
        state = live(run_dwell, file, i * 0.2)
        if not states or states[-1] != state:
            states.append(state)
    return states


@pytest.fixture
def recorded(run_dwell: Program, tmp_path: Path) -> str:
    (tmp_path / "program.py").write_text(GROW_AND_SHRINK)
    done = run_dwell("run", "--memory=exact", "-o", "x.dwell", "program.py")
    assert done.returncode == 0, done.stderr
    return "x.dwell"


def test_each_moment_has_what_was_alive_then(recorded: str, run_dwell: Program):
    states = [state for state in history(run_dwell, recorded) if state]
    assert states == [{"hold": 64}, {"hold": 192}, {"hold": 64}]


def test_report_says_which_moment_it_is_of(recorded: str, run_dwell: Program):
    at = lasted(run_dwell, recorded) / 2
    text = run_dwell("report", recorded, "--at", f"{at:.2f}").stdout
    moment = float(re.search(r"There at ([\d.]+) s, by the line", text).group(1))
    assert moment <= at + 0.01
    assert re.search(r" [\d.]+ MiB .* program.py:\d+ \(hold\)\n", text)
    assert "peak" not in text and "Resident" not in text


def test_merged_recording_knows_its_moments(recorded: str, run_dwell: Program):
    assert run_dwell("merge", recorded, "-o", "merged.dwell").returncode == 0
    assert history(run_dwell, "merged.dwell") == history(run_dwell, recorded)
    assert run_dwell("merge", "merged.dwell", "-o", "again.dwell").returncode == 0
    assert history(run_dwell, "again.dwell") == history(run_dwell, recorded)


def test_memory_of_a_child_is_there_while_it_lives(run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(WITH_CHILD)
    (tmp_path / "child.py").write_text(CHILD)
    done = run_dwell("run", "--memory=exact", "-o", "x.dwell", "program.py")
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("x.*.dwell")), "the child's file is in the parent's"
    states = [state for state in history(run_dwell, "x.dwell") if state]
    assert states == [{"hold": 64}, {"hold": 64, "hold_in_child": 32}, {"hold": 64}]


def test_export_of_a_moment_has_its_bytes(recorded: str, run_dwell: Program):
    at = 0.0
    while live(run_dwell, recorded, at) != {"hold": 192}:
        at += 0.2
    lines = run_dwell("export", recorded, "--at", f"{at:.2f}", "--to", "collapsed").stdout
    held = [line for line in lines.splitlines() if line.rsplit(" ", 1)[0].endswith(";hold")]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in held) // MIB == 192
    for lens in ("svg", "pprof", "html", "speedscope"):
        name = f"out.{lens}"
        done = run_dwell("export", recorded, "--at", f"{at:.2f}", "--to", lens, "-o", name)
        assert done.returncode == 0, done.stderr


def test_moments_that_nobody_knows_are_refused(recorded: str, run_dwell: Program, tmp_path: Path):
    def refusal(*words: str) -> tuple[int, str]:
        done: subprocess.CompletedProcess = run_dwell("report", *words)
        return done.returncode, done.stderr

    assert refusal(recorded, "--at", "0") == (
        1,
        "dwell: x.dwell: nothing was recorded up to 0; a moment comes twice a second\n",
    )
    assert refusal(recorded, "--at", "yesterday")[0] == 2
    assert refusal(recorded, "--at", "1", "--by", "time") == (
        2,
        "dwell: --at is one moment, and --by time is of all of them\n",
    )
    assert run_dwell("run", "--calls", "-o", "calls.dwell", "-c", "pass").returncode == 0
    assert refusal("calls.dwell", "--at", "1") == (
        1,
        "dwell: calls.dwell: holds no memory; record it with 'dwell run --memory'\n",
    )
