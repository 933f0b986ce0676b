# SPDX-License-Identifier: MIT
"""Sampling over and over: nothing leaks, nothing breaks, the program's results stay the same.

A thousand times each, and on for half of SOAK_SECONDS (`make soak`: an hour).
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import PATIENCE_S

TIMES = 1000
SECONDS = float(os.environ.get("SOAK_SECONDS", "0")) / 2
MEMORY_KIB = 8 << 10  # what a process may gain: caches fill up, a leak of a thousand does not fit

STARTED_AND_STOPPED = """
import os, sys, threading, time, dwell

def resident_kib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024

def work(n):
    return sum(i * i % 7 for i in range(n))

def state():
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

times, expected, i = int(sys.argv[1]), work(2000), 0
end = time.monotonic() + float(sys.argv[2])
while i < times or time.monotonic() < end:
    with dwell.sampling("soak.dwell", rate=2000, mode=("cpu", "wall")[i % 2]):
        worker = threading.Thread(target=work, args=(2000,))
        worker.start()
        assert work(2000) == expected
        worker.join()
        while os.path.exists(f"/proc/self/task/{worker.native_id}"):
            time.sleep(0.001)  # join() returns a little before the thread is gone
    if i == times // 10:
        before, kib = state(), resident_kib()
    i += 1
assert state() == before, (state(), before)
print(resident_kib() - kib, i)
"""

WATCHED = """
import sys, threading
def work(n):
    return sum(i * i % 7 for i in range(n))
expected, rounds, stop = work(5000), 0, []
threading.Thread(target=lambda: (sys.stdin.read(), stop.append(1)), daemon=True).start()
print("ready", flush=True)
while not stop:
    assert work(5000) == expected
    rounds += 1
print(rounds)
"""


def test_started_and_stopped_in_the_process(python_program, tmp_path: Path) -> None:
    limits = str(TIMES), str(SECONDS)
    done = python_program(STARTED_AND_STOPPED, *limits, timeout=PATIENCE_S + SECONDS)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    gained_kib, times = map(int, done.stdout.split())
    print(f"started and stopped {times} times, {gained_kib} KiB more")
    assert gained_kib < MEMORY_KIB


@pytest.fixture
def watched() -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", WATCHED]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()


def resident_kib(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") // 1024


def test_attached_and_detached(watched, run_dwell) -> None:
    before, i = resident_kib(watched.pid), 0
    end = time.monotonic() + SECONDS
    while i < TIMES or time.monotonic() < end:
        options = ["--duration", "0.01", "--rate", "1000", "-q", "-o", "soak.dwell"]
        native = ["--native"] if i % 10 == 0 else []
        done = run_dwell("attach", watched.pid, *options, *native)
        assert done.returncode == 0, (i, done.stderr)
        i += 1
    gained_kib = resident_kib(watched.pid) - before
    print(f"attached and detached {i} times, {gained_kib} KiB more")
    assert gained_kib < MEMORY_KIB
    started = time.monotonic()
    said, complaints = watched.communicate("")
    assert watched.returncode == 0 and complaints == ""
    assert int(said) > 0 and time.monotonic() - started < 60
