# SPDX-License-Identifier: MIT
"""Processes with many threads: what it costs to sample them, and how they are called."""

import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..compiled import compile_library
from ..conftest import Program
from ..measured import assert_between, repeated
from .attached import Attached, go
from .conftest import MAY_READ, Attach, Start

pytestmark = MAY_READ

# Has so many threads that wait. With a second number, one after the other starts, ends after a
# moment, and is followed by the next.
THREADS = """\
import sys, threading, time
event = threading.Event()
for i in range(int(sys.argv[1])):
    last = threading.Thread(target=event.wait, name=f"waiter {i}", daemon=True)
    last.start()
print("ready", flush=True)
while len(sys.argv) > 2:
    short = threading.Thread(target=time.sleep, args=(0.002,))
    short.start()
    short.join()
sys.stdin.readline()
last.name = "renamed"
print("done", flush=True)
sys.stdin.readline()
"""


def cpu_of_children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def recorder_cpu_s(attached: Attached) -> float:
    before = cpu_of_children_s()
    assert attached.wait().status == 0, attached.stderr
    return cpu_of_children_s() - before


def cost_of_a_sample(start: Start, attach: Attach, *words: str) -> float:
    """Seconds of the recorder's CPU time."""
    process = start(THREADS, *words, sleeps=False, stdin=subprocess.PIPE)
    attached = attach(process, "--duration", "1", "--rate", "100", name=f"of{len(words)}{words[0]}")
    spent_s = recorder_cpu_s(attached)
    process.kill()
    return spent_s / int(attached.summary().split(" samples")[0].rpartition(" ")[2])


@pytest.mark.accuracy
@repeated
def test_cost_of_a_sample_is_the_same_with_many_threads(start: Start, attach: Attach):
    few, many = cost_of_a_sample(start, attach, "40"), cost_of_a_sample(start, attach, "400")
    assert_between(0, many / few, 3)


@pytest.mark.accuracy
@repeated
def test_cost_of_a_sample_is_about_the_same_when_threads_come_and_go(start: Start, attach: Attach):
    still = cost_of_a_sample(start, attach, "100")
    busy = cost_of_a_sample(start, attach, "100", "and more")
    assert_between(0, busy / still, 6)


@pytest.mark.accuracy
@repeated
def test_cost_of_a_dump_grows_with_the_threads(start: Start, run_dwell: Program):
    def cost_of_a_thread(count: int) -> float:
        process = start(THREADS, str(count), stdin=subprocess.PIPE)
        before = cpu_of_children_s()
        result = run_dwell("dump", str(process.pid))
        assert result.returncode == 0 and result.stdout.count("Event.wait") == count
        spent_s = cpu_of_children_s() - before
        process.kill()
        return spent_s / count

    assert_between(0, cost_of_a_thread(800) / cost_of_a_thread(100), 3)


def test_names_of_many_threads(start: Start, attach: Attach):
    process = start(THREADS, "300", stdin=subprocess.PIPE)
    attached = attach(process, "--rate", "50")
    attached.wait_for_samples()
    go(process)
    assert process.stdout and process.stdout.readline() == "done\n"
    attached.process.send_signal(signal.SIGINT)
    attached.wait()
    others = {f"waiter {i}" for i in range(299)}
    assert attached.thread_names() == {"MainThread", "renamed", *others}


UNKNOWN = """\
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
static volatile unsigned long spent;
static void *spins(void *unused)
{
    for (;;)
        spent++;
    return unused;
}
static void *waits(void *unused)
{
    for (;;)
        pause();
    return unused;
}
void start(void)
{
    pthread_t spinner, waiter;
    pthread_create(&spinner, 0, spins, 0);
    pthread_setname_np(spinner, "spinner");
    pthread_create(&waiter, 0, waits, 0);
    pthread_setname_np(waiter, "waiter");
}
"""


@pytest.mark.parametrize("native", [(), ("--native",)], ids=["python", "native"])
def test_threads_that_python_does_not_know_have_native_frames(
    start: Start, attach: Attach, tmp_path: Path, native: tuple[str, ...]
):
    library = compile_library(tmp_path, "unknown", UNKNOWN, "-O1", "-pthread")
    process = start(
        f"import ctypes, sys\nctypes.CDLL({str(library)!r}).start()\n"
        "print('ready', flush=True)\nsys.stdin.readline()\n",
        stdin=subprocess.PIPE,
    )
    attached = attach(process, "--rate", "200", "--duration", "2", *native).wait()
    assert attached.status == 0, attached.stderr
    functions = {function for stack in attached.stacks() for function, _ in stack}
    assert ("spins" in functions, "waits" in functions) == (bool(native), bool(native))
    unknown = {"spinner", "waiter"} if native else set()
    assert attached.thread_names() == {"MainThread", *unknown}
    assert process.poll() is None


# A thread of a newer interpreter that runs code in an older one, again and again.
IN_AND_OUT = """\
import _interpreters
older, newer = _interpreters.create("legacy"), _interpreters.create("legacy")
_interpreters.exec(newer, f'''
import threading, _interpreters
def work():
    while True:
        _interpreters.exec({older}, "sum(i * i for i in range(300_000))")
        for i in range(300_000): i * i
thread = threading.Thread(target=work, name="in and out", daemon=True)
thread.start()
print("ready", flush=True)
thread.join()
''')
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="sub-interpreters have no module yet")
def test_states_of_a_thread_that_live_at_once_are_not_mixed(start: Start, attach: Attach):
    process = start(IN_AND_OUT, sleeps=False)
    attached = attach(process, "--duration", "1").wait()
    process.kill()
    threads = json.loads(attached.dwell("export", "--to", "speedscope"))["profiles"]
    assert max(thread["endValue"] - thread["startValue"] for thread in threads) < 1.1e9
    assert "in and out" in attached.thread_names()


def test_rate_obtained_counts_what_was_missed_at_the_end(start: Start, attach: Attach):
    process = start(THREADS, "1", stdin=subprocess.PIPE)
    attached = attach(process, "--rate", "100")
    attached.wait_for_samples()
    attached.process.send_signal(signal.SIGSTOP)
    time.sleep(time.monotonic() - attached.began)  # half of the samples
    for name in (signal.SIGINT, signal.SIGCONT):
        attached.process.send_signal(name)
    attached.wait()
    summary = attached.summary()
    assert " missed" in summary
    assert float(summary.split(" Hz obtained")[0].rpartition(" ")[2]) < 80
