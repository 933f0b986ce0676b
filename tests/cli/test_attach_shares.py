# SPDX-License-Identifier: MIT
"""Where recordings say that the time went, compared with what the programs measured themselves."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable

import pytest

from ..measured import ATTEMPTS, assert_between, assert_close, repeated
from .attached import Attached, go, shares
from .conftest import MAY_READ, Attach, Start

pytestmark = MAY_READ

Shares = dict[str, float]

# Runs its parts in turn and says how long each took; waits for a line before and after.
RUN_PARTS = """
def run(name, part):
    begun = time.perf_counter()
    while time.perf_counter() - begun < 0.1:
        part()
    spent[name] += time.perf_counter() - begun

spent = dict.fromkeys(PARTS, 0)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    for name in PARTS:
        run(name, PARTS[name])
    run(name, PARTS[name])
print(json.dumps(spent), flush=True)
sys.stdin.readline()
"""


def measure(process: "subprocess.Popen[str]", *recordings: Attached) -> tuple[dict, float]:
    """Lets the program run: what it measured, and the share of time that recorders starved."""
    go(process)
    assert process.stdout
    truth = json.loads(process.stdout.readline())
    starved = max(recording.starved() for recording in recordings)
    go(process)
    for recording in recordings:
        assert recording.wait().status == 0, recording.stderr
    return truth, starved


def check_shares(attempt: Callable[[], tuple[Shares, Shares, float]]) -> None:
    """Shares are within two points, or off by no more than what the recorder could not see,
    because the machine did not let it run, however often it was tried."""
    left = ATTEMPTS

    @repeated
    def check() -> None:
        nonlocal left
        left -= 1
        found, truth, starved = attempt()
        assert_close(found, truth, within=2 if left else 2 + 100 * starved)

    check()


PLAIN = """\
import json, sys, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def leaf(depth, n):
    if depth:
        return leaf(depth - 1, n)
    total = 0
    for i in range(n):
        total += i
    return total

def loop(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total

PARTS = {"fib": lambda: fib(12), "leaf": lambda: leaf(40, 1000), "loop": lambda: loop(1000)}
"""

# Does the same thing in turns of so many nanoseconds.
IN_STEP = """\
import json, sys, time
PERIOD = int(sys.argv[1])

def short():
    while time.perf_counter_ns() % PERIOD < PERIOD // 4:
        pass

def long():
    while time.perf_counter_ns() % PERIOD >= PERIOD // 4:
        pass

spent = {"short": 0, "long": 0}
print("ready", flush=True)
sys.stdin.readline()
end = time.perf_counter_ns() + 3_000_000_000
while time.perf_counter_ns() < end:
    for part in (short, long):
        begun = time.perf_counter_ns()
        part()
        spent[part.__name__] += time.perf_counter_ns() - begun
print(json.dumps(spent), flush=True)
sys.stdin.readline()
"""


@pytest.mark.accuracy
@pytest.mark.parametrize("turn_us", [1000, 1618, 2618])
def test_samples_do_not_keep_step_with_the_program(start: Start, attach: Attach, turn_us: int):
    """As many samples a second as the program has turns would all be of the same moment. If they
    came in steps of the golden section, a part of some turns would be met twice as often."""

    def attempt() -> tuple[Shares, Shares, float]:
        process = start(IN_STEP, str(1000 * turn_us), stdin=subprocess.PIPE)
        attached = attach(process, "--rate", "1000")
        truth, starved = measure(process, attached)
        functions = attached.functions()
        return shares({part: functions[part] for part in truth}), shares(truth), starved

    check_shares(attempt)


# Threads that run for a moment and sleep, while all CPUs have other work.
IN_BURSTS = """\
import json, os, subprocess, sys, threading, time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

def bursts(name, seconds, pause):
    begun, end = time.thread_time(), time.monotonic() + 3
    while time.monotonic() < end:
        burn(seconds)
        time.sleep(pause)
    spent[name] = time.thread_time() - begun

def short():
    bursts("short", 0.001, 0.009)

def long():
    bursts("long", 0.010, 0.040)

busy = [sys.executable, "-c", "while True: pass"]
others = [subprocess.Popen(busy) for _ in range(os.cpu_count())]
spent = {}
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=each) for each in (short, long)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for other in others:
    other.kill()
    other.wait()
