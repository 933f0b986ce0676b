# SPDX-License-Identifier: MIT
"""Stacks of recordings: only such that the program can have had."""

import itertools
import json
import re
import time

import pytest

from ..measured import off_unless, repeated
from .conftest import MAY_READ, Attach, Start

pytestmark = MAY_READ


FLUTTER = """\
import sys
def first(): return leaf_1()
def second(): return leaf_2()
def leaf_1(): return 0
def leaf_2(): return 0
def numbers():
    yield leaf_1()
    yield leaf_2()
def key(x): return leaf_1()
def loop():
    print("ready", flush=True)
    while True:
        first()
        second()
        for number in numbers():
            leaf_2()
        sorted((1, 2), key=key)
        max((1, 2), key=lambda x: leaf_2())
loop()
"""

FLUTTER_CALLS = {
    ("<module>", 19): {"loop"},
    ("loop", 13): {"first"},
    ("loop", 14): {"second"},
    ("loop", 15): {"numbers"},
    ("loop", 16): {"leaf_2"},
    ("loop", 17): {"key"},
    ("loop", 18): {"loop.<locals>.<lambda>"},
    ("first", 2): {"leaf_1"},
    ("second", 3): {"leaf_2"},
    ("numbers", 7): {"leaf_1"},
    ("numbers", 8): {"leaf_2"},
    ("key", 9): {"leaf_1"},
    ("loop.<locals>.<lambda>", 18): {"leaf_2"},
}


@pytest.mark.parametrize("rate", ["1000", "max"])
def test_no_stack_is_one_that_the_program_cannot_have(start: Start, attach: Attach, rate: str):
    process = start(FLUTTER, sleeps=False)
    attached = attach(process, "--rate", rate, "--duration", "2").wait()
    assert attached.status == 0, attached.stderr
    stacks = attached.stacks()
    assert len(stacks) > 3
    for stack in stacks:
        assert stack[0][0] == "<module>"
        for caller, (callee, _) in itertools.pairwise(stack):
            assert callee in FLUTTER_CALLS.get(caller, set()), stack


@pytest.mark.parametrize("rate", ["1000", "max"])
def test_functions_that_are_not_the_very_shortest_are_seen(start: Start, attach: Attach, rate: str):
    longer = FLUTTER.replace("import sys", "WORK = (0,) * 100").replace(
        "return 0", "return sum(WORK)"
    )
    attached = attach(start(longer, sleeps=False), "--rate", rate, "--duration", "30")
    attached.wait_for_samples()
    while not {"leaf_1", "leaf_2"} <= {stack[-1][0] for stack in attached.stacks()}:
        assert attached.process.poll() is None
        time.sleep(0.1)
    attached.process.terminate()
    attached.wait()


@pytest.mark.parametrize("rate", ["10000", "max"])
def test_function_at_the_address_of_another_one_is_not_taken_for_it(
    start: Start, attach: Attach, rate: str
):
    process = start(
        "made = {}\n"
        "def run_first(): made['name']()\n"
        "def run_other(): made['name']()\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for name, run in ('first', run_first), ('other', run_other):\n"
        "        exec(f'def {name}():\\n for _ in range(2000): pass', made)\n"
        "        made['name'] = made.pop(name)\n"
        "        run()\n"
        "        del made['name']\n",
        sleeps=False,
    )
    attached = attach(process, "--rate", rate, "--duration", "2").wait()
    functions = [[name for name, _ in stack] for stack in attached.stacks()]
    made = {tuple(names[-2:]) for names in functions if names[-1] in ("first", "other")}
    assert made == {("run_first", "first"), ("run_other", "other")}


def test_code_at_an_address_that_was_used_before_has_its_own_name(start: Start, attach: Attach):
    process = start(
        "print('ready', flush=True)\n"
        "i = 0\n"
        "while True:\n"
        "    i = (i + 1) % 300\n"
        "    space = {}\n"
        "    exec('\\n' * i + f'def made_{i}():\\n for _ in range(20000): pass', space)\n"
        "    space[f'made_{i}']()\n",
        sleeps=False,
    )
    attached = attach(process, "--rate", "2000", "--duration", "2").wait()
    made = [stack[-1] for stack in attached.stacks() if stack[-1][0].startswith("made_")]
    assert len({name for name, _ in made}) > 30
    for name, line in made:
        assert line - int(name[5:]) in (1, 2), (name, line)


