# SPDX-License-Identifier: MIT
"""The one view: any keys by any measures, of whatever was recorded; samples know their region and
their labels."""

import json
import os

import pytest

from ..measured import assert_close, shares

PROGRAM = """
import asyncio, concurrent.futures, json, threading, time
import dwell

TRUTH = {}

def burn(name, seconds):
    before = time.thread_time()
    while time.thread_time() < before + seconds:
        sum(range(2000))
    TRUTH[name] = TRUTH.get(name, 0) + time.thread_time() - before

def load():
    with dwell.region("load"):
        burn("load", 0.3)
        with dwell.region("parse"):
            burn("parse", 0.2)

async def handle(name, rounds):
    with dwell.label(endpoint=name):
        for _ in range(rounds):
            burn(name, 0.05)
            await asyncio.sleep(0)

async def serve():
    await asyncio.gather(handle("/a", 2), handle("/b", 4))

load()
asyncio.run(serve())
with dwell.label(job="pool"), concurrent.futures.ThreadPoolExecutor(1) as pool:
    pool.submit(burn, "pool", 0.2).result()
print(json.dumps(TRUTH))
"""


@pytest.fixture
def shown(recorded, tmp_path):
    """Records a program, or takes the recording that was made of it before, as x.dwell."""

    def take(*words):
        file, printed = recorded(*words)
        (tmp_path / "x.dwell").symlink_to(file)
        return printed

    return take


@pytest.fixture
def recording(shown):
    return json.loads(shown(PROGRAM))


