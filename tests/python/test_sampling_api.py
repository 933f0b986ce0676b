# SPDX-License-Identifier: MIT
"""How sampling is started and stopped, and what it leaves."""

import os
import re

import pytest

import dwell
from dwell import _core

from ..measured import assert_above
from ..sampled import Samples


def test_start_and_stop_many_times_leave_nothing_behind(python_program):
    """What is lost each time is lost in each of three rounds; the allocator may take more once. The
    address sanitizer's keeps what is freed, up to 256 MB unless it is told less."""
    quarantine = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}
    source = """
import itertools, os
import dwell

def state():
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), pages

def once():
    dwell.start(None, rate=5000)
    sum(range(20_000))
    return dwell.stop()

for _ in range(20):
    once()
states = [state()]
for _ in range(3):
    for _ in range(200):
        once()
    states.append(state())
print(states[0][:2] == states[-1][:2], *(b[2] - a[2] for a, b in itertools.pairwise(states)))
"""
    done = python_program(source, env=os.environ | quarantine)
    is_same, *pages = done.stdout.split()
    assert is_same == "True", done.stdout + done.stderr
    assert min(map(int, pages)) * 4096 < 1_000_000, pages


def test_a_recording_in_memory():
    with dwell.sampling(rate=5000) as block:
        sum(range(3_000_000))
    samples = Samples(block.result._log)
    name = "test_a_recording_in_memory"
    assert_above(50, samples.inside(name))
    assert all(row.holds_gil for row in samples.rows if row.stack[-1].name == name)
    assert block.result[name]["total_ns"] > samples.weight_ns / 2
    function, line = str(block.result), block.result.render(by="line")
    assert re.search(rf" {name} \(test_sampling_api.py:\d+\)$", function, re.M), function
    assert re.search(rf" test_sampling_api.py:\d+ \({name}\)$", line, re.M), line
    with pytest.raises(ValueError, match="only tables"):
        block.result.render("json", by="line")


def test_errors_say_what_to_do(tmp_path):
    with pytest.raises(RuntimeError, match=r"call dwell.start\(\) first"):
        dwell.stop()
    with pytest.raises(ValueError, match="mode is 'cpu' or 'wall', not 'gpu'"):
        dwell.start(mode="gpu")
    with pytest.raises(ValueError, match="rate is a number"):
        dwell.start(rate=0)
    with pytest.raises(OSError):
        dwell.start(tmp_path / "no" / "x.dwell")
    assert not _core.sampler_is_on()
    dwell.start()
    try:
        with pytest.raises(RuntimeError, match=r"call dwell.stop\(\) first"):
            dwell.start()
    finally:
        dwell.stop()


def test_a_file_for_pprof(tmp_path):
    import gzip

    dwell.start(tmp_path / "x.prof")
    sum(range(2_000_000))
    assert dwell.stop() is None
    assert b"test_a_file_for_pprof" in gzip.decompress((tmp_path / "x.prof").read_bytes())
    assert os.listdir(tmp_path) == ["x.prof"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--rate", "fast", "x.py"], "--rate is a number of samples"),
        (["--mode", "gpu", "x.py"], "--mode is 'cpu' or 'wall', not 'gpu'"),
        (["--rate"], "--rate needs a number"),
    ],
)
def test_wrong_words(run_dwell, arguments, complaint):
    done = run_dwell("run", *arguments)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_a_child_leaves_the_block_in_which_it_was_forked(python_program):
    done = python_program("""
import os
import dwell
with dwell.sampling() as block:
    child = os.fork()
    sum(range(100_000))
if child:
    os.waitpid(child, 0)
print(bool(child), block.result is None, flush=True)
""")
    assert sorted(done.stdout.splitlines()) == ["False True", "True False"], done.stderr


def test_a_block_that_stops_by_itself_and_fails():
    def stop_and_raise(error):
        with dwell.sampling():
            dwell.stop()
            if error:
                raise error

    with pytest.raises(KeyError, match="mine"):
        stop_and_raise(KeyError("mine"))
    with pytest.raises(RuntimeError, match=r"call dwell.start\(\) first"):
        stop_and_raise(None)
