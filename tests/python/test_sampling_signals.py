# SPDX-License-Identifier: MIT
"""Signals of the program, and system calls that samples must not interrupt."""

import json

import pytest

from ..compiled import compile_library
from ..measured import assert_above, assert_between, repeated
from ..sampled import Samples


@repeated
def test_the_program_has_its_own_profiling_timer(tmp_path, python_program):
    done = python_program("""
import json, signal, time
import dwell
ticks = []
signal.signal(signal.SIGPROF, lambda *args: ticks.append(1))
dwell.start("x.dwell", rate=5000)
began, process_began = time.thread_time(), time.process_time()
signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
while time.thread_time() < began + 1:
    pass
signal.setitimer(signal.ITIMER_PROF, 0)
took, process_took = time.thread_time() - began, time.process_time() - process_began
dwell.stop()
print(json.dumps((len(ticks), took, process_took)))
""")
    assert done.returncode == 0, done.stderr
    ticks, took, process_took = json.loads(done.stdout)
    asked = process_took / 0.02
    assert 0 < ticks <= asked * 2  # ours are 5000
    assert_between(asked / 5, ticks, asked * 2)  # of a coarse clock
    assert_between(0.8 * took, Samples.of(tmp_path / "x.dwell").weight_ns / 1e9, 1.1 * took)


POLL = """
#include <errno.h>
#include <poll.h>
#include <time.h>
static volatile double sink;
long interrupted(long rounds)
{
    long count = 0;
    for (long i = 0; i < rounds; i++) {
        for (long j = 0; j < 200000; j++) sink += 1;
        if (poll(0, 0, 1) < 0 && errno == EINTR) count++;
        struct timespec nap = {0, 300000};
        if (nanosleep(&nap, 0)) count++;
    }
    return count;
}
"""


@pytest.mark.parametrize("mode", ["cpu", "wall"])
def test_no_system_call_is_interrupted(tmp_path, python_program, mode):
    compile_library(tmp_path, "poll", POLL)
    done = python_program(
        """
import ctypes, sys
import dwell
library = ctypes.CDLL("./poll.so")
library.interrupted.restype = ctypes.c_long
with dwell.sampling("x.dwell", rate=10_000, mode=sys.argv[1]):
    print(library.interrupted(500))
""",
        mode,
    )
    assert done.stdout == "0\n", done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    running = samples.where(lambda row: row.state in ("native", "python", "kernel"))
    assert_above(50, samples.inside("interrupted"))
    assert running > 0


CANCEL = """
#include <pthread.h>
#include <unistd.h>
static volatile double sink;
static void *spin(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    for (;;) sink += 1;
    return unused;
}
long cancel(long rounds)
{
    for (long i = 0; i < rounds; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, spin, 0)) return i;
        usleep(6000 + i * 37 % 3000);
        pthread_cancel(thread);
        pthread_join(thread, 0);
    }
    return rounds;
}
"""


def test_a_program_that_resets_its_signals_lives_on(tmp_path, python_program):
    """Also one that had a handler for the signal that samples are taken with otherwise."""
    done = python_program("""
import os, signal
import dwell
got = []
signal.signal(signal.SIGURG, lambda *args: got.append(1))
dwell.start("x.dwell", rate=5000)
sum(range(3_000_000))
os.kill(os.getpid(), signal.SIGURG)
sum(range(3_000_000))
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_DFL)
sum(range(30_000_000))
dwell.stop()
print(len(got))
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert_above(500, Samples.of(tmp_path / "x.dwell").info["taken"])


@repeated
def test_threads_that_are_cancelled_anywhere(tmp_path, python_program):
    compile_library(tmp_path, "cancel", CANCEL)
    done = python_program("""
import ctypes, faulthandler
import dwell
library = ctypes.CDLL("./cancel.so")
with dwell.sampling("x.dwell", rate=20_000):
    print(library.cancel(300))
    faulthandler.dump_traceback_later(20, exit=True)
""")
    assert (done.returncode, done.stdout) == (0, "300\n"), done.stderr
    assert_between(50, Samples.of(tmp_path / "x.dwell").inside("spin"), 100.1)
