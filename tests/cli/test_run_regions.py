# SPDX-License-Identifier: MIT
"""Samples and marked regions of one run: in one file, neither mixed with the other."""

import json
import signal
import subprocess
import time

import pytest

from ..measured import assert_above
from ..sampled import Samples

PROGRAM = """
import os, sys, threading, time
import dwell

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))

def prepare():
    with dwell.region("prepare"):
        burn(0.1)

@dwell.func()
def train():
    for _ in range(3):
        with dwell.region("step"):
            burn(0.1)

def help():
    with dwell.region("helping"):
        burn(0.1)

prepare()
train()
helper = threading.Thread(target=help, name="helper")
helper.start()
helper.join()
burn(0.1)
"""
COUNTS = {"<main>": 1, "prepare": 1, "train()": 1, "step": 3, "helping": 1}
BURNT_S = 0.6


@pytest.fixture
def program(tmp_path, run_dwell):
    """Runs a program under dwell, with the file x.dwell."""

    def run(*options, source=PROGRAM):
        (tmp_path / "program.py").write_text(source)
        return run_dwell("run", "-o", "x.dwell", *options, "program.py")

    return run


def counts(run_dwell, file="x.dwell"):
    done = run_dwell("report", file, "--by", "region", "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    header, *lines = [line.split(",") for line in done.stdout.splitlines()]
    return {line[header.index("name")]: int(line[header.index("count")]) for line in lines}


def checked(run_dwell, file="x.dwell"):
    """What `dwell check` lists, with how often; and its status."""
    done = run_dwell("check", file)
    words = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    return [line[0] for line in words].count("process"), done.returncode


def test_both_are_in_one_file(tmp_path, run_dwell, program):
    done = program()
    assert done.returncode == 0
    assert [path.name for path in tmp_path.glob("x*")] == ["x.dwell"]
    assert checked(run_dwell) == (1, 0)
    assert counts(run_dwell) == COUNTS
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.info["ended"]
    by_function = json.loads(run_dwell("report", "x.dwell", "--format", "json").stdout)
    (burn,) = [row for row in by_function["rows"] if row["name"] == "burn"]
    assert 0.7 * BURNT_S < burn["cpu"]["total"] / 1e9 < 1.5 * BURNT_S
    names, tables = done.stderr.split("\n\n")[-2:]
    assert names.splitlines()[1].startswith("Samples: ") and "burn (program.py:5)" in names
    assert tables.splitlines()[0].startswith("Regions: ") and ". . step" in tables


def test_times_of_regions_are_those_of_a_run_without_samples(run_dwell, program):
    program()
    done = run_dwell("report", "x.dwell", "--by", "region", "--format", "json")
    rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}
    assert rows["step"]["min_ns"] >= 0.1e9
    assert rows["train()"]["total_ns"] >= rows["step"]["total_ns"] >= 0.3e9
    assert rows["<main>"]["total_ns"] >= sum(
        rows[name]["total_ns"] for name in ("train()", "prepare", "helping")
    )
    assert rows["step"]["path"] == ["train()", "step"]


def test_regions_alone_are_as_before(run_dwell, program):
    done = program("--regions")
    assert "Samples" not in done.stderr and "Regions:" not in done.stderr
    assert counts(run_dwell) == COUNTS
    assert "samples" not in run_dwell("report", "x.dwell").stdout


def test_a_program_without_regions_has_samples_alone(run_dwell, program):
    done = program(source="import dwell\nprint(sum(range(20_000_000)))\n")
    assert "Regions" not in done.stderr and "Samples:" not in done.stderr
    assert checked(run_dwell) == (1, 0)
    assert "Regions" not in run_dwell("report", "x.dwell").stdout


