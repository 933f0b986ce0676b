# SPDX-License-Identifier: MIT
"""Any probes in one run: what each counts is what it counts alone, all of it in one file."""

import itertools
import json
import signal
import subprocess
import sys
import time

import pytest

from ..measured import assert_above, assert_close, repeated, shares
from ..sampled import Samples

PROGRAM = """\
import asyncio, threading, time
import dwell

def leaf(n):
    return n

def watched(n):
    total = 0
    for i in range(n):
        total += leaf(i)
    return total

def numbers(n):
    with dwell.region("numbers"):
        for i in range(n):
            yield i

async def rest():
    with dwell.region("nap"):
        await asyncio.sleep(0)

async def nap(n):
    for _ in range(n):
        await rest()
        leaf(0)

async def naps():
    await asyncio.gather(nap(5), nap(7))

@dwell.func()
def work(n):
    with dwell.region("watching"):
        watched(n)
    return sum(numbers(n))

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def run():
    threads = [threading.Thread(target=work, args=(n,)) for n in (10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work(30)
    asyncio.run(naps())
    try:
        watched("no number")
    except TypeError:
        pass
"""
MAIN = "run()\nburn(0.3)\n"
CALLS = {"leaf": 72, "watched": 4, "numbers": 3, "nap": 2, "rest": 12, "naps": 1, "work": 3}
LINES = {
    "watched": {8: 4, 9: 64, 10: 60, 11: 3},
    "nap": {23: 14, 24: 12, 25: 12},
}
REGIONS = {"<main>": 1, "numbers": 3, "nap": 12, "watching": 3, "work()": 3}
PROBES = {
    "samples": ("--sample",),
    "calls": ("--calls",),
    "regions": ("--regions",),
    "lines": ("-f", "watched", "-f", "nap"),
}
ALL = tuple(PROBES)
EVERY = [
    probes for count in range(1, len(ALL) + 1) for probes in itertools.combinations(ALL, count)
]
HEADINGS = {
    "samples": "Samples: ",
    "calls": "Calls: ",
    "regions": "Regions: ",
    "lines": "Lines: ",
}


def options(probes):
    return [word for probe in probes for word in PROBES[probe]]


@pytest.fixture
def record(tmp_path, run_dwell):
    """Runs the program with some probes, into x.dwell."""

    def run(probes, *more, source=PROGRAM + MAIN):
        (tmp_path / "program.py").write_text(source)
        done = run_dwell("run", "-o", "x.dwell", *options(probes), *more, "program.py")
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def data(run_dwell):
    """A report of a file as JSON."""

    def read(*words, file="x.dwell"):
        done = run_dwell("report", file, "--format", "json", *words)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return read


def calls_of(data, file="x.dwell"):
    rows = data("--by", "function", "--measure", "calls", file=file)["rows"]
    return {
        row["function"].split(" (")[0]: row["calls"]["total"]
        for row in rows
        if " (program.py:" in row["function"] and row["calls"]["total"]
    }


def lines_of(data, file="x.dwell"):
    found = {}
    for row in data("--by", "line", file=file)["rows"]:
        of_function = found.setdefault(row["function"], {})
        if row["line"] and row["hits"]:  # a sample may stand on a line that no event tells of
            of_function[row["line"]] = row["hits"]
    return found


