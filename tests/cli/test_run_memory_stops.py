# SPDX-License-Identifier: MIT
"""Programs that take more memory than was said: a debugger, or an end."""

import signal
import sys

import pytest

EXAMPLE = """
@profile
def my_func():
    a = [1] * (10 ** 6)
    b = [2] * (2 * 10 ** 7)
    del b
    return a

if __name__ == '__main__':
    my_func()
    print("done")
"""
HUNGRY = """
kept = []
while True:
    kept.append(b"x" * 1_000_000)
"""


@pytest.fixture
def run(tmp_path, run_dwell):
    def run(source, *options, **more):
        (tmp_path / "example.py").write_text(source)
        return run_dwell("run", "-q", *options, "-o", "x.dwell", "example.py", **more)

    return run


def test_the_debugger_is_at_the_line_after_the_memory_was_taken(run, run_dwell):
    again = "n\n" * (sys.version_info >= (3, 14))  # its pdb stops once more at the same line
    commands = f"p len(a), len(b)\nn\n{again}p 'b' in dir()\nc\n"
    done = run(EXAMPLE, "--memory", "--pdb-above", "120M", input=commands)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("dwell: the program has 1")
    assert "example.py:5 (my_func); 'c' goes on\n" in done.stderr
    assert "-> del b\n" in done.stdout
    assert "(1000000, 20000000)" in done.stdout
    assert "-> return a\n(Pdb) False\n" in done.stdout
    assert done.stdout.endswith("done\n")
    assert "my_func" in run_dwell("report", "x.dwell", "--measure", "peak_bytes").stdout


def test_a_program_that_stays_below_is_not_stopped(run):
    done = run(EXAMPLE, "--memory", "--pdb-above", "2G", "--stop-above", "2G")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_lines_and_the_debugger_go_together(run):
    done = run(EXAMPLE, "--memory", "--lines", "--pdb-above", "120M", input="c\n")
    if sys.version_info < (3, 12):
        assert "needs Python 3.12 or newer" in done.stderr
    else:
        assert "-> del b\n" in done.stdout and done.stdout.endswith("done\n")


def test_a_program_that_takes_more_is_stopped_and_its_recording_is_whole(run, run_dwell):
    done = run(HUNGRY, "--memory=exact", "--stop-above", "200M")
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert "more than --stop-above allows (200.0 MiB): it is stopped\n" in done.stderr
    check = run_dwell("check", "x.dwell")
    assert check.returncode == 0, check.stdout
    report = run_dwell("report", "x.dwell", "--by", "python", "--measure", "live_bytes").stdout
    assert "example.py:4 (<module>)" in report.splitlines()[1], report


def test_a_program_that_ignores_the_signal_is_killed(run):
    ignoring = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: None)\n" + HUNGRY
    bounded = ignoring.replace("while True:", "while True:\n    if len(kept) > 400: continue")
    done = run(bounded, "--memory", "--stop-above", "200M")
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.any_python
@pytest.mark.parametrize("option", ["--pdb-above", "--stop-above"])
def test_a_size_is_asked_for(run, option):
    done = run(EXAMPLE, option, "much")
    assert done.returncode == 2
    assert done.stderr == f"dwell: {option} needs a size, such as 100M or 1.5GB, not 'much'\n"
