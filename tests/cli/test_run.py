# SPDX-License-Identifier: MIT
"""`dwell run` runs a program exactly as Python would, and records it."""

import fnmatch
import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest

from ..conftest import PATIENCE_S
from ..measured import assert_between, repeated

SHOW = """
import json, os, sys, traceback
frame, depth = sys._getframe(), 0
while frame.f_back:
    frame, depth = frame.f_back, depth + 1
print(json.dumps([sys.argv, sys.path[0], sys.flags.isolated, __name__, globals().get("__file__"),
                  type(__loader__).__name__, str(__spec__)[:20], depth, sys.orig_argv[1:],
                  sorted(k for k in os.environ if "DWELL_" in k and k != "DWELL_RUN"),
                  sys.getprofile(), sys.gettrace()]))
"""


def rows(run_dwell, log, *columns):
    done = run_dwell("report", log, "--format", "csv", "--columns", ",".join(columns))
    return [line.split(",") for line in done.stdout.splitlines()[1:]]


@pytest.mark.parametrize(
    "arguments",
    [
        ["show.py"],
        ["show.py", "a b", "--flag"],
        ["-m", "show", "x"],
        ["-c", SHOW, "1", "-m"],
        ["."],
    ],
    ids=["script", "arguments", "module", "code", "directory"],
)
def test_the_program_sees_what_it_sees_without_us(tmp_path, run_dwell, arguments):
    (tmp_path / "show.py").write_text(SHOW)
    (tmp_path / "__main__.py").write_text(SHOW)
    plain = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    ours = run_dwell("run", "-q", "-o", "x.dwell", *arguments)
    assert ours.stdout == plain.stdout
    assert json.loads(ours.stdout)
    assert ours.stderr == ""


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit('bye')", 1),
        ("import os; os._exit(4)", 4),
        ("1 / 0", 1),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("import os; os.abort()", -signal.SIGABRT),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
def test_exit_status_and_output_are_the_programs(tmp_path, run_dwell, code, status):
    plain = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    ours = run_dwell("run", "-q", "-o", "x.dwell", "-c", code)
    assert (ours.returncode, ours.stdout, ours.stderr) == (status, plain.stdout, plain.stderr)
    assert ours.returncode == plain.returncode


def test_regions_of_a_program_that_never_installed(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell\nfor _ in range(3):\n    with dwell.region('work'):\n        pass\n"
    )
    done = run_dwell("run", "--regions", "-o", "x.dwell", "program.py")
    assert ". work" in done.stderr
    assert "dwell: recorded in x.dwell; next:\n" in done.stderr
    assert rows(run_dwell, "x.dwell", "name", "count") == [["<main>", "1"], ["work", "3"]]


def test_a_program_that_installs_itself_reports_too(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell\n"
        "dwell.install(chrome_trace_file='t.json')\n"
        "with dwell.region('x'):\n    pass\n"
    )
    done = run_dwell("run", "-q", "-o", "x.dwell", "program.py")
    assert done.stderr.count(". x") == 1
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [event["ph"] for event in events if event.get("name") == "x"] == ["B", "E"]
    assert (tmp_path / "x.dwell").exists()


def test_default_file_is_named_after_the_program(tmp_path, run_dwell):
    (tmp_path / "some.script.py").write_text("pass")
    run_dwell("run", "-q", "some.script.py")
    (log,) = tmp_path.glob("*.dwell")
    assert log.name.startswith("some.script.") and log.name.split(".")[-2].isdigit()


