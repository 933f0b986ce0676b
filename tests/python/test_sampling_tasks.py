# SPDX-License-Identifier: MIT
"""Stacks of asyncio tasks have the task in them: by the name that the program gave it, or else by
the function of its coroutine."""

import json
import re

from ..measured import assert_between, assert_close, off_unless, repeated, shares
from ..sampled import Samples

TASKS = """
import asyncio, json, time
import dwell
took = {}
def burn(n):
    total = 0
    for i in range(n):
        total += i * i
async def work(key, n):
    for i in range(60):
        start = time.thread_time_ns()
        burn(n)
        took[key] = took.get(key, 0) + time.thread_time_ns() - start
        await asyncio.sleep(0.001 * (i % 2))
async def fetch(n):
    await work("task fetch()", n)
async def main():
    given = {"reader": 20_000, "zw\u00f6lf \u2603": 60_000}
    tasks = [asyncio.create_task(work(f"task {name}", n), name=name) for name, n in given.items()]
    await asyncio.gather(*tasks, *(fetch(4_000) for _ in range(5)))
"""

RECORD = """
dwell.start("x.dwell", rate=2000)
asyncio.run(main())
burn(5_000_000)
dwell.stop()
print(json.dumps(took))
"""


def tasks_of(samples: Samples) -> set[str]:
    return {
        frame.name
        for row in samples.rows
        for frame in row.stack
        if frame.kind == "mark" and frame.name.startswith("task ")
    }


@repeated
def test_shares_of_tasks(tmp_path, python_program):
    done = python_program(TASKS + RECORD)
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    of_run = re.compile(r"task (main|BaseEventLoop\.shutdown_\w+)\(\)")  # what asyncio.run() makes
    assert {name for name in tasks_of(samples) if not of_run.fullmatch(name)} == set(took)
    assert_close(samples.shares(list(took)), shares(took), within=2)
    for row in samples.rows:
        names = [frame.name for frame in row.stack]
        marks = [i for i, name in enumerate(names) if name.startswith("task ")]
        assert len(marks) == 1 or not {"work", "fetch", "main"} & set(names)
        assert all(names[i - 1] == "Handle._run" for i in marks)


@repeated
def test_asyncio_is_loaded_while_samples_are_taken(tmp_path, python_program):
    late = TASKS.replace("import asyncio, json", "import json")
    done = python_program(f"""
import sys
{late}
dwell.start("x.dwell", rate=2000)
assert "asyncio" not in sys.modules
import asyncio
asyncio.run(main())
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    tasks = tasks_of(samples)
    off_unless({"task reader", "task fetch()"} <= tasks, tasks)
    assert_between(0.5, sum(map(samples.inside, tasks)) / samples.inside("work"), 1.1)


@repeated
def test_names_are_many(tmp_path, python_program):
    done = python_program("""
import asyncio, time
import dwell
async def work():
    end = time.thread_time() + 0.0005
    while time.thread_time() < end:
        pass
    await asyncio.sleep(0)
async def main():
    for i in range(3000):
        await asyncio.create_task(work(), name=f"number {i}")
    for i in range(1000):
        await asyncio.create_task(work())
dwell.start("x.dwell", rate=5000, native=False)
asyncio.run(main())
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    names = tasks_of(samples)
    assert not any(name.startswith("task Task-") for name in names)
    assert_between(500, len({name for name in names if name.startswith("task number ")}), 1024.5)
    assert_between(0, samples.inside("task <other>"), 100)
    assert_between(10, samples.inside("task work()"), 100)


def test_a_task_that_blocks_is_known_from_outside(tmp_path, python_program):
    done = python_program("""
import asyncio, time
import dwell
async def naps():
    time.sleep(0.3)
async def main():
    await asyncio.create_task(naps(), name="sleeper")
dwell.start("x.dwell", mode="wall")
asyncio.run(main())
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    asleep = [row for row in samples.rows if row.state == "waiting"]
    assert any("task sleeper" in [frame.name for frame in row.stack] for row in asleep)


def test_learning_what_a_task_is_leaves_no_trace(python_program):
    done = python_program("""
import asyncio, gc, warnings
warnings.simplefilter("error")
import dwell
async def main():
    dwell.start()
    dwell.stop()
    return len(asyncio.all_tasks()), asyncio.current_task().get_name()
print(asyncio.run(main()))
gc.collect()
""")
    assert (done.stdout, done.stderr) == ("(1, 'Task-1')\n", "")
