# SPDX-License-Identifier: MIT
"""`dwell time`: real interpreters, real revisions, and an exit status that can be relied on."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from contextlib import closing
from pathlib import Path

import pytest

LINE = (
    r"[\d.]+ [mµn]?s ± [\d.]+ [mµn]?s per loop "
    r"\(mean ± std. dev. of {} runs?, [\d,]+ loops? each\)"
)
FIB = """\
def fib_dm_helper(n,mem):
    if mem[n] is not None:
        return mem[n]
    elif (n==1 or n==2):
        result = 1
    else:
        result = fib_dm_helper(n - 1, mem) + fib_dm_helper(n - 2, mem)
    mem[n]=result
    return result

def fib_dm(n):
    mem=[None]*(n+1)
    return fib_dm_helper(n, mem)

def fib_dbu(n):
    mem=[None]*(n+1)
    mem[1]=1;
    mem[2]=1;
    for i in range(3,n+1):
        mem[i] = mem[i-1] + mem[i-2]
    return mem[n]
"""


@pytest.fixture
def timed(run_dwell):
    """Short runs: how long they take is not what is tested."""

    def run(*args, **options):
        return run_dwell("time", "--min-time", "0.002", *args, **options)

    return run


def test_one_statement(timed):
    done = timed("-r", "20", '"-".join(str(n) for n in range(100))')
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert re.fullmatch(LINE.format(20), first)
    assert re.fullmatch(r"median [\d.]+ µs, 95.9 % CI [\d.]+ µs to [\d.]+ µs", second)


def test_loops_and_runs_are_as_asked(timed):
    done = timed("-n", "500", "-r", "3", "--json", "pass")
    timing = json.loads(done.stdout)["timings"][0]
    assert (timing["loops"], timing["repeat"], len(timing["runs_ns"])) == (500, 3, 3)


def test_setup_and_order_of_words(timed):
    done = timed("x + y", "-s", "x = 1", "-n", "10", "-s", "y = 2")
    assert done.returncode == 0, done.stderr


def test_fibonacci_forth_back_and_with_itself(tmp_path, run_dwell):
    (tmp_path / "fib.py").write_text(FIB)
    setup = ("-s", "from fib import fib_dm, fib_dbu")
    forth = run_dwell("time", *setup, "fib_dm(100)", "fib_dbu(100)").stdout.splitlines()
    back = run_dwell("time", *setup, "fib_dbu(100)", "fib_dm(100)").stdout.splitlines()
    same = run_dwell("time", *setup, "--confidence", "99.99", "fib_dbu(100)", "fib_dbu(100)").stdout
    assert re.fullmatch(r"A: fib_dm\(100\)   " + LINE.format(40), forth[0])
    assert re.fullmatch(r"B: fib_dbu\(100\)  " + LINE.format(40), forth[1])
    assert re.fullmatch(r"B is \d+\.\d+x faster than A \(95 % CI \d+\.\d+–\d+\.\d+\)", forth[2])
    assert re.fullmatch(r"B is \d+\.\d+x slower than A \(95 % CI \d+\.\d+–\d+\.\d+\)", back[2])
    assert re.fullmatch(
        r"no difference larger than [\d.]+ % could be seen between A and B \(99.99 % CI\)",
        same.splitlines()[2],
    )


@pytest.mark.parametrize(
    ("limit", "status"),
    [("slower 5%", 1), ("slower 1.05x", 1), ("slower 1000000%", 0), ("faster 5 %", 0)],
)
def test_fail_if(timed, limit, status):
    done = timed("sum(range(10))", "sum(range(2000))", "--fail-if", limit)
    assert done.returncode == status, done.stderr
    assert (f"dwell: B fails: {limit}\n" in done.stderr) == bool(status)


def test_fail_if_that_cannot_be_decided_is_no_pass(timed):
    """Five runs show a large difference and prove nothing."""
    done = timed("sum(range(10))", "sum(range(2000))", "-r", "5", "--fail-if", "slower 5%")
    assert done.returncode == 2
    assert "too few runs to tell B from A" in done.stdout
    assert done.stderr.endswith(
        "dwell: --fail-if cannot be decided: "
        "too few runs to tell B from A: 5 of each, and 6 are needed\n"
    )
    done = timed("1", "2", "--processes", "3", "-r", "1", "--fail-if", "slower 5%")
    assert done.returncode == 2
    assert "too few processes to tell B from A: 3 of each" in done.stderr


def test_times_of_zero_are_not_compared(timed):
    done = timed("pass", "pass", "-n", "1", "--subtract-overhead", "--fail-if", "slower 5%")
    assert done.returncode == 2
    assert "too short to be compared" in done.stdout
    assert "inf" not in done.stdout + done.stderr
    found = timed("pass", "pass", "-n", "1", "--subtract-overhead", "--json")
    assert json.loads(found.stdout)["comparisons"][0]["ratio"] is None


def test_one_run_has_no_interval(timed):
    done = timed("-r", "1", "-n", "10", "pass")
    assert re.fullmatch(r"median [\d.]+ [nµm]s", done.stdout.splitlines()[1])


def test_p_is_of_the_test_that_decides(timed):
    done = timed("sum(range(10))", "sum(range(2000))", "--json")
    found = json.loads(done.stdout)["comparisons"][0]
    assert (found["p_value"] <= 0.05) == (found["outcome"] != "same")
    assert 0 < found["mann_whitney_p"] < 0.05
    assert found["mann_whitney_p"] != found["p_value"]


def test_runs_are_kept_though_nobody_reads_them(tmp_path, dwell_program):
    """A reader that is gone already: what is kept is there, and the status is right."""
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [dwell_program, "time", "-n", "10", "pass", "-o", "x.dwell"],
        cwd=tmp_path,
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
    assert (tmp_path / "x.dwell").stat().st_size > 0


def test_what_the_terminal_cannot_show_is_replaced(timed):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = timed("-n", "10", "pass", "-o", "x.dwell", env=environment)
    assert done.returncode == 0, done.stderr
    assert " ? " in done.stdout


@pytest.mark.parametrize(
    "options", [("-o", "no/x.dwell"), ("--save", "x", "--history-file", "no/h.sqlite")]
)
def test_what_cannot_be_written_is_said_before_measuring(tmp_path, timed, options):
    done = timed(f"open({str(tmp_path / 'ran')!r}, 'w')", "-n", "1", *options)
    assert done.returncode == 2
    assert done.stderr == f"dwell: {options[-1]}: No such file or directory\n"
    assert not (tmp_path / "ran").exists()


def test_nothing_is_left_where_nothing_could_be_measured(tmp_path, timed):
    timed("1 / 0", "-o", "x.dwell")
    timed("1 / 0", "--save", "x", "--history-file", "h.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_json_has_no_infinity(timed):
    def refuse(word):
        pytest.fail(f"{word} is no JSON")

    done = timed("1", "2", "-r", "5", "-n", "10", "--json")
    found = json.loads(done.stdout, parse_constant=refuse)
    assert found["comparisons"][0]["ci"] is None
    assert found["comparisons"][0]["outcome"] == "unknown"
    assert found["machine"]["cores"] == str(os.cpu_count())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "there is no statement to time"),
        (["1", "--fail-if", "slower 5%"], "--fail-if needs two things to compare"),
        (["1", "2", "--fail-if", "soon"], "'soon' is not like 'slower 5%' or 'slower 1.05x'"),
        (["1", "2", "--fail-if", "slower 0.5x"], "the factor must be at least 1"),
        (["-r", "0", "1"], "'0' is not a number of 1 or more"),
        (["--nonsense", "1"], "unrecognized arguments: --nonsense"),
        (["--history", "x", "1"], "--history takes no statement"),
        (["--svg", "x.svg", "1"], "--svg goes with --history"),
        (["--confidence", "100", "1"], "'100' is not from 50 to below 100"),
    ],
)
def test_bad_usage(run_dwell, arguments, sentence):
    done = run_dwell("time", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("dwell: time: ")
    assert sentence in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-s", "from os import *", "1"], "import * only allowed at module level (<setup>, line 1"),
        (["-s", "x = 1\ny = 2", "x\n1 +"], "SyntaxError: invalid syntax (<statement>, line 2)\n"),
        (["1", "1 / 0"], "dwell: ZeroDivisionError: division by zero; while timing 1 / 0\n"),
        (["1", "1 +"], "(<statement>, line 1); while timing 1 +\n"),
        (["exit(3)"], "dwell: the code ended the process: SystemExit: 3\n"),
        (["--processes", "1", "exit(3)"], "exit(3): the code ended the process: SystemExit: 3\n"),
        (["1 / 0"], "dwell: ZeroDivisionError: division by zero\n"),
        (["--processes", "2", "1 / 0"], "dwell: 1 / 0: ZeroDivisionError: division by zero\n"),
        (["--python", "no/such", "1"], "dwell: no/such: No such file or directory\n"),
        (["--history", "x"], "no such file; 'dwell time --save x STMT' makes it\n"),
        (["--rev", "main", "1"], "not a git repository"),
        (["-n", "1", "-o", "no/such/x.dwell", "1"], "no/such/x.dwell: No such file or directory\n"),
    ],
)
def test_trouble_is_one_line(run_dwell, arguments, sentence):
    done = run_dwell("time", *arguments, env={**os.environ, "GIT_CEILING_DIRECTORIES": "/"})
    assert done.returncode == 2
    last = done.stderr.splitlines(keepends=True)[-1]
    assert last.startswith("dwell: ")
    assert sentence in last


def test_help_explains(run_dwell):
    done = run_dwell("time", "--help")
    assert done.returncode == 0
    assert "whole interval" in done.stdout and "examples:" in done.stdout
    assert "--confidence 95" in done.stdout and "2 for trouble" in done.stdout
    assert "  time " in run_dwell("--help").stdout


def test_modules_of_this_directory_are_found_and_ours_not_hidden(tmp_path, timed):
    (tmp_path / "here.py").write_text("value = 1\n")
    (tmp_path / "dwell").mkdir()
    (tmp_path / "json.py").write_text("raise SystemExit('hidden')\n")
    assert timed("-s", "import here", "here.value").returncode == 0
    (tmp_path / "timing.py").write_text("mine = 1\n")
    done = timed("--processes", "2", "-s", "import here, timing", "timing.mine")
    assert done.returncode == 0, done.stderr


def test_what_the_code_prints_stays_out_of_the_answer(timed):
    done = timed("--processes", "2", "-n", "1", "--json", "print('noise')")
    json.loads(done.stdout)
    assert "noise" in done.stderr


def other_pythons():
    tool = Path(__file__).parents[2] / "tools" / "pythons"
    return subprocess.run([tool], capture_output=True, text=True).stdout.split()


def test_two_interpreters_without_dwell(timed):
    """Each tells its own version."""
    pythons = other_pythons()[:2]
    if len(pythons) < 2:
        pytest.skip("there is one Python only")
    options = [word for path in pythons for word in ("--python", path)]
    done = timed(*options, "--processes", "6", "-r", "2", "--json", "sum(range(100))")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [timing["name"] for timing in found["timings"]] == pythons
    versions = {timing["properties"]["python"] for timing in found["timings"]}
    assert len(versions) == 2
    assert found["comparisons"][0]["outcome"] in ("same", "faster", "slower")


def git(directory, *arguments):
    names = {
        f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env={**os.environ, **names},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """Two commits: f adds up 10 numbers, then 3000; the working tree has 10 again."""
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    git(tmp_path, "init", "-q")
    for count in (10, 3000):
        (package / "__init__.py").write_text(f"def f():\n    return sum(range({count}))\n")
        git(tmp_path, "add", "src")
        git(tmp_path, "commit", "-qm", f"{count} numbers")
    (package / "__init__.py").write_text("def f():\n    return sum(range(10))\n")
    return tmp_path


def leftovers():
    return set(Path(tempfile.gettempdir()).glob("dwell-time-*"))


REVISIONS = ("--rev", "HEAD~1", "--rev", "HEAD", "-s", "from package import f", "f()")


def is_clean(repository, before):
    trees = git(repository, "worktree", "list").splitlines()
    return len(trees) == 1 and not leftovers() - before


@pytest.mark.parametrize("path", ["relative", "absolute"])
def test_two_revisions(repository, timed, path):
    before = leftovers()
    source = "src" if path == "relative" else str(repository / "src")
    environment = {**os.environ, "PYTHONPATH": source}
    done = timed(
        *REVISIONS, "--processes", "6", "-r", "2", "--fail-if", "slower 2x", env=environment
    )
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("A: HEAD~1  ") and lines[1].startswith("B: HEAD    ")
    assert re.match(r"B is [\d.]+x slower than A", lines[2])
    assert is_clean(repository, before)


def test_the_working_tree_beside_a_revision(repository, timed):
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = timed(
        *("--rev", "HEAD", "--rev", ".", "-s", "from package import f", "f()"),
        *("--processes", "6", "-r", "2"),
        env=environment,
    )
    assert re.match(r"B is [\d.]+x faster than A", done.stdout.splitlines()[2]), done.stderr


def test_revisions_in_an_interpreter_named_from_here(repository, timed):
    (repository / "bin").symlink_to(Path(sys.executable).parent)
    done = timed(
        *("--rev", "HEAD", "--python", "bin/" + Path(sys.executable).name),
        *("-n", "1", "--processes", "1", "pass"),
    )
    assert done.returncode == 0, done.stderr


def test_a_revision_from_below(repository, timed):
    """In a subdirectory the same one of the revision is used."""
    done = timed(
        *("--rev", "HEAD~1", "--rev", "HEAD", "-n", "1", "-r", "1", "--processes", "1"),
        *("-s", "from package import f", "f()"),
        cwd=repository / "src",
    )
    assert done.returncode == 0, done.stderr


def test_trees_are_gone_after_an_error(repository, timed):
    before = leftovers()
    done = timed("--rev", "HEAD", "--rev", "HEAD~1", "1 / 0")
    assert done.returncode == 2
    assert is_clean(repository, before)
    done = timed("--rev", "HEAD", "--rev", "nonsense", "1")
    assert done.stderr == "dwell: nonsense: not a revision of this repository\n"
    assert is_clean(repository, before)


ONCE = ("-n", "1", "-r", "1", "--processes", "1")


def test_trees_of_others_stay_known_while_they_are_away(repository, timed, tmp_path_factory):
    place = tmp_path_factory.mktemp("disk")
    git(repository, "worktree", "add", "-q", "--detach", str(place / "mine"))
    (place / "mine").rename(place / "away")
    done = timed(*ONCE, "--rev", "HEAD", "--rev", "HEAD~1", "1")
    assert done.returncode == 0, done.stderr
    (place / "away").rename(place / "mine")
    assert git(place / "mine", "rev-parse", "HEAD") == git(repository, "rev-parse", "HEAD")
    assert len(git(repository, "worktree", "list").splitlines()) == 2


def fake_git(directory, condition, reaction):
    """A git that does as told when its arguments match, and else what git does."""
    real = shutil.which("git")
    directory.mkdir()
    script = directory / "git"
    script.write_text(f'#!/bin/sh\ncase "$*" in {condition}) {reaction};; esac\nexec {real} "$@"\n')
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


def test_trees_that_git_does_not_remove_are_gone_all_the_same(repository, timed):
    before = leftovers()
    environment = fake_git(repository / "bin", "*worktree*remove*", "exit 1")
    assert timed(*ONCE, "--rev", "HEAD", "1", env=environment).returncode == 0
    assert is_clean(repository, before)


def test_errors_of_git_name_what_it_was_asked(repository, timed):
    environment = fake_git(repository / "bin", "*worktree*add*", "echo no room >&2; exit 1")
    done = timed(*ONCE, "--rev", "HEAD", "1", env=environment)
    assert done.stderr == "dwell: git worktree: no room\n"


def environment_with(directory, pth):
    """A virtual environment whose only package is a line in a .pth file."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    (site,) = directory.glob("lib/python*/site-packages")
    (site / "editable.pth").write_text(pth + "\n")
    return directory / "bin" / "python"


