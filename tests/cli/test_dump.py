# SPDX-License-Identifier: MIT
"""Stacks read from outside, compared with what the processes know of themselves."""

import _weakrefset
import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import Program
from .conftest import AS_ROOT, MAY_READ, Start, wait_until_asleep

pytestmark = MAY_READ


@pytest.fixture
def dump(run_dwell: Program) -> Callable[..., dict]:
    def read(process: "subprocess.Popen[str] | int", *options: str) -> dict:
        pid = process if isinstance(process, int) else process.pid
        result = run_dwell("dump", str(pid), "--json", *options)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return read


def thread_of(dumped: dict, name: str) -> dict:
    (found,) = [thread for thread in dumped["threads"] if thread["name"] == name]
    return found


def places(thread: dict) -> list[tuple[str, int]]:
    return [(frame["function"], frame["line"]) for frame in thread["frames"]]


NESTED = """\
import time

def outer():
    middle()

class Holder:
    def method(self):
        print("ready", flush=True)
        time.sleep(1000)

def middle():
    Holder().method()

outer()
"""


def test_functions_and_lines_innermost_first(start: Start, run_dwell: Program, tmp_path: Path):
    process = start(NESTED)
    result = run_dwell("dump", str(process.pid))
    version = ".".join(map(str, sys.version_info[:3]))
    program = tmp_path / "program.py"
    head, *lines = result.stdout.splitlines()
    assert head.endswith(f", Python {version}") and head.startswith(f"process {process.pid}: /")
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

started = threading.Barrier(7, timeout=60)

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


def test_stacks_are_those_that_python_itself_reports(start: Start, dump: Callable[..., dict]):
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


def test_running_thread_holds_the_gil_and_sleeping_ones_do_not(
    start: Start, dump: Callable[..., dict]
):
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


def test_locals_show_simple_values_and_sizes(start: Start, dump: Callable[..., dict]):
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


def test_stack_that_changes_all_the_time_is_one_that_the_program_has(
    start: Start, dump: Callable[..., dict]
):
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
    for _ in range(200):
        (thread,) = dump(process)["threads"]
        if thread["stack"] == "whole":
            whole += 1
            assert tuple(places(thread)) in possible
    assert whole > 100


