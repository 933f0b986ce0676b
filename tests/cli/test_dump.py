# SPDX-License-Identifier: MIT
"""Stacks read from outside, compared with what the processes know of themselves."""

import json
import os
import sys
from pathlib import Path

import pytest

from ..conftest import Program
from .conftest import MAY_READ, Dump, Start, scheduling
from .dumped import NESTED, places, thread_of

pytestmark = MAY_READ


def test_functions_and_lines_innermost_first(start: Start, run_dwell: Program, tmp_path: Path):
    process = start(NESTED, "an argument")
    result = run_dwell("dump", str(process.pid))
    version = ".".join(map(str, sys.version_info[:3]))
    program = tmp_path / "program.py"
    head, python, *lines = result.stdout.splitlines()
    assert head == f"process {process.pid}: {sys.executable} {program} 'an argument'"
    assert python == f"{os.path.realpath(sys.executable)}, Python {version}"
    assert lines == [
        "",
        f"thread {process.pid}: waiting",
        f"    Holder.method ({program}:9)",
        f"    middle ({program}:12)",
        f"    outer ({program}:4)",
        f"    <module> ({program}:14)",
    ]


# The program says itself where its threads are: the dump must say the same.
ORACLE = """\
import asyncio, json, sys, threading, time

started = threading.Barrier(7, timeout=900)

def park():
    started.wait()
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

def numbers():
    yield (
        1
        + (park() or 1)
    )

def in_generator():
    for number in (
        number
        for number in numbers()
    ):
        print(number)

async def inner():
    async with Context():
        pass

class Context:
    async def __aenter__(self):
        await asyncio.sleep(0)
        park()

    async def __aexit__(self, *exc):
        pass

def in_coroutine():
    asyncio.run(inner())

class Warm:
    def __init__(self, then):
        then()

def in_warm_init():
    for then in [int] * 100 + [park]:
        Warm(then)

def recurse(depth):
    if depth == 0:
        return park()
    return [
        0,
        max(
            recurse(
                depth - 1
            ), key=
            lambda x: x),
    ]

def with_exec():
    source = "def made():\\n\\n\\n  park(\\n)\\n[made() for _ in 'x']"
    exec(compile(source, "<made up>", "exec"), {"park": park})

def größe_naïve_数():
    try:
        raise ValueError
    except ValueError:
        sorted([1, 2], key=lambda x: park())

sys.setrecursionlimit(5000)
threading.stack_size(64 << 20)
targets = {"generator": in_generator, "coroutine": in_coroutine, "exec": with_exec,
           "init": in_warm_init, "unicode ünï": größe_naïve_数, "deep": lambda: recurse(1000)}
threads = [threading.Thread(target=target, name=name, daemon=True)
           for name, target in targets.items()]
for thread in threads:
    thread.start()
started.wait()

def stack(frame):
    found = []
    while frame:
        code = frame.f_code
        found.append([code.co_qualname, code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found

def parked():
    frames = sys._current_frames()
    return {thread.name: stack(frames[thread.ident]) for thread in threads}

while any(names[0][2] != 9 for names in parked().values()):
    time.sleep(0.01)
print(json.dumps({"stacks": parked(), "ids": {t.name: t.native_id for t in threads},
                  "idents": {t.name: t.ident for t in threads}}), flush=True)
time.sleep(1000)
"""


def test_stacks_are_those_that_python_itself_reports(start: Start, dump: Dump):
    process = start(ORACLE, name="größe.py")
    truth = json.loads(process.first_line)  # type: ignore[attr-defined]
    dumped = dump(process)
    assert dumped["threads_complete"] and dumped["threads"][0]["name"] == "MainThread"
    assert {thread["name"] for thread in dumped["threads"]} == {*truth["stacks"], "MainThread"}
    for name, stack in truth["stacks"].items():
        thread = thread_of(dumped, name)
        found = [[frame["function"], frame["file"], frame["line"]] for frame in thread["frames"]]
        assert found == stack
        assert thread["stack"] == "whole" and thread["state"] == "waiting"
        assert thread["id"] == truth["ids"][name] and thread["ident"] == truth["idents"][name]
    assert len(truth["stacks"]["deep"]) > 1000


def test_running_thread_holds_the_gil_and_sleeping_ones_do_not(start: Start, dump: Dump):
    process = start(
        "import threading, time\n"
        "def sleep():\n    time.sleep(1000)\n"
        "def spin():\n    print('ready', flush=True)\n    while True:\n        pass\n"
        "for name in 'ab':\n    threading.Thread(target=sleep, name=name).start()\n"
        "threading.current_thread().name = 'spinner'\n"
        "spin()\n",
        sleeps=False,
    )
    while not all_have_arrived(dump(process)):
        pass
    for _ in range(10):
        dumped = dump(process)
        spinner = thread_of(dumped, "spinner")
        assert spinner["holds_gil"] and spinner["state"] == "running"
        assert places(spinner)[0] in [("spin", 6), ("spin", 7)]
        for name in "ab":
            sleeper = thread_of(dumped, name)
            assert not sleeper["holds_gil"] and sleeper["state"] == "waiting"
            assert places(sleeper)[0] == ("sleep", 3)


def all_have_arrived(dumped: dict) -> bool:
    """Whether the threads of that program are where they stay."""
    innermost = {thread["name"]: places(thread)[0] for thread in dumped["threads"]}
    return innermost["spinner"][1] > 5 and innermost["a"] == innermost["b"] == ("sleep", 3)


