# SPDX-License-Identifier: MIT
"""dwell.timeit(): the figures are those of the runs, and doubts are spoken out."""

import gc
import math
import os
import statistics
import subprocess
import sys
import time
from unicodedata import normalize

import pytest

import dwell
from dwell import _core
from dwell._time_worker import Code
from dwell.timing import format_time

from ..measured import assert_between, repeated

FACTOR = 3


def quick(*args, **options):
    options.setdefault("number", 10)
    return dwell.timeit(*args, **options)


def test_has_what_ipythons_result_has():
    timing = quick("sum(range(50))", repeat=5)
    assert (timing.loops, timing.repeat) == (10, 5)
    assert len(timing.all_runs) == len(timing.timings) == 5
    assert timing.timings == [seconds / 10 for seconds in timing.all_runs]
    assert timing.best == pytest.approx(min(timing.timings))
    assert timing.worst == pytest.approx(max(timing.timings))
    assert timing.average == pytest.approx(statistics.fmean(timing.timings))
    assert timing.stdev == pytest.approx(statistics.pstdev(timing.timings))
    assert timing.median == pytest.approx(statistics.median(timing.timings))
    assert 0 < timing.compile_time < 1


def test_prints_like_the_magic():
    timing = dwell.Timing("x", 1000, [12_340_000, 12_340_000, 12_340_000])
    line = "12.3 µs ± 0 ns per loop (mean ± std. dev. of 3 runs, 1,000 loops each)"
    assert str(timing) == line
    assert repr(timing) == f"<Timing : {line}>"
    once = dwell.Timing("x", 1, [1_500_000_000])
    assert str(once) == "1.5 s ± 0 ns per loop (mean ± std. dev. of 1 run, 1 loop each)"


def test_prints_as_ipython_does():
    magics = pytest.importorskip("IPython.core.magics.execution")
    runs = [0.0123, 0.0129, 0.0125]
    theirs = magics.TimeitResult(1000, 3, min(runs) / 1000, max(runs) / 1000, runs, 0.0, 3)
    ours = dwell.Timing("x", 1000, [round(seconds * 1e9) for seconds in runs])
    assert normalize("NFKC", str(ours)) == normalize("NFKC", str(theirs))  # two signs for micro


def test_pretty_printer_gets_the_line():
    class Printer:
        text_seen = ""

        def text(self, text):
            self.text_seen += text

    printer = Printer()
    timing = dwell.Timing("x", 10, [1000, 1100])
    timing._repr_pretty_(printer, False)
    assert printer.text_seen == repr(timing)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ns"), (1e-9, "1 ns"), (9.996e-7, "1 µs"), (1.2345, "1.23 s"), (61, "1min 1s")],
)
def test_times_for_people(seconds, text):
    assert format_time(seconds) == text


def test_callable_is_called_so_often():
    calls = []
    dwell.timeit(lambda: calls.append(1), number=5, repeat=4)
    assert len(calls) == 5 * 4 + 5  # and once to warm up


def test_setup_is_run_before_each_run_and_not_timed():
    order = []
    timing = dwell.timeit(
        lambda: order.append("run"),
        lambda: (order.append("setup"), time.sleep(0.02)),
        number=2,
        repeat=3,
    )
    assert order == ["setup", "run", "run"] * 4
    assert timing.worst < 0.01


def test_setup_text_defines_names():
    timing = quick("total = a + b", "a = 1\nb = 2")
    assert timing.repeat == 7


def test_statements_see_the_caller():
    quick("FACTOR * 2")
    with pytest.raises(NameError):
        quick("FACTOR * 2", globals={})
    quick("SECRET", globals={"SECRET": 1})


def test_text_of_several_lines_keeps_its_strings():
    seen = []
    quick('seen.append("""a\n  b""")', globals={"seen": seen}, number=1, repeat=1)
    assert set(seen) == {"a\n  b"}


@pytest.mark.parametrize("statement", ["return 1", "break", "yield", "1 +"])
def test_what_no_module_may_say_is_refused(statement):
    with pytest.raises(SyntaxError):
        quick(statement)


def test_exceptions_come_out_and_the_collector_is_back():
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        quick("1 / 0")
    assert gc.isenabled()


def test_collector_is_off_unless_wanted():
    seen = []
    quick(lambda: seen.append(gc.isenabled()), number=1, repeat=2)
    assert seen == [False] * 3
    quick(lambda: seen.append(gc.isenabled()), number=1, repeat=2, gc=True)
    assert seen[3:] == [True] * 3
    assert gc.isenabled()


def test_collections_are_counted():
    assert quick(gc.collect, number=3, repeat=2, gc=True).gc_runs >= 6
    assert quick("pass").gc_runs == 0


def test_loops_are_calibrated():
    timing = dwell.timeit("sum(range(100))", repeat=2, min_time=0.005)
    assert str(timing.loops).rstrip("0") in ("1", "2", "5")
    assert timing.loops > 10
    assert dwell.timeit(lambda: time.sleep(0.02), repeat=2, min_time=0.005).loops == 1


def test_calibration_tries_one_two_five_ten():
    tried = []

    class Slowing(Code):
        def run(self, loops, collect=False):
            tried.append(loops)
            return loops * 10

    assert Slowing("pass").calibrate(500) == (50, 500)
    assert tried == [1, 2, 5, 10, 20, 50, 50]


def test_calibration_is_not_misled_by_a_run_that_was_held_up():
    class HeldUp(Code):
        was_held_up = False

        def run(self, loops, collect=False):
            held_up = loops == 2 and not self.was_held_up
            self.was_held_up = self.was_held_up or held_up
            return 1_000_000 if held_up else loops * 10

    assert HeldUp("pass").calibrate(500) == (50, 500)


