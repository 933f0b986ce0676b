# SPDX-License-Identifier: MIT
"""The commands and programs of README.md, run from top to bottom as they are printed there."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ..conftest import PATIENCE_S
from .conftest import MAY_READ, Start
from .revisions import git

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.any_python, MAY_READ]

# Commands that are not run here, each with the reason.
NOT_RUN = {
    "make demo": "builds dwell, which has been done",
    "make test": "runs this test",
    "make wheels": "takes minutes; `make wheel-test` runs it",
    "pip install .": "has been done, or dwell would not be here",
    "cd examples": "the commands are run there",
}
# Commands that are run with other words.
RUN_AS = {"dwell top 4711": "dwell top 4711 --count 1"}  # no terminal
MAY_SAY_SLOWER = "--fail-if"  # with the exit status 1, by chance too


class Block(NamedTuple):
    language: str
    text: str


def blocks() -> Iterator[Block]:
    fences = re.findall(r"^```(.*)\n((?s:.*?))^```$", (ROOT / "README.md").read_text(), re.M)
    return (Block(language, text) for language, text in fences)


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """The commands of a block, each with the output that is shown."""
    if block.language == "sh":
        yield from ((line, []) for line in block.text.splitlines())
        return
    for session in block.text.removeprefix("$ ").split("\n$ "):
        command, *shown = session.splitlines()
        yield command, shown


def shape(line: str) -> str:
    """A line of output without its figures and widths."""
    line = re.sub(r"[-+]?\d[\d.,]*( (ns|us|µs|ms|s)\b)?", "#", line)
    return re.sub(r"([-=])\1+", r"\1", " ".join(line.split()))


def assert_shows(output: str, shown: list[str]) -> None:
    """Lines that are shown begin lines of the output, whatever the figures; "..." is anything."""
    shapes = [shape(line) for line in output.splitlines()]
    for line in shown:
        pattern = re.escape(shape(line)).replace(r"\.\.\.", ".*")
        assert any(re.match(pattern, found) for found in shapes), f"{line!r} is not in\n{output}"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples, on the branch main of a repository."""
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder, ignore=shutil.ignore_patterns("*.so", "*.dwell"))
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "examples")
    return folder


@pytest.fixture
def server_pid(start: Start) -> int:
    return start((ROOT / "examples" / "server.py").read_text(), "9999", sleeps=False).pid


def run(folder: Path, command: str) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
    )


def test_commands_and_programs_do_what_is_shown(examples: Path, server_pid: int) -> None:
    output = ""
    for block in blocks():
        if block.language == "python":
            (examples / "app.py").write_text(block.text)
            done = run(examples, "python app.py")
            assert done.returncode == 0, f"{block.text}{done.stdout}"
            output = done.stdout
        elif block.language == "text":
            assert_shows(output, block.text.splitlines())
        else:
            for command, shown in commands(block):
                assert_true(examples, command, shown, server_pid)


def assert_true(folder: Path, line: str, shown: list[str], pid: int) -> None:
    command = line.partition(" #")[0].rstrip()
    if command in NOT_RUN:
        return
    done = run(folder, RUN_AS.get(command, command).replace("4711", str(pid)))
    allowed = (0, 1) if MAY_SAY_SLOWER in command else (0,)
    assert done.returncode in allowed, f"{command}\n{done.stdout}"
    assert_shows(done.stdout, shown)


def test_every_block_says_what_it_is() -> None:
    assert {block.language for block in blocks()} == {"sh", "console", "python", "text"}


def test_what_is_not_run_is_there() -> None:
    named = {
        line.partition(" #")[0].rstrip() for block in blocks() for line in block.text.splitlines()
    }
    assert named >= NOT_RUN.keys() | RUN_AS.keys()
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert {command[5:] for command in NOT_RUN if command.startswith("make ")} <= set(targets)


def test_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text()
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    anchors = {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert target[1:] in anchors if target[0] == "#" else (ROOT / target).exists(), target