@pytest.mark.parametrize(
    ("arguments", "has_samples", "has_regions"),
    [
        ([], True, True),
        (["--by", "path"], True, True),
        (["--format", "tree"], True, True),
        (["--by", "function"], True, False),
        (["--by", "line"], True, False),
        (["--match", "burn"], True, False),
        (["--by", "region"], False, True),
        (["--sort", "average"], False, True),
        (["--columns", "name,min"], False, True),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_reports_show_what_is_asked_for(run_dwell, program, arguments, has_samples, has_regions):
    program("-q")
    done = run_dwell("report", "x.dwell", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("burn" in done.stdout) == has_samples
    assert ("helping" in done.stdout) == has_regions
    assert ("Samples: " in done.stdout) == ("Regions: " in done.stdout)
    assert ("Samples: " in done.stdout) == (has_samples and has_regions)


def test_a_pipe_is_read_once(tmp_path, run_dwell, program):
    program("-q")
    with open(tmp_path / "x.dwell", "rb") as recording:
        done = run_dwell("report", "-", stdin=recording)
    assert "burn" in done.stdout and "helping" in done.stdout
    assert done.stderr == ""


def used_names(lens, text):
    """The text of an export; of speedscope the names on stacks, its table has all of the file."""
    if lens != "speedscope":
        return text
    data = json.loads(text)
    used = {frame for each in data["profiles"] for stack in each["samples"] for frame in stack}
    return " ".join(data["shared"]["frames"][frame]["name"] for frame in used)


@pytest.mark.parametrize("lens", ["collapsed", "speedscope", "callgrind", "svg", "csv"])
def test_exports_take_the_samples_and_say_so(run_dwell, program, lens):
    program("-q")
    done = run_dwell("export", "x.dwell", "--to", lens)
    assert "these are the samples; '--by region' has the regions" in done.stderr
    samples = used_names(lens, done.stdout)
    assert "burn" in samples and "helping" not in samples
    done = run_dwell("export", "x.dwell", "--to", lens, "--by", "region")
    assert "these are the samples" not in done.stderr
    regions = used_names(lens, done.stdout)
    assert "burn" not in regions and "helping" in regions


def test_a_merged_file_still_has_both(run_dwell, program):
    program("-q", "--timeline")
    assert run_dwell("merge", "x.dwell", "-o", "y.dwell").returncode == 0
    assert checked(run_dwell, "y.dwell") == (1, 0)
    assert counts(run_dwell, "y.dwell") == COUNTS
    for arguments in (["report"], ["export", "--to", "chrome"]):
        command, *rest = arguments
        one, two = (run_dwell(command, file, *rest).stdout for file in ("x.dwell", "y.dwell"))
        assert one == two


def test_a_timeline_has_regions_and_samples_side_by_side(run_dwell, program):
    program("-q", "--timeline")
    done = run_dwell("export", "x.dwell", "--to", "chrome")
    assert done.stderr == ""
    events = json.loads(done.stdout)["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    assert sorted(names.values()) == [
        "MainThread",
        "MainThread: samples",
        "helper",
        "helper: samples",
    ]
    slices = slices_of(events)
    (region,) = slices[number_of(names, "MainThread"), "prepare"]
    sampled = slices[number_of(names, "MainThread: samples"), "prepare"]
    assert sum(end - begin for begin, end in sampled) > 0.05e6
    # A slice ends when its last sample was taken. It may begin too early: how long the thread had
    # no CPU meanwhile is not known.
    inside = [end for _, end in sampled if region[0] <= end <= region[1] + 1000]
    assert_above(0.9 * len(sampled), len(inside))


def number_of(names, name):
    (tid,) = [number for number, known in names.items() if known == name]
    return tid


def slices_of(events):
    """Begin and end of all slices, by thread and name; they must nest."""
    found, stacks = {}, {}
    for event in events:
        stack = stacks.setdefault(event["tid"], [])
        if event["ph"] == "B":
            stack.append(event)
        elif event["ph"] == "E":
            begun = stack.pop()
            assert begun["ts"] <= event["ts"]
            times = found.setdefault((event["tid"], begun["name"]), [])
            times.append((begun["ts"], event["ts"]))
    assert not any(stacks.values())
    return found


FLUSHED_S = 1.2  # after so long what came before is on disk: a flush is due twice a second

KILLED = f"""
import os, signal, time
import dwell
FLUSHED_S = {FLUSHED_S}

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

for _ in range(5):
    with dwell.region("round"):
        burn(0.1)
with dwell.region("open"):
    print(os.getpid(), flush=True)
    time.sleep(FLUSHED_S)
"""


def test_a_killed_program_leaves_both(run_dwell, program):
    program("-q", source=KILLED + "    os.kill(os.getpid(), signal.SIGKILL)\n")
    check_killed(run_dwell)


def test_both_are_on_disk_when_dwell_is_killed_too(tmp_path, run_dwell, dwell_program):
    (tmp_path / "program.py").write_text(KILLED + "    time.sleep(60)\n")
    command = [dwell_program, "run", "-o", "x.dwell", "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as dwell:
        assert dwell.stdout.readline()
        time.sleep(FLUSHED_S)
        dwell.send_signal(signal.SIGKILL)
    check_killed(run_dwell)
    assert [path.name for path in tmp_path.glob("x*")] == ["x.dwell"]


def check_killed(run_dwell):
    assert checked(run_dwell) == (1, 1)
    assert counts(run_dwell) == {"<main>": 1, "round": 5, "open": 0}
    done = run_dwell("report", "x.dwell", "--by", "function", "--format", "json")
    (burn,) = [row for row in json.loads(done.stdout)["rows"] if row["name"] == "burn"]
    assert 0.35 < burn["cpu"]["total"] / 1e9 < 0.75


def test_children_have_both(tmp_path, run_dwell, program):
    done = program(
        "--keep",
        source="""
import os, warnings
import dwell
warnings.simplefilter("error")

def descend(depth):
    with dwell.region(f"depth {depth}"):
        sum(range(5_000_000))
    pid = depth < 2 and os.fork()
    if pid:
        assert os.waitpid(pid, 0)[1] == 0
    elif depth < 2:
        descend(depth + 1)
        os._exit(0)

descend(0)
""",
    )
    assert done.returncode == 0, done.stderr
    assert "2 children" in done.stderr
    children = sorted(tmp_path.glob("x.*.dwell"))
    assert len(children) == 2
    for file in children:
        assert checked(run_dwell, file) == (1, 0)
        assert "descend" in run_dwell("report", file, "--by", "function").stdout
    assert checked(run_dwell, "x.dwell") == (3, 0)
    assert [counts(run_dwell)[f"depth {depth}"] for depth in range(3)] == [1, 1, 1]


def test_sampling_and_install_in_one_process(tmp_path, run_dwell, python_program):
    done = python_program("""
import time
import dwell
profiler = dwell.install(dwell.reporters.SilentReporter())
def burn():
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass
with dwell.region("before"):
    with dwell.sampling() as samples:
        with dwell.region("inside"):
            burn()
sampled = {row["name"]: row for row in samples.result.rows}
print(sampled["burn"]["total_ns"] > 2e8, "inside" in sampled)
rows = {row["name"]: row for row in profiler.snapshot().rows}
print(sorted(rows), rows["inside"]["count"], rows["inside"]["total_ns"] >= 3e8)
""")
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["True False", "['<main>', 'before', 'inside'] 1 True"]


def test_one_file_for_install_and_start(tmp_path, run_dwell, python_program):
    done = python_program("""
import dwell
dwell.install(dwell.reporters.SilentReporter(), log_file="x.dwell", timeline=True)
for _ in range(3):
    with dwell.region("round"):
        dwell.start("x.dwell", timeline=True)
        sum(range(5_000_000))
        dwell.stop()
""")
    assert (done.returncode, done.stderr) == (0, "")
    assert checked(run_dwell) == (1, 0)
    assert counts(run_dwell) == {"<main>": 1, "round": 3}
    report = json.loads(run_dwell("report", "x.dwell", "--format", "json").stdout)
    assert len(report["sampling"]) == 1
    assert report["measures"][1]["all"] > 50
