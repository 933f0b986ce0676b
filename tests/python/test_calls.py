# SPDX-License-Identifier: MIT
"""dwell.Profile beside cProfile: same counts, and right where cProfile is not."""

import asyncio
import cProfile
import gc
import io
import json
import os
import pstats
import subprocess
import sys
import threading
import time

import pytest

import dwell
from dwell._cost import cost
from dwell.calls import Profile

from ..measured import Near, assert_between, repeated


def stats_of(profile):
    profile.create_stats()
    return {key[2]: value for key, value in profile.stats.items()}


def profile(**options):
    return Profile(**options)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def assorted():
    items = [len(str(i)) for i in range(50)]
    items.sort(key=lambda value: -value)
    "".join(map(str, items))
    try:
        int("x")
    except ValueError:
        pass
    dict.fromkeys("ab").get("a")
    return fib(10), sum(items), max(items)


def test_counts_are_those_of_cprofile():
    ours, theirs = profile(), cProfile.Profile()
    ours.runcall(assorted)
    theirs.runcall(assorted)
    ours.create_stats()
    theirs.create_stats()
    ignore = "disable"

    def counts(stats):
        return {
            key: (value[0], value[1], {c: v[:2] for c, v in value[4].items()})
            for key, value in stats.items()
            if ignore not in key[2]
        }

    assert counts(ours.stats) == counts(theirs.stats)


@pytest.mark.accuracy
@repeated
def test_times_of_long_functions_are_those_of_cprofile():
    """Both agree with a clock in the program itself: two runs differ when the machine is busy."""

    def timed(seconds):
        began = time.perf_counter()
        spin(seconds)
        return time.perf_counter() - began

    def one():
        took["one"] = timed(0.02)
        two()
        took["one"] += took["two"]

    def two():
        took["two"] = timed(0.03)

    for profiler in (profile(), cProfile.Profile()):
        took = {}
        profiler.runcall(one)
        found = stats_of(profiler)
        for name, truth in (*took.items(), ("spin", took["one"])):
            assert found[name][3] == Near(truth)


def test_recursion_counts_and_times_once():
    def down(n):
        spin(0.005)
        return n and down(n - 1)

    p = profile(builtins=False)
    began = time.perf_counter()
    p.runcall(down, 3)
    took = time.perf_counter() - began
    cc, nc, _, ct, callers = stats_of(p)["down"]
    assert (cc, nc) == (1, 4)
    assert 0.02 <= ct <= took
    (edge,) = callers.values()
    assert edge[:2] == (3, 1)


def test_mutual_recursion_is_that_of_cprofile():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    ours, theirs = profile(), cProfile.Profile()
    ours.runcall(even, 9)
    theirs.runcall(even, 9)
    for name in ("even", "odd"):
        assert stats_of(ours)[name][:2] == stats_of(theirs)[name][:2]


