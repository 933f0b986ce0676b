# SPDX-License-Identifier: MIT
"""A file that cannot grow: the reason is told once, and nothing is claimed that is not there."""

import resource
import signal
from pathlib import Path

import pytest

from ..conftest import Program
from .conftest import MAY_READ, Start

PROGRAM = """
import time
SECONDS = 1
for i in range(2000):
    exec(f"def f{i}(n): return f{(i * 7 + 3) % 2000}(n - 1) if n else 0")
print("ready", flush=True)
end = time.monotonic() + SECONDS
while time.monotonic() < end:
    for i in range(2000):
        globals()[f"f{i}"](40)
"""


def with_small_files() -> None:
    """A program that did not ignore the signal would be killed, where a full disk is an error."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))


@MAY_READ
def test_attach_says_why_and_claims_no_recording(start: Start, run_dwell: Program):
    process = start(PROGRAM.replace("SECONDS = 1", "SECONDS = 60"), sleeps=False)
    done = run_dwell(
        "attach", process.pid, "--rate", "1000", "--timeline", "-o", "x.dwell",
        preexec_fn=with_small_files,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "dwell: x.dwell: File too large\n"


@pytest.mark.parametrize("probe", ["--sample", "--calls"])
def test_run_says_why_and_the_program_goes_on(probe: str, run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_dwell("run", probe, "-q", "program.py", preexec_fn=with_small_files)
    assert (done.returncode, done.stdout) == (0, "ready\n")
    assert done.stderr.count("\n") == 1
    assert "File too large; recording goes on without the file" in done.stderr


def test_profile_that_cannot_be_written_at_exit_is_one_line(python_program: Program):
    done = python_program(
        f"import dwell\ndwell.start('x.prof')\n{PROGRAM}", preexec_fn=with_small_files
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert all(line.startswith("dwell: ") for line in done.stderr.splitlines())
