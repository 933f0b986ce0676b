# SPDX-License-Identifier: MIT
"""memory_usage and %memit: what memory_profiler's return and print."""

import io
import os
import re
import subprocess
import sys
import tracemalloc

import pytest

from dwell import _core
from dwell.memory import memory_usage

from ..fresh_memory import mapped

MIB = 1 << 20


def hold(mib: int, answer: object = None) -> object:
    with mapped(mib * MIB):
        return answer


def test_of_this_process_once():
    (size,) = memory_usage()
    assert 1 < size < 1e6
    assert memory_usage(-1, timestamps=True)[0][1] > 1.7e9
    assert len(memory_usage(str(os.getpid()), interval=0.001, timeout=0.003)) == 3


def test_a_function_runs_once():
    calls = []
    readings = memory_usage((calls.append, (1,)), interval=10)
    assert calls == [1]
    assert len(readings) == 2  # before and after


def test_the_peak_of_a_function_and_what_it_returns():
    (before,) = memory_usage()
    peak, returned = memory_usage(
        (hold, (300,), {"answer": 42}), interval=100, max_usage=True, retval=True
    )
    assert returned == 42
    # The readings are before and after; the peak is between them.
    assert peak - before > 290


def test_readings_while_another_probe_reads():
    _core.gauges_start(None, 10**8, False)
    try:
        readings = memory_usage((hold, (1,)), interval=100)
    finally:
        recorded = _core.gauges_series(_core.gauges_stop())
    assert len(readings) == 2
    assert set(recorded) == {"rss", "peak_rss", "cpu", "threads"}


def test_an_exception_passes():
    with pytest.raises(ZeroDivisionError):
        memory_usage((divmod, (1, 0)))
    assert "gauges" not in _core.probes()


@pytest.mark.any_python
@pytest.mark.parametrize("backend", ["psutil", "posix", "psutil_pss", "psutil_uss", "tracemalloc"])
def test_backends(backend):
    try:
        sizes = memory_usage((hold, (2,)), interval=0.01, backend=backend)
    finally:
        tracemalloc.stop()  # or all tests after it take ten times as long
    assert len(sizes) >= 2
    assert all(size >= 0 for size in sizes)


@pytest.mark.any_python
def test_an_unknown_backend():
    with pytest.raises(ValueError, match="psutil_pss"):
        memory_usage(backend="psutils")


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"])
print(flush=True)
child.wait()
"""


@pytest.fixture
def family():
    """A process with a child, both of which wait."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        yield process
        process.stdin.close()


@pytest.mark.any_python
def test_children(family):
    (alone,) = memory_usage(family.pid)
    (together,) = memory_usage(family.pid, include_children=True)
    ((parent, child),) = memory_usage(family.pid, multiprocess=True)
    assert together > alone
    assert parent > 0
    assert child > 0


@pytest.mark.any_python
def test_a_stream_is_what_mprof_writes(family):
    stream = io.StringIO()
    assert memory_usage(family.pid, multiprocess=True, stream=stream) is None
    assert re.fullmatch(
        r"MEM \d+\.\d{6} \d+\.\d{4}\nCHLD \d+ \d+\.\d{6} \d+\.\d{4}\n", stream.getvalue()
    )


@pytest.mark.any_python
def test_a_popen_until_it_ends():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        readings = memory_usage(process, interval=0.01, timeout=0.05)
        assert len(readings) == 5
        process.stdin.close()
        assert isinstance(memory_usage(process, interval=0.001), list)
