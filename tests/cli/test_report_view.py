# SPDX-License-Identifier: MIT
"""The one view: any keys by any measures, of whatever was recorded; samples know their region and
their labels."""

import json

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
def recording(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_dwell("run", "-q", "-o", "x.dwell", "program.py")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
