# SPDX-License-Identifier: MIT
"""`dwell diff`: programs in two versions, with a planted change that must be found."""

import json
import re
import xml.etree.ElementTree

import pytest

import dwell

from ..measured import Near, off_unless, repeated

pytestmark = pytest.mark.any_python

# Work is counted and not done, so that times are the same wherever the tests run.
PROGRAM = """
def checksum(n):
    work[0] += n

def decode(times):
    for _ in range(times):
        checksum(3000)

class Table:
    def __init__(self):
        decode(20)

class Picture:
    def __init__(self):
        work[0] += 40_000

def render():
    work[0] += 200_000

def main():
    for _ in range(5):
        Table()
        Picture()
        render()

main()
"""
SLOWER = PROGRAM.replace("checksum(3000)", "checksum(30000)")
MORE_OFTEN = PROGRAM.replace("decode(20)", "decode(200)")
NEW = PROGRAM.replace(
    "def decode(times):\n",
    """def validate(times):
    work[0] += times * 30_000

def decode(times):
    validate(times)
""",
)
WORK_S = 1e-7  # one piece of it


@pytest.fixture
def record(tmp_path):
    """Records the calls of a version of the program as NAME/program.py and returns the log's
    path. Its clock is the work that it does."""

    def record(name, source):
        work = [0]
        profile = dwell.Profile(timer=lambda: work[0], timeunit=WORK_S, signatures=False)
        file = str(tmp_path / name / "program.py")
        names = {"work": work}
        profile.runctx(compile(source, file, "exec"), names, names)
        log = tmp_path / f"{name}.dwell"
        log.write_bytes(profile._log())
        return log

    return record


@pytest.fixture
def run(tmp_path, run_dwell):
    """The same by `dwell run`, with the time that it takes."""

    def run(name, source, *options):
        directory = tmp_path / name
        directory.mkdir(exist_ok=True)
        (directory / "program.py").write_text(source)
        log = tmp_path / f"{name}.dwell"
        done = run_dwell("run", "-q", *options, "-o", log, directory / "program.py")
        assert done.returncode == 0, done.stderr
        return log

    return run


@pytest.fixture
def diff(run_dwell):
    def diff(old, new, *options, status=0):
        done = run_dwell("diff", old, new, *options)
        assert done.returncode == status, done.stderr
        return done.stdout

    return diff


@pytest.fixture
def data(diff):
    def data(old, new, *options):
        return json.loads(diff(old, new, "--format", "json", *options))

    return data


def row_of(document, name, **more):
    wanted = {"name": name, **more}.items()
    (row,) = [row for row in document["rows"] if all(row.get(key) == at for key, at in wanted)]
    return row


@pytest.mark.parametrize(
    ("changed", "where", "reason"),
    [
        (SLOWER, "checksum", "each call 10x slower"),
        (MORE_OFTEN, "checksum", "called 10x more often"),
        (NEW, "decode → validate", "new"),
    ],
)
def test_the_planted_change_is_named_first(record, diff, data, changed, where, reason):
    old, new = record("old", PROGRAM), record("new", changed)
    cause = data(old, new)["causes"][0]
    assert cause["where"].endswith(where)
    assert cause["reason"] == reason
    sentence, _, *rows = diff(old, new).splitlines()
    assert sentence.startswith("total +")
    assert f"{where} ({reason})" in sentence
    assert where.split()[-1] in rows[4], rows


@pytest.mark.accuracy
@repeated
def test_the_planted_change_of_a_program_that_runs(run, data):
    def does(version):
        return re.sub(r"work\[0\] \+= (.*)", r"for _ in range(\1): pass", version)

    old, new = run("old", does(PROGRAM), "--calls"), run("new", does(SLOWER), "--calls")
    document = data(old, new)
    checksum = row_of(document, "checksum")
    assert checksum["old"]["calls"] == checksum["new"]["calls"] == 100
    off_unless(document["causes"][0]["where"].endswith("checksum"), document["causes"])


