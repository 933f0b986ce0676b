# SPDX-License-Identifier: MIT
"""`dwell time --rev`: real repositories, which are left as they were."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..conftest import PATIENCE_S
from .revisions import ONCE, REVISIONS, git, is_clean, leftovers

pytestmark = pytest.mark.any_python


@pytest.mark.parametrize("path", ["relative", "absolute"])
def test_two_revisions(repository, timed, path):
    source = "src" if path == "relative" else str(repository / "src")
    environment = {**os.environ, "PYTHONPATH": source}
    done = timed(
        *REVISIONS, "--processes", "6", "-r", "2", "--fail-if", "slower 2x", env=environment
    )
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("A: HEAD~1  ") and lines[1].startswith("B: HEAD    ")
    assert re.match(r"B is [\d.]+x slower than A", lines[2])
    assert is_clean(repository)


def test_the_working_tree_beside_a_revision(repository, timed):
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = timed(
        *("--rev", "HEAD", "--rev", ".", "-s", "from package import f", "f()"),
        *("--processes", "6", "-r", "2"),
        env=environment,
    )
    assert re.match(r"B is [\d.]+x faster than A", done.stdout.splitlines()[2]), done.stderr


def test_revisions_in_an_interpreter_named_from_here(repository, timed):
    (repository / "bin").symlink_to(Path(sys.executable).parent)
    done = timed(
        *("--rev", "HEAD", "--python", "bin/" + Path(sys.executable).name),
        *("-n", "1", "--processes", "1", "pass"),
    )
    assert done.returncode == 0, done.stderr


def test_a_revision_from_below(repository, timed):
    """In a subdirectory the same one of the revision is used."""
    done = timed(
        *("--rev", "HEAD~1", "--rev", "HEAD", "-n", "1", "-r", "1", "--processes", "1"),
        *("-s", "from package import f", "f()"),
        cwd=repository / "src",
    )
    assert done.returncode == 0, done.stderr


def test_trees_are_gone_after_an_error(repository, timed):
    done = timed("--rev", "HEAD", "--rev", "HEAD~1", "1 / 0")
    assert done.returncode == 2
    assert is_clean(repository)
    done = timed("--rev", "HEAD", "--rev", "nonsense", "1")
    assert done.stderr == "dwell: nonsense: not a revision of this repository\n"
    assert is_clean(repository)


def test_trees_of_others_stay_known_while_they_are_away(repository, timed, tmp_path_factory):
    place = tmp_path_factory.mktemp("disk")
    git(repository, "worktree", "add", "-q", "--detach", str(place / "mine"))
    (place / "mine").rename(place / "away")
    done = timed(*ONCE, "--rev", "HEAD", "--rev", "HEAD~1", "1")
    assert done.returncode == 0, done.stderr
    (place / "away").rename(place / "mine")
    assert git(place / "mine", "rev-parse", "HEAD") == git(repository, "rev-parse", "HEAD")
    assert len(git(repository, "worktree", "list").splitlines()) == 2


def fake_git(directory, condition, reaction):
    """A git that does as told when its arguments match, and else what git does."""
    real = shutil.which("git")
    directory.mkdir()
    script = directory / "git"
    script.write_text(f'#!/bin/sh\ncase "$*" in {condition}) {reaction};; esac\nexec {real} "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


def test_trees_that_git_does_not_remove_are_gone_all_the_same(repository, timed):
    environment = fake_git(repository / "bin", "*worktree*remove*", "exit 1")
    assert timed(*ONCE, "--rev", "HEAD", "1", env=environment).returncode == 0
    assert is_clean(repository)


def test_errors_of_git_name_what_it_was_asked(repository, timed):
    environment = fake_git(repository / "bin", "*worktree*add*", "echo no room >&2; exit 1")
    done = timed(*ONCE, "--rev", "HEAD", "1", env=environment)
    assert done.stderr == "dwell: git worktree: no room\n"


def environment_with(directory, pth):
    """A virtual environment whose only package is a line in a .pth file."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    (site,) = directory.glob("lib/python*/site-packages")
    (site / "editable.pth").write_text(pth + "\n")
    return directory / "bin" / "python"


@pytest.mark.parametrize("place", ["inside", "outside"])
def test_an_editable_installation_is_that_of_the_revision(
    repository, timed, place, tmp_path_factory
):
    parent = repository if place == "inside" else tmp_path_factory.mktemp("venv")
    python = environment_with(parent / "venv", str(repository / "src"))
    done = timed(*REVISIONS, "--python", python, "--processes", "6", "-r", "2")
    assert re.match(r"B is [\d.]+x slower than A", done.stdout.splitlines()[2]), done.stderr


def test_an_editable_installation_of_the_root(repository, timed, tmp_path_factory):
    python = environment_with(tmp_path_factory.mktemp("venv") / "venv", str(repository))
    done = timed(
        *("--rev", "HEAD~1", "--rev", "HEAD", "-s", "from src.package import f", "f()"),
        *("--python", python, "--processes", "6", "-r", "2"),
        cwd=repository / "src",
    )
    assert re.match(r"B is [\d.]+x slower than A", done.stdout.splitlines()[2]), done.stderr


def test_modules_of_the_working_tree_are_refused(repository, timed, tmp_path_factory):
    (repository / "build").mkdir()
    (repository / "build" / "stray.py").write_text("")
    python = environment_with(tmp_path_factory.mktemp("venv") / "venv", str(repository / "build"))
    done = timed(*ONCE, "--rev", "HEAD", "--python", python, "-s", "import stray", "1")
    assert done.returncode == 2
    file = repository / "build" / "stray.py"
    assert done.stderr.endswith(f": module stray is that of {file}, not of the revision\n")
    done = timed(*ONCE, "--rev", ".", "--python", python, "-s", "import stray", "1")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_trees_are_gone_after_a_signal(repository, dwell_program, number):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    marker = repository / "started"
    statement = f"import time; open({str(marker)!r}, 'w').close(); time.sleep(60)"
    child = subprocess.Popen(
        [dwell_program, "time", "--rev", "HEAD", "--rev", "HEAD~1", statement],
        cwd=repository,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not marker.exists():
        assert child.poll() is None
        time.sleep(0.01)
    assert leftovers()
    child.send_signal(number)
    _, errors = child.communicate(timeout=PATIENCE_S)
    assert child.returncode == -number
    assert "Traceback" not in errors
    assert is_clean(repository)
