# SPDX-License-Identifier: MIT
"""dwell.compare(): true differences are seen, and none where there is none."""

import functools
import json
import math
from itertools import pairwise, permutations

import pytest

import dwell
from dwell.comparison import letters, schedule

from ..measured import Near, assert_between, off_unless, repeated

pytestmark = pytest.mark.any_python


def fib_dm_helper(n, mem):
    if mem[n] is not None:
        return mem[n]
    elif n == 1 or n == 2:
        result = 1
    else:
        result = fib_dm_helper(n - 1, mem) + fib_dm_helper(n - 2, mem)
    mem[n] = result
    return result


def fib_dm(n):
    mem = [None] * (n + 1)
    return fib_dm_helper(n, mem)


def fib_dbu(n):
    mem = [None] * (n + 1)
    mem[1] = 1
    mem[2] = 1
    for i in range(3, n + 1):
        mem[i] = mem[i - 1] + mem[i - 2]
    return mem[n]


@pytest.mark.accuracy
@repeated
def test_fibonacci_and_exchanged():
    forth = dwell.compare("fib_dm(100)", "fib_dbu(100)", min_time=0.005)
    back = dwell.compare("fib_dbu(100)", "fib_dm(100)", min_time=0.005)
    assert forth.outcome == "faster"
    assert back.outcome == "slower"
    assert forth.verdict.startswith("B is ") and "x faster than A (95 % CI " in forth.verdict
    assert "x slower than A (95 % CI " in back.verdict
    assert forth.ci[0] < forth.ratio < forth.ci[1] < 1
    assert 1 / forth.ratio == Near(back.ratio, within=0.5)
    assert forth.p_value < 0.001
    assert_between(-1.01, forth.cliffs_delta, -0.9)


def test_the_same_runs_exchanged_are_exactly_reciprocal():
    first, second = dwell.compare("fib_dm(50)", "fib_dbu(50)", number=20, repeat=20).timings
    forth, back = dwell.Comparison([first, second]), dwell.Comparison([second, first])
    assert forth.ratio * back.ratio == pytest.approx(1, abs=1e-12)
    assert forth.ci[0] * back.ci[1] == pytest.approx(1, abs=1e-12)
    assert forth.bootstrap_ci[0] * back.bootstrap_ci[1] == pytest.approx(1, abs=1e-12)
    medians = second.median / first.median
    assert forth.bootstrap_ci[0] <= medians <= forth.bootstrap_ci[1]
    faster = forth.verdict.replace("faster", "slower")
    assert faster == back.verdict


@pytest.mark.accuracy
@repeated
def test_the_same_twice_shows_no_difference():
    """At 99.99 %, so that chance does not fail the test."""
    same = functools.partial(fib_dbu, 100)
    comparison = dwell.compare(same, same, confidence=0.9999, min_time=0.01)
    off_unless(comparison.outcome == "same", comparison.verdict)
    assert comparison.verdict.startswith("no difference larger than ")
    assert comparison.verdict.endswith(" % could be seen between A and B (99.99 % CI)")


def test_runs_take_turns_in_random_order():
    order = []
    found = dwell.compare(
        lambda: order.append(0), lambda: order.append(1), number=1, repeat=30, min_time=1e-9
    )
    turns = order[2:]
    assert turns == schedule(2, 30, found.timings[0].properties["session"])
    rounds = [tuple(turns[at : at + 2]) for at in range(0, 60, 2)]
    assert set(rounds) == {(0, 1), (1, 0)}


def test_each_order_is_as_likely_and_none_follows_from_the_last():
    turns = schedule(2, 4000, "seed")
    firsts = turns[::2]
    repeats = sum(one == next for one, next in pairwise(firsts))
    assert sum(firsts) == pytest.approx(2000, abs=130)  # four standard deviations
    assert repeats == pytest.approx(2000, abs=130)
    assert set(zip(*[iter(schedule(3, 100, "seed"))] * 3, strict=True)) == set(
        permutations(range(3))
    )


def test_runs_of_two_sessions_are_no_pairs():
    one = dwell.compare("fib_dm(20)", "fib_dbu(20)", number=20, repeat=10)
    other = dwell.compare("fib_dm(20)", "fib_dbu(20)", number=20, repeat=10)
    mixed = dwell.Comparison([one.timings[0], other.timings[1]])
    assert mixed.verdict.endswith("; not measured side by side")
    assert mixed.p_value == mixed.mann_whitney_p
    assert "side by side" not in one.verdict


