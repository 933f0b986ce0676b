# SPDX-License-Identifier: MIT
"""Children of a recorded process: which have files, and what they cost."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..conftest import PATIENCE_S
from ..measured import assert_between, repeated
from .attached import Attached, go
from .conftest import AS_ROOT, MAY_READ, Attach, Start

pytestmark = MAY_READ

# Forks children, some at a time, that end when they have files; says how many have none.
FORKS = """\
import os, sys, time
def child(path):
    begun = time.monotonic()
    while not os.path.exists(path) and time.monotonic() - begun < float(sys.argv[3]):
        time.sleep(0.01)
    os._exit(not os.path.exists(path))
def fork():
    pid = os.fork()
    if not pid:
        child(f"{sys.argv[1]}/out.{os.getpid()}.dwell")
    return pid
print("ready", flush=True)
sys.stdin.readline()
missing = 0
for _ in range(int(sys.argv[2])):
    for pid in [fork() for _ in range(4)]:
        missing += os.waitpid(pid, 0)[1] != 0
    if missing:
        break
print(missing, flush=True)
"""


def limit_files(attached: Attached, count: int) -> None:
    """So many more than the recorder has open now, at most."""
    opened = len(os.listdir(f"/proc/{attached.process.pid}/fd"))
    resource.prlimit(attached.process.pid, resource.RLIMIT_NOFILE, (opened + count,) * 2)


@repeated
def test_children_that_ended_hold_no_files(start: Start, attach: Attach, tmp_path: Path):
    for path in tmp_path.glob("out.*.dwell"):
        path.unlink()  # of an attempt before this one
    process = start(FORKS, str(tmp_path), "8", "20", stdin=subprocess.PIPE)
    attached = attach(process, "--subprocesses")
    limit_files(attached, 20)
    go(process)
    attached.wait()
    assert process.stdout and process.stdout.readline() == "0\n"
    assert attached.status == 0 and "Too many open files" not in attached.stderr
    assert "and the files of 32 children" in attached.stderr
    seen = []
    for path in tmp_path.glob("out.*.dwell"):
        assert attached.is_whole(path)
        seen.append({name for stack in attached.stacks(path) for name, _ in stack})
    assert len(seen) == 32 and all({"fork", "child"} & names for names in seen)
    assert_between(31, sum("child" in names for names in seen), 33)


def test_lack_of_files_is_told(start: Start, attach: Attach, tmp_path: Path):
    process = start(FORKS, str(tmp_path), "1", "0.5", stdin=subprocess.PIPE)
    attached = attach(process, "--subprocesses")
    # Those that are open stay open. How many these are changes from one moment to the next.
    resource.prlimit(attached.process.pid, resource.RLIMIT_NOFILE, (0, 0))
    go(process)
    attached.wait()
    assert process.stdout and process.stdout.readline() == "4\n"
    assert attached.status == 0
    assert "dwell: not everything could be recorded: Too many open files; " in attached.stderr


def test_as_many_files_as_the_system_allows(start: Start, attach: Attach):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard - 1, 256), hard))
    try:
        attached = attach(start("import time\nprint('ready', flush=True)\ntime.sleep(1000)\n"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    limits = resource.prlimit(attached.process.pid, resource.RLIMIT_NOFILE)
    attached.process.terminate()
    assert attached.wait().status == 0
    assert limits == (hard, hard)


def test_child_that_is_still_its_parent_has_no_file(start: Start, attach: Attach, tmp_path: Path):
    """Between vfork and exec: as long as `true` is looked for in so many places."""
    process = start(
        "import os, subprocess, sys\n"
        "os.get_exec_path = lambda env=None: ['/nowhere'] * 200000 + ['/usr/bin', '/bin']\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "def run():\n"
        "    for _ in range(2):\n        subprocess.run(['true'], check=True)\n"
        "run()\n",
        stdin=subprocess.PIPE,
    )
    attached = attach(process, "--subprocesses")
    go(process)
    attached.wait()
    assert process.wait() == 0
    assert attached.status == 0 and "the files of" not in attached.stderr
    assert not list(tmp_path.glob("out.*.dwell"))


NOBODY = 65534
DUMPABLE, PTRACER, ANYBODY = 4, 0x59616D61, -1  # of prctl

# Becomes somebody whose processes may be read, as far as Python's own files allow.
AS_NOBODY = f"""\
import ctypes, os, sys, time
def allow():
    prctl = ctypes.CDLL(None).prctl
    prctl({DUMPABLE}, 1)
    prctl({PTRACER}, ctypes.c_long({ANYBODY}))
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
allow()
def become_root():
    os.execl(sys.argv[1], "sleep", "1")
