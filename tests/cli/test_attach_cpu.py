# SPDX-License-Identifier: MIT
"""The CPU time that recordings have, compared with what the kernel counted for the program."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..compiled import compile_library
from ..measured import assert_between, repeated
from .attached import Attached, go
from .conftest import MAY_READ, Attach, Start

pytestmark = MAY_READ

# What is reported may be of what was used: samples stand for whole periods, and what is used while
# the recorder does not get to run may not be seen.
LESS, MORE = 0.5, 1.2

# Lines to begin and end programs with: they say how much CPU time the process has used.
HEAD = """\
import sys, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""
READY = "print(time.process_time(), flush=True)\nsys.stdin.readline()\n"
END = "print(time.process_time(), flush=True)\nsys.stdin.readline()\n"


def used_s(process: "subprocess.Popen[str]", attached: Attached) -> float:
    """Lets the program run to its end: what it used meanwhile."""
    before = process.first_line  # type: ignore[attr-defined]
    go(process)
    assert process.stdout
    after = process.stdout.readline()
    go(process)
    assert attached.wait().status == 0, attached.stderr
    return float(after) - float(before)


@pytest.mark.accuracy
@repeated
def test_program_after_exec_has_only_its_own_time(start: Start, attach: Attach):
    process = start(
        f"{HEAD}"
        "if len(sys.argv) > 1:\n"
        f"    spin(0.7)\n    {END.replace(chr(10), chr(10) + '    ').rstrip()}\n    sys.exit()\n"
        f"spin(2)\n{READY}"
        "import os\n"
        "os.execv(sys.executable, [sys.executable, __file__, 'again'])\n",
        stdin=subprocess.PIPE,
    )
    attached = attach(process, "--mode", "cpu", "--rate", "200")
    used = used_s(process, attached)
    reported = attached.functions().total() / 1e6
    assert_between(LESS * 0.7, reported, MORE * used)


CALLER = """\
#include <pthread.h>
#include <unistd.h>
static void (*callback)(void);
static volatile unsigned long spent;
static void *run(void *unused)
{
    for (;;) {
        for (int i = 0; i < 20000000; i++)
            spent++;
        callback();
        usleep(1000);
    }
    return unused;
}
void start(void (*function)(void))
{
    pthread_t thread;
    callback = function;
    pthread_create(&thread, 0, run, 0);
}
"""


@pytest.mark.parametrize("native", [(), ("--native",)], ids=["python", "native"])
def test_callbacks_of_a_native_thread_have_their_own_time(
    start: Start, attach: Attach, tmp_path: Path, native: tuple[str, ...]
):
    """Each of them has a new PyThreadState, the thread has been there for long: with native frames
    it is seen between them too."""
    library = compile_library(tmp_path, "caller", CALLER, "-O1", "-pthread")
    process = start(
        f"{HEAD}"
        "import ctypes, threading\n"
        "spent, enough = [], threading.Event()\n"
        "@ctypes.CFUNCTYPE(None)\n"
        "def callback():\n"
        "    begun, end = time.thread_time(), time.thread_time() + 0.03\n"
        "    while time.thread_time() < end:\n        pass\n"
        "    spent.append(time.thread_time() - begun)\n"
        "    if len(spent) == 50:\n        enough.set()\n"
        f"ctypes.CDLL({str(library)!r}).start(callback)\n"
        "while len(spent) < 10:\n    time.sleep(0.01)\n"
        "print(sum(spent), flush=True)\n"
        "enough.wait()\n"
        "print(sum(spent), flush=True)\n"
        "sys.stdin.readline(), sys.stdin.readline()\n",
        stdin=subprocess.PIPE,
        sleeps=False,
    )
    attached = attach(process, "--mode", "cpu", "--rate", "200", *native)
    used = used_s(process, attached)
    assert_between(0, attached.functions()["callback"] / 1e6, 2 * used)
    written = json.loads(attached.dwell("export", "--to", "speedscope"))
    frames = written["shared"]["frames"]
    (names,) = [
        names
        for profile in written["profiles"]
        if "callback"
        in (names := {frames[i]["name"] for stack in profile["samples"] for i in stack})
    ]
    assert ("run" in names) == bool(native)


SPIN_INSIDE = """\
import time
def inside():
    end = time.process_time() + 1
    while time.process_time() < end:
        pass
inside()
"""
WITHOUT_GIL = """\
import time, zlib
data = bytes(1 << 24)
def inside():
    end = time.process_time() + 1
    while time.process_time() < end:
        zlib.crc32(data)
inside()
"""


@pytest.mark.accuracy
@pytest.mark.parametrize("source", [SPIN_INSIDE, WITHOUT_GIL])
@repeated
def test_thread_runs_for_one_interpreter_at_a_time(start: Start, attach: Attach, source: str):
    module, run = ("_interpreters", "exec")
    if sys.version_info < (3, 13):
        module, run = ("_xxsubinterpreters", "run_string")
    process = start(
        f"{HEAD}"
        f"import {module} as interpreters\n"
        "def enter():\n"
        f"    interpreters.{run}(interpreters.create(), {source!r})\n"
        f"{READY}enter()\nspin(0.5)\n{END}",
        stdin=subprocess.PIPE,
    )
    attached = attach(process, "--mode", "cpu", "--rate", "200")
    used = used_s(process, attached)
    functions = attached.functions()
    assert_between(LESS * used, functions.total() / 1e6, MORE * used)
    assert_between(-1, functions["enter"] / functions["inside"], 0.2)
    assert_between(-1, functions["spin"], MORE * 0.5e6)