print(json.dumps(spent), flush=True)
sys.stdin.readline()
"""


@pytest.mark.accuracy
@repeated
def test_cpu_time_of_threads_that_run_in_bursts(start: Start, attach: Attach):
    """A recorder gets a CPU mostly when they do not have it; the kernel has counted their time."""
    process = start(IN_BURSTS, stdin=subprocess.PIPE)
    attached = attach(process, "--mode", "cpu", "--rate", "1000")
    truth, _ = measure(process, attached)
    found = dict.fromkeys(truth, 0)
    for stack, weight in attached.stacks().items():
        for name in truth.keys() & {function for function, _ in stack}:
            found[name] += weight
    assert_close(shares(found), shares(truth), within=2)


# Asks the system for something every few microseconds, and knows how long each part takes alone.
SYSTEM_CALLS = """\
import json, os, sys, time

def work():
    total = 0
    for i in range(200):
        total += i * i
    return total

def ask():
    return os.getppid()

def took(part):
    begun = time.perf_counter()
    for _ in range(2000):
        part()
    return time.perf_counter() - begun

spent = {part.__name__: min(took(part) for _ in range(50)) for part in (work, ask)}
print("ready", flush=True)
sys.stdin.readline()
end = time.perf_counter() + 3
while time.perf_counter() < end:
    for _ in range(1000):
        work()
        ask()
print(json.dumps(spent), flush=True)
sys.stdin.readline()
"""


@pytest.mark.accuracy
def test_native_stacks_of_a_thread_that_makes_system_calls(start: Start, attach: Attach):
    """A thread that is told to stop does so at the end of a system call if one comes first."""

    def attempt() -> tuple[Shares, Shares, float]:
        process = start(SYSTEM_CALLS, stdin=subprocess.PIPE)
        attached = attach(process, "--native", "--mode", "cpu", "--rate", "1000")
        truth, starved = measure(process, attached)
        found = dict.fromkeys(truth, 0)
        for stack, weight in attached.stacks().items():
            for part in found.keys() & {function for function, _ in stack}:
                found[part] += weight
        return shares(found), shares(truth), starved

    check_shares(attempt)


@pytest.mark.accuracy
@pytest.mark.parametrize(
    ("rate", "rounds"), [("100", "8"), ("1000", "4"), ("10000", "4"), ("max", "4")]
)
def test_shares_are_right_at_every_rate(start: Start, attach: Attach, rate: str, rounds: str):
    def attempt() -> tuple[Shares, Shares, float]:
        process = start(PLAIN + RUN_PARTS, rounds, stdin=subprocess.PIPE)
        attached = attach(process, "--rate", rate)
        truth, starved = measure(process, attached)
        found = dict.fromkeys(truth, 0)
        for stack, weight in attached.stacks().items():
            for part in found.keys() & {function for function, _ in stack}:
                found[part] += weight
        return shares(found), shares(truth), starved

    check_shares(attempt)


NATIVE = """\
import json, sys, time, zlib
def key(x):
    total = 0
    for i in range(300):
        total += i
    return total
def calls_back():
    sorted(range(50), key=key)
data = b"abcdefgh" * 5000
def calls_c():
    zlib.compress(data)