def wait_for_file(path):
    while not os.path.exists(path):
        time.sleep(0.01)
"""


def is_within_reach() -> bool:
    """Whether nobody can find the symbols of this Python; from 3.13 on its memory is enough."""
    command = ["test", "-r", os.path.realpath(sys.executable)]
    return sys.version_info >= (3, 13) or not subprocess.run(command, user=NOBODY).returncode


@pytest.fixture
def nobody(dwell_program: str) -> Iterator[Path]:
    """A directory of nobody's, with dwell, and a `sleep` that runs as root."""
    if not is_within_reach():
        pytest.skip("this Python is out of other users' reach")
    directory = Path("/tmp") / f"dwell-nobody-{os.getpid()}"
    directory.mkdir()
    try:
        if os.statvfs(directory).f_flag & os.ST_NOSUID:
            pytest.skip("no set-uid programs in /tmp")
        shutil.copy(dwell_program, directory / "dwell")
        sleep = directory / "sleep"
        shutil.copy(shutil.which("sleep") or "/bin/sleep", sleep)
        sleep.chmod(0o4755)
        os.chown(directory, NOBODY, NOBODY)
        yield directory
    finally:
        shutil.rmtree(directory)


def record_as_nobody(
    start: Start, directory: Path, source: str
) -> "tuple[int, subprocess.CompletedProcess[str]]":
    """The pid of a program of nobody's, and how its recording went."""
    process = start(AS_NOBODY + source, str(directory / "sleep"), str(directory))
    command = ["attach", str(process.pid), "--subprocesses", "-o", directory / "out.dwell"]
    result = subprocess.run(
        [directory / "dwell", *command],
        capture_output=True,
        text=True,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd=directory,
        timeout=PATIENCE_S,
    )
    assert result.returncode == 0, result.stderr
    return process.pid, result


@AS_ROOT
def test_child_that_becomes_root_ends_nothing(start: Start, nobody: Path, dwell_program: str):
    pid, result = record_as_nobody(
        start,
        nobody,
        "pid = os.fork()\n"
        "if not pid:\n"
        "    allow()\n"
        "    wait_for_file(f'{sys.argv[2]}/out.{os.getpid()}.dwell')\n"
        "    become_root()\n"
        "def parent():\n    os.waitpid(pid, 0)\n"
        "def afterwards():\n    time.sleep(0.5)\n"
        "print(pid, flush=True)\n"
        "parent()\n"
        "afterwards()\n",
    )
    assert f"dwell: process {pid} has ended\n" in result.stderr
    assert "afterwards" in result.stderr and "and the files of 1 child;" in result.stderr
    for path in nobody.glob("*.dwell"):
        checked = subprocess.run([dwell_program, "check", path], capture_output=True, text=True)
        assert checked.stdout.endswith("whole\n")


@AS_ROOT
def test_process_that_becomes_root_is_recorded_until_then(start: Start, nobody: Path):
    pid, result = record_as_nobody(
        start,
        nobody,
        "def before():\n"
        "    wait_for_file(f'{sys.argv[2]}/out.dwell')\n"
        "    time.sleep(0.3)\n"
        "print('ready', flush=True)\n"
        "before()\n"
        "become_root()\n",
    )
    assert f"dwell: process {pid} has other privileges now" in result.stderr
    assert "before" in result.stderr
