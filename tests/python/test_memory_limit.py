# SPDX-License-Identifier: MIT
"""Limits of memory, and leaks, in a program and as marks of tests."""

import asyncio
import threading

import pytest

import dwell.memory

MB = 1_000_000


def hungry(size):
    return len(bytearray(size))


def hungry_with(kept):
    hungry(9 * MB)
    return kept


def test_a_block_within_its_limit_passes_and_knows_its_peak():
    with dwell.memory.limit("24 MB") as limited:
        hungry(8 * MB)
        hungry(9 * MB)
    assert 9 * MB <= limited.peak < 10 * MB


def test_a_block_over_its_limit_fails_with_the_top_paths():
    with pytest.raises(dwell.memory.LimitExceeded) as failed, dwell.memory.limit("8 MB"):
        hungry_with(bytearray(3 * MB))
    message = str(failed.value)
    assert 12 * MB <= failed.value.peak < 13 * MB
    first, largest, innermost, around, *_ = message.splitlines()
    assert first.startswith("11.") and first.endswith("MiB at the peak, and 7.6 MiB are allowed:")
    assert largest == "  8.6 MiB of"
    assert innermost.strip().startswith(__file__) and innermost.endswith(" in hungry")
    assert around.endswith(" in hungry_with")
    assert "2.9 MiB of" in message


def test_some_kilobytes_decide():
    with dwell.memory.limit(100 * MB) as limited:
        hungry(5 * MB)
    with dwell.memory.limit(limited.peak + 4096):
        hungry(5 * MB)
    with pytest.raises(dwell.memory.LimitExceeded), dwell.memory.limit(limited.peak + 4096):
        hungry(5 * MB + 16384)