PARTS = {"calls_back": calls_back, "calls_c": calls_c}
"""


def native_shares(attached: Attached) -> tuple[Counter[str], int]:
    """Time of the two parts, and how much of that in C was found to be in C."""
    found: Counter[str] = Counter()
    in_c = 0
    for line in attached.dwell("export", "--to", "collapsed").splitlines():
        stack, _, weight = line.rpartition(" ")
        names = stack.split(";")
        for part in {"calls_back", "calls_c"} & set(names):
            assert names[names.index(part) - 2 : names.index(part)] == ["<module>", "run"]
            found[part] += int(weight)
        if "key" in names:
            assert "calls_back" in names[: names.index("key")]
        if "calls_c" in names and names[-1] != "calls_c":
            in_c += int(weight)
    return found, in_c


@pytest.mark.repeated
def test_native_frames_are_where_they_belong(start: Start, attach: Attach):
    def attempt() -> tuple[Shares, Shares, float]:
        process = start(NATIVE + RUN_PARTS, "5", stdin=subprocess.PIPE)
        attached = attach(process, "--native", "--rate", "400")
        truth, starved = measure(process, attached)
        assert "threads that run are stopped for a moment for each sample" in attached.stderr
        assert re.search(r"were stopped \d+ times, for [1-9][\d.]* ms in all", attached.stderr)
        found, in_c = native_shares(attached)
        assert_between(0.9, in_c / found["calls_c"], 1.01)
        assert "libz" in attached.dwell("report", "--by", "module")
        return shares(found), shares(truth), starved

    check_shares(attempt)


WAITING = """\
import json, sys, time
def work():
    end = time.perf_counter() + 0.05
    while time.perf_counter() < end:
        pass
def rest():
    time.sleep(0.15)
print("ready", flush=True)
sys.stdin.readline()
spent = {"work": 0, "rest": 0}
used = time.process_time()
for _ in range(8):
    for part in (work, rest):
        begun = time.perf_counter()
        part()
        spent[part.__name__] += time.perf_counter() - begun
spent["cpu"] = time.process_time() - used
print(json.dumps(spent), flush=True)
sys.stdin.readline()
"""


@pytest.mark.accuracy
@pytest.mark.parametrize("rate", ["100", "10000"])
def test_wall_time_has_what_waits_and_cpu_time_what_runs(start: Start, attach: Attach, rate: str):
    def attempt() -> tuple[Shares, Shares, float]:
        process = start(WAITING, stdin=subprocess.PIPE)
        wall = attach(process, "--rate", rate, name="wall")
        cpu = attach(process, "--rate", rate, "--mode", "cpu", name="cpu")
        truth, starved = measure(process, wall, cpu)
        used = truth.pop("cpu")
        own = cpu.functions()
        # It falls asleep and wakes up.
        assert_between(-1, own["rest"] / (own["work"] + own["rest"]), 0.05)
        assert_between(0.9 - starved, own["work"] / 1e6 / used, 1.1 + starved)
        assert "cpu" in cpu.summary().lower()
        found = wall.functions()
        return shares({part: found[part] for part in truth}), shares(truth), starved

    check_shares(attempt)


@repeated
def test_threads_that_want_the_gil_wait_for_it(start: Start, attach: Attach):
    process = start(
        "import threading\n"
        "def spin():\n    while True:\n        pass\n"
        "for name in ('one', 'two', 'three'):\n"
        "    threading.Thread(target=spin, name=name, daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "threading.Event().wait()\n",
        sleeps=False,
    )
    attached = attach(process, "--rate", "500", "--duration", "2").wait()
    process.kill()
    assert attached.thread_names() == {"one", "two", "three", "MainThread"}
    match = re.search(r"held in ([\d.]+) %.*waited for by ([\d.]+) threads", attached.summary())
    assert match
    held, waited = float(match[1]), float(match[2])
    assert_between(80, held, 100.01)  # one of them always has it,
    assert_between(1, waited, 2.2)  # and the two others want it
    heading = attached.dwell("report", "--by", "line")
    assert " waiting s  line\n" in heading and "python s" not in heading  # which nobody knows


@pytest.mark.accuracy
def test_sixteen_threads(start: Start, attach: Attach):
    process = start(
        "import threading, time\n"
        "def sleep():\n    time.sleep(1000)\n"
        "for i in range(16):\n"
        "    threading.Thread(target=sleep, name=f'sleeper-{i}', daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "time.sleep(1000)\n"
    )
    own = attach(process, "--rate", "1000", "--duration", "0.5").wait().functions()
    assert own["sleep"] / own["<module>"] == pytest.approx(16, rel=0.02)