def test_exceptions_name_the_code_they_are_of():
    with pytest.raises(ZeroDivisionError) as caught:
        dwell.compare("1", "1 / 0")
    assert caught.value.__notes__ == ["while timing 1 / 0"]
    with pytest.raises(SyntaxError) as refused:
        dwell.compare("1", "x\n1 +")
    assert refused.value.__notes__ == ["while timing x; 1 +"]


def test_runs_of_no_time_are_not_compared():
    still = dwell.Timing("still", 1, [0] * 10)
    some = dwell.Timing("some", 1, [1000 + at for at in range(10)])
    comparison = dwell.Comparison([still, some])
    assert comparison.outcome == "unknown"
    assert comparison.verdict.startswith("A is too short to be compared: a run took 0 ns")
    assert math.isnan(comparison.ratio)


def test_more_than_two_are_each_compared_with_the_first():
    comparison = dwell.compare(
        "sum(range(9))", "sum(range(10**6))", "sum(range(10**4))", min_time=0.002
    )
    assert len(comparison.differences) == 2
    assert [d.outcome for d in comparison.differences] == ["slower", "slower"]
    assert comparison.differences[0].ratio > comparison.differences[1].ratio > 1
    lines = str(comparison).splitlines()
    assert lines[0].startswith("A: sum(range(9)) ")
    assert lines[3].startswith("B is ") and lines[4].startswith("C is ")


def test_few_runs_give_no_verdict():
    comparison = dwell.compare("1", "2", number=10, repeat=5)
    assert comparison.outcome == "unknown"
    assert comparison.verdict == "too few runs to tell B from A: 5 of each, and 6 are needed"


def test_letters():
    assert [letters(i) for i in (0, 1, 25, 26, 51, 52, 701, 702)] == [
        *("A", "B", "Z", "AA", "AZ", "BA", "ZZ", "AAA")
    ]


def test_fresh_processes_tell_what_they_can():
    comparison = dwell.compare(
        functools.partial(json.dumps, []),
        functools.partial(json.dumps, [1] * 3000),
        processes=6,
        repeat=2,
        min_time=0.001,
    )
    assert comparison.outcome == "slower"
    assert comparison.timings[0].repeat == 12
    assert comparison.timings[0].properties["group"] == "2"


def test_fresh_processes_are_fresh(capfd):
    text = "print('hash', hash('x'))"
    dwell.compare(text, text, processes=3, repeat=1, number=1)
    hashes = [line for line in capfd.readouterr().err.splitlines() if line.startswith("hash")]
    assert len(set(hashes)) > 1  # each has its own, unless PYTHONHASHSEED forbids it


def test_what_cannot_be_sent_is_said():
    with pytest.raises(TypeError, match=r"<lambda> cannot be sent to a fresh process \("):
        dwell.compare(lambda: 1, "2", processes=2)
    with pytest.raises(TypeError, match=r"setup cannot be sent to a fresh process \("):
        dwell.compare("1", "2", setup=lambda: 1, processes=2)


def test_functions_of_main_cannot_be_sent(python_program):
    done = python_program(
        "import dwell\n"
        "def work(): pass\n"
        "try: dwell.compare(work, work, processes=2)\n"
        "except TypeError as error: print(error)\n"
    )
    assert done.stdout.startswith(
        "work cannot be sent to a fresh process, because it is defined in __main__"
    )


def test_trouble_in_a_fresh_process_is_told():
    with pytest.raises(RuntimeError, match="1 / 0: ZeroDivisionError: division by zero"):
        dwell.compare("1 / 0", "2", processes=2)


def test_the_log_says_the_same(tmp_path, run_dwell):
    comparison = dwell.compare("fib_dm(50)", "fib_dbu(50)", min_time=0.002)
    comparison.save(tmp_path / "x.dwell")
    assert comparison.verdict in run_dwell("report", tmp_path / "x.dwell").stdout
    report = json.loads(run_dwell("report", tmp_path / "x.dwell", "--format", "json").stdout)
    assert report["comparisons"][0]["verdict"] == comparison.verdict
    assert report["timings"][1]["runs_ns"] == comparison.timings[1].runs_ns
    assert {"cpu", "cores", "load", "kernel", "python", "argv", "implementation"} <= set(
        report["processes"][0]["properties"]
    )