def test_a_swapped_diff_is_the_mirrored_verdict(record, data):
    old, new = record("old", PROGRAM), record("new", MORE_OFTEN)
    there, back = data(old, new), data(new, old)
    assert there["change_ns"] == -back["change_ns"] > 0
    assert there["causes"][0]["where"] == back["causes"][0]["where"]
    assert there["causes"][0]["reason"].startswith("called 10x more often")
    assert back["causes"][0]["reason"].startswith("called 10x less often")
    appeared = record("appeared", NEW)
    assert data(old, appeared)["causes"][0]["reason"] == "new"
    assert data(appeared, old)["causes"][0]["reason"] == "gone"


@pytest.mark.parametrize("by", ["function", "path"])
def test_the_same_file_twice_is_no_change(record, diff, data, by):
    log = record("same", PROGRAM)
    assert diff(log, log, "--by", by).splitlines()[0] == "total +0.00 ms: no change worth naming"
    document = data(log, log, "--by", by)
    assert document["causes"] == []
    assert {row["status"] for row in document["rows"]} == {"same"}


def test_rows_add_up_to_the_change(record, data):
    old, new = record("old", PROGRAM), record("new", SLOWER)
    for by in ("function", "path"):
        document = data(old, new, "--by", by)
        changes = sum(row["change_ns"] for row in document["rows"])
        assert changes == document["change_ns"]
        for row in document["rows"]:
            assert abs(row["from_calls_ns"] + row["from_speed_ns"] - row["change_ns"]) <= 1


def test_moved_code_is_the_same_code(record, data):
    """Twenty lines above, another directory, and two functions of one name."""
    old, new = record("old", PROGRAM), record("new", "\n" * 20 + PROGRAM)
    document = data(old, new)
    assert {row["status"] for row in document["rows"]} == {"same"}
    inits = [row for row in document["rows"] if row["name"] == "__init__"]
    assert sorted(row["line"] for row in inits) == [30, 34]
    assert all(row["old"]["calls"] == row["new"]["calls"] == 5 for row in inits)


def test_a_class_that_is_gone_takes_the_right_init_with_it(record, data):
    without = PROGRAM.replace("        Table()\n", "")
    document = data(record("old", PROGRAM), record("new", "\n" * 7 + without))
    inits = {row["line"]: row["status"] for row in document["rows"] if row["name"] == "__init__"}
    assert inits == {10: "gone", 21: "same"}


def test_a_renamed_program_is_the_same_program(tmp_path, run_dwell, data):
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text("work = [0]\n" + PROGRAM)
        run_dwell("run", "-q", "--calls", "-o", f"{name}.dwell", f"{name}.py")
    document = data("first.dwell", "second.dwell")
    assert {row["status"] for row in document["rows"]}.isdisjoint({"new", "gone"})
    assert row_of(document, "render")["moved_from"].endswith("first.py")


REGIONS = """
import dwell

def spin(n):
    x = 0
    for i in range(n):
        x += i

for _ in range(10):
    with dwell.region("load"):
        with dwell.region("parse"):
            spin(%d)
        with dwell.region():
            spin(20000)
"""


@repeated
def test_regions(run, diff, data):
    old = run("old", REGIONS % 20000, "--regions")
    new = run("new", "\n" * 5 + REGIONS % 400000, "--regions")
    sentence = diff(old, new).splitlines()[0]
    assert ": +" in sentence
    off_unless("in load → parse (each time " in sentence, sentence)
    document = data(old, new)
    assert document["by"] == "region"
    off_unless(document["rows"][0]["path"] == ["load", "parse"], document["rows"])
    assert {row["status"] for row in document["rows"]}.isdisjoint({"new", "gone"})


