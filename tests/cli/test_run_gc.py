# SPDX-License-Identifier: MIT
"""Collections of garbage as a probe: on the stacks that set them off, under their labels, in forked
children and after SIGKILL."""

import json
import subprocess
import sys

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


def test_the_main_thread_has_its_name_while_threading_is_imported(tmp_path, run_dwell):
    program = (
        "import sys\n"
        "sys.modules['threading'] = type(sys)('threading')  # as an import begins\n"
        "from dwell import _core\n"
        "_core.start('x.dwell', False, False)\n"
        "with _core.Region('x'): pass\n"
        "_core.stop()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    done = run_dwell("report", "x.dwell", "--by", "thread", "--format", "csv")
    assert "MainThread," in done.stdout, done.stderr


def test_a_forked_child_records_its_own(rows):
    found = rows("fork", by="process,function", file="x*.dwell")
    knots = {key: row for key, row in found.items() if key[1].startswith("knots ")}
    assert sorted(row["gc_collections"] for row in knots.values()) == [1, 2]


def test_a_killed_program_leaves_what_was_flushed(rows):
    assert of_knots(rows("kill")) == (3, True)


def test_generations_are_told_apart_with_what_could_not_be_freed(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import gc\n"
        "gc.collect()\n"
        "gc.disable()\n"
        "for generation in (0, 0, 0, 2):\n"
        "    gc.collect(generation)\n"
    )
    run_dwell("run", "-q", "--regions", "--gc", "-o", "x.dwell", "program.py")
    done = run_dwell(
        *("report", "x.dwell", "--by", "line,gc_generation", "--format", "json"),
        *("--measure", "gc_time,gc_longest,gc_collections,gc_uncollectable"),
    )
    assert done.returncode == 0, done.stderr
    rows = {
        row["gc_generation"]: row
        for row in json.loads(done.stdout)["rows"]
        if "program.py:5" in row["line"]
    }
    assert rows["0"]["gc_collections"]["total"] == 3
    assert rows["2"]["gc_collections"]["total"] == 1
    assert rows["2"]["gc_time"]["total"] == rows["2"]["gc_longest"]["total"] > 0
    assert 0 < rows["0"]["gc_longest"]["total"] < rows["0"]["gc_time"]["total"]


def test_the_timeline_has_each_collection_inside_the_functions_that_set_it_off(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_dwell("run", "-q", "--regions", "--timeline", "--gc", "-o", "x.dwell", "program.py")
    events = json.loads(run_dwell("export", "x.dwell", "--to", "chrome").stdout)["traceEvents"]
    open_slices, collections = {}, []
    for event in events:
        stack = open_slices.setdefault(event.get("tid"), [])
        if event["ph"] == "B":
            stack.append(event["name"])
            if event["name"].startswith("<gc "):
                collections.append(list(stack))
        elif event["ph"] == "E":
            assert stack.pop() == event["name"]
    assert not any(open_slices.values())
    inside = [names for names in collections if "knots" in names]
    assert [names[-2:] for names in inside] == [["knots", "<gc generation 2>"]] * 2
    assert inside[0][0] == "load" and "load" not in inside[1]
    freed = [e["args"]["gc collected"] for e in events if e["name"] == "gc collected"]
    assert max(freed) >= 110
    assert run_dwell("export", "x.dwell", "--to", "perfetto", "-o", "x.pb").returncode == 0


def test_the_page_shows_the_pauses(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_dwell("run", "-q", "--regions", "--gc", "-o", "x.dwell", "program.py")
    done = run_dwell("export", "x.dwell", "--to", "html", "--measure", "gc_time", "-o", "x.html")
    assert done.returncode == 0, done.stderr
    collapsed = run_dwell("export", "x.dwell", "--to", "collapsed", "--measure", "gc_time").stdout
    assert "knots" in collapsed and (tmp_path / "x.html").stat().st_size > 10_000
