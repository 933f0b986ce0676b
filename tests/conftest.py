# SPDX-License-Identifier: MIT
"""Recordings for the tests: in this process, and of programs run on their own."""

import functools
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dwell
from dwell import _core

PATIENCE_S = 900  # with a program that does not end
Program = Callable[..., "subprocess.CompletedProcess[str]"]
Recorded = Callable[..., tuple[Path, str]]


class Recording:
    """A recording in this process; its rows can be looked up at any time."""

    def __getitem__(self, path: str | tuple[str, ...]) -> dict:
        return dwell.snapshot()[path]

    def tree(self) -> list[tuple[str, ...]]:
        """The paths below <main>, as tuples of names, sorted."""
        return sorted(tuple(row["path"]) for row in dwell.snapshot().rows if row["path"])

    def counts(self) -> dict[tuple[str, ...], int]:
        return {tuple(row["path"]): row["count"] for row in dwell.snapshot().rows if row["path"]}


@pytest.fixture
def recording() -> Iterator[Recording]:
    _core.start()
    try:
        yield Recording()
    finally:
        _core.stop()


@pytest.fixture(scope="session")
def dwell_program() -> str:
    """Beside the interpreter, or another build of it."""
    beside = os.path.join(sysconfig.get_path("scripts"), "dwell")
    return os.environ.get("DWELL_PROGRAM", beside)


@pytest.fixture
def python_program(tmp_path: Path) -> Program:
    """Runs source text as a program of its own and returns what became of it."""

    def run(source: str, *args: str, **options) -> "subprocess.CompletedProcess[str]":
        script = tmp_path / "program.py"
        script.write_text(source)
        options.setdefault("timeout", PATIENCE_S)
        return subprocess.run(
            [sys.executable, str(script), *args],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            **options,
        )

    return run


@pytest.fixture
def run_dwell(tmp_path: Path, dwell_program: str) -> Program:
    def run(*args: str, **options) -> "subprocess.CompletedProcess[str]":
        options.setdefault("timeout", PATIENCE_S)
        options.setdefault("cwd", tmp_path)
        return subprocess.run(
            [dwell_program, *map(str, args)], capture_output=True, text=True, **options
        )

    return run


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, dwell_program: str) -> Recorded:
    """recorded(SOURCE, OPTIONS...): the recording of a program, and what the program printed. It is
    run once for all tests that ask for the same; none of them may change the file."""

    @functools.cache
    def run(source: str, *options: str) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp("recorded")
        (folder / "program.py").write_text(source)
        done = subprocess.run(
            [dwell_program, "run", "-q", *options, "-o", "x.dwell", "program.py"],
            capture_output=True,
            text=True,
            cwd=folder,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        return folder / "x.dwell", done.stdout

    return run