THREADS = """
import threading

def spin(n):
    x = 0
    for i in range(n):
        x += i

def work():
    for _ in range(10):
        spin(%d)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@repeated
def test_threads_are_added_up(run, data):
    old, new = (run(f"{n}", THREADS % n, "--calls") for n in (2000, 80000))
    document = data(old, new)
    spin = row_of(document, "spin")
    assert spin["old"]["calls"] == spin["new"]["calls"] == 30
    causes = [cause["where"].split(" → ")[-1] for cause in document["causes"]]
    off_unless("spin" in causes, causes)
    assert spin["change_ns"] > 0


def test_a_log_cut_short_is_compared_and_said(tmp_path, record, diff, data, run_dwell):
    old, new = record("old", PROGRAM), record("new", SLOWER)
    new.write_bytes(new.read_bytes()[:-40])
    assert "new: the program did not close this log" in diff(old, new)
    assert data(old, new)["new"]["losses"]["cut_processes"] == 1
    svg = tmp_path / "x.svg"
    diff(old, new, "-o", svg)
    assert "new: the program did not close this log" in svg.read_text()
    new.write_bytes(new.read_bytes()[:10])
    done = run_dwell("diff", old, new)
    assert done.returncode == 2
    assert "new.dwell" in done.stderr


def test_shares_of_runs_that_did_different_amounts_of_work(record, diff, data):
    old = record("old", PROGRAM)
    twice = record("twice", PROGRAM.replace("range(5)", "range(20)"))
    assert "called 4x more often" in diff(old, twice).splitlines()[0]
    slower = record("slower", SLOWER.replace("range(5)", "range(20)"))
    sentence = diff(old, slower, "--normalise").splitlines()[0]
    assert sentence.startswith("shares of the total: ")
    assert "→ checksum (" in sentence
    document = data(old, slower, "--normalise")
    assert document["normalised"]
    assert abs(sum(row["change_ns"] for row in document["rows"])) < 1000
    assert row_of(document, "render")["change_ns"] < 0


def test_failing_when_it_is_slower(record, run_dwell):
    old, new = record("old", PROGRAM), record("new", SLOWER)

    def status(*options):
        return run_dwell("diff", *options).returncode

    assert status(old, new, "--fail-if", "slower 50%") == 1
    assert status(new, old, "--fail-if", "slower 50%") == 0
    assert status(old, new, "--fail-if", "slower 10000%") == 0
    assert status(old, new, "--fail-if", "slower 1 ms") == 1
    assert status(old, new, "--fail-if", "slower 100s") == 0
    assert status(old, new, "--fail-if", "slower 100%", "--of", "decode") == 1
    assert status(old, old, "--fail-if", "slower 0%", "--of", "render") == 0
    assert status(old, new, "--fail-if", "slower 5%", "--of", "nobody") == 2
    assert status(old, new, "--fail-if", "slower 5%", "--of", "checksum", "--normalise") == 1
    assert status(old, new, "--fail-if", "slower 5%", "--of", "render", "--normalise") == 0
    done = run_dwell("diff", old, new, "--fail-if", "slower 50%", "--of", "decode")
    assert done.stderr.startswith("dwell: decode is ")
    assert done.stdout.startswith("total +")


def test_bad_usage(record, run_dwell):
    log = record("log", PROGRAM)
    for arguments, reason in [
        ([log], "needs two files"),
        ([log, log, "--by", "moon"], "there are: function, line, path, region"),
        ([log, log, "--by", "line"], "needs samples or lines"),
        ([log, log, "--sort", "moon"], "there are: change, ratio, old, new"),
        ([log, log, "--threshold", "x"], "--threshold"),
        ([log, log, "--limit", "-1"], "--limit"),
        ([log, log, "--fail-if", "faster 5%"], "slower 5%"),
        ([log, log, "--fail-if", "slower 5 moons"], "slower 5%"),
        ([log, log, "--of", "main"], "--fail-if"),
        ([log, log, "--normalise", "--fail-if", "slower 5%"], "--of NAME"),
        ([log, log, "-o", log], "would overwrite"),
        ([log, "nothing.dwell"], "nothing.dwell"),
    ]:
        done = run_dwell("diff", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert reason in done.stderr
        assert done.stderr.count("\n") == 1


def test_calls_and_regions_do_not_compare(run, run_dwell):
    calls, regions = (run(name, REGIONS % 2000, f"--{name}") for name in ("calls", "regions"))
    done = run_dwell("diff", calls, regions)
    assert done.returncode == 2
    assert "calls.dwell holds calls and " in done.stderr
    assert "regions.dwell holds regions" in done.stderr
    assert run_dwell("diff", calls, regions, "--by", "function").returncode == 2
    assert run_dwell("diff", regions, regions, "--by", "function").returncode == 0


SAMPLED = """
import sys, zlib
def spin(times, depth=3):
    if depth:
        return spin(times, depth - 1)
    for i in range(times):
        i * i
