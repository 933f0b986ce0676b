# SPDX-License-Identifier: MIT
"""What `dwell run` says at the end: how it went, rows for a screen, and what to type next."""

import fcntl
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

WORK = "def work():\n    return sum(i * i for i in range(200_000))\nwork()\n"
ENDING = re.compile(
    r"^dwell: (ran|ended with status (\d+) after|ended by signal (\d+) \(.*\) after) "
    r"[\d.]+ m?s, on a CPU for [\d.]+ m?s"
)


def ending_of(text: str) -> "re.Match[str]":
    """The only line that tells how the program ended."""
    (found,) = [match for line in text.splitlines() if (match := ENDING.match(line))]
    return found


def next_commands(text: str) -> list[list[str]]:
    """The commands to type next, as a shell takes them apart."""
    _, begin, after = text.rpartition("; next:\n")
    lines = after.splitlines()
    assert begin and all(line.startswith("  dwell ") and "  # " in line for line in lines)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.any_python
@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("pass", 0),
        ("sys.exit(1)", 1),
        ("sys.exit('sorry')", 1),
        ("1 / 0", 1),
        ("os._exit(3)", 3),
        ("signal.raise_signal(signal.SIGTERM)", -signal.SIGTERM),
        ("raise KeyboardInterrupt", -signal.SIGINT),
    ],
)
@pytest.mark.parametrize("as_module", [False, True], ids=["script", "module"])
@pytest.mark.parametrize("option", ["--sample", "--calls", "--regions"])
def test_a_report_follows_however_the_program_ends(
    tmp_path, run_dwell, end, status, as_module, option
):
    (tmp_path / "program.py").write_text(
        f"import dwell, os, signal, sys\n{WORK}with dwell.region('r'): pass\nprint('out')\n"
        f"sys.stdout.flush()\n{end}\n"
    )
    program = ["-m", "program"] if as_module else ["program.py"]
    plain = subprocess.run([sys.executable, *program], cwd=tmp_path, capture_output=True, text=True)
    done = run_dwell("run", option, "-o", "x.dwell", *program)
    assert (done.returncode, done.stdout) == (status, "out\n") == (plain.returncode, plain.stdout)
    told = ending_of(done.stderr)
    assert (int(told[2] or 0), int(told[3] or 0)) == (max(status, 0), max(-status, 0))
    own, _, _ = done.stderr.partition(told[0])
    assert own.splitlines()[-1:] == plain.stderr.splitlines()[-1:]
    assert next_commands(done.stderr)