@pytest.mark.parametrize("place", ["inside", "outside"])
def test_an_editable_installation_is_that_of_the_revision(
    repository, timed, place, tmp_path_factory
):
    parent = repository if place == "inside" else tmp_path_factory.mktemp("venv")
    python = environment_with(parent / "venv", str(repository / "src"))
    done = timed(*REVISIONS, "--python", python, "--processes", "6", "-r", "2")
    assert re.match(r"B is [\d.]+x slower than A", done.stdout.splitlines()[2]), done.stderr


def test_an_editable_installation_of_the_root(repository, timed, tmp_path_factory):
    python = environment_with(tmp_path_factory.mktemp("venv") / "venv", str(repository))
    done = timed(
        *("--rev", "HEAD~1", "--rev", "HEAD", "-s", "from src.package import f", "f()"),
        *("--python", python, "--processes", "6", "-r", "2"),
        cwd=repository / "src",
    )
    assert re.match(r"B is [\d.]+x slower than A", done.stdout.splitlines()[2]), done.stderr


def test_modules_of_the_working_tree_are_refused(repository, timed, tmp_path_factory):
    (repository / "build").mkdir()
    (repository / "build" / "stray.py").write_text("")
    python = environment_with(tmp_path_factory.mktemp("venv") / "venv", str(repository / "build"))
    done = timed(*ONCE, "--rev", "HEAD", "--python", python, "-s", "import stray", "1")
    assert done.returncode == 2
    file = repository / "build" / "stray.py"
    assert done.stderr.endswith(f": module stray is that of {file}, not of the revision\n")
    done = timed(*ONCE, "--rev", ".", "--python", python, "-s", "import stray", "1")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_trees_are_gone_after_a_signal(repository, dwell_program, number):
    before = leftovers()
    marker = repository / "started"
    statement = f"import time; open({str(marker)!r}, 'w').close(); time.sleep(60)"
    child = subprocess.Popen(
        [dwell_program, "time", "--rev", "HEAD", "--rev", "HEAD~1", statement],
        cwd=repository,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not marker.exists():
        assert child.poll() is None
        time.sleep(0.01)
    assert leftovers() - before
    child.send_signal(number)
    _, errors = child.communicate(timeout=30)
    assert child.returncode == -number
    assert "Traceback" not in errors
    assert is_clean(repository, before)


def test_a_log_is_reported(tmp_path, timed, run_dwell):
    done = timed("sum(range(10))", "sum(range(2000))", "-o", "x.dwell")
    report = run_dwell("report", "x.dwell")
    assert report.returncode == 0
    assert report.stdout.splitlines()[0].split() == [
        *("name", "median", "from", "to", "mean", "stdev", "runs", "loops")
    ]
    assert done.stdout.splitlines()[2] in report.stdout
    run_dwell("merge", "x.dwell", "-o", "merged.dwell")
    assert run_dwell("report", "merged.dwell").stdout == report.stdout
    properties = json.loads(run_dwell("report", "x.dwell", "--format", "json").stdout)["processes"][
        0
    ]["properties"]
    assert properties["argv"].endswith("'sum(range(2000))' -o x.dwell")
    assert {"cpu", "cores", "load", "kernel", "python_build"} <= set(properties)


def test_fresh_processes_in_a_log_are_units(timed, run_dwell):
    done = timed("1", "[1] * 500", "--processes", "6", "-r", "3", "-o", "x.dwell")
    assert done.stdout.splitlines()[2] in run_dwell("report", "x.dwell").stdout


def test_history_over_commits(repository, timed, run_dwell):
    environment = {**os.environ, "PYTHONPATH": "src"}
    saved = timed(*REVISIONS, "--processes", "6", "-r", "2", "--save", "f", env=environment)
    assert saved.returncode == 0, saved.stderr
    assert (repository / ".dwell-history.sqlite").exists()
    shown = run_dwell("time", "--history", "f", "--svg", "f.svg", cwd=repository / "src")
    first, second, axis = shown.stdout.splitlines()
    assert git(repository, "rev-parse", "--short=12", "HEAD~1") in first
    assert git(repository, "rev-parse", "--short=12", "HEAD") in second
    assert "●" in first and re.search(r"●.*x slower$", second)
    picture = ElementTree.parse(repository / "src" / "f.svg").getroot()
    circles = picture.findall("{http://www.w3.org/2000/svg}circle")
    assert [circle.get("class") for circle in circles] == ["", "slower"]


def test_history_of_several_statements_has_names_of_its_own(tmp_path, timed, run_dwell):
    timed("1", "2", "--save", "ints", "--history-file", "h.sqlite")
    rows = sqlite3.connect(tmp_path / "h.sqlite").execute("SELECT name FROM timing").fetchall()
    assert rows == [("ints: 1",), ("ints: 2",)]
    missing = run_dwell("time", "--history", "ints", "--history-file", "h.sqlite")
    assert missing.returncode == 2
    assert missing.stderr.endswith("no timings of 'ints'; there are: ints: 1, ints: 2\n")


def test_what_is_saved_is_of_fresh_processes(tmp_path, timed):
    timed("1", "--save", "x", "--history-file", "h.sqlite")
    timed("1", "--save", "x", "--history-file", "h.sqlite", "--processes", "2", "-r", "3")
    connection = sqlite3.connect(tmp_path / "h.sqlite")
    rows = connection.execute("SELECT run_group, runs_ns, python FROM timing").fetchall()
    assert [(group, len(json.loads(runs))) for group, runs, _ in rows] == [(5, 50), (3, 6)]
    assert {python for _, _, python in rows} == {sys.version.split()[0]}


def test_looking_at_a_history_writes_nothing(tmp_path, timed, run_dwell):
    timed(*ONCE, "1", "--save", "x", "--history-file", "h #1?.sqlite")
    file = tmp_path / "h #1?.sqlite"
    before = file.read_bytes()
    shown = run_dwell("time", "--history", "x", "--history-file", file.name)
    assert shown.returncode == 0, shown.stderr
    assert file.read_bytes() == before
    (tmp_path / "empty.sqlite").touch()
    run_dwell("time", "--history", "x", "--history-file", "empty.sqlite")
    assert (tmp_path / "empty.sqlite").read_bytes() == b""


@pytest.mark.parametrize("words", [("--save", "x", "1"), ("--history", "x")])
def test_databases_of_others_are_refused(tmp_path, timed, words):
    file = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE timing (id)")
    before = file.read_bytes()
    done = timed(*words, "--history-file", file.name)
    assert done.returncode == 2
    assert done.stderr == "dwell: other.sqlite: a database of another program\n"
    assert file.read_bytes() == before


def made_up_history(file, processes=True, spread_ns=1000):
    """Three commits, the second of them much slower, and files changed after the last."""
    from dwell import _history
    from dwell.timing import Timing

    for revision, around in (("a" * 12, 1e6), ("b" * 12, 2e6), ("c" * 12 + "+", 2e6)):
        runs = [int(around) + at * 7 % 10 * spread_ns for at in range(20)]
        timing = Timing("x", 1, runs, group=2 if processes else 0)
        _history.add(str(file), "x", timing, revision, {})


@pytest.mark.parametrize("processes", [True, False])
def test_only_processes_are_told_apart(tmp_path, run_dwell, processes):
    made_up_history(tmp_path / "h.sqlite", processes)
    shown = run_dwell("time", "--history", "x", "--history-file", "h.sqlite")
    assert ("x slower" in shown.stdout) == processes


@pytest.mark.parametrize("width", [60, 80, 200])
def test_plots_fit_the_terminal(tmp_path, run_dwell, width):
    made_up_history(tmp_path / "h.sqlite")
    shown = run_dwell(
        *("time", "--history", "x", "--history-file", "h.sqlite"),
        env={**os.environ, "COLUMNS": str(width)},
    )
    widest = max(map(len, shown.stdout.splitlines()))
    assert width - 3 <= widest <= width
    assert ("●" in shown.stdout) == (width > 60)


def test_labels_of_a_picture_are_whole(tmp_path, run_dwell):
    made_up_history(tmp_path / "h.sqlite", spread_ns=3_000_000)
    run_dwell("time", "--history", "x", "--history-file", "h.sqlite", "--svg", "x.svg")
    texts = (
        ElementTree.parse(tmp_path / "x.svg").getroot().findall("{http://www.w3.org/2000/svg}text")
    )
    assert (texts[-1].text, texts[-1].get("text-anchor")) == ("ccccccccc+", "end")
    assert not any((text.text or "").startswith("-") for text in texts)


def test_a_file_that_is_no_history_is_left_alone(tmp_path, timed):
    (tmp_path / "h.sqlite").write_text("this is no database, however long it may be" * 30)
    done = timed("1", "--save", "x", "--history-file", "h.sqlite")
    assert done.returncode == 2
    assert done.stderr == "dwell: h.sqlite: file is not a database\n"
    assert (tmp_path / "h.sqlite").read_text().startswith("this is no database")


def test_the_worker_runs_on_old_pythons():
    """The oldest interpreter there is, down to 3.8, which need not know dwell."""
    worker = Path(sys.modules["dwell"].__file__).parent / "_time_worker.py"
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(versions.glob("3.8.*/bin/python")) + sorted(versions.glob("3.9.*/bin/python"))
    if not found:
        pytest.skip("no old Python is here")
    request = {
        "stmt": "x + 1",
        "setup": "x = 1",
        "path": None,
        "loops": 10,
        "runs": 3,
        "enough_ns": 1000,
        "collect": False,
        "subtract_overhead": True,
    }
    done = subprocess.run(
        [found[0], worker], input=json.dumps(request), capture_output=True, text=True, check=True
    )
    assert len(json.loads(done.stdout)["runs_ns"]) == 3
