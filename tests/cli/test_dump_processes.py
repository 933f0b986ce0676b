# SPDX-License-Identifier: MIT
"""Stacks of processes that fork and end, are stripped, far away, or not to be read at all."""

import _weakrefset
import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Program
from ..sampled import Samples
from .attached import SPIN
from .conftest import AS_ROOT, MAY_READ, Attach, Dump, Start, wait_until_asleep
from .dumped import NESTED, places

pytestmark = MAY_READ


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
    start: Start, dump: Dump, threads: list[str], tmp_path: Path
):
    process = start(FORKING, *threads, sleeps=False, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    program = str(tmp_path / "program.py")
    library = threading.__file__, _weakrefset.__file__
    for _ in range(100):
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
    command = [sys.executable, "-S", "-c", "import time; time.sleep(0.002)"]

    def life_s() -> float:
        began = time.monotonic()
        subprocess.run(command, check=True)
        return time.monotonic() - began

    least_s = min(life_s() for _ in range(5))
    endings = set()
    for i in range(100):
        with subprocess.Popen(command) as one:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(least_s * (i % 30) / 20)
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


def test_threads_of_subinterpreters_are_there(start: Start, dump: Dump):
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
        "print('ready', flush=True)\n"
        "time.sleep(1000)\n"
    )

    def inner_places() -> list[Any]:
        inner = [thread for thread in dump(process)["threads"] if thread["interpreter"] != 0]
        return [places(thread)[:2] for thread in inner if thread["frames"]]

    end = time.monotonic() + 900
    while (found := inner_places()) != [[("deep", 3), ("<module>", 4)]]:  # until it sleeps there
        assert time.monotonic() < end, found
        time.sleep(0.05)


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
def test_stripped_interpreter(start: Start, dump: Dump, tmp_path: Path, deleted: bool):
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


@AS_ROOT
@pytest.mark.skipif(not shutil.which("strip"), reason="needs strip")
def test_interpreter_that_was_replaced(start: Start, attach: Attach, tmp_path: Path):
    """Its own code is still told from that of others."""
    directory = tmp_path / "old"
    directory.mkdir()
    program, environment = copy_of_interpreter(directory)
    process = start(SPIN, python=program, env=environment, sleeps=False)
    shutil.rmtree(directory)
    attached = attach(process, "--native", "--duration", "1").wait()
    assert attached.status == 0, attached.stderr
    samples = Samples.of(attached.path)
    in_python = samples.where(lambda row: row.state == "python")
    assert in_python > 0.8 * samples.weight_ns


def unshare_works() -> bool:
    command = ["unshare", "--pid", "--mount", "--fork", "true"]
    return (
        bool(shutil.which("unshare"))
        and not subprocess.run(command, capture_output=True).returncode
    )


@AS_ROOT
def test_process_of_another_pid_namespace_and_mount_namespace(dump: Dump, tmp_path: Path):
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
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    pythons += map(str, pyenv.glob("versions/3.10.*/bin/python3.10"))
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


@AS_ROOT
def test_root_of_another_user_namespace_is_not_told_to_become_root(
    start: Start, dwell_program: str
):
    process = start(NESTED)
    result = subprocess.run(
        ["unshare", "--user", "--map-root-user", dwell_program, "dump", str(process.pid)],
        capture_output=True,
        text=True,
    )
    if "unshare" in result.stderr:
        pytest.skip("no user namespaces here")
    assert result.returncode == 1 and result.stdout == ""
    assert "forbids it even to root (another user namespace" in result.stderr
