# SPDX-License-Identifier: MIT
"""`dwell time`: real interpreters, real revisions, and an exit status that can be relied on."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..measured import off_unless, repeated

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


@pytest.mark.accuracy
@pytest.mark.any_python
@repeated
def test_fibonacci_forth_back_and_with_itself(tmp_path, run_dwell):
    (tmp_path / "fib.py").write_text(FIB)
    setup = ("--min-time", "0.01", "-s", "from fib import fib_dm, fib_dbu")
    forth = run_dwell("time", *setup, "fib_dm(100)", "fib_dbu(100)").stdout.splitlines()
    back = run_dwell("time", *setup, "fib_dbu(100)", "fib_dm(100)").stdout.splitlines()
    same = run_dwell("time", *setup, "--confidence", "99.99", "fib_dbu(100)", "fib_dbu(100)").stdout
    assert re.fullmatch(r"A: fib_dm\(100\)   " + LINE.format(40), forth[0])
    assert re.fullmatch(r"B: fib_dbu\(100\)  " + LINE.format(40), forth[1])
    assert re.fullmatch(r"B is \d+\.\d+x faster than A \(95 % CI \d+\.\d+–\d+\.\d+\)", forth[2])
    assert re.fullmatch(r"B is \d+\.\d+x slower than A \(95 % CI \d+\.\d+–\d+\.\d+\)", back[2])
    no_difference = (
        r"no difference larger than [\d.]+ % could be seen between A and B \(99.99 % CI\)"
    )
    off_unless(re.fullmatch(no_difference, same.splitlines()[2]) is not None, same)


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
    stopped = ("-n", "1", "-s", "import time; time.perf_counter_ns = lambda: 0")
    done = timed("1", "2", *stopped, "--fail-if", "slower 5%")
    assert done.returncode == 2
    assert "too short to be compared" in done.stdout
    assert "inf" not in done.stdout + done.stderr
    found = timed("1", "2", *stopped, "--json")
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
        (
            ["1", "2", "--fail-if", "soon"],
            "'soon' is not like 'slower 5%', 'slower 1.05x' or 'larger 5%'",
        ),
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
