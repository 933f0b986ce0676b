# SPDX-License-Identifier: MIT
"""Programs that run while the tests look at them from outside."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..conftest import Program
from .attached import Attached
from .revisions import git

Attach = Callable[..., Attached]
Dump = Callable[..., dict]
Start = Callable[..., "subprocess.Popen[str]"]

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")


def may_read_children() -> bool:
    """Whether this system lets a process read the memory of another one of the same user."""
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            return Path(f"/proc/{child.pid}/maps").read_text() != ""
        except PermissionError:
            return False
        finally:
            child.kill()


MAY_READ = pytest.mark.skipif(not may_read_children(), reason="the system forbids reading memory")


def wait_until_asleep(pid: int) -> None:
    """After its first output a program has a few lines to go to where it sleeps."""
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "SZ":
        time.sleep(0.001)


def scheduling(pid: int) -> list[str]:
    """How often a process left a CPU, and who traces it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return [line for line in lines if "_ctxt_switches" in line or line.startswith("TracerPid")]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts source text as a program and waits for its first line and, if it does, its sleep."""
    with contextlib.ExitStack() as stack:

        def run(
            source: str,
            *args: str,
            name: str = "program.py",
            python: str = sys.executable,
            sleeps: bool = True,
            **more,
        ) -> "subprocess.Popen[str]":
            script = tmp_path / name
            script.write_text(source, encoding="utf-8")
            process = stack.enter_context(
                subprocess.Popen(
                    [python, str(script), *args], stdout=subprocess.PIPE, text=True, **more
                )
            )
            stack.callback(process.kill)
            assert process.stdout
            process.first_line = process.stdout.readline().strip()  # type: ignore[attr-defined]
            if sleeps:
                wait_until_asleep(process.pid)
            return process

        yield run


@pytest.fixture
def attach(tmp_path: Path, dwell_program: str) -> Attach:
    """Begins to record a process."""

    def begin(process: "subprocess.Popen[str]", *options: str, name: str = "out") -> Attached:
        return Attached(dwell_program, process.pid, tmp_path / f"{name}.dwell", options)

    return begin


@pytest.fixture
def dump(run_dwell: Program) -> Dump:
    """Reads a process once, as JSON."""

    def read(process: "subprocess.Popen[str] | int", *options: str) -> dict:
        pid = process if isinstance(process, int) else process.pid
        result = run_dwell("dump", str(pid), "--json", *options)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return read


@pytest.fixture
def timed(run_dwell):
    """Short runs: how long they take is not what is tested."""

    def run(*args, **options):
        return run_dwell("time", "--min-time", "0.002", *args, **options)

    return run


@pytest.fixture
def repository(tmp_path, tmp_path_factory, monkeypatch):
    """Two commits: f adds up 10 numbers, then 3000; the working tree has 10 again."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("trees")))
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    git(tmp_path, "init", "-q")
    for count in (10, 3000):
        (package / "__init__.py").write_text(f"def f():\n    return sum(range({count}))\n")
        git(tmp_path, "add", "src")
        git(tmp_path, "commit", "-qm", f"{count} numbers")
    (package / "__init__.py").write_text("def f():\n    return sum(range(10))\n")
    return tmp_path
