# SPDX-License-Identifier: MIT
"""Samples of the process itself: shares that are known, and stacks that can be."""

import json

import pytest

from ..measured import assert_above, assert_between, assert_close, repeated, shares
from ..sampled import Samples

SHARES = """
import json, sys, time
import dwell

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def loop(n):
    total = 0
    for i in range(n):
        total += i * i
    return total

def leaf(depth, n):
    if depth:
        return leaf(depth - 1, n)
    total = 0
    for i in range(n):
        total ^= i
    return total

parts = {"fib": lambda: fib(16), "loop": lambda: loop(20_000), "leaf": lambda: leaf(40, 15_000)}

def measured(seconds, took):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for name, part in parts.items():
            start = time.thread_time_ns()
            part()
            took[name] = took.get(name, 0) + time.thread_time_ns() - start
    return took

seconds = float(sys.argv[3])
measured(0.1, {})  # the interpreter learns what it runs
bare = measured(seconds / 4, {})
dwell.start("x.dwell", rate=float(sys.argv[1]), native=sys.argv[2] == "native")
took = measured(seconds, {})
dwell.stop()
print(json.dumps((measured(seconds / 4, bare), sum(took.values()))))
"""


@pytest.mark.accuracy
@pytest.mark.parametrize("native", ["native", "python"])
@pytest.mark.parametrize(("rate", "seconds"), [(1000, "3"), (10_000, "1")])
@repeated
def test_shares_are_those_of_an_exact_clock(tmp_path, python_program, rate, seconds, native):
    """Samples do not count their own time, so the truth is that of the program without them."""
    done = python_program(SHARES, str(rate), native, seconds)
    bare, whole_ns = json.loads(done.stdout or "[0, 0]")
    assert bare, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert_between(-1, samples.info["missed"], 1)
    assert_close(samples.shares(list(bare)), shares(bare), within=2)
    assert_between(0.8 * whole_ns, samples.weight_ns, 1.02 * whole_ns)
    assert_between(0.6, samples.info["taken"] / (samples.weight_ns / 1e9 * rate), 1.05)


IN_STEP = """
import json, time
import dwell
PERIOD = 5_000_000

def work():
    for i in range(500):
        pass

def short():
    while time.thread_time_ns() % PERIOD < PERIOD // 4:
        work()

def long():
    while time.thread_time_ns() % PERIOD >= PERIOD // 4:
        work()

took = {"short": 0, "long": 0}
dwell.start("x.dwell", rate=200)
end = time.thread_time() + 4
while time.thread_time() < end:
    for part in (short, long):
        start = time.thread_time_ns()
        part()
        took[part.__name__] += time.thread_time_ns() - start
dwell.stop()
print(json.dumps(took))
"""


@pytest.mark.accuracy
@repeated
def test_samples_do_not_keep_step_with_the_program(tmp_path, python_program):
    """As many samples a second as the program has turns would all be of the same moment."""
    done = python_program(IN_STEP)
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert_close(samples.shares(list(took)), shares(took), within=5)  # 800 samples, by chance


@pytest.mark.parametrize("native", ["native", "python"])
def test_stacks_are_those_that_the_program_has(tmp_path, python_program, native):
    done = python_program(SHARES, "10000", native, "0.5")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    allowed = {
        ("<module>", "measured"),
        ("measured", "<lambda>"),
        ("<lambda>", "fib"),
        ("<lambda>", "loop"),
        ("<lambda>", "leaf"),
        ("fib", "fib"),
        ("leaf", "leaf"),
    }
    assert samples.edges("program.py") == allowed
    for row in samples.rows:
        names = [frame.name for frame in row.stack if frame.file.endswith("program.py")]
        assert names[:1] in (["<module>"], [])
        assert names.count("leaf") in (0, *range(1, 42))
        if "leaf" in names and row.stack[-1].line in (17, 18, 19, 20):
            assert names.count("leaf") == 41
    outermost = {row.stack[0].name for row in samples.rows} - {"<dwell>"}  # its start and end
    assert outermost == ({"_start"} if native == "native" else {"<module>"})
    lost = samples.info["guessed"] + samples.info["cut"]
    assert_between(-1, lost, 0.01 * samples.info["taken"])


def test_lines_and_columns(tmp_path, python_program):
    done = python_program("""
import dwell
def work():
    total = 0
    for i in range(3_000_000):
        total += i * i % 7
with dwell.sampling("x.dwell", native=False):
    work()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    work = [row for row in samples.rows if row.stack[-1].name == "work"]
    inner = [row.stack[-1] for row in work]
    assert {frame.line for frame in inner} <= {3, 4, 5, 6}
    looping_ns = sum(row.weight_ns for row in work if row.stack[-1].line in (5, 6))
    assert looping_ns > 0.95 * sum(row.weight_ns for row in work)
    columns = {(frame.column, frame.end_column) for frame in inner if frame.line == 6}
    assert columns & {(18, 23), (18, 27), (9, 27)}  # i * i; i * i % 7; all of it


def test_samples_while_c_code_enters_the_interpreter(tmp_path, python_program):
    done = python_program("""
import dwell, time
class Equal:
    def __eq__(self, other):
        return True
def key(number):
    return -number
def items():
    for number in range(50):
        yield number
numbers = list(range(300))
dwell.start("x.dwell", rate=10_000)
end = time.perf_counter() + 1.5
while time.perf_counter() < end:
    sorted(numbers, key=key)
    list(map(key, numbers))
    Equal() == Equal()
    sum(items())
    list(map(lambda _: sum(items()), range(5)))
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert_above(95, samples.inside("<module>"))
    assert_above(5, samples.inside("key"))


def test_ten_thousand_deep(tmp_path, python_program):
    done = python_program("""
import sys, time
import dwell
sys.setrecursionlimit(20_000)
def down(depth):
    if depth:
        return down(depth - 1)
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        pass
dwell.start("x.dwell")
down(10_000)
dwell.stop()
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    deepest = max(samples.rows, key=lambda row: row.weight_ns)
    assert sum(frame.name == "down" for frame in deepest.stack) == 10_001
    assert_above(0.3e9, samples.weight_ns)
    assert (tmp_path / "x.dwell").stat().st_size < 1_000_000


def test_generators_and_coroutines(tmp_path, python_program):
    done = python_program("""
import asyncio
import dwell
def numbers(n):
    for i in range(n):
        yield i * i
def add(n):
    return sum(numbers(n))
async def inner(n):
    return add(n)
async def outer(n):
    for _ in range(60):
        await inner(n)
        await asyncio.sleep(0)
with dwell.sampling("x.dwell", rate=5000):
    asyncio.run(outer(10_000))
""")
    assert done.returncode == 0, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    edges = samples.edges("program.py")
    assert ("add", "numbers") in edges and ("outer", "inner") in edges
    calls = {("outer", "inner"), ("inner", "add"), ("add", "numbers")}
    assert edges <= {("<module>", "outer"), *calls}  # asyncio stands between the first two


def test_garbage_collection_is_a_frame(tmp_path, python_program):
    done = python_program("""
import dwell, gc
kept = [[i] for i in range(300_000)]
with dwell.sampling("x.dwell"):
    for _ in range(15):
        gc.collect()
""")
    assert done.returncode == 0, done.stderr
    assert_above(80, Samples.of(tmp_path / "x.dwell").inside("<gc>"))