LOCALS = """\
import time
class Point: pass
def function(argument, *rest, **named):
    integer, negative, large, huge = 42, -7, 2**100, 1 << 5000
    real, tiny, whole, infinite = 0.1, 5e-324, 2.0, float("-inf")
    yes, nothing, text, wide, raw = True, None, "it's\\n€", "\\U0001f600", b"a\\x00"
    items, table, pair, unique, other = [1, 2, 3], {"a": 1}, (1, 2), {1, 2}, Point()
    long_text = "x" * 1000
    shared = "in a cell"
    def inner():
        return shared
    print("ready", flush=True)
    time.sleep(1000)
    unset = 1
function(zero := 0, 1, 2, key=3)
"""


def test_locals_show_simple_values_and_sizes(start: Start, dump: Dump):
    dumped = dump(start(LOCALS), "--locals")
    found = {one["name"]: one["value"] for one in dumped["threads"][0]["frames"][0]["locals"]}
    assert found == {
        "argument": "0",
        "rest": "<tuple of 2>",
        "named": "<dict of 1>",
        "integer": "42",
        "negative": "-7",
        "large": str(2**100),
        "huge": "<int of about 5010 bits>",
        "real": "0.1",
        "tiny": "5e-324",
        "whole": "2.0",
        "infinite": "-inf",
        "yes": "True",
        "nothing": "None",
        "text": r"'it's\n€'",
        "wide": "'\U0001f600'",
        "raw": r"b'a\x00'",
        "items": "<list of 3>",
        "table": "<dict of 1>",
        "pair": "<tuple of 2>",
        "unique": "<set of 2>",
        "other": "<Point object>",
        "long_text": "'" + "x" * 80 + "'...",
        "shared": "'in a cell'",
        "inner": "<function object>",
    }


FLUTTER = """\
import sys
def first(): return leaf_1()
def second(): return leaf_2()
def leaf_1(): pass
def leaf_2(): pass
def loop():
    print("ready", flush=True)
    while True:
        first()
        second()
loop()
"""


def test_stack_that_changes_all_the_time_is_one_that_the_program_has(start: Start, dump: Dump):
    process = start(FLUTTER, sleeps=False)
    possible = {(("loop", line), ("<module>", 11)) for line in (7, 8, 9, 10)} | {
        (*leaf, (caller, line), ("loop", loop_line), ("<module>", 11))
        for caller, line, loop_line, leaf_function, leaf_line in [
            ("first", 2, 9, "leaf_1", 4),
            ("second", 3, 10, "leaf_2", 5),
        ]
        for leaf in [(), ((leaf_function, leaf_line),)]
    }
    whole = 0
    for _ in range(100):
        (thread,) = dump(process)["threads"]
        if thread["stack"] == "whole":
            whole += 1
            assert tuple(places(thread)) in possible
    assert whole > 50


def test_reading_does_not_stop_the_process(start: Start, dump: Dump):
    process = start(NESTED)
    before = scheduling(process.pid)
    dump(process, "--locals")
    assert scheduling(process.pid) == before and "TracerPid:\t0" in before


NATIVE = """\
import sys, time
def key(x):
    print("ready", flush=True)
    if sys.argv[1] == "sleep":
        time.sleep(1000)
    while True:
        pass
def calls_c():
    sorted([1, 2], key=key)
def calls_python():
    calls_c()
calls_python()
"""


@pytest.mark.parametrize("what", ["sleep", "spin"])
def test_native_frames_are_between_those_of_python(start: Start, run_dwell: Program, what: str):
    process = start(NATIVE, what, sleeps=what == "sleep")
    result = run_dwell("dump", str(process.pid), "--native", "--json")
    assert result.stderr == "dwell: with --native, threads that run are stopped for a moment\n"
    (thread,) = json.loads(result.stdout)["threads"]
    assert thread["stack"] == "whole"
    frames = thread["frames"]
    python = [frame["function"] for frame in frames if not frame["native"]]
    assert python == ["key", "calls_c", "calls_python", "<module>"]
    at = {frame["function"]: i for i, frame in enumerate(frames)}
    assert at["calls_c"] > at["key"] + 1  # what sorts is between them
    assert at["calls_python"] == at["calls_c"] + 1 and at["<module>"] == at["calls_python"] + 1
    assert frames[-1]["native"] and frames[-1]["function"] in ("_start", "__libc_start_main")
    assert all(frame["line"] for frame in frames if not frame["native"])
    if what == "sleep":
        assert frames[0]["native"] and "libc.so" in frames[0]["file"]
    assert process.poll() is None


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "dump needs one process id"),
        (["1", "2"], "dump needs one process id"),
        (["abc"], "'abc' is not a process id"),
        (["-1"], "no option '-1'"),
        (["0"], "'0' is not a process id"),
        (["99999999999"], "'99999999999' is not a process id"),
        (["1", "--native=x"], "--native takes no value"),
    ],
)
def test_bad_usage(run_dwell: Program, words: list[str], complaint: str):
    result = run_dwell("dump", *words)
    assert result.returncode == 2
    assert result.stderr.startswith(f"dwell: {complaint}")


def test_help(run_dwell: Program):
    assert "dwell dump $(pgrep" in run_dwell("dump", "--help").stdout
    assert "dump" in run_dwell("--help").stdout
