# SPDX-License-Identifier: MIT
"""Exports of a four-thread program, read by parsers and viewers that are not ours."""

import base64
import csv
import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from ..browser import Browser, find_chromium

SPEEDSCOPE = Path(__file__).parent / "node_modules" / "speedscope" / "dist" / "release"
HOSTILE = [
    'quo"te',
    "back\\slash",
    "new\nline",
    "com,ma",
    "semi;colon",
    "tab\t",
    "\x00nul",
    "é☃",
    "",
]

PROGRAM = f"""
import asyncio, dwell, threading, time

NAMES = {HOSTILE!r} + [b"\\xff\\xfe".decode("utf-8", "surrogateescape"), "x" * 10_000]

def work(index):
    for name in NAMES:
        with dwell.region(name):
            with dwell.region("inner"):
                dwell.count("items", index)
    dwell.instant("done")

def recurse(depth):
    with dwell.region("deep"):
        if depth:
            recurse(depth - 1)

async def task():
    with dwell.region("task"):
        await asyncio.sleep(0.01)

async def tasks():
    await asyncio.gather(task(), task(), task())

threads = [threading.Thread(target=work, args=(i,), name=f"worker-{{i}}") for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
recurse(300)
asyncio.run(tasks())
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    import subprocess
    import sysconfig

    path = tmp_path_factory.mktemp("formats") / "four.dwell"
    program = Path(sysconfig.get_path("scripts")) / "dwell"
    command = [program, "run", "--regions", "-q", "--timeline", "-o", path, "-c", PROGRAM]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def export(log, run_dwell):
    def exported(lens, *arguments):
        done = run_dwell("export", log, "--to", lens, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return exported


def strict(text):
    """JSON without the extensions that Python's parser lets through."""

    def refuse(constant):
        raise ValueError(constant)

    text.encode("utf-8")
    return json.loads(text, parse_constant=refuse)


def test_chrome_events_nest_and_balance(export):
    trace = strict(export("chrome"))
    stacks, last, threads = {}, {}, {}
    for event in trace["traceEvents"]:
        key = event["pid"], event["tid"]
        if event["ph"] == "M" and event["name"] == "thread_name":
            threads[key] = event["args"]["name"]
        elif event["ph"] == "B":
            stacks.setdefault(key, []).append(event["name"])
        elif event["ph"] == "E":
            assert stacks[key].pop() == event["name"]
        if "ts" in event:
            assert event["ts"] >= last.get(key, 0)
            last[key] = event["ts"]
    assert all(not stack for stack in stacks.values())
    assert sorted(threads.values()) == ["MainThread"] + [f"worker-{i}" for i in range(4)]


def test_chrome_has_every_entry(export):
    events = strict(export("chrome"))["traceEvents"]
    begun = Counter(e["name"] for e in events if e["ph"] == "B" and "cat" not in e)
    assert begun["inner"] == 4 * (len(HOSTILE) + 2)
    assert begun["deep"] == 301
    assert begun["task"] == 3
    assert sum(begun[name] for name in begun if name.startswith("x" * 4000)) == 4  # cut on reading
    for name in HOSTILE:
        assert begun[name] == 4, repr(name)
    assert sum(e["ph"] == "i" and e["name"] == "done" for e in events) == 4
    assert sum(e["ph"] == "C" and e["name"] == "items" for e in events) == 4 * (len(HOSTILE) + 2)


def test_speedscope_is_valid_by_its_own_schema(export):
    jsonschema = pytest.importorskip("jsonschema")
    document = strict(export("speedscope"))
    schema = json.loads((SPEEDSCOPE / "file-format-schema.json").read_text())
    jsonschema.validate(document, schema)
    assert len(document["profiles"]) == 5
    for profile in document["profiles"]:
        stack, at = [], profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= at
            at = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert stack.pop() == event["frame"]
        assert not stack and at <= profile["endValue"]


def check_column(table, column, most, optional=False):
    """All numbers of the column are those of rows of a table of so many."""
    for number in table[column]:
        assert (optional and number is None) or 0 <= number < most


def test_firefox_has_all_that_its_format_requires(export):
    document = strict(export("firefox"))
    meta, shared = document["meta"], document["shared"]
    assert (meta["preprocessedProfileVersion"], document["libs"]) == (60, [])
    assert {"interval", "startTime", "processType", "product", "stackwalk", "version"} <= set(meta)
    assert [category["color"] for category in meta["categories"]].count("grey") == 1
    tables = [shared[name] for name in ("stackTable", "frameTable", "funcTable", "sources")]
    for thread in document["threads"]:
        assert isinstance(thread["pid"], str) and isinstance(thread["name"], str)
        assert thread["samples"]["weightType"] == "tracing-ms"
        check_column(thread["samples"], "stack", tables[0]["length"])
        tables += [thread["samples"], thread["markers"]]
    for table in [*tables, shared["resourceTable"], shared["nativeSymbols"]]:
        columns = [column for column in table.values() if isinstance(column, list)]
        assert {len(column) for column in columns} == {table["length"]}
    stacks, frames, functions, sources = tables[:4]
    check_column(stacks, "frame", frames["length"])
    assert all(above is None or above < i for i, above in enumerate(stacks["prefix"]))
    check_column(frames, "func", functions["length"])
    check_column(frames, "category", len(meta["categories"]))
    check_column(functions, "name", len(shared["stringArray"]))
    check_column(functions, "source", sources["length"], optional=True)
    check_column(sources, "filename", len(shared["stringArray"]))
    assert set(HOSTILE) <= set(shared["stringArray"])
    assert len(document["threads"]) == 5


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
@pytest.mark.parametrize("lens", ["speedscope", "chrome"])
def test_speedscope_imports_it(export, tmp_path, lens):
    document = export(lens)
    encoded = base64.b64encode(document.encode()).decode()
    loader = tmp_path / "profile.js"
    loader.write_text(f'speedscope.loadFileFromBase64("four.json", "{encoded}")')
    browser = Browser(tmp_path / "chromium")
    try:
        browser.open(SPEEDSCOPE / "index.html", f"#localProfilePath={loader}")
        browser.wait_for("document.body.innerText.includes('/5)')")
        text = browser.evaluate("document.body.innerText")
        assert re.search(r"MainThread.* \(\d/5\)", text), text
        assert "Left Heavy" in text
        assert [error for error in browser.errors if "WebGL" not in error] == []
    finally:
        browser.close()


def test_csv_is_rfc_4180(export, run_dwell, log):
    text = run_dwell("report", log, "--format", "csv", "--columns", "name,count").stdout
    rows = list(csv.reader(io.StringIO(text, newline="")))
    names = {row[0]: row[1] for row in rows}
    for name in HOSTILE:
        if "\x00" not in name:
            assert names[name] == "4", repr(name)
    assert all(len(row) == 2 for row in rows)


def test_collapsed_lines(export):
    for line in export("collapsed").splitlines():
        stack, _, weight = line.rpartition(" ")
        assert int(weight) > 0
        assert stack.startswith("<main>")


def test_json_report(export):
    report = strict(export("json"))
    paths = {tuple(row["path"]): row["count"] for row in report["rows"]}
    assert paths["task",] == 3
    assert paths[('quo"te', "inner")] == 4
    assert report["counters"] == [
        {"name": "items", "total": 6 * (len(HOSTILE) + 2), "count": 4 * (len(HOSTILE) + 2)}
    ]