def pack(data):
    for _ in range(300):
        zlib.crc32(data)
spin(int(sys.argv[1]))
pack(bytes(1 << 20))
"""


@repeated
def test_samples_tell_how_long_and_not_how_often(tmp_path, run_dwell, diff, data):
    (tmp_path / "program.py").write_text(SAMPLED)
    for name, times in (("old", "3_000_000"), ("new", "12_000_000")):
        run_dwell("run", "-q", "-o", f"{name}.dwell", "program.py", times)
    document = data("old.dwell", "new.dwell")
    cause = document["causes"][0]
    off_unless(cause["where"].endswith("spin"), document["causes"])
    assert cause["reason"].endswith("x longer")
    spin = row_of(document, "spin")
    assert spin["new"]["samples"] * 1e6 < 2 * spin["new"]["total_ns"]  # once in recursion
    assert "from_calls_ns" not in spin
    pack = row_of(document, "pack")["new"]
    assert pack["self_ns"] < pack["total_ns"] / 2  # the rest is in zlib
    table = diff("old.dwell", "new.dwell")
    assert "samples" in table and "calls" not in table.replace("with callees", "")
    run_dwell("run", "-q", "--calls", "-o", "calls.dwell", "program.py", "3_000_000")
    for options in ([], ["--by", "function"]):
        refused = run_dwell("diff", "old.dwell", "calls.dwell", *options)
        assert refused.returncode == 2
        assert "old.dwell holds samples of CPU time and calls.dwell holds calls" in refused.stderr


@repeated
def test_lines_of_samples(tmp_path, run_dwell, data):
    for name, source, times in (
        ("old", SAMPLED, "3_000_000"),
        ("new", SAMPLED.replace("def pack", "# moved\n\ndef pack"), "12_000_000"),
    ):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "program.py").write_text(source)
        run_dwell("run", "-q", "-o", f"{name}.dwell", f"{name}/program.py", times)
    document = data("old.dwell", "new.dwell", "--by", "line", "--threshold", "0")
    assert document["causes"]
    for cause in document["causes"]:
        of_spin = re.match(r"spin line (6 `for i in|7 `i \* i`)", cause["where"])
        off_unless(of_spin is not None, document["causes"])
        assert cause["reason"].endswith("x longer")
    for side in ("old", "new"):
        own = sum(row[side]["self_ns"] for row in document["rows"] if row[side])
        assert own == document[side]["total_ns"]
    crc = row_of(document, "pack", new_text="zlib.crc32(data)")
    assert (crc["old_line"], crc["new_line"]) == (10, 12)
    pack = row_of(data("old.dwell", "new.dwell", "--threshold", "0"), "pack")
    assert crc["new"]["total_ns"] == Near(pack["new"]["total_ns"], within=0.1)
    spin = row_of(data("old.dwell", "new.dwell"), "spin")["new"]["total_ns"]
    again = row_of(document, "spin", new_line=5)
    assert again["new"]["total_ns"] == Near(spin, within=0.1)  # once in recursion
    failed = run_dwell(
        "diff", "old.dwell", "new.dwell", "--by", "line", "--fail-if", "slower 5%", "--of", "spin"
    )
    assert failed.returncode == 1
    assert f"({spin / 1e9:.6g} s" in failed.stderr


def test_regions_are_not_in_a_recording_of_calls(record, run, run_dwell, diff):
    calls, none = record("calls", PROGRAM), run("none", "pass", "--regions")
    done = run_dwell("diff", calls, calls, "--by", "region")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--by region needs regions, and {calls} holds none" in done.stderr
    assert "no change worth naming" in diff(none, none)  # none entered: <main> is all there is


def test_timings_are_compared_elsewhere(tmp_path, run_dwell):
    for name in ("old", "new"):
        run_dwell("time", "-r", "2", "-n", "1", "-o", f"{name}.dwell", "pass")
    done = run_dwell("diff", "old.dwell", "new.dwell")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "dwell: old.dwell and new.dwell hold timings; 'dwell report OLD NEW' compares them\n"
    )
    assert run_dwell("report", "old.dwell", "new.dwell").returncode == 0


LINES = """
@profile
def checksum(n):
    x = 0
    for i in range(n):
        x += i
    return x

