# SPDX-License-Identifier: MIT
"""Programs that use a real cluster, on this host, and what their recordings say."""

import json
from collections.abc import Callable

import pytest

from ..conftest import Program

Rows = Callable[..., list[dict]]


@pytest.fixture
def rows(run_dwell: Program) -> Rows:
    """rows(FILE, "task_prefix,worker"): the view of a recording, without self beside total."""

    def view(file: str, by: str, *options: str) -> list[dict]:
        done = run_dwell("report", file, "--by", by, "--format", "json", *options)
        assert not done.returncode, done.stderr
        return [
            {key: cell["total"] if isinstance(cell, dict) else cell for key, cell in row.items()}
            for row in json.loads(done.stdout)["rows"]
        ]

    return view