def test_stacks_of_waiting_threads_are_those_that_python_itself_reports(
    start: Start, attach: Attach
):
    process = start(
        "import json, sys, threading, time\n"
        "def park():\n    arrived.release()\n    time.sleep(1000)\n"
        "def numbers():\n    yield park()\n"
        "def in_generator():\n    for _ in (x for x in numbers()):\n        pass\n"
        "def in_key():\n    sorted([1, 2], key=lambda x: park())\n"
        "class Made:\n    def __init__(self, then):\n        then()\n"
        "def in_init():\n    for then in [int] * 100 + [park]:\n        Made(then)\n"
        "def recurse(depth):\n    return recurse(depth - 1) if depth else park()\n"
        "def in_deep():\n    recurse(900)\n"
        "arrived = threading.Semaphore(0)\n"
        "threads = [threading.Thread(target=f, name=f.__name__, daemon=True)\n"
        "           for f in (in_generator, in_key, in_init, in_deep)]\n"
        "for thread in threads:\n    thread.start()\n"
        "for thread in threads:\n    arrived.acquire()\n"
        "time.sleep(0.3)\n"
        "frames = sys._current_frames()\n"
        "def stack(frame):\n"
        "    found = []\n"
        "    while frame:\n"
        "        found.append([frame.f_code.co_qualname, frame.f_lineno])\n"
        "        frame = frame.f_back\n"
        "    return found[::-1]\n"
        "print(json.dumps([stack(frames[t.ident]) for t in threads]), flush=True)\n"
        "time.sleep(1000)\n"
    )
    truth = json.loads(process.first_line)  # type: ignore[attr-defined]
    attached = attach(process, "--duration", "0.5").wait()
    stacks = {stack for stack in attached.stacks() if len(stack) > 1}
    assert stacks == {tuple((name, line) for name, line in stack) for stack in truth}
    assert max(map(len, stacks)) > 900


def test_ten_thousand_frames(start: Start, attach: Attach):
    process = start(
        "import sys, threading, time\n"
        "def recurse(depth):\n    return recurse(depth - 1) if depth else leaf()\n"
        "def leaf():\n    print('ready', flush=True)\n    while True:\n        pass\n"
        "sys.setrecursionlimit(20000)\n"
        "threading.stack_size(256 << 20)\n"
        "threading.Thread(target=recurse, args=(10000,)).start()\n",
        sleeps=False,
    )
    attached = attach(process, "--duration", "0.5").wait()
    (deepest,) = [
        line
        for line in attached.dwell("export", "--to", "collapsed").splitlines()
        if "leaf" in line
    ]
    assert re.search(r"recurse;\[… \d+ frames …\];recurse.*;leaf \d+$", deepest)
    assert " cut" not in attached.summary()


def test_a_chain_of_frames_that_leads_out_of_memory(start: Start, attach: Attach):
    """As a reading of memory that is written meanwhile may have it."""
    process = start(
        "import ctypes, hashlib, sys, threading, time\n"
        "def spoil():\n"
        "    main, frame = threading.main_thread().ident, None\n"
        "    while not frame or frame.f_code is not run_without_gil.__code__:\n"
        "        frame = sys._current_frames()[main]\n"
        "    inner = ctypes.c_uint64.from_address(id(frame) + 24).value\n"
        "    previous = inner + (48 if sys.version_info < (3, 12) else 8)\n"
        "    ctypes.c_uint64.from_address(previous).value = 2**64 - 16\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(1000)\n"
        "def run_without_gil():\n"
        "    hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)\n"
        "threading.Thread(target=spoil, name='spoiler').start()\n"
        "run_without_gil()\n",
        sleeps=False,
    )
    attached = attach(process, "--duration", "0.3").wait()
    names = {name for stack in attached.stacks() for name, _ in stack}
    assert "spoil" in names and "run_without_gil" not in names


MAPS = """\
import mmap
print("ready", flush=True)
while True:
    mmap.mmap(-1, 65536).close()
    sum(range(300))
"""


@pytest.mark.accuracy
@repeated
def test_thread_that_maps_memory_is_not_said_to_be_where_it_is_later(start: Start, attach: Attach):
    """Its memory cannot be read at that moment, and it maps all the time."""
    attached = attach(start(MAPS, sleeps=False), "--rate", "1000", "--duration", "1").wait()
    found = attached.dwell("export", "--to", "collapsed").count(";<memory map> ")
    off_unless(found > 0, "no sample met it")
