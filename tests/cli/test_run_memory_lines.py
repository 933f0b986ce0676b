# SPDX-License-Identifier: MIT
"""`dwell run --memory --lines`: what lines allocated, exactly, beside the memory of the process."""

import json

import pytest

MB = 1_000_000
EXAMPLE = """
@profile
def my_func():
    a = [1] * (10 ** 6)
    b = [2] * (2 * 10 ** 7)
    del b
    return a

if __name__ == '__main__':
    kept = my_func()
"""
KINDS = """
import asyncio, threading

kept = []

@profile
def numbers(n):
    for _ in range(n):
        block = bytearray(1_000_000)
        yield len(block)

@profile
async def fetch(n):
    data = bytearray(n)
    await asyncio.sleep(0)
    kept.append(data)

@profile
class Box:
    def grow(self):
        self.data = bytearray(3_000_000)

@profile
def nested(n):
    x = bytearray(100_000)
    return nested(n - 1) + len(x) if n else 0

async def both():
    await asyncio.gather(fetch(2_000_000), fetch(4_000_000))

sum(numbers(5))
asyncio.run(both())
box = Box()
box.grow()
threads = [threading.Thread(target=nested, args=(9,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.fixture
def lines(tmp_path, run_dwell):
    """Runs a program, and gives what is known of its lines by their text."""

    def lines(source, *options):
        (tmp_path / "example.py").write_text(source)
        done = run_dwell("run", "-q", *options, "--lines", "-o", "x.dwell", "example.py")
        assert done.returncode == 0, done.stderr
        document = json.loads(
            run_dwell("report", "x.dwell", "--by", "line", "--format", "json").stdout
        )
        assert {"memory", "increment", "allocated", "freed", "kept", "line_peak", "peak"} <= {
            measure["name"] for measure in document["measures"] if measure["unit"] == "bytes"
        }
        return {row["source"].strip(): row for row in document["rows"] if row["line"]}

    return lines


def near(number):
    return pytest.approx(number, rel=0.02)


def test_the_lines_of_the_example_have_their_bytes(lines, run_dwell):
    rows = lines(EXAMPLE, "--memory")
    first, second = rows["a = [1] * (10 ** 6)"], rows["b = [2] * (2 * 10 ** 7)"]
    assert (first["allocated"], first["kept"], first["peak"]) == (near(8 * MB),) * 3
    assert (second["allocated"], second["freed"], second["peak"]) == (near(160 * MB),) * 3
    assert second["kept"] < 1000 and first["freed"] < 1000
    assert rows["del b"]["allocated"] < 1000
    table = run_dwell("report", "x.dwell", "--by", "line").stdout
    heading = next(line for line in table.splitlines() if line.startswith("Line #"))
    assert heading.split() == [
        *("Line", "#", "Hits", "Time", "Per", "Hit", "%", "Time", "Mem", "usage", "Increment"),
        *("Allocated", "Freed", "Net", "Line", "peak", "At", "peak", "Line", "Contents"),
    ]
    row = next(line for line in table.splitlines() if "(2 * 10 ** 7)" in line)
    assert "152.6 MiB    152.6 MiB                 152.6 MiB    152.6 MiB      b = " in row


TEMPORARIES = """
@profile
def outer():
    kept = bytearray(5_000_000)
    size = len(bytearray(20_000_000)) + len(bytearray(30_000_000))
    total = inner() + inner()
    del kept
    return size + total

@profile
def inner():
    first = bytearray(7_000_000)
    second = bytearray(8_000_000)
    del first, second
    return 15_000_000

def unwatched():
    return len(bytearray(40_000_000))

@profile
def caller():
    none = 1 + 1
    return unwatched()

bytearray(100_000_000)
outer()
caller()
"""


def test_a_line_knows_the_most_that_was_there_while_it_ran(lines):
    rows = lines(TEMPORARIES, "--memory")
    peaks = {text: row["line_peak"] for text, row in rows.items()}
    assert peaks["kept = bytearray(5_000_000)"] == near(5 * MB)
    # One is given back before the other is made.
    assert peaks["size = len(bytearray(20_000_000)) + len(bytearray(30_000_000))"] == near(30 * MB)
    assert peaks["first = bytearray(7_000_000)"] == near(7 * MB)
    assert peaks["second = bytearray(8_000_000)"] == near(8 * MB)
    assert peaks["total = inner() + inner()"] == near(15 * MB), "both lines of a call, once"
    assert peaks["return unwatched()"] == near(40 * MB)
    assert peaks["del kept"] < 1000 and peaks["none = 1 + 1"] < 1000


def test_generators_tasks_classes_threads_and_recursion_are_counted_once(lines):
    rows = lines(KINDS, "--memory")
    block, data = rows["block = bytearray(1_000_000)"], rows["data = bytearray(n)"]
    assert (block["hits"], block["allocated"]) == (5, near(5 * MB))
    assert (data["hits"], data["allocated"], data["kept"]) == (2, near(6 * MB), near(6 * MB))
    assert rows["self.data = bytearray(3_000_000)"]["kept"] == near(3 * MB)
    nested = rows["x = bytearray(100_000)"]
    assert (nested["hits"], nested["allocated"], nested["freed"]) == (
        30,
        near(3 * MB),
        near(3 * MB),
    )
    around = rows["return nested(n - 1) + len(x) if n else 0"]
    assert around["allocated"] == near(2.7 * MB)  # 3 threads, 9 calls in each
    assert around["line_peak"] == near(0.9 * MB), "of one thread"
    assert block["line_peak"] == near(MB)


@pytest.mark.any_python
def test_samples_are_taken_when_they_are_asked_for(lines, run_dwell):
    rows = lines(EXAMPLE, "--memory=sampled")
    assert rows["b = [2] * (2 * 10 ** 7)"]["allocated"] == near(160 * MB)
    assert "by samples" in run_dwell("report", "x.dwell").stdout
