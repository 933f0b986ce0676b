# SPDX-License-Identifier: MIT
"""`dwell top` in a real terminal, with real keys, and into a pipe."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..conftest import Program
from .conftest import MAY_READ, Start

pytestmark = MAY_READ

PATIENCE_S = 300

ENTERED, LEFT = "\033[?1049h", "\033[?1049l"

BUSY = """\
import threading, time
def inner():
    for _ in range(1000):
        pass
def outer():
    print("ready", flush=True)
    while True:
        inner()
def sleeper():
    time.sleep(1000)
threading.Thread(target=sleeper, name="sleepy", daemon=True).start()
outer()
"""


class Terminal:
    """A program on a pseudoterminal, and the screen that it draws."""

    def __init__(self, command: list[str], columns: int = 100, rows: int = 30, **more):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, **more
        )
        self.text = ""

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, key: str) -> None:
        """Presses a key and forgets what was on the screen before it."""
        self.read(0)
        self.text = ""
        os.write(self.master, key.encode())

    def read(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
            try:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError:  # the other side is closed
                return

    def wait_for(self, pattern: str, seconds: float = PATIENCE_S) -> "re.Match[str]":
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            if match := re.search(pattern, self.text):
                return match
        raise AssertionError(f"{pattern!r} is not in {self.text[-3000:]!r}")

    def screen(self) -> list[str]:
        """The lines of the screen that was drawn last."""
        last = self.text.rpartition("\033[J")[0].rpartition("\033[H")[2]
        return [re.sub(r"\033\[[0-9;]*[A-Za-z]|\r", "", line) for line in last.split("\n")]

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def top(dwell_program: str) -> Iterator[Callable[..., Terminal]]:
    with contextlib.ExitStack() as stack:

        def begin(*words: object, **more) -> Terminal:
            terminal = Terminal([dwell_program, "top", *map(str, words)], **more)
            stack.callback(terminal.close)
            return terminal

        yield begin


INNER = r"([5-9]\d|100)\.\d +[\d.]+ +[\d.]+ +[\d.]+   inner \(program.py:2\)"


def forget_start(terminal: Terminal) -> None:
    """Counts anew until the thread that sleeps has begun to."""
    end = time.monotonic() + PATIENCE_S
    terminal.wait_for(INNER + r"[^\0]*\033\[J")  # the whole screen
    while "sleeper" in "".join(terminal.screen()):
        assert time.monotonic() < end
        terminal.press("r")
        terminal.wait_for(INNER + r"[^\0]*\033\[J")


def test_keys_change_what_is_shown(start: Start, top: Callable[..., Terminal]):
    process = start(BUSY, sleeps=False)
    terminal = top(process.pid)
    head = terminal.wait_for(r"process (\d+): program.py, Python ([\d.]+), (\d) threads")
    assert head[1] == str(process.pid) and head[3] == "2"
    assert head[2] == ".".join(map(str, sys.version_info[:3]))
    terminal.wait_for(r"GIL held (9\d|100) %, \d+ samples a second")
    terminal.wait_for(INNER)
    forget_start(terminal)

    terminal.press("t")
    terminal.wait_for("functions by total time")
    terminal.wait_for(r"\n *[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+   <module> \(program.py:1\)")
    terminal.press("l")
    terminal.wait_for(r"lines by total time")
    terminal.wait_for(r"outer \(program.py:8\)")
    terminal.press("w")
    terminal.wait_for("waiting too")
    terminal.wait_for(r"sleeper \(program.py:10\)")
    terminal.press("g")
    terminal.wait_for("holding the GIL")
    terminal.wait_for(r"\033\[J")
    assert "sleeper" not in "".join(terminal.screen())
    terminal.press("h")
    terminal.wait_for(r"holds% +all% +holds s")
    terminal.wait_for(rf"(9\d|100)\.\d +(9\d|100)\.\d .*thread {process.pid} MainThread")
    terminal.press("g")
    terminal.wait_for(r"runs% +all% +runs s")
    terminal.wait_for(rf"thread {process.pid} MainThread")
    terminal.wait_for(r"thread \d+ sleepy")
    terminal.press("o")
    terminal.wait_for("threads by own time")
    terminal.press("?")
    terminal.wait_for("start counting anew")
    terminal.press("q")
    terminal.wait_for(re.escape(LEFT))
    assert terminal.process.wait(PATIENCE_S) == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before
    assert process.poll() is None


def seconds_of(terminal: Terminal, before: str = "") -> float:
    """The total of the program, on a screen with that text before it."""
    pattern = rf"{before}(?:.|\n)*?[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)   <module>"
    return float(terminal.wait_for(pattern)[1])


def test_pause_and_reset(start: Start, top: Callable[..., Terminal]):
    process = start(BUSY, sleeps=False)
    terminal = top(process.pid)
    terminal.wait_for("<module>")
    time.sleep(1.5)
    terminal.press("p")
    paused = seconds_of(terminal, "PAUSED")
    terminal.press("x")
    time.sleep(1.2)
    terminal.press("x")
    assert seconds_of(terminal, "PAUSED") == paused
    terminal.press("p")
    terminal.wait_for(r"time   \?")
    terminal.press("r")
    end = time.monotonic() + PATIENCE_S
    while seconds_of(terminal) >= paused:  # a screen from before the key may still come
        assert time.monotonic() < end
        terminal.text = ""


def test_screen_fits_the_terminal(start: Start, top: Callable[..., Terminal]):
    process = start(BUSY, sleeps=False)
    terminal = top(process.pid, columns=44, rows=6)
    terminal.wait_for("inner")
    lines = terminal.screen()
    assert len(lines) <= 6 and max(map(len, lines)) <= 44
    terminal.press("?")
    terminal.wait_for("sort by own time")
    assert max(map(len, terminal.screen())) <= 44
    terminal.resize(20, 6)  # less than the numbers take
    terminal.press("?")
    terminal.wait_for(r"own%(.|\n)*\d\.\d(.|\n)*\033\[J")
    assert max(map(len, terminal.screen())) <= 20
    terminal.text = ""
    terminal.resize(120, 40)
    os.kill(terminal.process.pid, signal.SIGWINCH)
    terminal.wait_for(r"samples a second")
    assert max(map(len, terminal.screen())) > 44


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGABRT])
def test_terminal_is_as_it_was_after_a_signal(
    start: Start, top: Callable[..., Terminal], number: int
):
    process = start(BUSY, sleeps=False)
    terminal = top(process.pid)
    terminal.wait_for("inner")
    assert termios.tcgetattr(terminal.slave) != terminal.before
    terminal.process.send_signal(number)
    terminal.wait_for(re.escape(LEFT))
    status = terminal.process.wait(PATIENCE_S)
    assert status == (-number if number == signal.SIGABRT else 0)
    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_suspended_and_continued(start: Start, top: Callable[..., Terminal]):
    process = start(BUSY, sleeps=False)
    terminal = top(process.pid)
    terminal.wait_for("inner")
    terminal.process.send_signal(signal.SIGTSTP)
    terminal.wait_for(re.escape(LEFT))
    end = time.monotonic() + PATIENCE_S
    stat = Path(f"/proc/{terminal.process.pid}/stat")
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < end
        time.sleep(0.001)
    assert termios.tcgetattr(terminal.slave) == terminal.before
    terminal.text = ""
    terminal.process.send_signal(signal.SIGCONT)
    terminal.wait_for(re.escape(ENTERED))
    terminal.wait_for("inner")


def test_process_that_ends(start: Start, top: Callable[..., Terminal]):
    process = start(BUSY, sleeps=False)
    terminal = top(process.pid)
    terminal.wait_for("inner")
    process.kill()
    terminal.wait_for(f"dwell: process {process.pid} has ended")
    assert terminal.process.wait(PATIENCE_S) == 0


def test_program_that_it_starts(top: Callable[..., Terminal], tmp_path: Path):
    script = tmp_path / "short.py"
    script.write_text(
        "import os, sys\n"
        "def work():\n    while not os.path.exists(sys.argv[2]):\n        pass\n"
        "print('from the program', sys.argv[1])\n"
        "work()\n"
        "sys.exit(3)\n",
        encoding="utf-8",
    )
    terminal = top("--", script, "argument", tmp_path / "enough")
    terminal.wait_for(r"work \(short.py:2\)")
    assert "from the program" not in terminal.text
    (tmp_path / "enough").touch()
    terminal.wait_for("from the program argument")
    assert terminal.process.wait(PATIENCE_S) == 3


def test_quitting_ends_the_program_that_it_started(top: Callable[..., Terminal], tmp_path: Path):
    script, began = tmp_path / "long.py", tmp_path / "began"
    script.write_text(
        f"print('shown later', flush=True)\nopen({str(began)!r}, 'w')\nwhile True:\n    pass\n",
        encoding="utf-8",
    )
    terminal = top("--", script)
    pid = int(terminal.wait_for(r"process (\d+): long.py")[1])
    while not began.exists():
        terminal.read(0.05)
    terminal.press("q")
    terminal.wait_for("shown later")
    assert terminal.process.wait(PATIENCE_S) == 0
    assert not Path(f"/proc/{pid}").exists()


def test_the_head_fits_and_the_last_table_stays(start: Start, top: Callable[..., Terminal]):
    name = "a_program_with_a_name_that_is_too_long_for_its_line.py"
    process = start(BUSY, name=name, sleeps=False)
    terminal = top(process.pid, columns=80, rows=24)
    terminal.wait_for(r"inner \(a_prog")
    head, rates, *_ = terminal.screen()
    assert re.fullmatch(rf"process {process.pid}: a_.*….*, Python [\d.]+, \d threads", head)
    assert re.fullmatch(r"GIL held \d+ %, \d+ samples a second; 100 % is one thread .*", rates)
    terminal.press("q")
    assert terminal.process.wait(PATIENCE_S) == 0
    terminal.wait_for(re.escape(LEFT) + r"(?s:.*<module> \(a_p.*)\n\r?\n")
    left = terminal.text.partition(LEFT)[2].replace("\r", "").rstrip().split("\n")
    assert left[0].startswith(f"process {process.pid}: ") and "own%" in left[2]
    assert 3 < len(left) < 24 and max(map(len, left)) <= 80


def test_tables_into_a_pipe(start: Start, run_dwell: Program):
    process = start(BUSY, sleeps=False)
    result = run_dwell("top", str(process.pid), "--count", "2", "--rate", "1000")
    assert result.returncode == 0 and "\033" not in result.stdout
    tables = result.stdout.strip().split("\n\n")
    assert len(tables) == 2
    for table in tables:
        head, rates, title, *rows = table.splitlines()
        assert head.startswith(f"process {process.pid}: program.py, Python ")
        assert rates.endswith("100 % is one thread all the time")
        assert title.split() == ["own%", "total%", "own", "s", "total", "s", "function"]
        names = [row.split(None, 4)[4] for row in rows]
        assert names[0] == "inner (program.py:2)"
        own, total = map(float, rows[names.index("<module> (program.py:1)")].split()[:2])
        assert own < 5 and abs(total - 100) < 10


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "top needs one process id, or -- and a program"),
        (["--"], "top needs one process id, or -- and a program"),
        (["1", "--", "x.py"], "top needs one process id, or -- and a program"),
        (["x"], "'x' is not a process id; see 'dwell top --help'"),
        (["1", "--count", "0"], "--count needs a number"),
        (["1", "--rate", "0"], "--rate needs samples a second"),
    ],
)
def test_bad_usage(run_dwell: Program, words: list[str], complaint: str):
    result = run_dwell("top", *words)
    assert result.returncode == 2
    assert result.stderr.startswith(f"dwell: {complaint}")


def test_no_such_process(run_dwell: Program):
    with subprocess.Popen(["true"]) as gone:
        pass
    result = run_dwell("top", str(gone.pid))
    assert result.returncode == 1
    assert result.stderr == f"dwell: process {gone.pid}: no such process\n"