@pytest.mark.any_python
def test_a_failing_test_is_reported_as_any_program(tmp_path, run_dwell):
    (tmp_path / "test_it.py").write_text(f"{WORK}def test_it():\n    assert work() == 0\n")
    done = run_dwell("run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert done.returncode == 1 and "1 failed" in done.stdout
    assert ending_of(done.stderr)[2] == "1"
    (recording,) = tmp_path.glob("pytest.*.dwell")
    assert f"dwell: recorded in {recording.name}; next:\n" in done.stderr


@pytest.mark.any_python
@pytest.mark.parametrize("options", [[], ["--calls"], ["--lines"], ["--regions"]])
@pytest.mark.parametrize("name", [None, "run.dwell", "my run's.dwell", "run"])
def test_what_to_type_next_can_be_typed(tmp_path, run_dwell, options, name):
    (tmp_path / "program.py").write_text(
        f"import dwell\n{WORK}@dwell.profile\ndef f():\n    with dwell.region('r'): pass\nf()\n"
    )
    done = run_dwell("run", *options, *(["-o", name] if name else []), "program.py")
    commands = next_commands(done.stderr)
    assert {command[1] for command in commands} & {"report", "export"}
    for _, *words in commands:
        typed = run_dwell(*words)
        assert typed.returncode == 0, typed.stderr
        if words[0] == "export":
            assert (tmp_path / words[-1]).read_text().startswith("<!doctype html>")


@pytest.mark.any_python
def test_what_to_type_next_has_each_process(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, os\n"
        "if os.fork():\n    os.wait()\n"
        "for _ in range(3):\n    with dwell.region('r'): pass\n"
    )
    done = run_dwell("run", "--regions", "-o", "x.dwell", "program.py")
    assert "recorded in x.dwell, with 1 child; next:\n" in done.stderr
    reports = [words for words in next_commands(done.stderr) if words[1] == "report"]
    assert ["dwell", "report", "x.dwell", "--by", "process"] in reports
    assert run_dwell(*reports[-1][1:]).stdout.count("program.py ") == 2


WAIT = """
import time
def ran():
    cpu_ns, delay_ns, _ = map(int, open("/proc/thread-self/schedstat").read().split())
    return time.process_time() + delay_ns / 1e9
begin = time.monotonic()
time.sleep(0.5)
while time.monotonic() - begin < 3 * ran():
    time.sleep(0.1)
"""


@pytest.mark.any_python
def test_a_program_that_waits_is_told_how_to_see_it(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(WAIT)
    done = run_dwell("run", "-o", "x.dwell", "program.py")
    (line,) = [line for line in done.stderr.splitlines() if ENDING.match(line)]
    assert line.endswith("; it mostly waited")
    again = next_commands(done.stderr)[0]
    assert again == ["dwell", "run", "--mode", "wall", "-o", "x.dwell", "program.py"]
    done = run_dwell(*again[1:])
    assert "; its threads: " in done.stderr and "% waiting" in done.stderr
    assert "mostly waited" not in done.stderr


END = ["-o", "x.dwell", "-c", "pass"]


@pytest.mark.any_python
def test_a_short_program_gets_no_table_of_a_few_samples(tmp_path, run_dwell):
    done = run_dwell("run", "--rate=1", "--mode=wall", "-o", "x.dwell", "-c", "pass")
    ending, recorded, *_ = done.stderr.splitlines()
    assert "too short for samples to tell much" in ending
    assert recorded == "dwell: recorded in x.dwell; next:"
    *_, report = next_commands(done.stderr)
    assert report == ["dwell", "report", "x.dwell"]
    done = run_dwell("run", "-o", "x.dwell", "-c", "pass")
    again, report = next_commands(done.stderr)
    assert again[2:] in (["--calls", *END], ["--mode", "wall", *END])  # a slow disk makes it wait
    assert run_dwell(*again[1:]).returncode == 0


@pytest.mark.any_python
def test_programs_that_it_starts_are_told_of(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import subprocess, sys\n"
        "code = 'import time\\nwhile time.process_time() < 0.5: pass'\n"
        "subprocess.run([sys.executable, *sys.argv[1:], '-c', code])\n"
    )
    says = "programs that it started were on a CPU for"
    done = run_dwell("run", "--no-follow", "-o", "x.dwell", "program.py")
    assert says in done.stderr and "; they are not recorded, because of --no-follow" in done.stderr
    done = run_dwell("run", "-o", "x.dwell", "program.py", "-S")
    assert says in done.stderr and "they run no Python that has dwell" in done.stderr
    assert says not in run_dwell("run", "-o", "y.dwell", "program.py").stderr


REGIONS = """
import dwell, os, signal, sys
from dwell.reporters import ConsoleReporter, CsvReporter, SilentReporter
{install}
with dwell.region("stretch"):
    sum(range(1_000_000))
{end}
"""

INSTALLED = {
    "not at all": ("", ""),
    "plainly": ("dwell.install()", ""),
    "columns": ("dwell.install(ConsoleReporter(columns=['name', 'count']))", ""),
    "standard output": ("dwell.install(ConsoleReporter(stream=sys.stdout))", ""),
    "a file": ("dwell.install(ConsoleReporter(stream=open('table', 'w')))", ""),
    "silent": ("dwell.install(SilentReporter())", ""),
    "at once": ("profiler = dwell.install()", "profiler.finalize()"),
    "left": ("dwell.install()", "os._exit(0)"),
    "ended": ("dwell.install()", "signal.raise_signal(signal.SIGTERM)"),
}


@pytest.mark.parametrize("options", [[], ["--regions"]], ids=["samples", "regions"])
@pytest.mark.parametrize(("install", "end"), INSTALLED.values(), ids=INSTALLED)
def test_regions_are_shown_once(tmp_path, run_dwell, options, install, end):
    (tmp_path / "program.py").write_text(REGIONS.format(install=install, end=end))
    done = run_dwell("run", *options, "-o", "x.dwell", "program.py")
    shown = done.stdout + done.stderr
    assert sum("stretch" in line for line in shown.splitlines()) == 1
    quiet = run_dwell("run", "-q", *options, "-o", "x.dwell", "program.py")
    assert "dwell: " not in quiet.stderr
    assert ("stretch" in quiet.stdout + quiet.stderr) == (
        "stretch" in shown.partition("dwell: ")[0]
    )


def in_terminal(command: list[str], directory: Path, height: int) -> str:
    """What a command shows in a terminal of so many lines."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", height, 80, 0, 0))
    shown = b""
    with subprocess.Popen(command, cwd=directory, stdout=its, stderr=its, stdin=its):
        os.close(its)
        while True:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # nobody holds the other end any more
                break
    os.close(ours)
    return shown.decode()


MANY = "import dwell\nsum(range(8_000_000))\n"
MANY += "for i in range(200):\n    with dwell.region(f'region {i}'): pass\n"
MANY += "".join(f"def f{i}(): return {i}\nf{i}()\n" for i in range(200))


@pytest.mark.any_python
@pytest.mark.parametrize("height", [24, 40])
@pytest.mark.parametrize("options", [[], ["--regions"], ["--calls"]], ids=" ".join)
def test_a_report_fits_the_terminal(tmp_path, dwell_program, options, height):
    (tmp_path / "program.py").write_text(MANY)
    command = [dwell_program, "run", *options, "-o", "x.dwell", "program.py"]
    lines = in_terminal(command, tmp_path, height).splitlines()
    assert ENDING.match(lines[0]) and len(lines) < height
    assert next_commands("\n".join(lines) + "\n")
    rows = [line for line in lines if re.match(r"\. region|<main>| +\d+(/\d+)? +\d", line)]
    assert len(rows) == height - 13 or not options


@pytest.mark.any_python
def test_an_earlier_recording_is_replaced_by_a_later_one_only(tmp_path, run_dwell):
    code = "import dwell\nwith dwell.region({!r}): pass\n"
    run_dwell("run", "-q", "--regions", "-o", "x.dwell", "-c", code.format("first"))
    for refused in (
        ["--python", "/no/such/python", "-c", "pass"],
        ["--lines", "-c", "pass"],
        ["--cpu", "--calls", "-c", "pass"],
        ["--fly", "-c", "pass"],
    ):
        assert run_dwell("run", "-o", "x.dwell", *refused).returncode != 0
        assert "first" in run_dwell("report", "x.dwell").stdout
    run_dwell("run", "-q", "--regions", "-o", "x.dwell", "-c", code.format("second"))
    report = run_dwell("report", "x.dwell").stdout
    assert "second" in report and "first" not in report


@pytest.mark.any_python
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--timeline --calls", "--timeline is of samples and regions"),
        ("--timeline --lines", "--timeline is of samples and regions"),
        ("--cpu --signatures", "--cpu is of regions: add --regions"),
        ("--cpu --sample --lines", "--cpu is of regions: add --regions"),
    ],
)
def test_what_cannot_be_had_together_is_refused(tmp_path, run_dwell, options, says):
    done = run_dwell("run", *options.split(), "-c", "print('runs')")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dwell: {says}") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.any_python
@pytest.mark.parametrize(("words", "most"), [(["--help"], 24), (["run", "--help"], 50)])
def test_help_is_a_screen_and_begins_with_examples(run_dwell, words, most):
    done = run_dwell(*words)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) <= most and max(map(len, lines)) <= 100
    assert next(line for line in lines if line.startswith("  ")).startswith("  dwell run ")
