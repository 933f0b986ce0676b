# SPDX-License-Identifier: MIT
"""A program that a signal ends: nothing that was recorded is lost, and it ends as it would."""

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..conftest import PATIENCE_S

WORK = """
import dwell, os, signal, sys, threading, time

@dwell.profile
def step():
    with dwell.region('step'):
        return sum(range(10))

for _ in range(100):
    step()
"""

BY_ITSELF = {
    "raised": "signal.raise_signal(signal.SIGTERM)",
    "killed": "os.kill(os.getpid(), signal.SIGTERM)",
    "handler": "signal.signal(signal.SIGTERM, lambda *_: None)\n"
    "signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
    "signal.raise_signal(signal.SIGTERM)",
    "interrupt": "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "os.kill(os.getpid(), signal.SIGINT)",
    "thread": "threading.Thread(target=signal.raise_signal, args=[signal.SIGTERM]).start()\n"
    "time.sleep(600)",
}

WAITING = {
    "sleeps": "time.sleep(600)",
    "computes": "while True: pass",
    "joins": "thread = threading.Thread(target=time.sleep, args=[600], daemon=True)\n"
    "thread.start(); thread.join()",
    "thread computes": "def loop():\n    while True: pass\n"
    "threading.Thread(target=loop, daemon=True).start(); time.sleep(600)",
    "all compute": "def loop():\n    while True: pass\n"
    "for _ in range(3): threading.Thread(target=loop, daemon=True).start()\n"
    "loop()",
    "default again": "signal.signal(signal.SIGTERM, signal.SIG_DFL); time.sleep(600)",
}

PROBES = {
    "sample": [],
    "regions": ["--regions"],
    "calls": ["--calls"],
    "lines": ["--lines"],
    "lines and samples": ["--lines", "--sample"],
}

probes = pytest.mark.parametrize("options", PROBES.values(), ids=PROBES)


def steps(run_dwell, log: Path, options: list[str]) -> list[str]:
    """How often the recording says that `step` ran."""
    part = "line" if "--lines" in options else "function" if "--calls" in options else "region"
    done = run_dwell("report", log, "--by", part, "--format", "csv")
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader(done.stdout.splitlines())
    if part == "line":
        return [row["hits"] for row in rows if "return" in row["source"]]
    if part == "function":
        return [row["calls"] for row in rows if row["name"] == "step"]
    return [row["count"] for row in rows if row["name"] == "step"]


def assert_complete(run_dwell, log: Path, options: list[str]) -> None:
    checked = run_dwell("check", log)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "did not close" not in run_dwell("report", log).stderr
    assert steps(run_dwell, log, options) == ["100"]


@probes
@pytest.mark.parametrize("end", BY_ITSELF.values(), ids=BY_ITSELF)
def test_a_program_that_ends_itself_by_a_signal_loses_nothing(tmp_path, run_dwell, options, end):
    (tmp_path / "program.py").write_text(f"{WORK}\n{end}\nprint('beyond', flush=True)\n")
    done = run_dwell("run", "-q", "-o", "x.dwell", *options, "program.py")
    number = signal.SIGINT if "SIGINT" in end else signal.SIGTERM
    assert (done.returncode, done.stdout, done.stderr) == (-number, "", "")
    assert_complete(run_dwell, tmp_path / "x.dwell", options)