@pytest.fixture
def view(run_dwell):
    def read(*words, file="x.dwell"):
        done = run_dwell("report", file, "--format", "json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return read


def cpu_by(view, key, *words):
    rows = view("--by", key, "--measure", "cpu", *words)["rows"]
    return {row[key]: row["cpu"]["self"] for row in rows}


def test_samples_are_told_by_region_and_label(recording, view):
    regions = cpu_by(view, "region")
    endpoints = cpu_by(view, "endpoint")
    assert {"load", "parse", "(none)"} <= regions.keys()
    assert {"/a", "/b", "(none)"} == endpoints.keys()
    assert {"pool", "(none)"} == cpu_by(view, "job").keys()
    whole = view("--by", "thread", "--measure", "cpu")["measures"][0]["all"]
    assert sum(regions.values()) == sum(endpoints.values()) == whole
    found = {**regions, **endpoints, "pool": cpu_by(view, "job")["pool"]}
    assert_close(shares({name: found[name] for name in recording}), shares(recording), within=2)


def test_labels_choose_what_a_report_is_of(recording, view):
    rows = view("--by", "function", "--measure", "cpu", "--match-label", "region=load")["rows"]
    names = {row["function"].split(" (")[0] for row in rows}
    assert {"load", "burn"} <= names
    assert not names & {"handle", "serve"}
    assert view("--by", "thread", "--match-label", "endpoint=/c")["rows"] == []


def test_keys_are_combined(recording, view):
    by_both = view("--by", "thread,function", "--measure", "cpu,samples")
    by_one = view("--by", "function", "--measure", "cpu,samples")
    assert by_both["keys"] == ["thread", "function"]
    for measure in ("cpu", "samples"):
        of_burn = [
            sum(
                row[measure]["self"] for row in table["rows"] if row["function"].startswith("burn ")
            )
            for table in (by_both, by_one)
        ]
        assert of_burn[0] == of_burn[1] > 0
    assert len({row["thread"] for row in by_both["rows"]}) >= 2


def test_what_several_probes_measured_stands_side_by_side(recording, view):
    rows = {
        row["region"]: row for row in view("--by", "region", "--measure", "cpu,wall,count")["rows"]
    }
    assert rows["load"]["count"]["total"] == rows["parse"]["count"]["total"] == 1
    assert rows["load"]["elapsed"]["total"] >= rows["parse"]["elapsed"]["total"] > 0
    assert rows["load"]["cpu"]["total"] > 0


def test_rows_are_told_by_host(recording, view):
    [row] = view("--by", "host", "--measure", "samples")["rows"]
    assert row["host"] == os.uname().nodename
    assert (
        row["samples"]["total"]
        == view("--by", "process", "--measure", "samples")["measures"][0]["all"]
    )


COUNTED = """
import asyncio, dwell, threading

def leaf():
    pass

def work(n):
    for _ in range(n):
        leaf()

def outer(n):
    work(n)
    with dwell.region("load"):
        work(n)
        with dwell.label(endpoint="/x"):
            work(n)
    work(n)

def count(n):
    if n == 3:
        with dwell.region("deep"):
            count(n - 1)
    elif n:
        count(n - 1)

def numbers():
    with dwell.region("numbers"):
        for i in range(3):
            leaf()
            yield i

with dwell.label(endpoint="/warm"):
    pass  # what the first label loads is loaded
outer(10)
outer(10)
with dwell.region("around"):
    outer(1)
    thread = threading.Thread(target=outer, args=(100,))
    thread.start()
    thread.join()
count(5)
for _ in numbers():
    work(1)
"""


@pytest.fixture
def counted(shown):
    shown(COUNTED, "--calls", "--lines", "-f", "work", "-f", "count", "--regions")


def counts_by(view, key, measure, *words):
    rows = view("--by", key, "--measure", measure, *words)["rows"]
    return {row[key].split(" (")[0]: row[measure]["total"] for row in rows}


def test_calls_know_their_region_and_labels(counted, view):
    def leaves(*words):
        return counts_by(view, "function", "calls", "--match", "^leaf ", *words).get("leaf", 0)

    assert leaves() == 4 * (10 + 10 + 1 + 100) + 2 * 3
    assert leaves("--match-label", "region=load") == 2 * (10 + 10 + 1 + 100)
    assert leaves("--match-label", "endpoint=/x") == 10 + 10 + 1 + 100
    assert leaves("--match-label", "region=around") == 2 * 1
    assert leaves("--match-label", "region=numbers") == 3  # not what runs while it sleeps
    of_load = counts_by(view, "function", "calls", "--match-label", "region=load")
    assert of_load["work"] == 8
    assert "outer" not in of_load  # it began outside


def test_calls_by_region_add_up_to_all_of_them(counted, view):
    whole = view("--by", "thread", "--measure", "calls,call_total")["measures"]
    for key in ("region", "endpoint"):
        table = view("--by", key, "--measure", "calls,call_total")
        for measure, of_threads in zip(table["measures"], whole, strict=True):
            found = sum(row[measure["name"]]["total"] for row in table["rows"])
            assert found == measure["all"] == of_threads["all"]


def test_a_call_that_recurses_into_a_region_counts_there(counted, view):
    rows = view(
        "--by", "function", "--measure", "calls,call_total", "--match-label", "region=deep"
    )["rows"]
    (row,) = [row for row in rows if row["function"].startswith("count ")]
    assert row["calls"]["total"] == 3
    assert row["call_total"]["total"] >= row["call_total"]["self"] > 0
    whole = counts_by(view, "function", "call_total", "--match", "^count ")["count"]
    assert row["call_total"]["total"] < whole


def test_lines_know_their_region_labels_and_thread(counted, view):
    lines = COUNTED.splitlines()
    loop = f"program.py:{lines.index('        leaf()') + 1} (work)"

    def hits(key, *words):
        rows = view("--by", f"{key},line", "--measure", "hits", *words)["rows"]
        return {row[key]: row["hits"]["total"] for row in rows if row["line"] == loop}

    assert hits("region") == {"(none)": 2 * (10 + 10 + 100) + 3, "load": 242, "around": 2}
    assert hits("endpoint", "--match-label", "region=load") == {"(none)": 121, "/x": 121}
    assert set(hits("thread").values()) == {4 * 21 + 3, 4 * 100}
    by_line = view("--by", "line", "--measure", "hits,line_time")
    assert sum(row["hits"]["total"] for row in by_line["rows"]) == by_line["measures"][0]["all"]


TASKS = """
import asyncio, time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

async def step(seconds):
    for _ in range(3):
        burn(seconds)
        await asyncio.sleep(0)

async def main():
    tasks = [asyncio.create_task(step(0.05), name=name) for name in ("one", "two")]
    await asyncio.gather(*tasks)

asyncio.run(main())
"""


def test_samples_know_their_task(shown, view):
    shown(TASKS)
    tasks = cpu_by(view, "task")
    assert tasks["one"] > 0 and tasks["two"] > 0
    whole = view("--by", "thread", "--measure", "cpu")["measures"][0]["all"]
    assert sum(tasks.values()) == whole
    of_one = cpu_by(view, "function", "--match-label", "task=one")
    assert sum(of_one.values()) == tasks["one"]


def test_a_budget_says_what_it_left_out(recording, view):
    whole = view("--by", "thread,function")
    cut = view("--by", "thread,function", "--limit", "2")
    assert cut["view"] == 1
    assert len(cut["rows"]) == 2
    assert cut["rows"] == whole["rows"][:2]
    assert cut["rows_left_out"] == len(whole["rows"]) - 2


def test_csv_has_the_same_numbers(recording, view, run_dwell):
    lines = run_dwell(
        "report", "x.dwell", "--by", "region,thread", "--measure", "count", "--format", "csv"
    ).stdout.splitlines()
    assert lines[0] == "region,thread,count,count_self"
    assert "load,MainThread,1,1" in lines


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--by", "functoin,thread"], "no grouping 'functoin'; did you mean 'function'?"),
        (["--by", "function,line"], "--by takes one of function and line, not both"),
        (["--measure", "sampels"], "no measure 'sampels'; did you mean 'samples'?"),
        (["--by", "thread,region", "--sort", "calls"], "the recording holds no 'calls'"),
        (["--match-label", "x"], "--match-label takes KEY=VALUE, not 'x'"),
        (["--by", "thread,region", "--format", "tree"], "--format tree does not go with"),
    ],
)
def test_what_cannot_be_shown_is_named(recording, run_dwell, words, said):
    done = run_dwell("report", "x.dwell", *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_labels_of_a_process_are_those_of_all_it_does(python_program, run_dwell):
    """A label of a block counts before that of the process."""
    for site in ("east", "west"):
        done = python_program(f"""
import dwell
dwell.process_label(site="{site}", shard=3)
dwell.install(log_file="{site}.dwell")
for _ in range(2):
    with dwell.region("work"): pass
try:
    dwell.process_label(host="x")
except ValueError:
    print("refused")
""")
        assert done.stdout.startswith("refused")
    run_dwell("merge", "east.dwell", "west.dwell", "-o", "both.dwell")
    options = ("--by", "site,region", "--measure", "count", "--format", "json")
    found = json.loads(run_dwell("report", "both.dwell", *options).stdout)["rows"]
    counts = {row["site"]: row["count"]["total"] for row in found if row["region"] == "work"}
    assert counts == {"east": 2, "west": 2}
    only = run_dwell("report", "both.dwell", *options, "--match-label", "site=east")
    assert {row["site"] for row in json.loads(only.stdout)["rows"]} == {"east"}
    folded = run_dwell("export", "both.dwell", "--to", "collapsed", "--labels", "site,shard")
    fronts = {line.partition(";<main>")[0] for line in folded.stdout.splitlines()}
    assert fronts == {"site=east;shard=3", "site=west;shard=3"}


DISTURBED = """
import mmap, time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))

def touch():
    area = mmap.mmap(-1, 10_000 * 4096)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(area), 4096):
        area[at] = 1
        sum(range(300))

def switch():
    for _ in range(200):
        time.sleep(0.0001)

burn(0.1)
touch()
burn(0.1)
switch()
burn(0.1)
"""


@pytest.fixture
def disturbed(shown, view):
    shown(DISTURBED)

    def read(measure):
        found = view("--by", "function", "--measure", measure)
        rows = [row for row in found["rows"] if "(program.py" in row["function"]]
        names = {row["function"].split()[0]: row[measure]["total"] for row in rows}
        return found["measures"][0]["all"], names

    return read


def test_samples_have_the_page_faults_of_their_threads(disturbed):
    everything, functions = disturbed("page_faults")
    assert everything >= 10_000
    assert functions["touch"] >= 5_000


def test_samples_have_the_context_switches_of_their_threads(disturbed):
    switches, functions = disturbed("context_switches")
    involuntary, _ = disturbed("involuntary_switches")
    assert switches - involuntary >= 100  # a sleep may be over before it has begun
    assert switches >= functions["<module>"] >= 100
