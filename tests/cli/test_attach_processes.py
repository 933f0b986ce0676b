# SPDX-License-Identifier: MIT
"""What recordings hold when processes and recorders end, stop, fork or become others."""

import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ..conftest import Program
from ..measured import assert_between, off_unless, repeated
from .attached import SPIN, go
from .conftest import MAY_READ, Attach, Start, scheduling

pytestmark = MAY_READ

BEFORE_A_WRITE_S = 0.2  # the file is brought up to date each half second


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@repeated
def test_recording_is_complete_when_the_process_dies(start: Start, attach: Attach, number: int):
    process = start(SPIN, sleeps=False)
    attached = attach(process, "--rate", "1000")
    time.sleep(BEFORE_A_WRITE_S)
    process.send_signal(number)
    attached.wait()
    assert attached.status == 0
    assert f"dwell: process {process.pid} has ended\n" in attached.stderr
    assert attached.is_whole()
    off_unless(attached.functions()["spin"] > 0, attached.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_recording_is_complete_when_it_is_interrupted(start: Start, attach: Attach, number: int):
    process = start(SPIN, sleeps=False)
    attached = attach(process)
    time.sleep(BEFORE_A_WRITE_S)
    attached.process.send_signal(number)
    attached.wait()
    assert attached.status == 0 and process.poll() is None
    assert attached.is_whole()
    assert re.search(r"wall time: \d+ samples, 100 Hz asked", attached.stderr)


def test_what_was_recorded_survives_kill_9_of_the_recorder(start: Start, attach: Attach):
    attached = attach(start(SPIN, sleeps=False))
    attached.wait_for_samples()
    attached.process.kill()
    attached.wait()
    assert attached.functions()["spin"] > 0


@repeated
def test_program_that_becomes_another_one_is_followed(start: Start, attach: Attach, tmp_path: Path):
    (tmp_path / "second.py").write_text(
        "import time\ndef after():\n    time.sleep(0.7)\n"
        "begun = time.perf_counter()\nafter()\nprint(time.perf_counter() - begun)\n",
        encoding="utf-8",
    )
    process = start(
        "import os, sys\n"
        "print('ready', flush=True)\n"
        "def before():\n    input()\n"
        "before()\n"
        "os.execl('/bin/sh', 'sh', '-c', f'sleep 0.3; exec {sys.executable} {sys.argv[1]}')\n",
        str(tmp_path / "second.py"),
        stdin=subprocess.PIPE,
    )
    attached = attach(process, "--rate", "1000")
    attached.wait_for_samples()
    go(process)
    assert attached.wait().status == 0, attached.stderr
    assert process.stdout
    truth = float(process.stdout.readline())
    own = attached.functions()
    assert own["before"] > 0
    assert_between(0.6 * truth, own["after"] / 1e6, 1.05 * truth)


# Becomes itself again and again, from a thread that is not the first.
CHAIN = """\
import os, sys, threading, time
left = int(sys.argv[1])
def become():
    end = time.perf_counter() + 0.01
    while time.perf_counter() < end:
        pass
    os.execv(sys.executable, [sys.executable, "-IS", __file__, str(left - 1)])
if left == 40:
    print("ready", flush=True)
    sys.stdin.readline()
if left:
    threading.Thread(target=become).start()
    threading.Event().wait()
print("last", flush=True)
def last():
    time.sleep(1000)
last()
"""


def test_threads_that_become_other_programs_are_followed_and_let_go(start: Start, attach: Attach):
    process = start(CHAIN, "40", stdin=subprocess.PIPE)
    attached = attach(process, "--native", "--rate", "max")
    go(process)
    assert process.stdout and process.stdout.readline() == "last\n"
    while "last" not in {name for stack in attached.stacks() for name, _ in stack}:
        assert attached.goes_on()
    assert "TracerPid:\t0" in scheduling(process.pid)
    attached.process.terminate()
    assert attached.wait().status == 0


MATRICES = """\
import os, sys
os.environ.update(OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE="Haswell")
import numpy
matrix = numpy.ones((240, 240))
def multiplies():
    return matrix @ matrix
print("ready", flush=True)
sys.stdin.readline()
while True:
    multiplies()
"""
# In assembler, without unwind information; OpenBLAS itself crashes in it when matrices are larger.
KERNEL = "dgemm_kernel_HASWELL"


@pytest.mark.skipif("avx2" not in Path("/proc/cpuinfo").read_text(), reason="the kernel needs it")
def test_callers_of_code_without_unwind_information(start: Start, attach: Attach):
    pytest.importorskip("numpy")
    process = start(MATRICES, stdin=subprocess.PIPE)
    attached = attach(process, "--native", "--rate", "200", "--duration", "1")
    go(process)
    attached.wait()
    stacks = [
        line.rpartition(" ")[0].split(";")
        for line in attached.dwell("export", "--to", "collapsed").splitlines()
        if KERNEL in line
    ]
    if not stacks:
        pytest.skip("another BLAS")
    for names in stacks:
        assert "matmul" in "".join(names[names.index("multiplies") + 1 : names.index(KERNEL)])


# Threads that wait as soon as they have begun, by a call that the kernel does not begin again.
WAITERS = """\
import ctypes, os, select, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
results = []
def wait():
    epoll = select.epoll()
    results.append(libc.epoll_wait(epoll.fileno(), ctypes.create_string_buffer(64), 1, 1500))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(30):
    threading.Thread(target=wait).start()
    time.sleep(0.05)
while len(results) < 30:
    time.sleep(0.1)
print(results.count(0), flush=True)
"""


@repeated
def test_threads_that_wait_are_not_interrupted(start: Start, attach: Attach):
    process = start(WAITERS, stdin=subprocess.PIPE)
    attached = attach(process, "--native")
    go(process)
    attached.wait()
    assert attached.status == 0, attached.stderr
    assert process.stdout
    assert_between(28, int(process.stdout.readline()), 31)  # one may just have begun to
    assert "epoll_wait" in attached.dwell("report", "--limit", "1000")


@repeated
def test_process_that_is_still_the_shell_is_waited_for(run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(SPIN)
    command = f"sleep 0.1; exec {sys.executable} {tmp_path}/program.py"
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.DEVNULL) as process:
        result = run_dwell("attach", process.pid, "--duration", "0.3", "-o", "x.dwell")
        process.kill()
    off_unless(result.returncode == 0, result.stderr)


@repeated
def test_stopped_process_is_waiting(start: Start, attach: Attach):
    process = start(SPIN, sleeps=False)
    attached = attach(process, "--duration", "1", "--rate", "1000")
    time.sleep(0.1)
    process.send_signal(signal.SIGSTOP)
    attached.wait()
    process.kill()
    assert attached.status == 0, attached.stderr
    assert_between(0.7e6, attached.functions()["spin"], 1.1e6)


def test_new_threads_and_names_are_noticed(start: Start, attach: Attach):
    process = start(
        "import threading, time\n"
        "def work():\n    time.sleep(0.1)\n    threading.current_thread().name = 'renamed'\n"
        "    time.sleep(0.8)\n"
        "print('ready', flush=True)\n"
        "input()\n"
        "threading.Thread(target=work, name='late').start()\n",
        stdin=subprocess.PIPE,
    )
    attached = attach(process)
    go(process)
    attached.wait()
    assert "renamed" in attached.thread_names()


CHILDREN = """\
import multiprocessing, os, subprocess, sys, time
def parent_work():
    time.sleep(0.5)
def child_work():
    time.sleep(0.7)
if __name__ == "__main__":
    print("ready", flush=True)
    sys.stdin.readline()
    context = multiprocessing.get_context("fork")
    child = context.Process(target=child_work)
    child.start()
    parent_work()
    shell = subprocess.run(["sh", "-c", f"{sys.executable} {sys.argv[1]}; true"])
    child.join()
"""


def test_children_have_files_of_their_own(start: Start, attach: Attach, tmp_path: Path):
    (tmp_path / "other.py").write_text(
        "import os, sys, time\n"
        "while not os.path.exists(f'{sys.argv[1]}/out.{os.getpid()}.dwell'):\n"
        "    time.sleep(0.01)\n"
        "def other():\n    time.sleep(0.7)\n"
        "other()\n",
        encoding="utf-8",
    )
    process = start(CHILDREN, f"{tmp_path}/other.py {tmp_path}", stdin=subprocess.PIPE)
    attached = attach(process, "--subprocesses")
    begun = time.monotonic()
    go(process)
    attached.wait()
    lasted = time.monotonic() - begun
    assert attached.status == 0, attached.stderr
    children = sorted(tmp_path.glob("out.*.dwell"))
    assert f"and the files of {len(children)} child" in attached.stderr
    assert attached.functions()["parent_work"] > 0
    found: Counter[str] = Counter()
    for path in children:
        assert attached.is_whole(path)
        found += attached.functions(path)
    assert 0.4 < found["child_work"] / 1e6 < lasted
    assert 0.4 < found["other"] / 1e6 < lasted


def test_program_that_forks_all_the_time(start: Start, attach: Attach):
    process = start(
        "import os\n"
        "def child(): os._exit(0)\n"
        "def run():\n"
        "    while True:\n"
        "        pid = os.fork()\n"
        "        if not pid:\n"
        "            child()\n"
        "        os.waitpid(pid, 0)\n"
        "print('ready', flush=True)\n"
        "run()\n",
        sleeps=False,
    )
    attached = attach(process, "--rate", "2000", "--duration", "1", "--subprocesses").wait()
    assert attached.status == 0, attached.stderr
    for stack in attached.stacks():
        assert [name for name, _ in stack] in (["<module>"], ["<module>", "run"])
