# SPDX-License-Identifier: MIT
"""The heap of a running process, read from outside: the same as the process itself sees, also when
it hangs."""

import json
import subprocess
import sys

import pytest

from dwell import heap

PROGRAM = """
import collections, gc, json, sys
from dwell import heap

class Thing:
    def __init__(self, number):
        self.number, self.named, self.listed = number, {"key": number, 5: [number]}, [number]

class Slotted:
    __slots__ = ("a", "b")

class Derived(Slotted):
    pass

class Loop(list):
    pass

class Table(dict):
    pass

class Trouble(Exception):
    pass

def generate():
    mine = Thing(60000)
    yield
    yield mine

def outer():
    captured = Thing(70000)
    return lambda: captured

things = [Thing(number + 1000) for number in range(300)]
things[0].late = things[1].__dict__  # one has a dictionary, and keys of its own
slotted = [Slotted() for _ in range(50)]
for each in slotted:
    each.a, each.b = Thing(80000), (1, Thing(90000))
derived = [Derived() for _ in range(20)]
for each in derived:
    each.a, each.c = {1, 2, "x"}, frozenset({Thing(11000)})
several = [Loop([Thing(12000)]), Table(a=Thing(13000)), Trouble("x", Thing(14000))]
asleep = generate()
next(asleep)
inner = outer()
try:
    import numpy
    whole = numpy.zeros((100, 1000))
    arrays = [whole[3], numpy.array([Thing(16000), None], dtype=object), numpy.ones(5000)[::2]]
    del whole
except ImportError:
    pass
knot = Loop()
knot.append(knot)
del knot

def main():
    local = Thing(15000)
    gc.disable()
    seen = {row.type: tuple(row[1:]) for row in heap.snapshot().types()}
    tracked = collections.Counter()
    for each in gc.get_objects():
        tracked[type(each).__module__ + "." + type(each).__qualname__] += 1
    print(json.dumps([seen, tracked]), flush=True)
    hang()

main()
"""
WAITS = "def hang():\n    sys.stdin.read()\n"
DEADLOCKED = (
    "import _thread\ndef hang():\n    lock = _thread.allocate_lock()\n    with lock, lock: pass\n"
)
ENDLESS = "def hang():\n    import itertools\n    collections.deque(itertools.repeat(0), 0)\n"


@pytest.fixture
def look(tmp_path, dwell_program):
    """Runs the program until it hangs, and gives what it saw of itself, and what dwell did."""

    def run(hang, *words):
        program = PROGRAM.replace("def main():", f"{hang}\ndef main():")
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            inside = json.loads(process.stdout.readline())
            file = tmp_path / "heap.dwell"
            done = subprocess.run(
                [dwell_program, "attach", str(process.pid), "--heap", "-o", str(file), *words],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert process.poll() is None
            return inside, heap.load(file), done.stderr
        finally:
            process.kill()
            process.communicate()

    return run


OWN = ("Thing", "Slotted", "Derived", "Loop", "Table", "Trouble")


def test_what_is_seen_from_outside_is_what_is_seen_inside(look):
    (inside, tracked), outside, said = look(WAITS)
    types = outside.types()
    for name in OWN:
        assert tuple(types.named(f"__main__.{name}")[1:]) == tuple(inside[f"__main__.{name}"]), name
    for name in ("function", "module", "cell", "property", "classmethod", "staticmethod"):
        assert types.named(name).count == tracked[f"builtins.{name}"] > 0, name
    arrays = inside.get("numpy.ndarray", (0, 0, 0))
    assert tuple(types.named("numpy.ndarray")[1:]) == tuple(arrays)
    assert types.named("str").count == pytest.approx(inside["str"][0], rel=0.02)
    assert types.size == pytest.approx(sum(row[1] for row in inside.values()), rel=0.03)
    assert outside.garbage[0] >= 1
    assert "it was stopped for " in said and "tracked" in said


@pytest.mark.parametrize("hang", [DEADLOCKED, ENDLESS], ids=["deadlocked", "endless"])
def test_a_process_that_hangs_can_be_looked_at(look, hang):
    (inside, _), outside, said = look(hang, "-q")
    assert outside.types().named("__main__.Thing").count == inside["__main__.Thing"][0]
    assert said == ""


def test_ways_begin_at_modules_and_running_functions(look):
    _, outside, _ = look(WAITS)
    holders = [row.name for row in outside.holders("__main__.Thing", 500)]
    assert any("main() at " in name for name in holders)
    assert any(name.startswith("__main__") for name in holders)


def test_a_process_that_is_none_of_python_is_refused(tmp_path, dwell_program):
    process = subprocess.Popen(["sleep", "1000"])
    done = subprocess.run(
        [dwell_program, "attach", str(process.pid), "--heap", "-o", str(tmp_path / "x.dwell")],
        capture_output=True,
        text=True,
        check=False,
    )
    process.kill()
    process.wait()
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert not (tmp_path / "x.dwell").exists()
