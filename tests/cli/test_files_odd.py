# SPDX-License-Identifier: MIT
"""Outputs and inputs that are no ordinary files: one sentence, and nothing is left behind."""

import os
import resource
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from ..conftest import Program
from ..hostile_log import PATHS, VALUES, Log, varint
from ..line_log import LineLog
from .conftest import MAY_READ, Start

pytestmark = pytest.mark.any_python

FOREVER = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.01)\n"


def small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One line of a function with an odd name."""
    made = LineLog()
    made.line(made.function("=HYPERLINK(1)\u202e\x1b[2J", "x.py", 1), 1, hits=1, time=5)
    made.write(tmp_path / "x.dwell")
    return tmp_path / "x.dwell"


@pytest.mark.parametrize("command", [["export", "--to", "html"], ["merge"]])
def test_limit_on_file_sizes(tmp_path: Path, run_dwell: Program, command: list[str]):
    made = LineLog()
    for i in range(2000):
        made.line(made.function(f"function {i * i % 9973:x}", "x.py", i + 1), i + 1, hits=1, time=i)
    made.write(tmp_path / "x.dwell")
    done = run_dwell(command[0], "x.dwell", *command[1:], "-o", "out.dwell", preexec_fn=small_files)
    assert done.returncode == 1
    assert done.stderr == "dwell: out.dwell: File too large\n"
    assert os.listdir(tmp_path) == ["x.dwell"]


@MAY_READ
def test_attach_under_a_limit_on_file_sizes(start: Start, run_dwell: Program):
    code = "".join(f"def f{i}(n): return f{i + 1}(n)\n" for i in range(500))
    process = start(f"import time\n{code}def f500(n):\n    print('ready', flush=True)\n"
                    "    time.sleep(60)\nf0(1)\n")  # fmt: skip
    done = run_dwell("attach", process.pid, "-d", "30", "-o", "y.dwell", preexec_fn=small_files)
    assert done.returncode == 1
    assert done.stderr == "dwell: y.dwell: File too large\n"


@pytest.mark.parametrize("command", [["export", "--to", "json"], ["merge"]])
def test_pipe_that_nobody_reads(tmp_path: Path, run_dwell: Program, log: Path, command: list[str]):
    os.mkfifo(tmp_path / "pipe")
    done = run_dwell(command[0], log, *command[1:], "-o", "pipe")
    assert done.returncode == 1
    assert done.stderr == "dwell: pipe: nobody reads from this pipe\n"


def test_pipe_with_a_reader(tmp_path: Path, run_dwell: Program, log: Path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.extend(iter(lambda: os.read(reader, 9999), b"")))
    with os.fdopen(os.open(tmp_path / "pipe", os.O_WRONLY), "wb"):  # so that no read ends early
        thread.start()
        done = run_dwell("export", log, "--to", "json", "-o", "pipe")
    thread.join()
    os.close(reader)
    assert done.returncode == 0, done.stderr
    assert b"".join(got).startswith(b"{")


@MAY_READ
def test_attach_to_a_pipe_that_nobody_reads(tmp_path: Path, start: Start, run_dwell: Program):
    os.mkfifo(tmp_path / "pipe")
    process = start(FOREVER, sleeps=False)
    done = run_dwell("attach", process.pid, "-d", "0.1", "-o", "pipe")
    assert done.returncode == 1
    assert done.stderr == "dwell: pipe: nobody reads from this pipe\n"


@MAY_READ
def test_recording_that_is_removed_meanwhile(
    tmp_path: Path, start: Start, dwell_program: str, run_dwell: Program
):
    process = start(FOREVER, sleeps=False)
    command = [dwell_program, "attach", str(process.pid), "-o", "gone.dwell"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as attach:
        while not (tmp_path / "gone.dwell").exists() and attach.poll() is None:
            pass
        (tmp_path / "gone.dwell").unlink()
        attach.send_signal(signal.SIGINT)
        said = attach.communicate()[1]
    assert attach.returncode == 1
    assert said == (
        "dwell: gone.dwell: was removed while it was written, so nothing is left of it\n"
    )


def test_cells_of_a_table_are_no_formulas_and_hold_no_controls(run_dwell: Program, log: Path):
    shown = run_dwell("export", log, "--to", "csv").stdout
    assert ",=" not in shown
    assert "'=HYPERLINK(1)\\u202e\\x1b[2J" in shown
    assert "\x1b" not in shown and "\u202e" not in shown
    assert ",x.py,1,1,,,0,1,5,5.0000," in shown  # numbers stay numbers


def test_reports_show_hidden_characters(run_dwell: Program, log: Path):
    for command in (["report"], ["export", "--to", "lines"], ["export", "--to", "json"]):
        shown = run_dwell(command[0], log, *command[1:]).stdout
        assert "\x1b" not in shown and "\u202e" not in shown
        assert "\\u202e" in shown


@pytest.mark.parametrize("damage", [40, 100])
@pytest.mark.parametrize("rubbish", [b"\0", b"x"])
def test_damage_at_the_beginning_costs_what_it_hits(
    tmp_path: Path, run_dwell: Program, damage: int, rubbish: bytes
):
    made = Log()
    made.process()
    made.function()
    made.numbers(PATHS, (1, 0, 1))
    made.thread(0, 41)
    made.numbers(VALUES, (0, 1, 3, 3000, *[0] * 10))
    made.chunk(10, varint(0) + varint(0))
    whole = made.bytes()
    (tmp_path / "x.dwell").write_bytes(rubbish * damage + whole[damage:])
    done = run_dwell("report", "x.dwell", "--by", "region")
    assert done.returncode == 0, done.stderr
    assert "3" in done.stdout and "f" in done.stdout
    checked = run_dwell("check", "x.dwell")
    assert checked.returncode == 1
    assert "at offset 0\n" in checked.stdout


def test_objects_that_are_no_files_are_not_opened(tmp_path: Path, run_dwell: Program):
    """The name of a module comes from the log; a pipe that were opened would have a reader."""
    os.mkfifo(tmp_path / "lib.so")
    made, path = Log(), os.fsencode(tmp_path / "lib.so")
    made.process()
    made.chunk(3, varint(0) + b"\x00\x01f" + varint(len(path)) + path)
    made.numbers(4, (1, 6, 1, 2, 0))
    made.numbers(13, (0, 0, 2, 4096, 8192, 0, 0, 0))
    made.numbers(14, (1, 1, 0, 0, 0, 0, 1, 16, 0))
    made.numbers(15, (1, 0, 1))
    made.thread(0, 41)
    made.numbers(17, (0, 0, 1, 10_000_000, 1, 0, 0, 0, 0))
    made.numbers(16, (0, 1, 1, 1, 10_000_000))
    (tmp_path / "x.dwell").write_bytes(made.bytes())
    traced = run_dwell("report", "x.dwell", "--by", "line")
    assert traced.returncode == 0, traced.stderr
    assert "lib.so: Invalid argument" in traced.stderr
