# SPDX-License-Identifier: MIT
"""How near memory comes to what is known: the rows of memory in `make accuracy`."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dwell.memory

from .. import measured
from ..conftest import Program

pytestmark = pytest.mark.accuracy
MB = 1_000_000
PERIOD = 512 << 10  # bytes from one sample to the next, on the average
RUNS = 200


def allocate(count: int, size: int) -> None:
    for _ in range(count):
        bytearray(size)


def interval(truth: float, size: int) -> float:
    """Two standard deviations: of n samples, a share of about 2 / sqrt(n)."""
    chance = -math.expm1(-size / PERIOD)
    return 2 * math.sqrt(truth * size * (1 - chance) / chance)


@measured.repeated
def test_estimates_are_inside_of_their_interval():
    """A normal distribution has 95.4 % within two standard deviations; of 200 runs, 92 % or more
    are in there but for one time in a hundred."""
    count, size = 10_000, 20_000
    inside = 0
    for _ in range(RUNS):
        with dwell.memory.track() as tracked:
            allocate(count, size)
        rows = [row for row in tracked.rows("function") if row["function"].startswith("allocate ")]
        found = sum(row["alloc_bytes"]["self"] for row in rows)
        inside += abs(found - count * size) <= interval(count * size, size)
    measured.assert_close({"inside": 100 * inside / RUNS}, {"inside": 95.4}, within=3.4)


def my_func():
    a = [1] * (10**6)
    b = [2] * (2 * 10**7)
    del b
    return a


@pytest.mark.parametrize("mode", ["exact", "sampled"])
def test_lists_of_8_and_160_megabytes(mode):
    with dwell.memory.track(mode=mode) as tracked:
        kept = my_func()
    first = my_func.__code__.co_firstlineno
    found = {}
    for row in tracked.rows("python"):
        for name, line in (("8 MB", first + 1), ("160 MB", first + 2)):
            if row["python"].endswith(f":{line} (my_func)"):
                found[name] = row["peak_bytes"]["self"] / MB
                found[f"{name} left"] = row["live_bytes"]["self"] / MB
    truth = {"8 MB": 8, "8 MB left": 8, "160 MB": 160, "160 MB left": 0}
    parts = {name: 100 * found[name] / max(number, 8) for name, number in truth.items()}
    measured.assert_close(parts, {**dict.fromkeys(truth, 100.0), "160 MB left": 0}, within=2)
    assert len(kept) == 10**6


def numpys() -> list[Path | None]:
    """The one that is installed, and an older one that `tools/venv` has put beside it."""
    old = Path(sys.prefix, "numpy-old")
    return [None, old] if old.exists() else [None]


NUMPY = """
import json, numpy, dwell.memory
def temporaries(a):
    for _ in range(50):
        a + 1
a = numpy.zeros(100_000)
temporaries(a)
with dwell.memory.track(mode="exact") as tracked:
    temporaries(a)
print(json.dumps([numpy.__version__, sum(
    row["alloc_bytes"]["self"] for row in tracked.rows("python") if "temporaries" in row["python"]
)]))
"""


@pytest.mark.parametrize("folder", numpys(), ids=lambda folder: "old" if folder else "newest")
def test_numpy_temporaries_are_counted_once(folder: Path | None, python_program: Program):
    pytest.importorskip("numpy")
    path = {"PYTHONPATH": str(folder)} if folder else {}
    done = python_program(NUMPY, env={**os.environ, **path})
    assert done.returncode == 0, done.stderr
    version, allocated = json.loads(done.stdout)
    assert not folder or version < "2.4", "the older one was asked"
    measured.assert_close({"once": allocated / 400_000}, {"once": 100}, within=1)


PEAK = """
kept = []
def words(n):
    return [str(i) * 20 for i in range(n)]
def table(n):
    rows = [words(100) for _ in range(n)]
    kept.append(rows)
    return len(rows)
def buffers():
    for i in range(200):
        kept.append(bytearray(500_000))
def largest():
    data = [bytearray(100_000) for _ in range(1000)]
    data.append([0] * 1_000_000)
    return len(data)
def main():
    table(2000)
    buffers()
    largest()
    kept.clear()
    buffers()
main()
"""
WITH_MEMRAY = """
import json, sys
from memray import FileReader
records = list(FileReader(sys.argv[1]).get_high_watermark_allocation_records(merge_threads=True))
records.sort(key=lambda record: -record.size)
frames = records[0].stack_trace()
stack = [(name, line) for name, file, line in frames if file.endswith("program.py")]
print(json.dumps([sum(record.size for record in records), stack]))
"""


def test_memray_agrees_on_the_peak_and_its_path(run_dwell: Program, tmp_path: Path):
    pytest.importorskip("memray")
    (tmp_path / "program.py").write_text(PEAK)
    words = ("run", "-q", "-f", "--trace-python-allocators", "-o", "x.bin", "program.py")
    subprocess.run([sys.executable, "-m", "memray", *words], cwd=tmp_path, check=True)
    told = subprocess.run(
        [sys.executable, "-c", WITH_MEMRAY, "x.bin"],
        cwd=tmp_path, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    truth, stack = json.loads(told.stdout)
    assert run_dwell("run", "-q", "--memory=exact", "-o", "x.dwell", "program.py").returncode == 0
    done = run_dwell(
        "report", "x.dwell", "--by", "python", "--measure", "peak_bytes", "--format", "json"
    )
    rows = json.loads(done.stdout)["rows"]
    top = max(rows, key=lambda row: row["peak_bytes"]["self"])
    name, line = stack[0]
    place, function = top["python"].rstrip(")").split(" (")
    assert (place, function.rpartition(".")[2]) == (f"program.py:{line}", name)
    path = run_dwell("export", "x.dwell", "--to", "collapsed").stdout.splitlines()
    deepest = max(path, key=lambda line: int(line.rsplit(" ", 1)[1])).rsplit(" ", 1)[0]
    names = [function.rpartition(".")[2] for function in deepest.split(";")]  # memray's are so
    assert names == ["<main>", *(name for name, _ in reversed(stack))]
    found = sum(row["peak_bytes"]["self"] for row in rows)
    measured.assert_close({"peak": 100 * found / truth}, {"peak": 100}, within=2)