def regions_of(run_dwell, *files):
    done = run_dwell("report", *(files or ["x.dwell"]), "--by", "region", "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    header, *lines = [line.split(",") for line in done.stdout.splitlines()]
    found = {}
    for line in lines:
        name = line[header.index("name")]
        found[name] = found.get(name, 0) + int(line[header.index("count")])
    return found


def assert_sampled(samples):
    """Most of the program's own time is where it burns it."""
    assert_above(50, samples.inside("burn"))


@pytest.mark.parametrize("probes", EVERY, ids="-".join)
def test_each_counts_what_it_counts_alone(tmp_path, run_dwell, record, data, probes):
    done = record(probes)
    assert [path.name for path in tmp_path.glob("x*")] == ["x.dwell"]
    assert run_dwell("check", "x.dwell").returncode == 0
    if "calls" in probes:
        found = calls_of(data)
        assert {name: found.get(name) for name in CALLS} == CALLS
        assert "_unseen" not in found
    if "lines" in probes:
        assert lines_of(data) == LINES
    if "regions" in probes or probes == ("samples",):
        assert regions_of(run_dwell) == REGIONS
        rows = data("--by", "region")["rows"]
        assert {row["name"] for row in rows if row["suspended_ns"]} == {"nap", "numbers"}
    if "samples" in probes:
        assert_sampled(Samples.of(tmp_path / "x.dwell"))
    check_headings(done.stderr, probes)
    check_headings(run_dwell("report", "x.dwell").stdout, probes)


def check_headings(text, probes):
    """What was recorded is there, and nothing else; one table needs no heading."""
    shown = probes if probes != ("samples",) else ("samples", "regions")
    expected = shown if len(shown) > 1 else ()
    found = [name for name in ALL if f"\n{HEADINGS[name]}" in f"\n{text}"]
    assert tuple(found) == expected
    places = [text.index(HEADINGS[name]) for name in found]
    assert places == sorted(places)


@pytest.mark.parametrize("probes", [("samples", "calls"), ("samples", "lines"), ALL], ids="-".join)
def test_samples_say_whose_work_is_in_them(run_dwell, record, data, probes):
    done = record(probes)
    exact = [probe for probe in ("calls", "lines") if probe in probes]
    note = f"\nof these times, a part is the work of recording {' and '.join(exact)}\n"
    assert note in done.stderr
    assert note in run_dwell("report", "x.dwell").stdout
    (sampling,) = data("--by", "function", "--measure", "cpu")["sampling"]
    assert sampling["with_work_of"] == exact


def test_samples_and_regions_need_no_such_note(run_dwell, record, data):
    record(("samples", "regions"))
    assert "work of recording" not in run_dwell("report", "x.dwell").stdout
    (sampling,) = data("--by", "function", "--measure", "cpu")["sampling"]
    assert "with_work_of" not in sampling


def test_data_say_what_they_leave_out(run_dwell, record):
    record(ALL)
    done = run_dwell("report", "x.dwell", "--format", "csv")
    assert done.stderr.splitlines()[0] == (
        "dwell: these are the samples; '--measure calls' has the calls; '--by region' has the "
        "regions; 'dwell report --by line' has the lines"
    )


def test_a_measure_that_is_not_there_is_refused(run_dwell, record):
    record(("calls", "lines"))
    done = run_dwell("report", "x.dwell", "--measure", "cpu")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dwell: the recording holds no 'cpu': it was not recorded\n"
    done = run_dwell("report", "x.dwell", "--measure", "cals")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dwell: no measure 'cals'; did you mean 'calls'?\n"


def test_what_is_missing_is_said(run_dwell, record):
    done = record(ALL, source="sum(range(100))\n")
    assert "dwell: no regions were entered; mark some with dwell.region()\n" in done.stderr
    assert "dwell: no lines were recorded: no function that -f names has run\n" in done.stderr
    assert HEADINGS["calls"] in done.stderr


MARKED = """\
@profile
def leaf():
    return 1

def named():
    return leaf()

import json
named()
"""


def test_calls_have_no_functions_of_dwell(run_dwell, record, data):
    """What it does to find functions that are marked or named is not the program's work."""
    record(("calls",), "-f", "named", source=MARKED)
    assert lines_of(data) == {"leaf": {3: 1}, "named": {6: 1}}
    rows = data("--by", "function", "--measure", "calls")["rows"]
    assert "leaf" in {row["function"].split(" (")[0] for row in rows}
    assert [row for row in rows if "_line_targets" in row["function"]] == []


def test_a_forked_child_has_a_file_of_its_own(tmp_path, run_dwell, record, data):
    child = "import os\nif pid := os.fork():\n    os.waitpid(pid, 0)\nrun()\nburn(0.1)\n"
    done = record(ALL, "--keep", source=PROGRAM + child)
    (of_child,) = tmp_path.glob("x.*.dwell")
    assert ", with 1 child;" in done.stderr
    assert lines_of(data, of_child) == LINES
    assert regions_of(run_dwell, of_child) == REGIONS
    assert_sampled(Samples.of(tmp_path / of_child))
    assert calls_of(data, of_child)["leaf"] == CALLS["leaf"]
    assert regions_of(run_dwell, "x.dwell")["nap"] == 2 * REGIONS["nap"]


def holds_all(run_dwell):
    """Whether each probe has written something of what the program does over and over."""
    shown = run_dwell("report", "x.dwell").stdout
    of_each = [*HEADINGS.values(), "(leaf)", ". nap ", "Function: watched"]
    return all(text in shown for text in of_each)


def test_a_killed_program_leaves_all_four(tmp_path, run_dwell, data, dwell_program):
    source = PROGRAM + "while True:\n    run()\n    burn(0.01)\n"
    (tmp_path / "program.py").write_text(source)
    command = [dwell_program, "run", "-o", "x.dwell", *options(ALL), "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as dwell:
        while not holds_all(run_dwell):
            assert dwell.poll() is None
        dwell.send_signal(signal.SIGKILL)
    assert run_dwell("check", "x.dwell").returncode == 1  # it says that the log was cut
    found, lines, regions = calls_of(data), lines_of(data), regions_of(run_dwell)
    assert found["leaf"] > 0 and sum(lines["watched"].values()) > 0 and regions["nap"] > 0
    assert Samples.of(tmp_path / "x.dwell").weight_ns > 0


# Each process says what its regions have used, over and over.
IN_REGIONS = """\
import asyncio, json, os, threading, time
import dwell

spent = {}

def leaf(n):
    return n * n

def burn(region, n):
    began = time.thread_time_ns()
    with dwell.region(region):
        for i in range(n):
            leaf(i)
    spent[region] = spent.get(region, 0) + time.thread_time_ns() - began

async def task(n):
    with dwell.label(size=str(n)):
        await asyncio.sleep(0)
        burn("task", n)

async def tasks():
    await asyncio.gather(task(10_000), task(20_000))

def turn():
    burn("main", 40_000)
    thread = threading.Thread(target=burn, args=("thread", 60_000))
    thread.start()
    thread.join()
    asyncio.run(tasks())

first = os.getpid()
is_child = not os.fork()
while not is_child or os.getppid() == first:
    if is_child:
        burn("child", 50_000)
    else:
        turn()
    with open(f"new.{os.getpid()}", "w") as file:
        json.dump(spent, file)
    os.replace(f"new.{os.getpid()}", f"spent.{os.getpid()}")
"""


def spent_in(folder):
    """CPU seconds of each region, as the processes have told them last."""
    return {
        region: spent_ns / 1e9
        for file in folder.glob("spent.*")
        for region, spent_ns in json.loads(file.read_text()).items()
    }


@pytest.mark.accuracy
@repeated
def test_cpu_time_of_regions_in_what_a_killed_program_leaves(
    tmp_path, run_dwell, data, dwell_program
):
    for left in [*tmp_path.glob("*.dwell"), *tmp_path.glob("spent.*")]:
        left.unlink()  # by an attempt before
    (tmp_path / "program.py").write_text(IN_REGIONS)
    probes = ["--sample", "--regions", "--calls", "-f", "burn"]
    command = [dwell_program, "run", "-o", "x.dwell", *probes, "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as dwell:
        while sum(spent_in(tmp_path).values()) < 6:
            assert dwell.poll() is None
            time.sleep(0.1)
        dwell.send_signal(signal.SIGKILL)
    files = [file.name for file in tmp_path.glob("x*.dwell")]
    assert len(files) == 2
    assert run_dwell("merge", *files, "-o", "all.dwell").returncode == 0
    words = ("report", "all.dwell", "--by", "region", "--measure", "cpu", "--format", "json")
    rows = json.loads(run_dwell(*words).stdout)["rows"]
    truth = spent_in(tmp_path)
    found = {row["region"]: row["cpu"]["total"] for row in rows if row["region"] in truth}
    assert found.keys() == truth.keys()
    assert_close(shares(found), shares(truth), 2)
    words = ("report", "all.dwell", "--by", "size", "--measure", "cpu,calls", "--format", "json")
    sizes = {
        row["size"]: row["cpu"]["total"] for row in json.loads(run_dwell(*words).stdout)["rows"]
    }
    assert_above(1.5, sizes["20000"] / sizes["10000"])


def test_a_program_that_a_signal_ends_has_all(tmp_path, run_dwell, data):
    source = PROGRAM + "import os, signal\nrun()\nburn(0.1)\nos.kill(os.getpid(), signal.SIGTERM)\n"
    (tmp_path / "program.py").write_text(source)
    done = run_dwell("run", "-q", "-o", "x.dwell", *options(ALL), "program.py")
    assert done.returncode == -signal.SIGTERM
    found = calls_of(data)
    assert {name: found.get(name) for name in CALLS} == CALLS
    assert lines_of(data) == LINES
    assert regions_of(run_dwell) == REGIONS


def test_merged_compared_and_checked(tmp_path, run_dwell, record, data):
    record(ALL)
    (tmp_path / "x.dwell").rename(tmp_path / "old.dwell")
    record(ALL)
    assert run_dwell("merge", "old.dwell", "x.dwell", "-o", "both.dwell").returncode == 0
    assert run_dwell("check", "both.dwell").returncode == 0
    assert calls_of(data, "both.dwell")["leaf"] == 2 * CALLS["leaf"]
    assert lines_of(data, "both.dwell")["watched"][10] == 2 * LINES["watched"][10]
    assert regions_of(run_dwell, "both.dwell")["nap"] == 2 * REGIONS["nap"]
    assert Samples.of(tmp_path / "both.dwell").weight_ns > 0
    for by in ("function", "line", "region"):
        done = run_dwell("diff", "old.dwell", "x.dwell", "--by", by)
        assert (done.returncode, done.stderr) == (0, ""), by


API = (
    PROGRAM
    + """
import sys
dwell.install(log_file="x.dwell")
lines = dwell.LineProfiler(watched, nap)
calls = dwell.Profile()
dwell.start(sys.argv[1])
with lines, calls:
    run()
burn(0.1)
dwell.stop()
named = {code.co_name: count for code, count, *_ in calls.getstats() if hasattr(code, "co_name")}
hits = {row[2]: {line[0]: line[1] for line in row[4]} for row in lines.get_stats().rows()}
print(named, hits, sep="\\n")
"""
)


@pytest.mark.parametrize("file", ["x.dwell", "y.dwell"])
def test_all_through_the_api(tmp_path, run_dwell, file):
    (tmp_path / "program.py").write_text(API)
    done = subprocess.run(
        [sys.executable, "program.py", file], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    calls, hits = map(eval, done.stdout.splitlines()[:2])
    assert {name: calls.get(name) for name in CALLS} == CALLS
    assert hits == LINES
    assert regions_of(run_dwell) == REGIONS
    assert_sampled(Samples.of(tmp_path / file))