@pytest.mark.accuracy
@repeated
def test_overhead_of_the_empty_loop_is_taken_out():
    plain = dwell.timeit("pass", number=200_000, repeat=7)
    taken = dwell.timeit("pass", number=200_000, repeat=7, subtract_overhead=True)
    assert taken.overhead > 0
    assert_between(-1, taken.best, plain.best / 2)


@repeated
def test_cpu_time_and_size_are_measured():
    spent = []

    def work():
        began = time.process_time()
        sum(range(20000))
        spent.append(time.process_time() - began)

    began = time.process_time()
    busy = dwell.timeit(work, number=100, repeat=3)
    took = time.process_time() - began
    assert_between(0.9 * sum(spent[-300:]), busy.user + busy.system, took + 0.01)
    asleep = dwell.timeit(lambda: time.sleep(0.05), number=1, repeat=3)
    assert_between(-1, asleep.user + asleep.system, 0.05)
    assert busy.peak_rss > 1_000_000


def test_interval_and_spread_of_known_runs():
    timing = dwell.Timing("x", 10, [n * 1000 for n in range(101, 121)])
    assert timing.median == pytest.approx(110.5e-7)
    assert timing.ci == (pytest.approx(106e-7), pytest.approx(115e-7))
    assert timing.iqr == pytest.approx(9.5e-7)
    assert timing.mad == pytest.approx(5e-7)


def warnings_of(runs_ns, loops=1000):
    return dwell.Timing("x", loops, [round(ns) for ns in runs_ns]).warnings


def noise(count, width=0.01):
    """Always the same, without trend: the golden ratio's multiples spread evenly."""
    return [1 + width * ((i * 0.6180339887) % 1 - 0.5) for i in range(count)]


def test_good_runs_raise_no_doubt():
    assert warnings_of([1e8 * x for x in noise(30)]) == []


@pytest.mark.parametrize(
    ("runs_ns", "sentence"),
    [
        ([1e8, 1.01e8, 1.02e8], "3 runs cannot bound the median with 95 % confidence"),
        ([2e5 * x for x in noise(30)], "a run takes only 200 µs, too short"),
        ([1e8 * x * (1 + i / 300) for i, x in enumerate(noise(30))], "the runs drift: the last"),
        (
            [1e8 * x * (1 + i % 2 / 5) for i, x in enumerate(noise(30))],
            "the runs fall into two groups",
        ),
        ([5e8, *(1e8 * x for x in noise(29))], "the slowest run took 5.03 times as long"),
        ([1.5e8, *(1e8 * x for x in noise(29))], "1 of 30 runs is far from the others"),
    ],
)
def test_doubts_are_spoken_out(runs_ns, sentence):
    assert any(warning.startswith(sentence) for warning in warnings_of(runs_ns))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"repeat": 0}, "repeat must be at least 1"),
        ({"number": -1}, "number must be at least 1"),
        ({"processes": -1}, "processes must be at least 1, or 0 for none, not -1"),
        ({"min_time": 0}, "min_time must be a number of seconds above 0, not 0"),
        ({"min_time": math.nan}, "min_time must be a number of seconds above 0, not nan"),
        ({"confidence": 1.0}, "confidence must be from 0.5 to below 1"),
        ({"processes": 2, "globals": {}}, "globals cannot be sent to a fresh process"),
    ],
)
def test_nonsense_is_refused_by_name(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        dwell.timeit("pass", **options)


def test_what_is_no_code_is_refused():
    with pytest.raises(TypeError, match="the code to time must be a string or a callable, not int"):
        dwell.timeit(3)


def test_fresh_processes():
    timing = dwell.timeit("os.getpid()", "import os", processes=3, repeat=2, number=100)
    assert (timing.repeat, timing.group, timing.loops) == (6, 2, 100)
    assert timing.peak_rss > 1_000_000


@pytest.mark.any_python
def test_no_bar_without_a_terminal(capfd):
    dwell.timeit(lambda: time.sleep(0.35), number=1, repeat=7)
    assert capfd.readouterr().err == ""


@pytest.mark.any_python
def test_a_bar_on_a_terminal():
    code = "import dwell, time; dwell.timeit(lambda: time.sleep(0.35), number=1, repeat=7)"
    ours, theirs = os.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs) as child:
        os.close(theirs)
        shown = b""
        while b"7/7" not in shown:
            try:
                shown += os.read(ours, 1000)
            except OSError:
                break
        os.close(ours)
        assert child.wait() == 0
    assert b"timing: " in shown


def test_saved_runs_come_back(tmp_path, run_dwell):
    file = tmp_path / "x.dwell"
    timing = quick("pass", repeat=8, name="näme")
    timing.save(file)
    done = run_dwell("report", file)
    assert "näme" in done.stdout
    assert run_dwell("check", file).stdout.endswith("whole\n")


def test_trend_agrees_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    runs = [100 + i * 0.1 + (i * 7 % 11) for i in range(40)]
    found = _core.summarize_runs(runs, 1, 1, 0.95)
    expected = stats.kendalltau(range(40), runs, method="asymptotic").pvalue
    assert found["trend_p"] == pytest.approx(expected, abs=0.02)
    assert found["mad"] == pytest.approx(stats.median_abs_deviation(runs))


@pytest.mark.any_python
def test_interval_of_the_median_holds_it_as_often_as_promised():
    import random

    generator = random.Random(7)
    held = 0
    for _ in range(2000):
        runs = [math.exp(generator.gauss(0, 0.5)) for _ in range(15)]
        low, high = _core.summarize_runs(runs, 1, 1, 0.95)["interval"]
        held += low <= 1 <= high
    assert 0.95 <= held / 2000 <= 0.98  # of 15 values, steps allow 96.5 %
