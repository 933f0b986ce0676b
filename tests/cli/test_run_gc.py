# SPDX-License-Identifier: MIT
"""Collections of garbage as a probe: on the stacks that set them off, under their labels, in forked
children and after SIGKILL."""

import json

import pytest

PROGRAM = """
import gc, os, signal, sys, threading, time
import dwell

def knots(count):
    for _ in range(count):
        knot = []
        knot.append(knot)
    gc.collect()

gc.collect()
gc.disable()  # so that it is known which collections there are
with dwell.region("load"), dwell.label(job="first"):
    knots(100)
thread = threading.Thread(target=knots, args=(10,), name="worker")
thread.start()
thread.join()
if "fork" in sys.argv:
    child = os.fork()
    if not child:
        knots(7)
        sys.exit()
    os.waitpid(child, 0)
if "kill" in sys.argv:
    time.sleep(0.6)  # a flush is due
    knots(1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def rows(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(*words, by="function", file="x.dwell"):
        run_dwell("run", "-q", "--regions", "--gc", "-o", "x.dwell", "program.py", *words)
        done = run_dwell(
            *("report", *[str(path) for path in sorted(tmp_path.glob(file))], "--by", by),
            *("--measure", "gc_time,gc_collections,gc_collected", "--format", "json"),
        )
        assert done.returncode == 0, done.stderr
        return {
            tuple(row[key] for key in by.split(",")): {
                name: number["total"] for name, number in row.items() if isinstance(number, dict)
            }
            for row in json.loads(done.stdout)["rows"]
        }

    return run


def of_knots(found):
    [row] = [row for (name, *_), row in found.items() if name.startswith("knots ")]
    return row["gc_collections"], row["gc_collected"] >= 110


def test_collections_are_on_the_stacks_that_set_them_off(rows):
    found = rows()
    assert of_knots(found) == (2, True)
    assert all(row["gc_time"] > 0 for row in found.values())


def test_collections_know_thread_region_and_labels(rows):
    found = rows(by="thread,region,job")
    assert found["MainThread", "load", "first"]["gc_collections"] == 1
    assert found["worker", "(none)", "(none)"]["gc_collections"] == 1


def test_a_forked_child_records_its_own(rows):
    found = rows("fork", by="process,function", file="x*.dwell")
    knots = {key: row for key, row in found.items() if key[1].startswith("knots ")}
    assert sorted(row["gc_collections"] for row in knots.values()) == [1, 2]


def test_a_killed_program_leaves_what_was_flushed(rows):
    assert of_knots(rows("kill")) == (3, True)
