# SPDX-License-Identifier: MIT
"""Git for the tests of `dwell time`, and what it leaves behind."""

import os
import subprocess
from pathlib import Path

ONCE = ("-n", "1", "-r", "1", "--processes", "1")
REVISIONS = ("--rev", "HEAD~1", "--rev", "HEAD", "-s", "from package import f", "f()")


def git(directory, *arguments):
    names = {
        f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env={**os.environ, **names},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def leftovers():
    """What is in the directory for temporary files that the fixture `repository` makes."""
    return list(Path(os.environ["TMPDIR"]).iterdir())


def is_clean(repository):
    trees = git(repository, "worktree", "list").splitlines()
    return len(trees) == 1 and not leftovers()
