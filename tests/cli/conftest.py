# SPDX-License-Identifier: MIT
"""Programs that run while the tests look at them from outside."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .attached import Attached

Attach = Callable[..., Attached]
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