FORKING = """\
import os, sys, threading
def child(): os._exit(0)
def run():
    print("ready", flush=True)
    while True:
        pid = os.fork()
        if not pid:
            child()
        os.waitpid(pid, 0)
def come_and_go():
    while True:
        thread = threading.Thread(target=sum, args=((1, 2),))
        thread.start()
        thread.join()
if len(sys.argv) > 1:
    threading.Thread(target=come_and_go, name="starter", daemon=True).start()
run()
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("threads", [[], ["threads"]])
def test_forking_process_never_gives_nonsense(
    start: Start, dump: Callable[..., dict], threads: list[str], tmp_path: Path
):
    process = start(FORKING, *threads, sleeps=False, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    program = str(tmp_path / "program.py")
    library = threading.__file__, _weakrefset.__file__
    for _ in range(200):
        for thread in dump(process)["threads"]:
            if thread["stack"] != "whole":
                continue
            for frame in thread["frames"]:
                assert frame["file"] in (program, *library)
                assert 0 < (frame["line"] or 1) < 3000
            if thread["name"] == "MainThread":
                assert places(thread)[-2:] == [
                    ("run", thread["frames"][-2]["line"]),
                    ("<module>", 17),
                ]
                assert thread["frames"][-2]["line"] in (4, 5, 6, 7, 8, 9)


def test_process_that_ends_while_it_is_read_gives_a_sentence(run_dwell: Program):
    endings = set()
    for i in range(200):
        with subprocess.Popen(
            [sys.executable, "-S", "-c", "import time; time.sleep(0.002)"]
        ) as one:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(0.0005 * (i % 60))
            result = run_dwell("dump", str(one.pid))
        endings.add(result.returncode)
        assert result.returncode in (0, 1)
        if result.returncode:
            assert result.stdout == ""
            (line,) = result.stderr.splitlines()
            assert line.startswith(f"dwell: process {one.pid}: ")
            assert line.split(": ")[2] in (
                "no such process",
                "the process has ended",
                "its Python has not started yet, or is shutting down",
                "not a Python process",  # between fork and exec it is this one's copy
            )
        else:
            assert result.stdout.startswith(f"process {one.pid}: ")
    assert endings == {0, 1}


def test_threads_of_subinterpreters_are_there(start: Start, dump: Callable[..., dict]):
    module = next(
        (name for name in ("_interpreters", "_xxsubinterpreters") if has_module(name)), None
    )
    if not module:
        pytest.skip("this Python has no module for interpreters")
    process = start(
        f"import {module} as interpreters, threading, time\n"
        "def sleep_there():\n"
        "    code = 'import time\\ndef deep():\\n    time.sleep(1000)\\ndeep()\\n'\n"
        "    (getattr(interpreters, 'exec', None) or interpreters.run_string)("
        "interpreters.create(), code)\n"
        "threading.Thread(target=sleep_there, daemon=True).start()\n"
        "time.sleep(0.5)\n"
        "print('ready', flush=True)\n"
        "time.sleep(1000)\n"
    )
    dumped = dump(process)
    inner = [thread for thread in dumped["threads"] if thread["interpreter"] != 0]
    assert [places(thread)[:2] for thread in inner if thread["frames"]] == [
        [("deep", 3), ("<module>", 4)]
    ]


def has_module(name: str) -> bool:
    return name in sys.builtin_module_names or bool(
        list(Path(sysconfig.get_path("stdlib"), "lib-dynload").glob(f"{name}.*"))
    )


def copy_of_interpreter(directory: Path) -> tuple[str, dict[str, str]]:
    """A stripped copy of the interpreter and its library, and the environment to run it in."""
    real = Path(os.path.realpath(sys.executable))
    program = directory / real.name
    shutil.copy(real, program)
    files = [program]
    library = Path(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"))
    if library.suffix != ".a" and library.exists():
        shutil.copy(library, directory)
        files.append(directory / library.name)
    subprocess.run(["strip", "--strip-all", *files], check=True)
    environment = {
        **os.environ,
        "PYTHONHOME": sys.base_prefix,
        "LD_LIBRARY_PATH": str(directory),
    }
    return str(program), environment


@pytest.mark.skipif(not shutil.which("strip"), reason="needs strip")
@pytest.mark.parametrize("deleted", [False, True], ids=["on disk", "deleted"])
def test_stripped_interpreter(
    start: Start, dump: Callable[..., dict], tmp_path: Path, deleted: bool
):
    directory = tmp_path / "stripped"
    directory.mkdir()
    program, environment = copy_of_interpreter(directory)
    process = start(NESTED, python=program, env=environment)
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    assert str(directory) in maps
    if deleted and os.geteuid() != 0:
        pytest.skip("only root may open files that have no name any more")
    if deleted:
        shutil.rmtree(directory)
    assert places(dump(process)["threads"][0])[0] == ("Holder.method", 9)


def unshare_works() -> bool:
    command = ["unshare", "--pid", "--mount", "--fork", "true"]
    return (
        bool(shutil.which("unshare"))
        and not subprocess.run(command, capture_output=True).returncode
    )


@AS_ROOT
def test_process_of_another_pid_namespace_and_mount_namespace(
    dump: Callable[..., dict], tmp_path: Path
):
    if not unshare_works():
        pytest.skip("namespaces cannot be made here")
    script = tmp_path / "inside.py"
    script.write_text(NESTED)
    with subprocess.Popen(
        ["unshare", "--pid", "--mount", "--fork", "--kill-child", sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
    ) as outer:
        assert outer.stdout and outer.stdout.readline() == "ready\n"
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        outer_pid = int(children[0])
        wait_until_asleep(outer_pid)
        inner = dump(outer_pid)
        outer.kill()
    (thread,) = inner["threads"]
    assert thread["id"] == outer_pid and thread["state"] == "waiting"
    assert places(thread)[0] == ("Holder.method", 9)


def test_not_python(run_dwell: Program):
    with subprocess.Popen(["sleep", "100"]) as other:
        result = run_dwell("dump", str(other.pid))
        other.kill()
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr == f"dwell: process {other.pid}: not a Python process\n"


def test_no_such_process(run_dwell: Program):
    with subprocess.Popen(["true"]) as gone:
        pass
    result = run_dwell("dump", str(gone.pid))
    assert result.returncode == 1
    assert result.stderr == f"dwell: process {gone.pid}: no such process\n"


def test_zombie_has_ended(run_dwell: Program):
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as zombie:
        assert zombie.stdout and zombie.stdout.read() == b""
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        result = run_dwell("dump", str(zombie.pid))
    assert result.returncode == 1
    assert result.stderr == f"dwell: process {zombie.pid}: the process has ended\n"


def old_python() -> str | None:
    """A Python before 3.11 that runs: version managers put some on PATH that do not."""
    pythons = [shutil.which(f"python3.{minor}") for minor in (10, 9, 8)]
    pythons += map(str, Path.home().glob(".pyenv/versions/3.10.*/bin/python3.10"))
    for python in filter(None, pythons):
        if not subprocess.run([python, "-c", ""], capture_output=True).returncode:
            return python
    return None


def test_unsupported_version_is_named(start: Start, run_dwell: Program):
    python = old_python()
    if not python:
        pytest.skip("no Python older than 3.11 here")
    process = start(NESTED, python=python)
    result = run_dwell("dump", str(process.pid))
    assert result.returncode == 1
    version = subprocess.check_output([python, "-V"], text=True).split()[1].rpartition(".")[0]
    assert result.stderr == (
        f"dwell: process {process.pid}: Python {version} is not supported; "
        "dwell reads 3.11 to 3.15\n"
    )


@AS_ROOT
def test_other_users_process_is_refused_with_the_way_out(
    start: Start, tmp_path: Path, dwell_program: str
):
    process = start(NESTED)
    program = Path("/tmp") / f"dwell-{os.getpid()}"  # the installed one may be out of reach
    shutil.copy(dwell_program, program)
    try:
        result = subprocess.run(
            [program, "dump", str(process.pid)], capture_output=True, text=True, user=65534, cwd="/"
        )
    finally:
        program.unlink()
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr == (
        f"dwell: process {process.pid}: no permission to read its memory: "
        "it is another user's (or runs with other privileges); run dwell as root\n"
    )


@AS_ROOT
def test_root_without_the_capability_is_told_so(start: Start, dwell_program: str):
    process = start(NESTED)
    result = subprocess.run(
        ["setpriv", "--bounding-set=-sys_ptrace", dwell_program, "dump", str(process.pid)],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1 and result.stdout == ""
    assert "root lacks CAP_SYS_PTRACE here; in a container" in result.stderr


def test_reading_does_not_stop_the_process(start: Start, dump: Callable[..., dict]):
    process = start(NESTED)
    before = Path(f"/proc/{process.pid}/status").read_text()
    dump(process, "--locals")
    after = Path(f"/proc/{process.pid}/status").read_text()
    assert before == after  # not even scheduled: the counts of switches are the same
    assert "TracerPid:\t0" in after


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
        (["abc"], "'abc' is no process id"),
        (["-1"], "no option '-1'"),
        (["0"], "'0' is no process id"),
        (["99999999999"], "'99999999999' is no process id"),
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
