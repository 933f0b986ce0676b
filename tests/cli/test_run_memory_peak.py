# SPDX-License-Identifier: MIT
"""The peak of memory: when it was, and where each thread was then."""

import json
import re
from pathlib import Path

import pytest

from ..conftest import Program

# The other threads wait at known places when the main thread reaches the peak, and go elsewhere
# after it. A thread that has ended before is not among them.
PROGRAM = """
import os, threading, time
at_peak, ready = threading.Event(), threading.Barrier(3)

def wait_here():
    block = bytearray(1_000_000)
    ready.wait()
    at_peak.wait()
    return block

def work():
    wait_here()
    go_elsewhere()

def go_elsewhere():
    return [bytearray(1000) for _ in range(100)]

def climb():
    big = bytearray(50_000_000)
    del big

def early():
    return bytearray(1000)

first = threading.Thread(target=early)
first.start()
first.join()
while os.path.exists(f"/proc/self/task/{first.native_id}"):
    pass  # before 3.13 join() returns a moment before the thread has ended
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
ready.wait()
climb()
at_peak.set()
for thread in threads:
    thread.join()
bytearray(1_000_000)
"""


def stacks(text: str) -> list[list[str]]:
    """The functions of each thread, the innermost first."""
    told = text.split("\nThreads at the peak, by the last ")[1]
    threads: list[list[str]] = []
    for line in told.split("\n\n")[0].splitlines()[1:]:
        if match := re.fullmatch(r"    .*\((.*)\)", line):
            threads[-1].append(match[1])
        elif line.startswith("  ") and line[2] != " ":
            threads.append([])
    return threads


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_each_thread_has_a_stack_at_the_peak(mode, run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py")
    assert done.returncode == 0, done.stderr
    text = run_dwell("report", "x.dwell").stdout
    told = stacks(text)
    assert ["climb", "<module>"] in [stack[:2] for stack in told]
    others = [stack for stack in told if "climb" not in stack]
    assert not any({"go_elsewhere", "early"} & set(stack) for stack in told)
    if mode == "exact":
        assert len(others) == 2 and all("wait_here" in stack for stack in others)
    assert re.search(r"at the peak +[\d.]+ MiB at \d+\.\d\d s\n", text)


@pytest.mark.any_python
def test_merged_files_know_where_threads_were(run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run_dwell("run", "-q", "--memory=exact", "-o", "x.dwell", "program.py").returncode == 0
    assert run_dwell("merge", "x.dwell", "-o", "merged.dwell").returncode == 0
    one, other = (run_dwell("report", name).stdout for name in ("x.dwell", "merged.dwell"))
    assert stacks(one) == stacks(other)
    rows = json.loads(
        run_dwell(
            "report", "merged.dwell", "--by", "thread", "--measure", "peak_time", "--format", "json"
        ).stdout
    )["rows"]
    times = [row["peak_time"]["self"] for row in rows if row["peak_time"]["self"]]
    assert len(times) == 3 and len(set(times)) == 1
