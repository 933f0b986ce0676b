# SPDX-License-Identifier: MIT
"""`dwell run --subprocesses`: programs that a program starts are recorded too."""

import os
from pathlib import Path

import pytest

from ..measured import Near, assert_between, repeated
from ..sampled import Samples

PROGRAM = """
import multiprocessing, os, subprocess, sys, time

def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

def by_method(method):
    process = multiprocessing.get_context(method).Process(target=work, args=(0.3,))
    process.start()
    process.join()

def by_command(*arguments):
    subprocess.run([sys.executable, __file__, *arguments], check=True)

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work"]:
            work(0.3)
        case ["become another"]:
            work(0.3)
            os.execv(sys.executable, [sys.executable, __file__, "work"])
        case ["start another"]:
            by_command("work")
        case ["start", *arguments]:
            by_command(*arguments)
        case [method]:
            by_method(method)
"""


def forget_children(directory: Path) -> None:
    """Those of the last attempt."""
    for path in directory.glob("x.*.dwell"):
        path.unlink()


@pytest.mark.parametrize(
    ("arguments", "worked"),
    [
        ("fork", 1),
        ("spawn", 1),
        ("forkserver", 1),
        ("start,work", 1),
        ("start,start another", 1),
        ("start,become another", 2),
    ],
)
@repeated
def test_every_process_has_a_file(tmp_path, run_dwell, arguments, worked):
    forget_children(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_dwell("run", "--subprocesses", "-o", "x.dwell", "program.py", *arguments.split(","))
    assert (done.returncode, done.stdout) == (0, "")
    logs = list(tmp_path.glob("x.*.dwell"))
    assert f"and the files of {len(logs)} child" in done.stderr
    took = [
        samples.where(lambda row: any(frame.name == "work" for frame in row.stack)) / 1e9
        for samples in map(Samples.of, logs)
        if samples.info["ended"]
    ]
    assert [seconds for seconds in took if seconds] == [Near(0.3, within=0.1)] * worked


@repeated
def test_workers_that_a_pool_kills(tmp_path, run_dwell):
    """What they did is on disk by then, but for the last part of it."""
    forget_children(tmp_path)
    (tmp_path / "program.py").write_text(
        PROGRAM.partition("if __name__")[0] + "with multiprocessing.get_context('fork').Pool(2) as "
        "pool:\n    pool.map(work, [0.4] * 4, 1)\n"
    )
    run_dwell("run", "-q", "-o", "x.dwell", "program.py")
    logs = [Samples.of(path) for path in tmp_path.glob("x.*.dwell")]
    assert len(logs) == 2
    assert_between(0.8 * 1.6e9, sum(samples.weight_ns for samples in logs), 1.3 * 1.6e9)


def test_programs_that_are_started_are_left_alone(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_dwell("run", "-q", "-o", "x.dwell", "program.py", "start", "work")
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]


def test_children_of_earlier_runs(tmp_path, run_dwell):
    """Their files would be added up by 'dwell report x*.dwell'."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = ("run", "-o", "x.dwell", "program.py", "fork")
    assert "earlier runs" not in run_dwell(*command).stderr
    for path in tmp_path.glob("x.*.dwell"):
        os.utime(path, (0, 0))
    done = run_dwell(*command)
    assert "and the files of 1 child;" in done.stderr
    assert "dwell: 1 file of children beside it: of earlier runs, and not in" in done.stderr


SUBINTERPRETERS = """
try:
    import _interpreters as interpreters
    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
one = interpreters.create()
run(one, "pass")
interpreters.destroy(one)
"""


def test_nothing_is_said_of_subinterpreters(tmp_path, run_dwell):
    """They come across what passes a recording on, but the process is recorded already."""
    done = run_dwell("run", "-q", "--subprocesses", "-o", "x.dwell", "-c", SUBINTERPRETERS)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]
