# SPDX-License-Identifier: MIT
"""Programs that do with their signals, files, threads and code what they like, and are sampled."""

import json

import pytest

from ..compiled import compile_library
from ..measured import assert_above, assert_between, assert_close, repeated, shares
from ..sampled import Samples


def test_stopped_by_several_threads_at_once(python_program):
    done = python_program("""
import threading
import dwell
def stop(barrier):
    barrier.wait()
    try:
        dwell.stop()
    except RuntimeError:
        pass
for _ in range(100):
    dwell.start()
    barrier = threading.Barrier(3)
    threads = [threading.Thread(target=stop, args=(barrier,)) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
""")
    assert done.returncode == 0, done.stderr


def test_all_signals_are_reset(tmp_path, python_program):
    done = python_program("""
import signal, time
import dwell
dwell.start("x.dwell")
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_DFL)
    except OSError:
        pass
end = time.thread_time() + 0.5
while time.thread_time() < end:
    sum(range(1000))
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    assert_above(100, Samples.of(tmp_path / "x.dwell").info["taken"])


def test_another_program_does_not_get_the_signals(python_program):
    done = python_program("""
import os, signal, sys, time
import dwell
dwell.start("x.dwell")
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
end = time.thread_time() + 0.05
while time.thread_time() < end:
    sum(range(1000))
unblock = "import signal; signal.pthread_sigmask(signal.SIG_SETMASK, []); print('alive')"
os.execv(sys.executable, [sys.executable, "-c", unblock])
""")
    assert done.stdout == "alive\n", (done.returncode, done.stderr)


def test_files_of_the_program_get_nothing(tmp_path, python_program):
    done = python_program("""
import os, time
import dwell
dwell.start("x.dwell")
os.closerange(3, 1024)
files = [open(f"{i}.txt", "w") for i in range(8)]
time.sleep(0.7)
try:
    dwell.stop()
except OSError as error:
    print(error)
for file in files:
    print("mine", file=file)
    file.close()
""")
    assert "Bad file descriptor" in done.stdout, done.stderr
    assert {(tmp_path / f"{i}.txt").read_text() for i in range(8)} == {"mine\n"}


@repeated
def test_timers_that_the_program_has_closed(tmp_path, python_program):
    done = python_program("""
import itertools, os, time
import dwell
def spin():
    end = time.thread_time() + 1
    while time.thread_time() < end:
        for _ in itertools.repeat(None, 100_000): # needs no memory, which the kernel has to give
            pass
dwell.start()
os.closerange(3, 4096)
spin()
dwell.stop().save("x.dwell")
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert_between(90, samples.inside("spin"), 100.1)
    assert_between(-1, samples.inside("<kernel>"), 20)


def test_interpreters_that_are_made_and_ended(python_program):
    done = python_program("""
import time
import dwell
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
dwell.start(rate=10_000)
end = time.thread_time() + 3
while time.thread_time() < end:
    interpreters.destroy(interpreters.create())
dwell.stop()
""")
    assert done.returncode == 0, done.stderr


def test_most_file_descriptors_are_left_to_the_program(python_program):
    done = python_program("""
import os, resource, threading, time
import dwell
resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
end = threading.Event()
threads = [threading.Thread(target=end.wait) for _ in range(60)]
for each in threads:
    each.start()
before = len(os.listdir("/proc/self/fd"))
with dwell.sampling():
    while len(os.listdir("/proc/self/fd")) == before:
        time.sleep(0.001)
    print(len(os.listdir("/proc/self/fd")) - before)
end.set()
""")
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) <= 80 / 4 + 5


