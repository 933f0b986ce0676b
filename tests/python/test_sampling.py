# SPDX-License-Identifier: MIT
"""Samples of the process itself: shares that are known, stacks that can be, and a program that
goes on as it would."""

import itertools
import json
import os
import subprocess

import pytest

import dwell
from dwell import _core

from ..sampled import Samples

SHARES = """
import json, sys, time
import dwell

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def loop(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def leaf(depth, n):
    if depth:
        return leaf(depth - 1, n)
    total = 0
    for i in range(n):
        total ^= i
    return total

parts = {"fib": lambda: fib(16), "loop": lambda: loop(20_000), "leaf": lambda: leaf(40, 15_000)}
took = dict.fromkeys(parts, 0)
dwell.start("x.dwell", rate=float(sys.argv[1]), native=sys.argv[2] == "native")
end = time.thread_time() + float(sys.argv[3])
while time.thread_time() < end:
    for name, part in parts.items():
        start = time.thread_time_ns()
        part()
        took[name] += time.thread_time_ns() - start
dwell.stop()
print(json.dumps(took))
"""


@pytest.mark.parametrize("native", ["native", "python"])
@pytest.mark.parametrize("rate", [1000, 10_000])
def test_shares_are_those_of_an_exact_clock(tmp_path, python_program, rate, native):
    done = python_program(SHARES, str(rate), native, "4")
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    truth = {name: 100 * value / sum(took.values()) for name, value in took.items()}
    for name, share in samples.shares(list(took)).items():
        assert abs(share - truth[name]) < 2, (samples.info, truth)
    whole = sum(took.values())
    assert abs(samples.weight_ns - whole) < 0.05 * whole
    assert samples.info["taken"] > 0.9 * whole / 1e9 * rate
    assert samples.info["missed"] == 0


@pytest.mark.parametrize("native", ["native", "python"])
def test_stacks_are_those_that_the_program_has(tmp_path, python_program, native):
    done = python_program(SHARES, "10000", native, "1")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    allowed = {
        ("<module>", "<lambda>"),
        ("<lambda>", "fib"),
        ("<lambda>", "loop"),
        ("<lambda>", "leaf"),
        ("fib", "fib"),
        ("leaf", "leaf"),
    }
    assert samples.edges("program.py") == allowed
    for row in samples.rows:
        names = [frame.name for frame in row.stack if frame.file.endswith("program.py")]
        assert names[:1] in (["<module>"], [])
        assert names.count("leaf") in (0, *range(1, 42))
        if "leaf" in names and row.stack[-1].line in (17, 18, 19, 20):
            assert names.count("leaf") == 41
    outermost = {row.stack[0].name for row in samples.rows}
    assert outermost == ({"_start"} if native == "native" else {"<module>"})


