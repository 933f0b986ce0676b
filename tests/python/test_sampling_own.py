# SPDX-License-Identifier: MIT
"""What dwell does for itself is charged to no function of the program: it has a row of its own."""

from ..sampled import Samples

OWN = """
import time
import dwell
from dwell import _core

def burn():
    until = time.thread_time() + 0.05
    while time.thread_time() < until:
        pass

def learn():
    burn()

def work():
    burn()

dwell.start("x.dwell", rate=2000, native={native})
work()
_core.sampler_own_work(True)
learn()
_core.sampler_own_work(False)
work()
dwell.stop()
"""

TASKS = """
import asyncio

async def work():
    for _ in range(200):
        sum(range(2000))
        await asyncio.sleep(0)

asyncio.run(work())
"""


def names_of(samples):
    return {frame.name for row in samples.rows for frame in row.stack}


def test_work_of_dwell_has_a_row_of_its_own(tmp_path, python_program):
    for native in (True, False):
        done = python_program(OWN.format(native=native))
        assert done.returncode == 0, done.stderr
        samples = Samples.of(tmp_path / "x.dwell")
        assert {"work", "<dwell>"} <= names_of(samples)
        assert "learn" not in names_of(samples)
        own = [row for row in samples.rows if any(f.name == "<dwell>" for f in row.stack)]
        assert all(row.stack[0].name == "<dwell>" for row in own)


def test_learning_what_a_task_is_is_no_work_of_the_program(tmp_path, run_dwell):
    for number in range(3):
        name = f"{number}.dwell"
        done = run_dwell("run", "-q", "--rate", "20000", "-o", name, "-c", TASKS)
        assert done.returncode == 0, done.stderr
        samples = Samples.of(tmp_path / name)
        assert not [
            row.stack
            for row in samples.rows
            if any(frame.file.endswith("dwell/_tasks.py") for frame in row.stack)
        ]


def test_the_start_of_a_recording_is_no_work_of_the_program(tmp_path, run_dwell):
    for number in range(3):
        name = f"{number}.dwell"
        done = run_dwell("run", "-q", "--rate", "20000", "-o", name, "-c", "pass")
        assert done.returncode == 0, done.stderr
        assert "_start_sampling" not in names_of(Samples.of(tmp_path / name))
