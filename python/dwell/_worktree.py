# SPDX-License-Identifier: MIT
"""Revisions of a git repository, checked out beside each other for as long as they are needed."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

WORKING_TREE = "."


class WorktreeError(Exception):
    """A revision that cannot be checked out."""


class Checkout(NamedTuple):
    """Where a revision is, and the environment in which its modules are found."""

    revision: str
    commit: str
    directory: str
    environment: dict[str, str]
    moved: tuple[str, str] | None  # the root of the repository, and the tree in its place


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", *arguments], capture_output=True, text=True
        )
    except OSError as error:
        raise WorktreeError(f"git: {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise WorktreeError(f"git {arguments[0]}: {lines[-1]}")
    return done.stdout.strip()


def _commit(revision: str) -> str:
    try:
        return _git("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}")
    except WorktreeError:
        raise WorktreeError(f"{revision}: not a revision of this repository") from None


def _moved(path: str, root: str, tree: str) -> str:
    """A path inside of the repository, as the same place in the other tree."""
    real = os.path.realpath(path)
    if path and os.path.isabs(path) and os.path.commonpath([real, root]) == root:
        return os.path.join(tree, os.path.relpath(real, root))
    return path


def _environment(root: str, tree: str) -> dict[str, str]:
    """PYTHONPATH must not lead back to the tree that we are called in."""
    environment = dict(os.environ)
    if "PYTHONPATH" in environment:
        paths = environment["PYTHONPATH"].split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(_moved(path, root, tree) for path in paths)
    return environment


def _add(revision: str, commit: str, root: str, tree: str) -> Checkout:
    _git("worktree", "add", "--quiet", "--detach", tree, commit)
    inner = os.path.join(tree, _git("rev-parse", "--show-prefix"))
    directory = inner if os.path.isdir(inner) else tree
    return Checkout(revision, commit, directory, _environment(root, tree), (root, tree))


def _here(root: str) -> Checkout:
    return Checkout("working tree", "", os.getcwd(), _environment(root, root), None)


def _remove_entries(parent: str) -> None:
    """Removes git's entries of trees in that directory. `git worktree prune` would do so too,
    but would also forget trees of others whose disk is not mounted."""
    entries = Path(_git("rev-parse", "--git-common-dir"), "worktrees")
    for file in entries.glob("*/gitdir"):
        if Path(parent) in Path(file.read_text().strip()).parents:
            shutil.rmtree(file.parent, ignore_errors=True)


def _remove(parent: str) -> None:
    """Removes the trees; another Ctrl-C must not leave half of them behind."""
    ignored = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = [signal.signal(number, signal.SIG_IGN) for number in ignored]
    with suppress(WorktreeError, OSError):
        for name in os.listdir(parent):
            _git("worktree", "remove", "--force", os.path.join(parent, name))
    shutil.rmtree(parent, ignore_errors=True)
    with suppress(WorktreeError, OSError):
        _remove_entries(parent)
    for number, handler in zip(ignored, before, strict=True):
        signal.signal(number, handler)


@contextmanager
def checkouts(revisions: list[str]) -> Iterator[list[Checkout]]:
    """A tree for each revision, in a temporary directory; `.` is the working tree as it is."""
    root = os.path.realpath(_git("rev-parse", "--show-toplevel"))
    commits = ["" if name == WORKING_TREE else _commit(name) for name in revisions]
    parent = os.path.realpath(tempfile.mkdtemp(prefix="dwell-time-"))
    try:
        yield [
            _add(name, commit, root, os.path.join(parent, str(number))) if commit else _here(root)
            for number, (name, commit) in enumerate(zip(revisions, commits, strict=True))
        ]
    finally:
        _remove(parent)
