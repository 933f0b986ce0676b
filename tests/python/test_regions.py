# SPDX-License-Identifier: MIT
"""Regions on one thread: the tree, names, exceptions, recursion, globals, iterators."""

import contextlib
import inspect
import json
import math
import re
import statistics
import time
from collections import Counter

import pytest

import dwell
from dwell import _core


def test_nesting_makes_a_tree(recording):
    for _ in range(3):
        with dwell.region("outer"), dwell.region("inner"):
            pass
    with dwell.region("inner"):
        pass
    assert recording.counts() == {("outer",): 3, ("outer", "inner"): 3, ("inner",): 1}


def test_times_add_up(recording):
    with dwell.region("outer"):
        time.sleep(0.02)
        with dwell.region("inner"):
            time.sleep(0.03)
    outer, inner = recording["outer"], recording["inner"]
    assert outer["total_ns"] >= 50_000_000
    assert 30_000_000 <= inner["total_ns"] <= outer["total_ns"] - 20_000_000
    assert abs(outer["self_ns"] - (outer["total_ns"] - inner["total_ns"])) < 1000


def test_automatic_name_is_function_file_and_line(recording):
    def here():
        with dwell.region():
            return inspect.currentframe().f_lineno - 1

    line = here()
    assert recording.tree() == [(f"here() <test_regions.py:{line}>",)]


def test_two_regions_on_one_line_are_two_sites_of_one_name(recording):
    with dwell.region(), dwell.region():
        pass
    assert len(recording.tree()) == 2


def test_exceptions_leave_the_tree_intact(recording):
    for _ in range(2):
        with contextlib.suppress(ZeroDivisionError), dwell.region("fails"), dwell.region("inner"):
            1 / 0
    with dwell.region("after"):
        pass
    assert recording.counts() == {("fails",): 2, ("fails", "inner"): 2, ("after",): 1}


def test_exceptions_are_not_swallowed(recording):
    with pytest.raises(ValueError, match="mine"), dwell.region("x"):
        raise ValueError("mine")


def test_recursion_is_a_chain(recording):
    @dwell.func()
    def down(n):
        return n and down(n - 1)

    down(2)
    assert recording.counts() == {
        ("down()",): 1,
        ("down()", "down()"): 1,
        ("down()", "down()", "down()"): 1,
    }


def test_deep_recursion(recording):
    @dwell.func()
    def down(n):
        return n and down(n - 1)

    down(400)
    assert len(recording.tree()) == 401


@pytest.mark.parametrize("keyword", ["as_global", "asglobal"])
def test_global_regions_stand_under_main(recording, keyword):
    def forward():
        with dwell.region("NN", **{keyword: True}), dwell.region("layer"):
            pass

    with dwell.region("train"):
        forward()
    with dwell.region("test"):
        forward()
    assert recording.counts() == {("train",): 1, ("test",): 1, ("NN",): 2, ("NN", "layer"): 2}


def test_a_global_region_inside_itself_counts_once(recording):
    @dwell.func(as_global=True)
    def down(n):
        time.sleep(0.005)
        return n and down(n - 1)

    began = time.perf_counter_ns()
    down(3)
    took = time.perf_counter_ns() - began
    row = recording["down()"]
    assert row["count"] == 1
    assert 20_000_000 <= row["total_ns"] <= took


def test_one_region_object_serves_many_entries(recording):
    region = dwell.region("again")
    with region, region:
        pass
    with region:
        pass
    assert recording.counts() == {("again",): 2, ("again", "again"): 1}


def test_entries_that_end_out_of_order(recording):
    first, second = dwell.region("first"), dwell.region("second")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with dwell.region("third"):
        pass
    second.__exit__(None, None, None)
    assert recording.counts() == {
        ("first",): 1,
        ("first", "second"): 1,
        ("first", "second", "third"): 1,
    }


def test_an_exit_without_an_entry_is_ignored(recording):
    dwell.region("never").__exit__(None, None, None)
    with dwell.region("x"):
        pass
    assert recording.counts() == {("x",): 1}


def test_exit_stack_and_class_level_calls(recording):
    with contextlib.ExitStack() as stack:
        stack.enter_context(dwell.region("stacked"))
        with dwell.region("inner"):
            pass
    assert recording.counts() == {("stacked",): 1, ("stacked", "inner"): 1}


@pytest.mark.parametrize("name", ['quo"te', "new\nline", "com,ma", "\udcff\udc80", "x" * 4_000, ""])
def test_any_name(recording, name):
    with dwell.region(name):
        pass
    (path,) = recording.tree()
    expected = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    assert path == (expected,)


def test_a_name_that_is_not_a_string_is_refused(recording):
    with pytest.raises(TypeError, match="must be a str, not int"):
        dwell.region(3)


def test_unknown_keyword_is_refused(recording):
    with pytest.raises(TypeError, match="nmae"):
        dwell.region(nmae="x")


def percentile(sorted_values, percent):
    return sorted_values[math.ceil(len(sorted_values) * percent / 100) - 1]


