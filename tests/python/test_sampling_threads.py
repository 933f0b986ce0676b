# SPDX-License-Identifier: MIT
"""Samples of all threads, of those that wait, and of time in the kernel."""

import json
import os

import pytest

from ..compiled import compile_library
from ..measured import assert_above, assert_between, repeated
from ..sampled import Row, Samples


def _has(row: Row, name: str) -> bool:
    return any(frame.name == name for frame in row.stack)


@pytest.mark.accuracy
@repeated
def test_sixteen_threads_each_with_its_time(tmp_path, python_program):
    done = python_program("""
import json, threading, time
import dwell
took = {}
def busy(name, n):
    for _ in range(n):
        sum(range(20_000))
    took[name] = time.thread_time_ns()
dwell.start("x.dwell")
threads = [threading.Thread(target=busy, args=(f"thread {i}", 60 + 25 * i), name=f"thread {i}")
           for i in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
dwell.stop()
print(json.dumps(took))
""")
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    Samples.of(tmp_path / "x.dwell").assert_threads(took)


@repeated
def test_a_program_that_is_called_like_dwell(tmp_path, python_program):
    done = python_program("""
import threading, time
import dwell
def spin():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        sum(range(1000))
with open("/proc/self/comm", "w") as name:
    name.write("dwell-demo")
with dwell.sampling("x.dwell"):
    other = threading.Thread(target=spin, name="other")
    other.start()
    spin()
    other.join()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert_between(0.1e9, min(map(samples.of_thread, ("MainThread", "other"))), 0.4e9)


def test_what_stands_in_for_threads_names_none(tmp_path, python_program):
    """As gevent's do, which are entered by the thread that runs them all."""
    done = python_program("""
import threading, time
import dwell
greenlet = threading.Thread(name="greenlet")
main = threading._active.pop(threading.get_ident())
with dwell.sampling("x.dwell"):
    threading._active[1] = greenlet
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        sum(range(1000))
    del threading._active[1]
threading._active[threading.get_ident()] = main
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert {row.thread_name for row in samples.rows} == {"MainThread"}


@pytest.mark.accuracy
@repeated
def test_threads_that_come_and_go(tmp_path, python_program):
    done = python_program("""
import json, threading, time
import dwell
def work(rounds):
    for _ in range(rounds):
        sum(range(100))
def brief(name, rounds):
    work(rounds)
    took[name] = time.thread_time_ns()
began = time.thread_time_ns()
work(10_000)
rounds = 10_000 * 5_000_000 // (time.thread_time_ns() - began)
took = {}
with dwell.sampling("x.dwell"):
    for i in range(200):
        thread = threading.Thread(target=brief, args=(f"thread {i}", rounds), name=f"thread {i}")
        thread.start()
        thread.join()
print(json.dumps(took))
""")
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    whole = sum(took.values())
    found = samples.where(lambda row: _has(row, "brief"))
    assert_between(0.8 * whole, found, 1.02 * whole)
    names = {row.thread_name for row in samples.rows}
    assert_between(180, len(names & set(took)), 201)


HANDS = """
#include <pthread.h>
#include <time.h>
static volatile double sink;
static long long ran_ns;
static void *haul(void *n)
{
    struct timespec ran;
    for (long i = 0; i < (long)n; i++) sink += 1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    ran_ns += ran.tv_sec * 1000000000LL + ran.tv_nsec;
    return 0;
}
long long one_by_one(long hands, long n)
{
    pthread_t hand;
    for (ran_ns = 0; hands--; pthread_join(hand, 0)) pthread_create(&hand, 0, haul, (void *)n);
    return ran_ns;
}
"""


@pytest.mark.accuracy
@pytest.mark.parametrize("duration_us", [200, 5000])
@repeated
def test_brief_threads_that_python_never_saw(tmp_path, python_program, duration_us):
    """What is not under their function counts as missed, or its place is not known."""
    compile_library(tmp_path, "hands", HANDS)
    done = python_program(
        """
import ctypes, sys
import dwell
one_by_one = ctypes.CDLL("./hands.so").one_by_one
one_by_one.argtypes, one_by_one.restype = (ctypes.c_long, ctypes.c_long), ctypes.c_longlong
n = 1_000_000_000 * int(sys.argv[1]) // (one_by_one(1, 1_000_000) // 1000)
with dwell.sampling("x.dwell"):
    took = one_by_one(1_000_000 // int(sys.argv[1]), n // 1000)
print(took)
""",
        str(duration_us),
    )
    whole = int(done.stdout or 0)
    assert whole, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    found = samples.where(lambda row: _has(row, "haul"))
    if duration_us >= 5000:
        assert_between(0.7 * whole, found, 1.02 * whole)
    unknown = samples.where(lambda row: row.stack[-1].name == "<unknown>")
    missed = samples.info["missed"] * 1_000_000
    assert_between(0.9 * whole, found + unknown + missed, 1.3 * whole)


WAITS = """
import json, threading, time
import dwell
took = {"naps": 0, "waits": 0, "spins": 0}
adding = threading.Lock()
def measured(function):
    def run(*args):
        began, cpu_began = time.perf_counter_ns(), time.thread_time_ns()
        function(*args)
        wall, cpu = time.perf_counter_ns() - began, time.thread_time_ns() - cpu_began
        with adding:
            took[function.__name__] += wall - (0 if function is spins else cpu)
    return run
def naps():
    for _ in range(10):
        time.sleep(0.05)
def waits(lock):
    with lock:
        pass
def spins(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
lock = threading.Lock()
lock.acquire()
dwell.start("x.dwell", mode="wall")
thread = threading.Thread(target=measured(waits), args=(lock,))
thread.start()
measured(naps)()
spinning = [threading.Thread(target=measured(spins), args=(0.5,)) for _ in range(2)]
for each in spinning:
    each.start()
for each in spinning:
    each.join()
lock.release()
thread.join()
dwell.stop()
print(json.dumps(took))
"""


@repeated
def test_waiting_is_seen_in_wall_mode(tmp_path, python_program):
    done = python_program(WAITS)
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")

    def spent(name, *states):
        return samples.where(lambda row: row.state in states and _has(row, name))

    assert_between(0.9 * took["naps"], spent("naps", "waiting"), 1.1 * took["naps"])
    assert_between(0.9 * took["waits"], spent("waits", "waiting"), 1.1 * took["waits"])
    states = ("python", "native", "kernel", "running", "gil")
    assert_between(0.8 * took["spins"], spent("spins", *states), 1.1 * took["spins"])
    # Two threads, and one GIL, which a thread without a CPU does not wait for.
    assert_between(0.1 * took["spins"], spent("spins", "gil"), 0.75 * took["spins"])
    sleeping = [
        row for row in samples.rows if any(frame.name.endswith("nanosleep") for frame in row.stack)
    ]
    assert sleeping
    assert all(row.stack[0].name == "_start" for row in sleeping)


SPIN = """
static volatile double sink;
void spin(long n) { while (n--) sink += 1; }
"""


@pytest.mark.accuracy
@repeated
def test_without_a_cpu_is_not_waiting(tmp_path, python_program):
    """Two threads that have one CPU: the kernel knows how long each was ready and did not run."""
    compile_library(tmp_path, "spin", SPIN)
    done = python_program("""
import ctypes, json, os, threading
import dwell
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
spin = ctypes.CDLL("./spin.so").spin
delays = []
def spins():
    spin(ctypes.c_long(200_000_000))
    with open("/proc/thread-self/schedstat") as file:
        delays.append(int(file.read().split()[1]))
threads = [threading.Thread(target=spins) for _ in range(2)]
with dwell.sampling("x.dwell", mode="wall"):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(json.dumps(delays))
""")
    delays = json.loads(done.stdout or "null")
    assert delays, done.stderr
    rows = [row for row in Samples.of(tmp_path / "x.dwell").rows if _has(row, "spins")]
    ready = [row for row in rows if row.state == "running"]
    ready_ns = sum(row.weight_ns for row in ready)
    assert_between(0.8 * sum(delays), ready_ns, 1.1 * sum(delays))
    waiting_ns = sum(row.weight_ns for row in rows if row.state == "waiting")
    assert_between(-1, waiting_ns, 0.1 * sum(delays))
    # They keep the native frames that their functions had before.
    with_native = sum(row.weight_ns for row in ready if row.stack[0].kind == "native")
    assert_between(0.5, with_native / ready_ns, 1.01)


def test_cpu_mode_does_not_see_waiting(tmp_path, python_program):
    done = python_program("""
import dwell, time
with dwell.sampling("x.dwell"):
    time.sleep(0.5)
    sum(range(3_000_000))
print(time.process_time_ns())
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert {row.state for row in samples.rows} <= {"python", "native", "kernel"}
    assert_between(-1, samples.weight_ns, 1.1 * int(done.stdout))


@repeated
def test_time_in_the_kernel_is_told_apart(tmp_path, python_program):
    done = python_program("""
import dwell, os, time
buffer = bytearray(1 << 27)
def reads():
    with open("/dev/zero", "rb", buffering=0) as file:
        end = time.thread_time() + 0.5
        while time.thread_time() < end:
            file.readinto(buffer)
with dwell.sampling("x.dwell"):
    reads()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    kernel = [row for row in samples.rows if row.state == "kernel"]
    assert all(row.stack[-1].name == "<kernel>" for row in kernel)
    assert_between(0.8, sum(row.weight_ns for row in kernel) / samples.weight_ns, 1.01)
    assert_between(95, samples.inside("reads"), 100.1)


def test_threads_that_python_never_saw(tmp_path, python_program):
    source = """
#include <pthread.h>
static volatile double sink;
void *haul(void *n) { for (long i = 0; i < (long)n; i++) sink += 1; return 0; }
void crew(long n) {
    pthread_t hands[2];
    for (int i = 0; i < 2; i++) pthread_create(&hands[i], 0, haul, (void *)n);
    for (int i = 0; i < 2; i++) pthread_join(hands[i], 0);
}
"""
    compile_library(tmp_path, "crew", source)
    done = python_program("""
import ctypes, dwell
library = ctypes.CDLL("./crew.so")
with dwell.sampling("x.dwell"):
    library.crew(ctypes.c_long(60_000_000))
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    threads = {row.thread for row in samples.rows if _has(row, "haul")}
    assert len(threads) == 2
    assert_above(90, samples.inside("haul"))


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="sanitizers take memory of their own")
def test_threads_that_have_ended_take_no_memory(python_program):
    done = python_program("""
import threading
import dwell
def resident_kib():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
def run(count):
    for _ in range(count):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    return resident_kib()
with dwell.sampling("x.dwell"):
    before = run(2000)
    print(run(12_000) - before)
""")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 6 << 10  # they took a kilobyte each