@probes
@pytest.mark.parametrize("wait", WAITING.values(), ids=WAITING)
@pytest.mark.parametrize("through_dwell", [False, True], ids=["directly", "through dwell"])
def test_a_program_that_is_ended_loses_nothing(
    tmp_path, run_dwell, dwell_program, options, wait, through_dwell
):
    (tmp_path / "program.py").write_text(f"{WORK}\nprint(os.getpid(), flush=True)\n{wait}\n")
    command = [dwell_program, "run", "-q", "-o", "x.dwell", *options, "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        pid = int(process.stdout.readline())
        os.kill(process.pid if through_dwell else pid, signal.SIGTERM)
        assert process.wait(PATIENCE_S) == -signal.SIGTERM
    assert_complete(run_dwell, tmp_path / "x.dwell", options)


def test_a_second_signal_changes_nothing(tmp_path, run_dwell, dwell_program):
    """timeout(1) sends one to the program and one to its group."""
    (tmp_path / "program.py").write_text(f"{WORK}\nprint(os.getpid(), flush=True)\ntime.sleep(600)")
    command = [dwell_program, "run", "-q", "-o", "x.dwell", "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        pid = int(process.stdout.readline())
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGHUP):
            os.kill(pid, number)
        assert process.wait(PATIENCE_S) == -signal.SIGTERM
    assert_complete(run_dwell, tmp_path / "x.dwell", [])


@pytest.mark.parametrize(
    "options", [[], ["--regions"], ["--lines"]], ids=["sample", "regions", "lines"]
)
def test_workers_that_are_terminated_lose_nothing(tmp_path, run_dwell, options):
    (tmp_path / "program.py").write_text(
        WORK.replace("for _", "def work():\n    for _").replace("    step()", "        step()")
        + "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
        "read, write = os.pipe()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os.dup2(write, 1)\n"
        "    work()\n"
        "os.read(read, 1)\n"
        "os.kill(pid, signal.SIGTERM)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.wait()[1]) != -signal.SIGTERM)\n"
    )
    done = run_dwell("run", "-q", "--keep", "-o", "x.dwell", *options, "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    (log,) = tmp_path.glob("x.*.dwell")
    assert_complete(run_dwell, log, options)


SHOW = """
import inspect, json, os, pickle, signal, threading, _signal
print(json.dumps({
    "handlers": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    "ignored and blocked": [line for line in open("/proc/self/status")
                            if line.startswith(("SigIgn", "SigBlk"))],
    "default, set": str(signal.signal(signal.SIGTERM, signal.SIG_DFL)),
    "ignored": str(signal.signal(signal.SIGHUP, signal.SIG_IGN)),
    "functions": [[repr(f), f.__module__, f.__qualname__, f.__doc__, str(inspect.signature(f)),
                   str(type(f)), repr(f.__self__), str(pickle.dumps(f))]
                  for f in (_signal.signal, os.kill)],
    "threads": [str(thread) for thread in threading.enumerate() if thread.name != "MainThread"],
}))
"""


@probes
def test_signals_look_as_they_do_without_us(tmp_path, run_dwell, options):
    (tmp_path / "program.py").write_text(SHOW)
    plain = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    ours = run_dwell("run", "-q", "-o", "x.dwell", *options, "program.py")
    assert json.loads(ours.stdout) == json.loads(plain.stdout)
    assert ours.stderr == ""


@probes
@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("signal.signal()", "TypeError"),
        ("signal.signal(1000, signal.SIG_DFL)", "ValueError"),
        ("signal.signal('x', signal.SIG_DFL)", "TypeError"),
        ("signal.signal(signal.SIGTERM, 7)", "TypeError"),
        ("os.kill(os.getpid())", "TypeError"),
        ("os.kill('x', 15)", "TypeError"),
        ("os.kill(2**22 + 5, 15)", "ProcessLookupError"),
        ("os.kill(os.getpid(), 1000)", "OSError"),
    ],
)
def test_mistakes_with_signals_are_told_as_ever(run_dwell, options, call, error):
    source = f"import os, signal\ntry:\n    {call}\nexcept {error} as error:\n    print(error)\n"
    plain = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    ours = run_dwell("run", "-q", "-o", "x.dwell", *options, "-c", source)
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, 0)


@probes
def test_a_program_that_handles_its_signals_goes_on(run_dwell, options):
    source = (
        "import os, signal, sys\n"
        "seen = []\n"
        "for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):\n"
        "    signal.signal(number, lambda number, frame: seen.append(frame.f_code.co_name))\n"
        "    os.kill(os.getpid(), number)\n"
        "    signal.raise_signal(number)\n"
        "sys.exit(len(seen) if set(seen) == {'<module>'} else 1)\n"
    )
    assert run_dwell("run", "-q", "-o", "x.dwell", *options, "-c", source).returncode == 6


@probes
def test_an_interrupt_while_the_program_ends_costs_nothing(tmp_path, run_dwell, options):
    """A second Ctrl-C, before the recording is closed."""
    (tmp_path / "program.py").write_text(
        f"{WORK}\nimport _thread, atexit\natexit.register(_thread.interrupt_main)\n"
    )
    run_dwell("run", "-q", "-o", "x.dwell", *options, "program.py")
    assert_complete(run_dwell, tmp_path / "x.dwell", options)


@pytest.mark.parametrize(
    "options", [[], ["--regions"], ["--calls"]], ids=["sample", "regions", "calls"]
)
def test_a_signal_while_the_recording_is_closed(tmp_path, run_dwell, dwell_program, options):
    """Whichever comes first, the recording is whole."""
    (tmp_path / "program.py").write_text(f"{WORK}\nos.write(1, b'%d\\n' % os.getpid())\n")
    command = [dwell_program, "run", "-q", "-o", "x.dwell", *options, "program.py"]
    for pause in range(8):
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
            pid = int(process.stdout.readline())
            time.sleep(pause / 1000)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            assert process.wait(PATIENCE_S) in (0, -signal.SIGTERM)
        assert_complete(run_dwell, tmp_path / "x.dwell", options)
