# SPDX-License-Identifier: MIT
"""Recordings of running processes, compared with what the processes know of themselves."""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import Program
from .conftest import AS_ROOT, MAY_READ, Start

pytestmark = MAY_READ

Frame = tuple[str, int]
Stacks = dict[tuple[Frame, ...], int]


class Attached:
    """A recording that goes on, and what it holds when it is over."""

    def __init__(self, program: str, pid: int, path: Path, options: tuple[str, ...]):
        self.program, self.path = program, path
        self.process = subprocess.Popen(
            [program, "attach", str(pid), "-o", str(path), *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (path.exists() and path.stat().st_size) and self.process.poll() is None:
            time.sleep(0.001)

    def wait(self, timeout: float = 60) -> "Attached":
        _, self.stderr = self.process.communicate(timeout=timeout)
        self.status = self.process.returncode
        return self

    def dwell(self, *words: str, path: Path | None = None) -> str:
        command = [self.program, words[0], str(path or self.path), *words[1:]]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def stacks(self, path: Path | None = None) -> Stacks:
        """Microseconds of each stack of functions and lines, outermost first."""
        return parse(self.dwell("export", "--to", "collapsed", "--lines", path=path))

    def functions(self, path: Path | None = None) -> Counter[str]:
        """Microseconds of each function itself."""
        own: Counter[str] = Counter()
        for stack, weight in self.stacks(path).items():
            own[stack[-1][0] if stack else ""] += weight  # at its end a program has no frames
        return own


def parse(text: str) -> Stacks:
    stacks: Stacks = Counter()
    for line in text.splitlines():
        names, _, weight = line.rpartition(" ")
        frames = [split(frame) for frame in names.split(";")[1:]]
        stacks[tuple(frames)] += int(weight)
    return stacks


def split(frame: str) -> Frame:
    match = re.fullmatch(r"(.*) \(.*?(?::(\d+))?\)", frame)
    assert match, frame
    return match[1], int(match[2] or 0)


@pytest.fixture
def attach(tmp_path: Path, dwell_program: str) -> Callable[..., Attached]:
    def begin(process: "subprocess.Popen[str] | int", *options: str) -> Attached:
        pid = process if isinstance(process, int) else process.pid
        return Attached(dwell_program, pid, tmp_path / "out.dwell", options)

    return begin


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin
    process.stdin.write("go\n")
    process.stdin.flush()


# Three parts of about the same length, one after the other in pieces of a tenth of a second, and
# how long each took.
SHARES = """\
import json, sys, time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def loop(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total

def leaf(depth, n):
    if depth:
        return leaf(depth - 1, n)
    total = 0
    for i in range(n):
        total += i
    return total

def run(name, part):
    begun = time.perf_counter()
    while time.perf_counter() - begun < 0.1:
        part()
    spent[name] += time.perf_counter() - begun

print("ready", flush=True)
sys.stdin.readline()
spent = dict.fromkeys(["fib", "loop", "leaf"], 0)
for _ in range(int(sys.argv[1])):
    run("fib", lambda: fib(12))
    run("loop", lambda: loop(1000))
    run("loop", lambda: loop(1000))
    run("leaf", lambda: leaf(40, 1000))
print(json.dumps(spent), flush=True)
"""


def shares(times: dict[str, float]) -> dict[str, float]:
    return {name: 100 * value / sum(times.values()) for name, value in times.items()}


def differ_by(found: dict[str, float], truth: dict[str, float]) -> float:
    """Points by which the worst share is off."""
    return max(abs(found[part] - truth[part]) for part in truth)


ATTEMPTS = 3  # a machine that does not let the recorder run cannot be measured on


@pytest.mark.parametrize("rate", ["100", "1000", "10000", "max"])
def test_shares_are_right_at_every_rate(start: Start, attach: Callable[..., Attached], rate: str):
    for _ in range(ATTEMPTS):
        process = start(SHARES, "8", stdin=subprocess.PIPE)
        attached = attach(process, "--rate", rate)
        go(process)
        assert process.stdout
        truth = shares(json.loads(process.stdout.readline()))
        attached.wait()
        assert attached.status == 0, attached.stderr
        found = dict.fromkeys(truth, 0)
        for stack, weight in attached.stacks().items():
            for part in found.keys() & {function for function, _ in stack}:
                found[part] += weight
        if differ_by(shares(found), truth) < 2:
            return
    pytest.fail(f"{shares(found)} is not {truth}")


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
def run(name, part):
    begun = time.perf_counter()
    while time.perf_counter() - begun < 0.1:
        part()
    spent[name] += time.perf_counter() - begun
print("ready", flush=True)
sys.stdin.readline()
spent = {"calls_back": 0, "calls_c": 0}
for _ in range(10):
    run("calls_back", calls_back)
    run("calls_c", calls_c)
    run("calls_c", calls_c)
print(json.dumps(spent), flush=True)
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


def test_native_frames_are_where_they_belong(start: Start, attach: Callable[..., Attached]):
    for _ in range(ATTEMPTS):
        process = start(NATIVE, stdin=subprocess.PIPE)
        attached = attach(process, "--native", "--rate", "200")
        go(process)
        assert process.stdout
        truth = shares(json.loads(process.stdout.readline()))
        attached.wait()
        assert attached.status == 0, attached.stderr
        assert "threads that run are stopped for a moment for each sample" in attached.stderr
        found, in_c = native_shares(attached)
        assert in_c > 0.9 * found["calls_c"]
        assert "libz" in attached.dwell("report", "--by", "module")
        if differ_by(shares(found), truth) < 2:
            return
    pytest.fail(f"{shares(found)} is not {truth}")


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
def test_no_stack_is_one_that_the_program_cannot_have(
    start: Start, attach: Callable[..., Attached], rate: str
):
    process = start(FLUTTER, sleeps=False)
    attached = attach(process, "--rate", rate, "--duration", "3").wait()
    assert attached.status == 0, attached.stderr
    stacks = attached.stacks()
    assert sum(stacks.values()) > 2.5e6
    for stack in stacks:
        assert stack[0][0] == "<module>"
        for caller, (callee, _) in itertools.pairwise(stack):
            assert callee in FLUTTER_CALLS.get(caller, set()), stack


@pytest.mark.parametrize("rate", ["1000", "max"])
def test_functions_that_are_not_the_very_shortest_are_seen(
    start: Start, attach: Callable[..., Attached], rate: str
):
    longer = FLUTTER.replace("import sys", "WORK = (0,) * 100").replace(
        "return 0", "return sum(WORK)"
    )
    attached = attach(start(longer, sleeps=False), "--rate", rate, "--duration", "3").wait()
    innermost = {stack[-1][0] for stack in attached.stacks()}
    assert {"leaf_1", "leaf_2"} <= innermost


def test_code_at_an_address_that_was_used_before_has_its_own_name(
    start: Start, attach: Callable[..., Attached]
):
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
    attached = attach(process, "--rate", "2000", "--duration", "3").wait()
    made = [stack[-1] for stack in attached.stacks() if stack[-1][0].startswith("made_")]
    assert len({name for name, _ in made}) > 50
    for name, line in made:
        assert line - int(name[5:]) in (1, 2), (name, line)


def test_stacks_of_waiting_threads_are_those_that_python_itself_reports(
    start: Start, attach: Callable[..., Attached]
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


def test_ten_thousand_frames(start: Start, attach: Callable[..., Attached]):
    process = start(
        "import sys, threading, time\n"
        "def recurse(depth):\n    return recurse(depth - 1) if depth else leaf()\n"
        "def leaf():\n    print('ready', flush=True)\n    while True:\n        pass\n"
        "sys.setrecursionlimit(20000)\n"
        "threading.stack_size(256 << 20)\n"
        "threading.Thread(target=recurse, args=(10000,)).start()\n",
        sleeps=False,
    )
    attached = attach(process, "--duration", "1").wait()
    (deepest,) = [
        line
        for line in attached.dwell("export", "--to", "collapsed").splitlines()
        if "leaf" in line
    ]
    assert re.search(r"recurse;\[… \d+ frames …\];recurse.*;leaf \d+$", deepest)
    assert " cut" not in summary(attached)


def summary(attached: Attached) -> str:
    return attached.dwell("report").split("total %")[0]


def thread_names(attached: Attached) -> set[str]:
    written = json.loads(attached.dwell("export", "--to", "speedscope"))
    return {profile["name"].split(" (")[0] for profile in written["profiles"]}


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
for _ in range(15):
    for part in (work, rest):
        begun = time.perf_counter()
        part()
        spent[part.__name__] += time.perf_counter() - begun
spent["cpu"] = time.process_time() - used
print(json.dumps(spent), flush=True)
"""


@pytest.mark.parametrize("rate", ["100", "10000"])
def test_wall_time_has_what_waits(start: Start, attach: Callable[..., Attached], rate: str):
    for _ in range(ATTEMPTS):
        process = start(WAITING, stdin=subprocess.PIPE)
        attached = attach(process, "--rate", rate)
        go(process)
        own = attached.wait().functions()
        assert process.stdout
        truth = json.loads(process.stdout.readline())
        del truth["cpu"]
        found = shares({part: own[part] for part in truth})
        if differ_by(found, shares(truth)) < 2:
            return
    pytest.fail(f"{found} is not {shares(truth)}")


@pytest.mark.parametrize("rate", ["100", "10000"])
def test_cpu_time_has_what_runs(start: Start, attach: Callable[..., Attached], rate: str):
    process = start(WAITING, stdin=subprocess.PIPE)
    attached = attach(process, "--rate", rate, "--mode", "cpu")
    go(process)
    own = attached.wait().functions()
    assert process.stdout
    truth = json.loads(process.stdout.readline())
    assert own["rest"] / (own["work"] + own["rest"]) < 0.05  # it falls asleep and wakes up
    assert own["work"] / 1e6 == pytest.approx(truth["cpu"], rel=0.1)
    assert "cpu" in summary(attached).lower()


def test_threads_that_want_the_gil_wait_for_it(start: Start, attach: Callable[..., Attached]):
    process = start(
        "import threading\n"
        "def spin():\n    while True:\n        pass\n"
        "for name in ('one', 'two', 'three'):\n"
        "    threading.Thread(target=spin, name=name, daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "threading.Event().wait()\n",
        sleeps=False,
    )
    attached = attach(process, "--rate", "500", "--duration", "3").wait()
    names = thread_names(attached)
    assert names == {"one", "two", "three", "MainThread"}
    match = re.search(r"held in ([\d.]+) %.*waited for in ([\d.]+) %", summary(attached))
    assert match
    held, waited = float(match[1]), float(match[2])
    assert 20 < held < 30, summary(attached)  # one of four threads has it
    assert 35 < waited < 55, summary(attached)  # two of four want it


def test_sixteen_threads(start: Start, attach: Callable[..., Attached]):
    process = start(
        "import threading, time\n"
        "def sleep():\n    time.sleep(1000)\n"
        "for i in range(16):\n"
        "    threading.Thread(target=sleep, name=f'sleeper-{i}', daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "time.sleep(1000)\n"
    )
    attached = attach(process, "--rate", "1000", "--duration", "1").wait()
    own = attached.functions()
    assert own["sleep"] / own["<module>"] == pytest.approx(16, rel=0.02)


def test_new_threads_and_names_are_noticed(start: Start, attach: Callable[..., Attached]):
    process = start(
        "import threading, time\n"
        "def work():\n    time.sleep(0.3)\n    threading.current_thread().name = 'renamed'\n"
        "    time.sleep(0.9)\n"
        "print('ready', flush=True)\n"
        "input()\n"
        "threading.Thread(target=work, name='late').start()\n",
        stdin=subprocess.PIPE,
    )
    attached = attach(process)
    go(process)
    attached.wait()
    assert "renamed" in thread_names(attached)


def is_whole(attached: Attached, path: Path | None = None) -> bool:
    return attached.dwell("check", path=path).endswith("whole\n")


SPIN = "print('ready', flush=True)\ndef spin():\n    while True:\n        pass\nspin()\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_recording_is_complete_when_the_process_dies(
    start: Start, attach: Callable[..., Attached], number: int
):
    process = start(SPIN, sleeps=False)
    attached = attach(process)
    time.sleep(0.5)
    process.send_signal(number)
    attached.wait()
    assert attached.status == 0
    assert f"dwell: process {process.pid} has ended\n" in attached.stderr
    assert is_whole(attached)
    assert attached.functions()["spin"] > 0.3e6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_recording_is_complete_when_it_is_interrupted(
    start: Start, attach: Callable[..., Attached], number: int
):
    process = start(SPIN, sleeps=False)
    attached = attach(process)
    time.sleep(0.5)
    attached.process.send_signal(number)
    attached.wait()
    assert attached.status == 0 and process.poll() is None
    assert is_whole(attached)
    assert re.search(r"dwell: \d+ samples, \d+ a second of 100 asked", attached.stderr)


def test_what_was_recorded_survives_kill_9_of_the_recorder(
    start: Start, attach: Callable[..., Attached]
):
    attached = attach(start(SPIN, sleeps=False))
    time.sleep(1.5)
    attached.process.kill()
    attached.wait()
    assert attached.functions()["spin"] > 0.5e6


def test_program_that_becomes_another_one_is_followed(
    start: Start, attach: Callable[..., Attached], tmp_path: Path
):
    (tmp_path / "second.py").write_text(
        "import time\ndef after():\n    time.sleep(1)\nafter()\n", encoding="utf-8"
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
    time.sleep(0.3)
    go(process)
    attached.wait()
    assert attached.status == 0, attached.stderr
    own = attached.functions()
    assert own["before"] > 0.2e6 and own["after"] == pytest.approx(1e6, rel=0.2)


def test_stopped_process_is_waiting(start: Start, attach: Callable[..., Attached]):
    process = start(SPIN, sleeps=False)
    attached = attach(process, "--duration", "2", "--rate", "1000")
    time.sleep(0.5)
    process.send_signal(signal.SIGSTOP)
    attached.wait()
    assert attached.status == 0, attached.stderr
    assert attached.functions()["spin"] == pytest.approx(2e6, rel=0.1)
    process.send_signal(signal.SIGCONT)


CHILDREN = """\
import multiprocessing, os, subprocess, sys, time
def parent_work():
    time.sleep(0.5)
def child_work():
    time.sleep(1)
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


def test_children_have_files_of_their_own(
    start: Start, attach: Callable[..., Attached], tmp_path: Path
):
    (tmp_path / "other.py").write_text(
        "import time\ndef other():\n    time.sleep(1)\nother()\n", encoding="utf-8"
    )
    process = start(CHILDREN, str(tmp_path / "other.py"), stdin=subprocess.PIPE)
    attached = attach(process, "--subprocesses")
    go(process)
    attached.wait()
    assert attached.status == 0, attached.stderr
    children = sorted(tmp_path.glob("out.*.dwell"))
    assert f"and the files of {len(children)} child" in attached.stderr
    assert attached.functions()["parent_work"] > 0.3e6
    found: Counter[str] = Counter()
    for path in children:
        assert is_whole(attached, path)
        found += attached.functions(path)
    assert found["child_work"] == pytest.approx(1e6, rel=0.25)
    assert found["other"] == pytest.approx(1e6, rel=0.25)


def test_program_that_forks_all_the_time(start: Start, attach: Callable[..., Attached]):
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
    attached = attach(process, "--rate", "2000", "--duration", "2", "--subprocesses").wait()
    assert attached.status == 0, attached.stderr
    for stack in attached.stacks():
        assert [name for name, _ in stack] in (["<module>"], ["<module>", "run"])


def test_file_says_what_was_recorded(start: Start, attach: Callable[..., Attached]):
    process = start(SPIN, "a b", sleeps=False)
    attached = attach(process, "--duration", "0.3").wait()
    checked = attached.dwell("check")
    assert f"process    {process.pid}\n" in checked
    assert re.search(r"program +\S+python\S* \S+program.py 'a b'\n", checked)
    assert ".".join(map(str, sys.version_info[:3])) in checked


def test_target_is_not_traced_and_its_result_is_the_same(
    start: Start, attach: Callable[..., Attached]
):
    process = start(SHARES, "3", stdin=subprocess.PIPE)
    attached = attach(process, "--rate", "max")
    go(process)
    time.sleep(0.2)
    assert "TracerPid:\t0" in Path(f"/proc/{process.pid}/status").read_text()
    attached.wait()
    assert process.wait() == 0


def test_default_name_of_the_file(start: Start, run_dwell: Program, tmp_path: Path):
    process = start(SPIN, sleeps=False)
    result = run_dwell("attach", str(process.pid), "--duration", "0.2")
    assert result.returncode == 0
    assert (tmp_path / f"program.{process.pid}.dwell").exists()


@AS_ROOT
def test_other_users_process_is_refused_with_the_way_out(
    start: Start, tmp_path: Path, dwell_program: str
):
    process = start(SPIN, sleeps=False)
    program = Path("/tmp") / f"dwell-attach-{os.getpid()}"  # the installed one may be out of reach
    shutil.copy(dwell_program, program)
    try:
        result = subprocess.run(
            [program, "attach", str(process.pid), "-o", "/dev/null"],
            capture_output=True,
            text=True,
            user=65534,
            cwd="/",
        )
    finally:
        program.unlink()
    assert result.returncode == 1
    assert result.stderr == (
        f"dwell: process {process.pid}: no permission to read its memory: "
        "it is another user's (or runs with other privileges); run dwell as root\n"
    )


def test_not_python_and_no_process(run_dwell: Program, tmp_path: Path):
    with subprocess.Popen(["sleep", "100"]) as other:
        result = run_dwell("attach", str(other.pid))
        other.kill()
    assert result.returncode == 1
    assert result.stderr == f"dwell: process {other.pid}: not a Python process\n"
    result = run_dwell("attach", str(other.pid))
    assert result.stderr == f"dwell: process {other.pid}: no such process\n"
    assert not list(tmp_path.glob("*.dwell"))


def test_file_that_cannot_be_written(start: Start, run_dwell: Program):
    process = start(SPIN, sleeps=False)
    result = run_dwell("attach", str(process.pid), "-o", "/nowhere/x.dwell")
    assert result.returncode == 1
    assert result.stderr == "dwell: /nowhere/x.dwell: No such file or directory\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "attach needs one process id"),
        (["abc"], "'abc' is no process id"),
        (["1", "--rate", "fast"], "--rate needs samples a second"),
        (["1", "--rate", "0"], "--rate needs samples a second"),
        (["1", "--mode", "idle"], "no mode 'idle'; there are: wall, cpu"),
        (["1", "--duration", "-1"], "--duration needs a number of seconds"),
    ],
)
def test_bad_usage(run_dwell: Program, words: list[str], complaint: str):
    result = run_dwell("attach", *words)
    assert result.returncode == 2
    assert result.stderr.startswith(f"dwell: {complaint}")


def test_attaching_again_and_again_leaves_the_process_alone(
    start: Start, run_dwell: Program, tmp_path: Path
):
    process = start(FLUTTER, sleeps=False)
    for _ in range(30):
        result = run_dwell("attach", str(process.pid), "--duration", "0.02", "-q", "-o", "x.dwell")
        assert result.returncode == 0 and result.stderr == ""
    assert process.poll() is None
    with contextlib.suppress(FileNotFoundError):
        (tmp_path / "x.dwell").unlink()