def test_deep_recursion():
    def down(n):
        return n and down(n - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        p = profile()
        p.runcall(down, 9000)
    finally:
        sys.setrecursionlimit(limit)
    assert stats_of(p)["down"][:2] == (1, 9001)


def test_generators_are_counted_once_per_call():
    def numbers(n):
        yield from range(n)

    p = profile()
    p.runcall(lambda: [list(numbers(5)) for _ in range(3)])
    assert stats_of(p)["numbers"][:2] == (3, 3)


def test_a_generator_asleep_costs_nothing():
    def producer():
        for i in range(3):
            spin(0.005)
            yield i

    def consumer():
        for _ in producer():
            time.sleep(0.02)

    p = profile()
    began = time.perf_counter()
    p.runcall(consumer)
    took = time.perf_counter() - began
    stats = stats_of(p)
    assert 0.015 <= stats["producer"][3] <= took - 0.06
    assert stats["consumer"][3] >= 0.075


def test_exceptions_through_python_and_c_frames():
    def raises():
        raise ValueError

    def middle():
        return sorted([1, 2], key=lambda _: raises())

    def outer():
        for _ in range(3):
            try:
                middle()
            except ValueError:
                spin(0.001)

    p = profile()
    p.runcall(outer)
    stats = stats_of(p)
    assert (
        stats["raises"][1]
        == stats["middle"][1]
        == stats["<built-in method builtins.sorted>"][1]
        == 3
    )
    assert {key[2] for key in stats["spin"][4]} == {"outer"}


@pytest.mark.parametrize("before", [True, False], ids=["started before", "started after"])
def test_all_threads_each_with_its_own_stack(before):
    go = threading.Event()

    def leaf():
        pass

    def work(n):
        go.wait()
        for _ in range(n):
            leaf()

    threads = [threading.Thread(target=work, args=(100 * (i + 1),)) for i in range(8)]
    p = profile()
    if before:
        for thread in threads:
            thread.start()
        p.enable()
    else:
        p.enable()
        for thread in threads:
            thread.start()
    go.set()
    for thread in threads:
        thread.join()
    p.disable()
    stats = stats_of(p)
    assert stats["leaf"][:2] == (3600, 3600)
    if not before:
        assert stats["work"][:2] == (8, 8)
        assert {key[2]: value[0] for key, value in stats["leaf"][4].items()} == {"work": 3600}


def test_a_thousand_tasks():
    async def job():
        await asyncio.sleep(0.01)
        spin(0.0001)

    async def main():
        await asyncio.gather(*(job() for _ in range(1000)))

    p = profile()
    began = time.perf_counter()
    p.enable()
    asyncio.run(main())
    p.disable()
    took = time.perf_counter() - began
    stats = stats_of(p)
    assert stats["job"][:2] == (1000, 1000)
    assert stats["main"][:2] == (1, 1)
    assert stats["spin"][:2] == (1000, 1000)
    assert stats["job"][3] <= took  # without the sleeps, which are ten seconds


def test_enabled_in_one_function_and_disabled_in_another():
    p = profile()

    def begin():
        p.enable()

    def finish():
        p.disable()

    def between():
        pass

    begin()
    between()
    finish()
    between()
    assert stats_of(p)["between"][:2] == (1, 1)


def test_several_enablings_add_up():
    p = profile()
    for _ in range(3):
        with p:
            fib(3)
    assert stats_of(p)["fib"][:2] == (3, 15)
    p.clear()
    assert stats_of(p) == {}


def test_open_calls_are_counted_when_disabled():
    p = profile(builtins=False)

    def outer():
        p.enable()
        inner()

    def inner():
        spin(0.01)
        p.disable()

    outer()
    cc, nc, _, ct, _ = stats_of(p)["inner"]
    assert (cc, nc) == (1, 1)
    assert ct >= 0.01


def test_code_that_is_freed():
    p = profile()
    with p:
        for i in range(200):
            namespace = {}
            exec(f"def f{i}(): return {i}", namespace)
            namespace[f"f{i}"]()
            del namespace
            gc.collect(0)
    stats = stats_of(p)
    assert sum(name.startswith("f") and name[1:].isdigit() for name in stats) == 200


def test_another_profiler_is_refused_clearly():
    theirs = cProfile.Profile()
    theirs.enable()
    try:
        with pytest.raises(ValueError, match="Another profiling tool is already active"):
            profile().enable()
    finally:
        theirs.disable()
    first, second = profile(), profile()
    first.enable()
    try:
        with pytest.raises(ValueError, match="Another profiling tool is already active"):
            second.enable()
    finally:
        first.disable()
    second.enable()
    second.disable()


def test_fork_in_the_middle(python_program):
    done = python_program("""
import os, warnings
from dwell.calls import Profile
warnings.simplefilter("ignore")

def leaf():
    pass

p = Profile()
p.enable()
leaf()
pid = os.fork()
leaf()
p.disable()
p.create_stats()
counts = {key[2]: value[1] for key, value in p.stats.items()}["leaf"]
if pid == 0:
    os._exit(counts)
print(counts, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""")
    assert done.stdout == "2 2\n", done.stderr


def test_pstats_reads_the_profile_and_its_file(tmp_path):
    p = profile()
    p.runcall(assorted)
    p.dump_stats(tmp_path / "restats")
    texts = []
    for source in (p, str(tmp_path / "restats")):
        out = io.StringIO()
        pstats.Stats(source, stream=out).strip_dirs().sort_stats("cumulative").print_stats(10)
        texts.append(out.getvalue().splitlines()[-15:])
    assert texts[0] == texts[1]
    assert any("(fib)" in line for line in texts[0])


def test_a_clock_of_ones_own():
    ticks = iter(range(0, 10_000_000, 10))
    p = profile(timer=lambda: next(ticks), timeunit=0.001, builtins=False)
    p.enable()
    fib(1)
    p.disable()
    assert stats_of(p)["fib"][3] == pytest.approx(0.01)


def test_a_clock_that_returns_floats():
    now = [0.0]

    def clock():
        now[0] += 0.25
        return now[0]

    p = profile(timer=clock, builtins=False)
    p.enable()
    fib(1)
    p.disable()
    assert stats_of(p)["fib"][3] == pytest.approx(0.25)


def test_run_and_runctx(capsys, tmp_path):
    dwell.calls.runctx("f(3)", {"f": fib}, {}, sort="cumulative")
    assert "(fib" in capsys.readouterr().out
    dwell.calls.runctx("f(3)", {"f": fib}, {}, str(tmp_path / "out"))
    assert any("fib" in key[2] for key in pstats.Stats(str(tmp_path / "out")).stats)


def test_the_profile_dies_while_enabled():
    p = profile()
    p.enable()
    del p
    gc.collect()
    again = profile()
    again.runcall(fib, 3)
    assert stats_of(again)["fib"][1] == 5


def test_memory_of_many_paths():
    code = "\n".join(f"def f{i}(): pass" for i in range(300))
    namespace = {}
    exec(code, namespace)
    leaves = [namespace[f"f{i}"] for i in range(300)]

    def caller(depth):
        for leaf in leaves:
            leaf()
        if depth:
            caller(depth - 1)

    def rss():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    p = profile(builtins=False)
    before = rss()
    p.runcall(caller, 332)
    paths = 333 * 301
    assert (rss() - before) / paths < 200
    assert stats_of(p)["f0"][1] == 333


@pytest.mark.accuracy
@repeated
def test_calibration_takes_the_cost_of_measuring_out():
    def small():
        pass

    def loop():
        for _ in range(20_000):
            small()

    def plainly():
        start = time.perf_counter()
        loop()
        return time.perf_counter() - start

    def profiled(**options):
        p = profile(**options)
        p.runcall(loop)
        return stats_of(p)["loop"][3]

    cost.cache_clear()  # another attempt measures that anew, too
    plain = min(plainly() for _ in range(7))
    measured = min(profiled() for _ in range(7))
    calibrated = min(profiled(calibrated=True) for _ in range(7))
    assert_between(0, calibrated, measured)
    assert_between(-1, abs(calibrated - plain), abs(measured - plain))


def test_overhead_is_estimated():
    p = profile()
    p.runcall(fib, 15)
    assert 0 < p.overhead() < 3 * stats_of(p)["fib"][3]


def test_print_stats_says_what_measuring_took(capsys):
    p = profile()
    p.runcall(fib, 10)
    p.print_stats("cumulative")
    assert "Measuring took about 0.0" in capsys.readouterr().out


def test_async_with():
    async def main():
        async with profile() as p:
            await asyncio.sleep(0)
        return p

    assert "sleep" in stats_of(asyncio.run(main()))


def test_threads_one_after_the_other_are_told_apart():
    from dwell import Snapshot

    def work(n):
        for _ in range(n):
            fib(1)

    p = profile(builtins=False)
    with p:
        for i in range(5):
            thread = threading.Thread(target=work, args=(i + 1,), name=f"worker-{i}")
            thread.start()
            thread.join()
    rows = Snapshot(p._log()).render("csv", by="thread", columns=("name", "count")).splitlines()
    counts = {}
    for row in rows[1:]:
        name, _, count = row.rpartition(",")
        if name.startswith("worker-"):
            thread = name
        elif name == "fib":
            counts[thread] = int(count)
    assert counts == {f"worker-{i}": i + 1 for i in range(5)}


def test_threads_for_ever_do_not_grow():
    p = profile(builtins=False)
    with p:
        for _ in range(600):
            thread = threading.Thread(target=fib, args=(1,))
            thread.start()
            thread.join()
    assert stats_of(p)["fib"][:2] == (600, 600)
    log = p._log()
    from dwell import Snapshot

    assert len(Snapshot(log).data["threads"]) <= 300


def test_suspensions_are_near_the_sleeps():
    async def job():
        await asyncio.sleep(0.02)

    async def main():
        await asyncio.gather(*(job() for _ in range(1000)))

    p = profile()
    began = time.perf_counter()
    with p:
        asyncio.run(main())
    took = time.perf_counter() - began
    (resumes, seconds) = {key[2]: value for key, value in p.suspensions().items()}["job"]
    assert resumes == 1000
    assert 19.9 < seconds < 1000 * took


def test_another_profiler_does_not_spoil_print_stats(capsys):
    p, other = profile(), profile()
    p.runcall(fib, 3)
    other.enable()
    try:
        p.print_stats()
    finally:
        other.disable()
    assert "function calls" in capsys.readouterr().out


def test_a_generator_that_died_between_two_enablings():
    def sleeper():
        yield

    def other():
        helper()
        yield

    def helper():
        pass

    p = profile()
    generator = sleeper()
    with p:
        next(generator)
    del generator
    generators = [other() for _ in range(50)]
    with p:
        for generator in generators:
            next(generator)
    callers = {key[2] for key in stats_of(p)["helper"][4]}
    assert callers == {"other"}


def test_beside_coverage(tmp_path):
    pytest.importorskip("coverage")
    program = tmp_path / "program.py"
    program.write_text(
        "import dwell\n"
        "def leaf(): return 1\n"
        "def work():\n    for _ in range(10): leaf()\n"
        "p = dwell.Profile()\n"
        "with p: work()\n"
        "p.create_stats()\n"
        "print([v[1] for k, v in p.stats.items() if k[2] == 'leaf'])\n"
    )
    coverage = [sys.executable, "-m", "coverage"]
    done = subprocess.run(
        [*coverage, "run", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[10]\n"
    report = subprocess.run([*coverage, "report"], cwd=tmp_path, capture_output=True, text=True)
    assert report.stdout.splitlines()[-1].endswith("100%")


def test_a_call_of_the_standard_library_has_the_rows_of_cprofile():
    ours, theirs = dwell.Profile(), cProfile.Profile()
    for each in (ours, theirs):
        each.runcall(json.dumps, {"a": [1, 2.5, {"b": None}], "c": "d"}, indent=1)
    ours.create_stats()
    theirs.create_stats()
    of_ours = {key for key in ours.stats if "disable" not in key[2]}
    assert of_ours == {key for key in theirs.stats if "disable" not in key[2]}  # type: ignore[attr-defined]


def test_run_prints_names_without_signatures(capsys):
    dwell.runctx("f(3)", {"f": fib}, {})
    assert "(fib)\n" in capsys.readouterr().out


def test_the_calls_of_one_thread():
    def elsewhere():
        return fib(3)

    def here():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return fib(1)

    own, everything = profile(all_threads=False), profile()
    own.runcall(here)
    everything.runcall(here)
    assert stats_of(own)["fib"][1] == 1
    assert "elsewhere" not in stats_of(own)
    assert stats_of(everything)["fib"][1] == 6
    own.clear()
    own.runcall(here)
    assert stats_of(own)["fib"][1] == 1