def test_statistics_of_known_durations(recording):
    """What a clock inside of the region says is less than its duration, and outside it is more."""
    inside, outside = [], []
    for milliseconds in [1] * 90 + [20] * 10:
        began_outside = time.perf_counter_ns()
        with dwell.region("work"):
            began = time.perf_counter_ns()
            while time.perf_counter_ns() < began + milliseconds * 1e6:
                pass
            inside.append(time.perf_counter_ns() - began)
        outside.append(time.perf_counter_ns() - began_outside)
    apart = math.sqrt(statistics.fmean((o - i) ** 2 for i, o in zip(inside, outside, strict=True)))
    inside.sort()
    outside.sort()
    row = recording["work"]
    assert row["count"] == 100
    for key, percent in (
        ("min_ns", 1),
        ("p50_ns", 50),
        ("p95_ns", 95),
        ("p99_ns", 99),
        ("max_ns", 100),
    ):
        low, high = percentile(inside, percent), percentile(outside, percent)
        within = 1 / 32 + 0.005  # buckets are that wide; clocks of a short time differ a little
        assert (1 - within) * low <= row[key] <= (1 + within) * high, key
    stdev = statistics.pstdev(outside)
    assert abs(row["stdev_ns"] - stdev) <= apart + 0.01 * stdev


def test_cpu_time_is_told_from_wall_time(python_program):
    done = python_program("""
import dwell, time
dwell.install(dwell.reporters.SilentReporter(), cpu=True)
with dwell.region("sleep"):
    time.sleep(0.1)
with dwell.region("spin"):
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass
rows = dwell.snapshot()
print(rows["sleep"]["cpu_ns"] < 30e6, rows["spin"]["cpu_ns"] >= 99e6)
""")
    assert done.stdout == "True True\n", done.stderr


def test_open_regions_are_in_a_snapshot(recording):
    with dwell.region("open"):
        time.sleep(0.01)
        row = recording["open"]
    assert row["count"] == 0
    assert row["total_ns"] >= 10_000_000


def test_iter_proxy_measures_each_item(recording):
    def slow():
        for i in range(3):
            time.sleep(0.005)
            yield i

    items = []
    began = time.perf_counter_ns()
    with dwell.region("loop"):
        for item in dwell.iter_proxy(slow(), "iter"):
            items.append(item)
            time.sleep(0.01)
    took = time.perf_counter_ns() - began
    row = recording["loop", "iter"]
    assert items == [0, 1, 2]
    assert row["count"] == 3
    assert 15_000_000 <= row["total_ns"] <= took - 30_000_000


def test_the_end_of_an_iteration_is_on_no_timeline(tmp_path):
    """Unless something happened in it, which needs a place."""

    def counting():
        yield from range(3)
        with dwell.region("last"):
            pass

    log = tmp_path / "x.dwell"
    _core.start(str(log), True)
    try:
        with dwell.region("loop"):
            for _ in dwell.iter_proxy(range(3), "plain"):
                dwell.instant("got one")
            list(dwell.iter_proxy(iter([]), "empty"))
            list(dwell.iter_proxy(counting(), "busy"))
        rows = {tuple(row["path"]): row for row in dwell.snapshot().rows}
    finally:
        _core.stop()
    trace = json.loads(_core.render(log.read_bytes(), "chrome"))["traceEvents"]
    begun = Counter(event["name"] for event in trace if event["ph"] == "B")
    assert begun == {"loop": 1, "plain": 3, "busy": 4, "last": 1}
    assert sum(event["ph"] == "E" for event in trace) == 9
    assert rows["loop", "plain"]["count"] == rows["loop", "busy"]["count"] == 3
    inside = ("plain", "busy")
    known = sum(rows["loop", name]["total_ns"] for name in inside)
    assert rows["loop",]["self_ns"] == pytest.approx(rows["loop",]["total_ns"] - known, abs=100)


def test_iter_proxy_names_itself_where_it_is_called(recording):
    proxy = dwell.iter_proxy([1])
    line = inspect.currentframe().f_lineno - 1

    def elsewhere():
        return list(proxy)

    assert elsewhere() == [1]
    assert recording.tree() == [
        (f"test_iter_proxy_names_itself_where_it_is_called() <test_regions.py:{line}>",)
    ]


def test_iter_proxy_counts_an_item_that_raises(recording):
    def broken():
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(dwell.iter_proxy(broken(), "iter"))
    assert recording.counts() == {("iter",): 2}


def test_iter_proxy_passes_on_what_the_iterator_can_do(recording):
    def echo():
        sent = None
        while True:
            sent = yield sent

    proxy = dwell.iter_proxy(echo(), "echo")
    assert next(proxy) is None
    assert proxy.send(5) == 5


def test_counters_add_up(recording):
    dwell.count("bytes", 100)
    dwell.count("bytes", -30)
    dwell.count("calls")
    assert dwell.snapshot().counters == {"bytes": 70, "calls": 1}
    assert recording.tree() == []


def test_progress_is_a_region_and_quiet_without_a_terminal(recording, capsys):
    for _ in dwell.progress(range(3), "steps"):
        with dwell.region("body"):
            pass
    assert recording.counts() == {("steps",): 3, ("steps", "body"): 3}
    assert capsys.readouterr() == ("", "")


def test_progress_left_early(recording):
    for item in dwell.progress(range(10), "steps"):
        if item == 2:
            break
    with dwell.region("after"):
        pass
    assert recording.counts() == {("steps",): 3, ("after",): 1}


def test_progress_draws_on_a_terminal():
    class Terminal:
        text = ""

        def isatty(self):
            return True

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    terminal = Terminal()
    for _ in dwell.progress(range(2), "steps", stream=terminal):
        time.sleep(0.11)
    last = terminal.text.split("\r")[-1]
    assert re.match(r"steps: 100%\|█{20}\| 2/2 \[00:\d\d<00:00, ", last)


def test_off_costs_and_changes_nothing():
    with dwell.region("x") as value:
        pass
    assert value is None
    items = [1, 2]
    assert dwell.iter_proxy(items) is items
    dwell.count("nothing")


def test_region_is_not_a_decorator(recording):
    with pytest.raises(TypeError, match="use @dwell.func"):
        dwell.region("x")(len)