def test_lines_and_columns(tmp_path, python_program):
    done = python_program("""
import dwell
def work():
    total = 0
    for i in range(3_000_000):
        total += i * i % 7
with dwell.sampling("x.dwell", native=False):
    work()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    inner = [row.stack[-1] for row in samples.rows if row.stack[-1].name == "work"]
    assert {frame.line for frame in inner} <= {5, 6}
    columns = {(frame.column, frame.end_column) for frame in inner if frame.line == 6}
    assert columns & {(18, 23), (18, 27), (9, 27)}  # i * i; i * i % 7; all of it


EXTENSION = """
#include <Python.h>
static volatile double sink;
__attribute__((noinline)) static void burn(long n) { for (long i = 0; i < n; i++) sink += 1; }
__attribute__((noinline)) void one_part(long n) { burn(n); sink += 1; }
__attribute__((noinline)) void two_parts(long n) { burn(2 * n); sink += 1; }
__attribute__((noinline)) void three_parts(long n) { burn(3 * n); sink += 1; }
static PyObject *light(PyObject *m, PyObject *a)
{ long n = PyLong_AsLong(a); one_part(n); two_parts(n); Py_RETURN_NONE; }
static PyObject *heavy(PyObject *m, PyObject *a)
{ three_parts(PyLong_AsLong(a)); Py_RETURN_NONE; }
static PyObject *call_back(PyObject *m, PyObject *f)
{ PyObject *r = PyObject_CallNoArgs(f); sink += 1; return r; }
static PyMethodDef methods[] = {{"light", light, METH_O, 0}, {"heavy", heavy, METH_O, 0},
                                {"call_back", call_back, METH_O, 0}, {0}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "parts", 0, -1, methods};
PyMODINIT_FUNC PyInit_parts(void) { return PyModule_Create(&def); }
"""


def build(source: str, name: str, directory) -> None:
    import sysconfig

    (directory / f"{name}.c").write_text(source)
    command = [os.environ.get("CC", "cc"), "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC"]
    include = f"-I{sysconfig.get_path('include')}"
    target = directory / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([*command, include, f"{name}.c", "-o", target], cwd=directory, check=True)


def test_functions_of_an_extension_under_the_lines_that_call_them(tmp_path, python_program):
    build(EXTENSION, "parts", tmp_path)
    done = python_program("""
import dwell, parts
def work():
    parts.light(400_000)
    parts.heavy(400_000)
with dwell.sampling("x.dwell", rate=2000):
    for _ in range(250):
        work()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    shares = samples.shares(["one_part", "two_parts", "three_parts"])
    assert shares == pytest.approx(
        {"one_part": 100 / 6, "two_parts": 100 / 3, "three_parts": 50}, abs=2
    )
    lines = {"one_part": 4, "two_parts": 4, "three_parts": 5}
    for row in samples.rows:
        for above, frame in itertools.pairwise(row.stack):
            if frame.name in lines:
                assert above.name == ("heavy" if frame.name == "three_parts" else "light")
        python = [frame for frame in row.stack if frame.name == "work"]
        natives = {frame.name for frame in row.stack} & set(lines)
        assert all(python[-1].line == lines[name] for name in natives)
    assert 100 * samples.where(lambda row: row.state == "native") / samples.weight_ns > 95


def test_python_called_by_native_code_stands_inside_of_it(tmp_path, python_program):
    build(EXTENSION, "parts", tmp_path)
    done = python_program("""
import dwell, parts
def inner():
    return sum(range(200_000))
def outer():
    return parts.call_back(lambda: parts.call_back(inner))
with dwell.sampling("x.dwell", rate=2000):
    for _ in range(200):
        outer()
""")
    assert done.returncode == 0, done.stderr
    between = "outer.<locals>.<lambda>"
    wanted = ["<module>", "outer", "call_back", between, "call_back", "inner"]
    samples = Samples.of(tmp_path / "x.dwell")
    seen = 0
    for row in samples.rows:
        names = [frame.name for frame in row.stack if frame.name in wanted]
        if "inner" in names:
            assert names == wanted
            seen += row.weight_ns
    assert seen > 0.9 * samples.weight_ns


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
threads = [threading.Thread(target=busy, args=(f"thread {i}", 100 + 40 * i), name=f"thread {i}")
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
    samples = Samples.of(tmp_path / "x.dwell")
    for name, exact in took.items():
        found = samples.where(lambda row, name=name: row.thread_name == name)
        assert abs(found - exact) < 0.1 * exact + 4e6, (name, found, exact)


def test_waiting_is_seen_in_wall_mode(tmp_path, python_program):
    done = python_program("""
import threading, time
import dwell
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
thread = threading.Thread(target=waits, args=(lock,))
thread.start()
naps()
spinning = [threading.Thread(target=spins, args=(0.5,), name="spins") for _ in range(2)]
for each in spinning:
    each.start()
for each in spinning:
    each.join()
lock.release()
thread.join()
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")

    def spent(name, *states):
        return samples.where(
            lambda row: row.state in states and any(frame.name == name for frame in row.stack)
        )

    assert 0.45e9 < spent("naps", "waiting") < 0.75e9
    assert spent("waits", "waiting") > 0.9e9
    assert spent("spins", "gil") > 0.25e9  # two threads, and one GIL
    of_spinning = samples.where(lambda row: row.thread_name == "spins")
    assert 0.9e9 < of_spinning < 1.4e9
    sleeping = [
        row for row in samples.rows if any(frame.name.endswith("nanosleep") for frame in row.stack)
    ]
    assert sleeping
    assert all(row.stack[0].name == "_start" for row in sleeping)


def test_cpu_mode_does_not_see_waiting(tmp_path, python_program):
    done = python_program("""
import dwell, time
with dwell.sampling("x.dwell"):
    time.sleep(0.5)
    sum(range(3_000_000))
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert {row.state for row in samples.rows} <= {"python", "native", "kernel"}
    assert samples.weight_ns < 0.4e9


def test_time_in_the_kernel_is_told_apart(tmp_path, python_program):
    done = python_program("""
import dwell, os, time
def reads():
    with open("/dev/zero", "rb", buffering=0) as file:
        buffer = bytearray(1 << 27)
        end = time.thread_time() + 1
        while time.thread_time() < end:
            file.readinto(buffer)
with dwell.sampling("x.dwell"):
    reads()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    kernel = [row for row in samples.rows if row.state == "kernel"]
    assert sum(row.weight_ns for row in kernel) > 0.8 * samples.weight_ns
    assert all(row.stack[-1].name == "<kernel>" for row in kernel)
    assert samples.inside("reads") > 95


def test_samples_while_c_code_enters_the_interpreter(tmp_path, python_program):
    done = python_program("""
import dwell, time
class Equal:
    def __eq__(self, other):
        return True
def key(number):
    return -number
def items():
    for number in range(50):
        yield number
numbers = list(range(300))
dwell.start("x.dwell", rate=10_000)
end = time.perf_counter() + 3
while time.perf_counter() < end:
    sorted(numbers, key=key)
    list(map(key, numbers))
    Equal() == Equal()
    sum(items())
    list(map(lambda _: sum(items()), range(5)))
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.inside("<module>") > 95
    assert samples.inside("key") > 5


def test_ten_thousand_deep(tmp_path, python_program):
    done = python_program("""
import sys, time
import dwell
sys.setrecursionlimit(20_000)
def down(depth):
    if depth:
        return down(depth - 1)
    end = time.thread_time() + 1
    while time.thread_time() < end:
        pass
dwell.start("x.dwell")
start = time.thread_time()
down(10_000)
print(time.thread_time() - start)
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    deepest = max(samples.rows, key=lambda row: row.weight_ns)
    assert sum(frame.name == "down" for frame in deepest.stack) == 10_001
    assert samples.weight_ns > 0.6e9
    assert (tmp_path / "x.dwell").stat().st_size < 1_000_000


def test_generators_and_coroutines(tmp_path, python_program):
    done = python_program("""
import asyncio
import dwell
def numbers(n):
    for i in range(n):
        yield i * i
def add(n):
    return sum(numbers(n))
async def inner(n):
    return add(n)
async def outer(n):
    for _ in range(60):
        await inner(n)
        await asyncio.sleep(0)
with dwell.sampling("x.dwell", rate=5000):
    asyncio.run(outer(10_000))
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    edges = samples.edges("program.py")
    assert ("add", "numbers") in edges and ("outer", "inner") in edges
    calls = {("outer", "inner"), ("inner", "add"), ("add", "numbers")}
    assert edges <= {("<module>", "outer"), *calls}  # asyncio stands between the first two


def test_garbage_collection_is_a_frame(tmp_path, python_program):
    done = python_program("""
import dwell, gc
kept = [[i] for i in range(300_000)]
with dwell.sampling("x.dwell"):
    for _ in range(30):
        gc.collect()
""")
    assert done.returncode == 0, done.stderr
    assert Samples.of(tmp_path / "x.dwell").inside("<gc>") > 80


def test_libraries_that_come_and_go(tmp_path, python_program):
    for name in ("first", "second"):
        source = f"double {name}_work(long n) {{ volatile double x = 0;"
        source += " for (long i = 0; i < n; i++) x += i; return x; }\n"
        (tmp_path / f"{name}.c").write_text(source)
        library = f"{name}.so"
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", f"{name}.c"]
        subprocess.run([*command, "-o", library], cwd=tmp_path, check=True)
    done = python_program("""
import _ctypes, ctypes
import dwell
with dwell.sampling("x.dwell", rate=10_000):
    for i in range(300):
        name = ("first", "second")[i % 2]
        library = ctypes.CDLL(f"./{name}.so")
        getattr(library, f"{name}_work")(300_000)
        _ctypes.dlclose(library._handle)
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    found = [samples.inside("first_work"), samples.inside("second_work")]
    assert all(share > 5 for share in found), (found, samples.info)


def test_forks_in_a_loop(tmp_path, python_program):
    done = python_program("""
import os, warnings
import dwell
warnings.simplefilter("error")
def busy():
    return sum(range(100_000))
def child():
    for _ in range(30):
        busy()
    os._exit(0)
dwell.start("x.dwell")
for _ in range(40):
    busy()
    pid = os.fork()
    if not pid:
        child()
    assert os.waitpid(pid, 0)[1] == 0
for _ in range(200):
    busy()
dwell.stop()
""")
    assert (done.returncode, done.stderr) == (0, "")
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.info["ended"]
    assert not any(frame.name == "child" for row in samples.rows for frame in row.stack)
    children = [Samples.of(path) for path in tmp_path.glob("x.*.dwell")]
    assert len(children) == 40
    busy = [each for each in children if each.rows]
    assert len(busy) > 30
    assert all(each.inside("child") > 50 for each in busy)


def test_the_program_has_its_own_profiling_timer(tmp_path, python_program):
    done = python_program("""
import signal, time
import dwell
ticks = []
signal.signal(signal.SIGPROF, lambda *args: ticks.append(1))
dwell.start("x.dwell", rate=5000)
signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
end = time.process_time() + 1
while time.process_time() < end:
    pass
signal.setitimer(signal.ITIMER_PROF, 0)
dwell.stop()
print(len(ticks))
""")
    assert 25 <= int(done.stdout or 0) <= 100, done.stderr  # 50, by a coarse clock; ours are 5000
    assert Samples.of(tmp_path / "x.dwell").weight_ns > 0.9e9


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
    (tmp_path / "poll.c").write_text(POLL)
    command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "poll.c", "-o", "poll.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
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
    assert samples.inside("interrupted") > 50 and running > 0


def test_start_and_stop_many_times_leave_nothing_behind(python_program):
    done = python_program("""
import os
import dwell

def state():
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), pages

def once():
    dwell.start(None, rate=5000)
    sum(range(20_000))
    return dwell.stop()

for _ in range(20):
    once()
before = state()
for _ in range(200):
    once()
after = state()
print(before[:2] == after[:2], (after[2] - before[2]) * 4096 < 2_000_000, after[2] - before[2])
""")
    assert done.stdout.startswith("True True"), done.stdout + done.stderr


def test_a_killed_program_leaves_its_samples(tmp_path, python_program):
    done = python_program("""
import os, signal, time
import dwell
dwell.start("x.dwell")
end = time.perf_counter() + 2
while time.perf_counter() < end:
    pass
os.kill(os.getpid(), signal.SIGKILL)
""")
    assert done.returncode == -9
    samples = Samples.of(tmp_path / "x.dwell")
    assert not samples.info["ended"]
    assert samples.info["taken"] > 100


def test_a_recording_in_memory():
    with dwell.sampling(rate=5000) as block:
        sum(range(3_000_000))
    samples = Samples(block.result._log)
    name = "test_a_recording_in_memory"
    assert samples.inside(name) > 50
    assert all(row.holds_gil for row in samples.rows if row.stack[-1].name == name)
    assert block.result[name]["total_ns"] > samples.weight_ns / 2
    assert name in str(block.result)


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(RuntimeError, match=r"call dwell.start\(\) first"):
        dwell.stop()
    with pytest.raises(ValueError, match="mode is 'cpu' or 'wall', not 'gpu'"):
        dwell.start(mode="gpu")
    with pytest.raises(ValueError, match="rate is a number"):
        dwell.start(rate=0)
    with pytest.raises(OSError):
        dwell.start(tmp_path / "no" / "x.dwell")
    assert not _core.sampler_is_on()
    dwell.start()
    try:
        with pytest.raises(RuntimeError, match=r"call dwell.stop\(\) first"):
            dwell.start()
    finally:
        dwell.stop()


def test_a_file_for_pprof(tmp_path):
    import gzip

    dwell.start(tmp_path / "x.prof")
    sum(range(2_000_000))
    assert dwell.stop() is None
    assert b"test_a_file_for_pprof" in gzip.decompress((tmp_path / "x.prof").read_bytes())
    assert os.listdir(tmp_path) == ["x.prof"]


def test_dwell_run_takes_samples(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "def work():\n    return sum(range(20_000_000))\nprint(work())\n"
    )
    done = run_dwell("run", "--rate", "2000", "-o", "x.dwell", "program.py")
    assert done.stdout == "199999990000000\n"
    assert "work" in done.stderr and "2000 Hz asked" in done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.info["period_ns"] == 500_000 and samples.info["ended"]
    assert samples.inside("work") > 50


def test_dwell_run_without_native_frames(tmp_path, run_dwell):
    run_dwell("run", "-q", "--no-native", "-o", "x.dwell", "-c", "sum(range(10_000_000))")
    samples = Samples.of(tmp_path / "x.dwell")
    assert {frame.kind for row in samples.rows for frame in row.stack} <= {"python", "mark"}
    assert samples.rows


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--rate", "fast", "x.py"], "--rate is a number of samples"),
        (["--mode", "gpu", "x.py"], "--mode is 'cpu' or 'wall', not 'gpu'"),
        (["--rate"], "--rate needs a number"),
        (["--rate", "10", "--calls", "x.py"], "cannot be recorded together with --calls"),
    ],
)
def test_wrong_words(run_dwell, arguments, complaint):
    done = run_dwell("run", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_threads_that_python_never_saw(tmp_path, python_program):
    (tmp_path / "crew.c").write_text("""
#include <pthread.h>
static volatile double sink;
void *haul(void *n) { for (long i = 0; i < (long)n; i++) sink += 1; return 0; }
void crew(long n) {
    pthread_t hands[2];
    for (int i = 0; i < 2; i++) pthread_create(&hands[i], 0, haul, (void *)n);
    for (int i = 0; i < 2; i++) pthread_join(hands[i], 0);
}
""")
    command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "crew.c", "-o", "crew.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = python_program("""
import ctypes, dwell
library = ctypes.CDLL("./crew.so")
with dwell.sampling("x.dwell"):
    library.crew(ctypes.c_long(60_000_000))
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    threads = {
        row.thread for row in samples.rows if any(frame.name == "haul" for frame in row.stack)
    }
    assert len(threads) == 2
    assert samples.inside("haul") > 90