@repeated
def test_code_at_the_address_of_code_that_is_gone(tmp_path, python_program):
    done = python_program("""
import dwell
dwell.start("x.dwell", rate=5000, native=False)
for i in range(300):
    names = {}
    body = "(n):\\n    total = 0\\n    for i in range(n):\\n        total += i\\n"
    exec(compile(f"def f{i:04}{body}", "made.py", "exec"), names)
    names[f"f{i:04}"](100_000)
    names.clear()
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    seen = {f.name for row in samples.rows for f in row.stack if f.file.endswith("made.py")}
    assert seen <= {"<module>", *(f"f{i:04}" for i in range(300))}
    assert_between(299, len(seen - {"<module>"}), 301)


GUEST_STACK = """
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#define HALF (1 << 19)
static volatile int stops;
static volatile double sink;
static char *area;
static ucontext_t back, guest;
static void spin(void) { while (!stops) sink += 1; }
static void *run_guest(void *unused)
{
    area = mmap(0, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&guest);
    guest.uc_stack.ss_sp = area;
    guest.uc_stack.ss_size = HALF;
    guest.uc_link = &back;
    makecontext(&guest, spin, 0);
    swapcontext(&back, &guest);
    return unused;
}
static void wait_until_it_has_run(pthread_t thread, long ms)
{
    clockid_t clock;
    struct timespec now = {0};
    pthread_getcpuclockid(thread, &clock);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms) {
        usleep(1000);
        clock_gettime(clock, &now);
    }
}
void run(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, run_guest, 0);
    wait_until_it_has_run(thread, 200);
    munmap(area + HALF, HALF);
    wait_until_it_has_run(thread, 500);
    stops = 1;
    pthread_join(thread, 0);
}
"""


def test_memory_beside_a_stack_goes(tmp_path, python_program):
    """The stack's outermost function has no unwind information, so its caller is looked for."""
    flags = ["-O1", "-fno-asynchronous-unwind-tables", "-fomit-frame-pointer", "-pthread"]
    compile_library(tmp_path, "guest", GUEST_STACK, *flags)
    done = python_program("""
import ctypes
import dwell
with dwell.sampling("x.dwell"):
    ctypes.CDLL("./guest.so").run()
""")
    assert done.returncode == 0, done.stderr
    assert_above(50, Samples.of(tmp_path / "x.dwell").inside("spin"))


def test_generators_that_begin_and_end_all_the_time(tmp_path, python_program):
    """A signal meets the interpreter where it has announced a frame that is not there yet."""
    done = python_program("""
import time
import dwell
dwell.start("x.dwell", rate=20_000, native=False)
end = time.thread_time() + 2
while time.thread_time() < end:
    for _ in range(50):
        sum(i for i in range(200))
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.edges("program.py") == {("<module>", "<genexpr>")}


# Takes turns in `reads` and `counts`, which a program has defined, and measures both.
READS_AND_COUNTS = """
took = {"reads": 0, "counts": 0}
dwell.start("x.dwell")
end = time.thread_time() + 2
while time.thread_time() < end:
    for part in (reads, counts):
        start = time.thread_time_ns()
        part()
        took[part.__name__] += time.thread_time_ns() - start
dwell.stop()
print(json.dumps(took))
"""


def assert_reads_are_right(done, folder, least, within):
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    truth = shares(took)
    assert_between(least, truth["reads"], 90)
    assert_close(Samples.of(folder / "x.dwell").shares(list(took)), truth, within=within)


@pytest.mark.accuracy
@repeated
def test_time_in_the_kernel_is_that_of_the_function_that_calls_it(tmp_path, python_program):
    done = python_program(
        """
import json, os, time
import dwell
zeros = os.open("/dev/zero", os.O_RDONLY)
buffers = [bytearray(1 << 22)]
def reads():
    os.readv(zeros, buffers)
def counts():
    total = 0
    for i in range(4000):
        total += i
"""
        + READS_AND_COUNTS
    )
    assert_reads_are_right(done, tmp_path, least=30, within=15)


@pytest.mark.accuracy
@repeated
def test_short_system_calls_with_the_gil_are_those_of_the_function_that_calls_them(
    tmp_path, python_program
):
    """Whoever takes a sample only after such a call meets the function that comes next."""
    done = python_program(
        """
import ctypes, json, os, time
import dwell
zeros = os.open("/dev/zero", os.O_RDONLY)
read = ctypes.PyDLL(None).read # keeps the GIL
buffer = ctypes.create_string_buffer(1 << 20)
ctypes.memset(buffer, 1, len(buffer))
def reads():
    for _ in range(24):
        read(zeros, buffer, len(buffer))
def counts():
    total = 0
    for i in range(30_000):
        total += i
"""
        + READS_AND_COUNTS
    )
    assert_reads_are_right(done, tmp_path, least=10, within=5)


GENERATORS = """
import dwell

def generator():
    yield

def deeper(depth):
    for _ in range(5000):
        generator()
    if depth:
        deeper(depth - 1)

dwell.start("x.dwell", rate=10000)
deeper(250)
dwell.stop()
"""


def test_generator_functions_whose_frames_are_first_in_their_memory(python_program):
    """Python unmaps the memory of such a frame while the thread still points to it."""
    done = python_program(GENERATORS)
    assert not done.returncode, done.stderr