def test_memory_from_before_counts_for_nothing():
    kept = [bytearray(20 * MB)]
    with dwell.memory.limit("1 MB"):
        kept.clear()
        hungry(MB // 2)


def test_a_decorated_function_is_limited_at_each_call_and_in_recursion():
    @dwell.memory.limit("5 MB")
    def work(size, depth=0):
        """What it says."""
        block = bytearray(size)
        return work(size, depth - 1) if depth else len(block)

    assert work.__doc__ == "What it says."
    assert work(4 * MB) == 4 * MB
    assert work(MB, depth=3) == MB
    with pytest.raises(dwell.memory.LimitExceeded):
        work(2 * MB, depth=3)
    assert work(4 * MB) == 4 * MB


def test_a_coroutine_function_is_limited_while_it_runs():
    @dwell.memory.limit("5 MB")
    async def work(size):
        await asyncio.sleep(0)
        return hungry(size)

    assert asyncio.run(work(4 * MB)) == 4 * MB
    with pytest.raises(dwell.memory.LimitExceeded):
        asyncio.run(work(6 * MB))


def test_generators_are_refused():
    with pytest.raises(TypeError, match="context manager"):

        @dwell.memory.limit("5 MB")
        def numbers():
            yield 1


def test_an_exception_of_the_block_is_the_one_that_is_seen():
    with pytest.raises(ZeroDivisionError), dwell.memory.limit("1 MB"):
        hungry(2 * MB) / 0


def in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def test_threads_own_counts_the_thread_that_entered():
    with pytest.raises(dwell.memory.LimitExceeded), dwell.memory.limit("4 MB"):
        in_thread(hungry, 5 * MB)
    with dwell.memory.limit("4 MB", threads="own") as limited:
        hungry(3 * MB)
        in_thread(hungry, 50 * MB)
    assert 3 * MB <= limited.peak < 4 * MB  # its own peak, and not what it had at that of all


def test_paths_and_suppressions_choose_what_counts(tmp_path):
    with dwell.memory.limit("4 MB", paths=["elsewhere"]) as limited:
        hungry(5 * MB)
    assert limited.peak == 0
    file = tmp_path / "known"
    file.write_text("# what we know of\n\ntest_memory_limit.py:hun*   # a comment\n")
    with dwell.memory.limit("4 MB", suppressions=file) as limited:
        hungry(5 * MB)
        hungry(5 * MB)
    assert limited.peak < MB
    with pytest.raises(dwell.memory.LimitExceeded):
        with dwell.memory.limit("4 MB", paths="*limit.py:hungry", suppressions=["other.py:*"]):
            hungry(5 * MB)


def test_two_limits_at_a_time_are_refused():
    with dwell.memory.limit("4 MB"), pytest.raises(RuntimeError, match="one at a time"):
        with dwell.memory.limit("5 MB"):
            pass


@pytest.mark.parametrize(
    ("text", "size"),
    [("24 MB", 24 * MB), ("24MiB", 24 << 20), ("1.5k", 1536), ("7", 7), (12, 12)],
)  # fmt: skip
def test_sizes(text, size):
    assert dwell.memory.limit(text).most == size


@pytest.mark.parametrize("text", ["", "MB", "1 apple", "-1 MB"])
def test_what_is_no_size_is_said(text):
    with pytest.raises(ValueError, match="a size is something like"):
        dwell.memory.limit(text)


def test_leaks_are_what_each_run_leaves():
    cache, kept = {}, []

    def work():
        cache.setdefault("once", bytearray(3 * MB))
        hungry(MB)
        kept.append(bytearray(10_000))

    left = dwell.memory.leaks(work, warmups=0, runs=4)
    assert len(kept) == 4
    assert 10_000 <= left.bytes < 11_000
    assert ".work" in str(left) and "left by each of 4 runs" in str(left)
    assert "_leaks.py" not in str(left)


def test_garbage_that_can_be_collected_is_no_leak():
    def work():
        cycle = [bytearray(50_000)]
        cycle.append(cycle)

    assert dwell.memory.leaks(work).bytes < 1000


PLUGGED = """
import pytest

kept = []

@pytest.mark.dwell_limit("24 MB")
def test_small():
    bytearray(1_000_000)

@pytest.mark.dwell_limit("2 MB")
def test_large():
    bytearray(9_000_000)

@pytest.mark.dwell_limit("1 MB")
@pytest.mark.parametrize("size", [10, 5_000_000])
def test_fails_by_itself(size):
    bytearray(size)
    assert size == 10

@pytest.mark.dwell_leaks("1 KB", warmups=0, runs=2)
def test_leaks():
    kept.append(bytearray(50_000))

@pytest.mark.dwell_leaks("1 KB")
def test_does_not_leak():
    kept[:] = [bytearray(50_000)]

def test_unmarked():
    bytearray(3_000_000)

class TestOld(__import__("unittest").TestCase):
    @pytest.mark.dwell_limit("2 MB")
    def test_method(self):
        bytearray(4_000_000)
"""


@pytest.fixture
def run_pytest(python_program, tmp_path):
    (tmp_path / "test_it.py").write_text(PLUGGED)

    def run_pytest(*options):
        code = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
        return python_program(
            code, "-q", "-p", "dwell.pytest", "-p", "no:cacheprovider", "--strict-markers",
            "--rootdir", tmp_path, *options, tmp_path / "test_it.py",
        )  # fmt: skip

    return run_pytest


def failed(done):
    lines = [line.split(" - ")[0] for line in done.stdout.splitlines() if "FAILED " in line]
    return {line.rpartition("::")[2] for line in lines}


def test_marked_tests_fail_when_they_take_or_leave_more(run_pytest):
    done = run_pytest("-rf")
    assert failed(done) == {
        "test_large", "test_fails_by_itself[5000000]", "test_leaks", "test_method"
    }, done.stdout  # fmt: skip
    assert "8.6 MiB at the peak, and 1.9 MiB are allowed:" in done.stdout
    assert "assert 5000000 == 10" in done.stdout
    assert "48.9 KiB left by each of 2 runs:" in done.stdout


def test_one_limit_for_all_and_what_is_suppressed(run_pytest, tmp_path):
    done = run_pytest("-rf", "--dwell-limit", "2 MB", "-k", "unmarked or large")
    assert failed(done) == {"test_unmarked", "test_large"}, done.stdout
    (tmp_path / "known.txt").write_text("test_it.py:test_unmarked\n")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ndwell_limit = 2 MB\ndwell_suppressions = known.txt\n"
    )
    done = run_pytest("-rf", "-c", tmp_path / "pytest.ini", "-k", "unmarked or large")
    assert failed(done) == {"test_large"}, done.stdout