def test_signals_reach_the_program(tmp_path, dwell_program):
    (tmp_path / "program.py").write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(7))\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)\n"  # a signal just before a long sleep would wait for it
    )
    process = subprocess.Popen(
        [dwell_program, "run", "-q", "-o", "x.dwell", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.wait(PATIENCE_S) == 7


def test_killing_dwell_kills_the_program(tmp_path, dwell_program):
    (tmp_path / "program.py").write_text(
        "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n"
    )
    process = subprocess.Popen(
        [dwell_program, "run", "-q", "-o", "x.dwell", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    for _ in range(500):
        try:
            state = open(f"/proc/{pid}/stat").read().split()[2]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    pytest.fail("the program lives on")


@repeated
def test_killed_program_leaves_all_but_the_last_second(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, os, time\n"
        "start = time.monotonic()\n"
        "with dwell.region('loop'):\n"
        "    done = 0\n"
        "    while time.monotonic() < start + 2.5:\n"
        "        with dwell.region('step'):\n"
        "            time.sleep(0.005)\n"
        "        done += 1\n"
        "        if time.monotonic() < start + 1.5:\n"
        "            early = done\n"
        "    print(early, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = run_dwell("run", "--regions", "--timeline", "-o", "x.dwell", "program.py")
    early = int(done.stdout)
    assert done.returncode == -9
    assert "did not close this log" in done.stderr
    (main, loop, step) = rows(run_dwell, "x.dwell", "name", "count", "total_us")
    assert (loop[0], loop[1], step[0]) == ("loop", "0", "step")
    assert_between(1_400_000, int(loop[2]), math.inf)
    assert_between(early - 1, int(step[1]), math.inf)
    trace = json.loads(run_dwell("export", "x.dwell", "--to", "chrome").stdout)["traceEvents"]
    assert_between(early - 1, sum(e.get("name") == "step" for e in trace), math.inf)


def test_forked_children_have_files_of_their_own(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, os, warnings\n"
        "warnings.simplefilter('error')\n"
        "with dwell.region('outer'):\n"
        "    for _ in range(3):\n"
        "        pid = os.fork()\n"
        "        if pid == 0:\n"
        "            with dwell.region('child'):\n"
        "                pass\n"
        "            os._exit(0)\n"
        "        os.waitpid(pid, 0)\n"
        "        with dwell.region('parent'):\n"
        "            pass\n"
    )
    done = run_dwell("run", "--keep", "--regions", "-o", "x.dwell", "program.py")
    assert done.returncode == 0, done.stderr
    assert "3 children" in done.stderr
    merged = dict(rows(run_dwell, "x.dwell", "name", "count"))
    assert (merged["child"], merged["parent"], merged["<main>"]) == ("3", "3", "4")
    children = sorted(tmp_path.glob("x.*.dwell"))
    assert len(children) == 3
    for child in children:
        assert [r for r in rows(run_dwell, child, "name", "count") if r[0] == "child"] == [
            ["child", "1"]
        ]


def test_multiprocessing_children_are_recorded(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, multiprocessing\n"
        "def work(n):\n"
        "    with dwell.region('work'):\n"
        "        return n * n\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "        print(sum(pool.map(work, range(10))))\n"
        "        pool.close()\n"
        "        pool.join()\n"
    )
    done = run_dwell("run", "--regions", "-o", "x.dwell", "program.py")
    assert done.stdout == "285\n"
    assert dict(rows(run_dwell, "x.dwell", "name", "count"))["work"] == "10"


def test_exec_keeps_what_was_recorded(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, os\n"
        "with dwell.region('before'):\n    pass\n"
        "try:\n    os.execv('/no/such/program', ['x'])\n"
        "except OSError:\n    pass\n"
        "with dwell.region('after'):\n    pass\n"
        "os.execv('/bin/echo', ['echo', 'replaced'])\n"
    )
    done = run_dwell("run", "--regions", "-o", "x.dwell", "program.py")
    assert done.stdout == "replaced\n"
    assert "did not close" not in done.stderr
    names = {r[0] for r in rows(run_dwell, "x.dwell", "name")}
    assert names == {"<main>", "before", "after"}


def test_a_program_that_changes_its_directory(tmp_path, run_dwell):
    done = run_dwell("run", "-q", "-o", "x.dwell", "-c", "import os; os.chdir('/')")
    assert done.returncode == 0
    assert (tmp_path / "x.dwell").exists()


def test_threads_that_outlive_main(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, threading, time\n"
        "def work():\n"
        "    time.sleep(0.1)\n"
        "    with dwell.region('late'):\n        pass\n"
        "threading.Thread(target=work).start()\n"
    )
    run_dwell("run", "--regions", "-q", "-o", "x.dwell", "program.py")
    assert ["late", "1"] in rows(run_dwell, "x.dwell", "name", "count")


def test_a_file_that_cannot_grow_costs_only_its_tail(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, resource\n"
        "with dwell.region('first'):\n    pass\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "for i in range(300000):\n"
        "    with dwell.region('x'):\n        pass\n"
        "print(dwell.snapshot()['x']['count'])\n"
    )
    done = run_dwell("run", "--regions", "--timeline", "-o", "x.dwell", "program.py")
    assert (done.returncode, done.stdout) == (0, "300000\n")
    assert done.stderr.count("File too large; recording goes on without the file") == 1
    checked = run_dwell("check", "x.dwell")
    assert checked.returncode == 1
    assert "1 damaged part" in checked.stdout + checked.stderr


@pytest.mark.any_python
def test_a_log_that_cannot_be_made(tmp_path, run_dwell):
    for name, reason in (
        ("no/such/dir/x.dwell", "No such file or directory"),
        (".", "Is a directory"),
        (f"{tmp_path}", "Is a directory"),
        ("some.py/x.dwell", "Not a directory"),
        ("/proc/x.dwell", "No such file or directory"),
        ("x" * 300, "File name too long"),
    ):
        (tmp_path / "some.py").write_text("")
        done = run_dwell("run", "-o", name, "-c", "print('runs')")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"dwell: {name}: {reason}; the program was not started\n"


@pytest.mark.parametrize("options", [[], ["--calls"], ["--lines"]])
def test_a_program_that_fails_at_once_has_the_last_word(tmp_path, run_dwell, options):
    plain = subprocess.run(
        [sys.executable, "nosuch.py"], capture_output=True, text=True, cwd=tmp_path
    )
    options = ["--python", sys.executable, *options]
    done = run_dwell("run", *options, "nosuch.py")
    assert done.returncode == plain.returncode != 0
    assert done.stderr == plain.stderr
    assert list(tmp_path.iterdir()) == []
    done = run_dwell("run", *options, "-o", "x.dwell", "nosuch.py")
    assert done.stderr == plain.stderr
    assert run_dwell("check", "x.dwell").returncode == 0  # a file that was asked for is made


def test_what_a_program_recorded_before_it_failed_is_reported(run_dwell):
    done = run_dwell("run", "--regions", "-c", "import dwell\nwith dwell.region('a'):\n    1 / 0\n")
    assert done.returncode == 1
    assert ". a" in done.stderr and "recorded in" in done.stderr


def test_a_python_without_dwell_is_told(tmp_path, run_dwell):
    done = run_dwell("run", "--python", "/bin/echo", "x.py")
    assert done.stdout == "x.py\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("dwell: ran ")
    assert line.endswith("; nothing was recorded: is dwell installed for /bin/echo?")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "run needs a program"),
        (["run", "--nope", "x.py"], "no option '--nope'"),
        (["run", "--lines", "-f"], "-f needs a function"),
        (["run", "-o"], "-o needs a file"),
        (["run", "--python"], "--python needs an interpreter"),
        (["run", "--python", "/no/python", "-c", "1"], "/no/python: No such file or directory"),
    ],
)
def test_bad_usage_is_one_clear_line(run_dwell, arguments, says):
    done = run_dwell(*arguments)
    assert done.returncode != 0
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_python_dash_m_dwell_is_the_program(tmp_path, run_dwell):
    ours = run_dwell("--version")
    module = subprocess.run(
        [sys.executable, "-m", "dwell", "--version"], capture_output=True, text=True
    )
    assert module.stdout == ours.stdout != ""
    assert os.path.exists(os.path.dirname(sys.executable) + "/dwell")


def test_children_that_ended_long_before_are_in_the_report(tmp_path, run_dwell):
    directory = tmp_path / "a[1]*"
    directory.mkdir()
    (directory / "program.py").write_text(
        "import dwell, os, time\n"
        "if os.fork() == 0:\n"
        "    with dwell.region('child'):\n        pass\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "time.sleep(2.5)\n"
        "with dwell.region('parent'):\n    pass\n"
    )
    done = run_dwell("run", "--regions", "-o", "x.dwell", "program.py", cwd=directory)
    assert ". child" in done.stderr and ". parent" in done.stderr


def test_log_file_of_install_under_dwell_run(tmp_path, run_dwell):
    code = "import dwell; dwell.install(dwell.reporters.SilentReporter(), log_file='own.dwell')"
    run_dwell("run", "-q", "-o", "x.dwell", "-c", code)
    assert run_dwell("check", "own.dwell").returncode == 0


def test_recording_again_after_a_fork_has_one_flusher(python_program):
    done = python_program("""
import os, time
from dwell import _core
for round in range(3):
    _core.start("x.dwell")
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    _core.stop()
_core.start("x.dwell")
def name_of(task):
    try:
        return open(f"/proc/self/task/{task}/comm").read().strip()
    except OSError:  # it has just ended
        return None
def flushers():
    return [name_of(task) for task in os.listdir("/proc/self/task")].count("dwell-flush")
end = time.monotonic() + 900
while flushers() != 1 and time.monotonic() < end:
    time.sleep(0.01)  # one that was joined may still be there
print(flushers())
""")
    assert done.stdout == "1\n", done.stderr


def test_a_thread_that_leaves_while_main_is_ending(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, os, sys, threading, time\n"
        "for i in range(5000):\n"
        "    with dwell.region(f'name {i}'):\n        pass\n"
        "def leave():\n"
        "    while not ending:\n        pass\n"
        "    time.sleep(float(sys.argv[1]))\n"
        "    os._exit(0)\n"
        "ending = False\n"
        "threading.Thread(target=leave, daemon=True).start()\n"
        "ending = True\n"
    )
    for delay in ("0", "0.001", "0.002", "0.004"):
        done = run_dwell("run", "-q", "-o", "x.dwell", "program.py", delay)
        assert done.returncode == 0, (delay, done.stderr)


@pytest.mark.parametrize("value", ["", "1", "nonsense /x", "regions /no/such/directory/x.dwell"])
def test_a_malformed_environment_is_one_line(tmp_path, value):
    done = subprocess.run(
        [sys.executable, "-c", "import dwell; print(callable(dwell.install))"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "DWELL_RUN": value},
    )
    assert done.stdout == "True\n"
    assert len(done.stderr.splitlines()) <= 1


def test_relative_files_of_install_stay_where_they_were_named(tmp_path, python_program):
    done = python_program(
        "import dwell, os\n"
        "dwell.install(dwell.reporters.SilentReporter(), 't.json', 'x.dwell')\n"
        "os.mkdir('sub')\n"
        "os.chdir('sub')\n"
    )
    assert done.stderr == ""
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".py") == [
        "sub",
        "t.json",
        "x.dwell",
    ]
    assert not list((tmp_path / "sub").iterdir())


@repeated
def test_asleep_time_of_a_killed_program(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import asyncio, dwell, os\n"
        "async def main():\n"
        "    with dwell.region('request'):\n"
        "        for _ in range(40):\n"
        "            await asyncio.sleep(0.05)\n"
        "        os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    run_dwell("run", "--regions", "-q", "-o", "x.dwell", "program.py")
    report = json.loads(run_dwell("report", "x.dwell", "--format", "json").stdout)
    (row,) = [row for row in report["rows"] if row["name"] == "request"]
    assert_between(1e9, 0.8 * row["total_ns"], row["suspended_ns"])


@pytest.mark.parametrize(
    ("last", "says"),
    [
        ("exit 0", "dwell: ran *; nothing was recorded: is dwell installed for */python[?]"),
        ("kill $$", "dwell: ended by signal 15 (Terminated) after *; nothing was recorded yet"),
    ],
)
def test_python_that_records_nothing(tmp_path, run_dwell, last, says):
    """Without dwell it is to be told; killed while it starts it has said nothing about dwell."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{last}\n")
    python.chmod(0o755)
    done = run_dwell("run", "--python", python, "-c", "pass")
    assert fnmatch.fnmatchcase(done.stderr, f"{says}\n")
    assert list(tmp_path.glob("*.dwell")) == []


def test_program_too_short_for_a_sample_is_told_as_sampled(run_dwell):
    done = run_dwell("run", "--rate", "0.1", "-o", "x.dwell", "-c", "pass")
    assert "too short for samples to tell much (0 taken)" in done.stderr or "waited" in done.stderr
    assert run_dwell("report", "x.dwell").stdout.startswith("CPU time: 0 samples")
    for told in (done.stderr, run_dwell("report", "x.dwell").stdout):
        assert "region" not in told and "<main>" not in told


def test_value_after_an_equals_sign(run_dwell):
    code = "import sys; print(sys.argv[1:])"
    done = run_dwell("run", "--rate=500", "--mode=wall", "-o", "x.dwell", "-c", code, "--rate=7")
    assert done.stdout == "['--rate=7']\n"
    assert run_dwell("report", "x.dwell").stdout.startswith("wall time: ")
    assert "500 Hz asked" in run_dwell("report", "x.dwell").stdout
    refused = run_dwell("run", "--tempo=500", "-c", code)
    assert refused.returncode == 2 and "no option '--tempo'" in refused.stderr
