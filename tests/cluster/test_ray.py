# SPDX-License-Identifier: MIT
"""Ray, with tasks and actors in real workers."""

from pathlib import Path

import pytest

from ..conftest import Program
from .conftest import Rows

pytest.importorskip("ray")
pytestmark = pytest.mark.any_python

PROGRAM = """
import os, time
import ray
from dwell.cluster.ray import recording


def spin():
    \"\"\"Until the recording of this worker has grown.\"\"\"
    file, = (entry for entry in os.scandir(folder) if f".{os.getpid()}." in entry.name)
    sizes = {os.stat(file.path).st_size}
    while len(sizes) < 4:
        sum(range(10000))
        sizes.add(os.stat(file.path).st_size)


@ray.remote
def task():
    spin()


@ray.remote
class Actor:
    def method(self):
        spin()


@ray.remote
class Async:
    async def method(self):
        spin()


folder = os.getcwd() + "/profiles"
ray.init(num_cpus=2, include_dashboard=False, runtime_env=recording("profiles"))
ray.get([task.remote(), task.remote()])
ray.get(Actor.remote().method.remote())
ray.get(Async.remote().method.remote())
ray.shutdown()
"""


def test_tasks_and_methods_of_actors_are_told_apart(
    python_program: Program, run_dwell: Program, rows: Rows, tmp_path: Path
):
    (tmp_path / "profiles").mkdir()
    done = python_program(PROGRAM)
    assert not done.returncode, done.stderr
    run_dwell("merge", *(tmp_path / "profiles").glob("*.dwell"), "-o", "run.dwell")
    found = {row["task_prefix"]: row["cpu"] for row in rows("run.dwell", "task_prefix")}
    assert {"task", "Actor.method", "Async.method"} <= set(found)