@profile
def decode():
    return [checksum(2000) for _ in range(10)]

decode()
"""


@repeated
def test_lines(tmp_path, run_dwell, diff, data):
    slower = LINES.replace("x += i", "x += sum(range(200))").replace("    x = 0", "\n\n    x = 0")
    for name, source in (("old", LINES), ("new", "\n" * 20 + slower)):
        (tmp_path / f"{name}.py").write_text(source)
        run_dwell("run", "-q", "--lines", "-o", f"{name}.dwell", f"{name}.py")
    sentence = diff("old.dwell", "new.dwell").splitlines()[0]
    off_unless("in checksum line 28 `x += sum(range(200))` (each time " in sentence, sentence)
    document = data("old.dwell", "new.dwell")
    assert document["by"] == "line"
    rows = {row["new_text"]: row for row in document["rows"]}
    edited = rows["x += sum(range(200))"]
    assert (edited["old_line"], edited["old_text"]) == (6, "x += i")
    assert edited["old"]["calls"] == edited["new"]["calls"] == 20000
    caller = next(row for text, row in rows.items() if text.startswith("return ["))
    assert caller["change_total_ns"] > edited["change_ns"] / 2 > caller["change_ns"]
    done = run_dwell("diff", "old.dwell", "new.dwell", "--format", "svg")
    assert (done.returncode, done.stdout) == (2, "")


def test_limits_and_orders_of_the_table(record, diff, data):
    old, new = record("old", PROGRAM), record("new", SLOWER.replace("200_000", "201_000"))
    assert "more:" in diff(old, new, "--limit", "1", "--threshold", "0")
    names = [row["name"] for row in data(old, new, "--sort", "old", "--limit", "2")["rows"]]
    assert names == ["render", "checksum"]
    everything = data(old, new)
    assert len(everything["rows"]) > len(data(old, new, "--threshold", "5%")["rows"]) > 0


def boxes_of(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    return [
        (box.get("class"), box.find(f"{svg}title").text)
        for box in root.iter(f"{svg}svg")
        if box.get("class", "").startswith("box")
    ]


def test_the_flame_graph_holds_new_and_gone_paths(tmp_path, record, diff):
    old, new = record("old", PROGRAM), record("new", NEW)
    path = tmp_path / "diff.svg"
    assert diff(old, new, "-o", path).startswith("total +")
    looks = {title.split()[0]: look for look, title in boxes_of(path)}
    assert looks["validate"] in ("box slow4", "box slow5", "box slow6")
    assert looks["render"] != looks["validate"]
    diff(old, new, "--width", "old", "-o", path)
    titles = [title for _, title in boxes_of(path)]
    first = titles.index(next(title for title in titles if title.startswith("only in the new one")))
    assert any(title.startswith("validate") for title in titles[first:])


def test_the_flame_graph_is_xml_whatever_the_names(tmp_path, run, diff):
    region = "</svg>&\"'\\x01\\n\ufffe]]>"
    source = f"import dwell\nwith dwell.region({region!r}):\n    sum(range(%d))\n"
    path = tmp_path / "diff.svg"
    old = run("old", source % 10, "--regions")
    new = run("new", source % 2_000_000, "--regions")
    diff(old, new, "-o", path)
    assert any(title.startswith("</svg>&\"'\\x01") for _, title in boxes_of(path))


def test_a_name_that_promises_another_format_is_refused(record, run_dwell, tmp_path):
    old = record("old", PROGRAM)
    for name, kind in (("x.html", "html"), ("x.csv", "csv")):
        done = run_dwell("diff", old, old, "-o", name)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"dwell: {name}: diff makes no {kind} file; -o NAME.svg makes a flame graph for the "
            "browser, -o NAME.json data, and any other name a table\n"
        )
        assert not (tmp_path / name).exists()
    assert run_dwell("diff", old, old, "-o", "x.html", "--format", "table").returncode == 0
