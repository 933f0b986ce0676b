# SPDX-License-Identifier: MIT
"""Samplers from outside: what they cost the program, how many samples they get, and how far the
shares they report are from the truth, which the program measures itself.

One process works all the time, and is watched and left alone by turns. Prints JSON. A tool that
is not there, or does not know this Python, is left out.
"""

import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from shares import by_part, error_of, typical

HERE = pathlib.Path(__file__).parent
BIN = pathlib.Path(sys.executable).parent
TURNS = 5
RATES = (100, 1000, 10000, "max")
SECONDS = 3  # that a tool watches
START_SECONDS = 1  # until a tool is sure to watch
ALONE_SECONDS = 0.7
PARTS = ("fib", "loop", "leaf")


class Tool:
    """A tool that writes collapsed stacks with numbers of samples."""

    def __init__(self, folder):
        self.file = f"{folder}/attached"

    def result(self):
        """How many samples were taken, and their weights by part."""
        weights = by_part(pathlib.Path(self.file).read_text(), PARTS)
        return sum(weights.values()), weights


class Dwell(Tool):
    def command(self, pid, rate):
        options = ["--rate", str(rate), "--duration", str(SECONDS), "-o", self.file]
        return [BIN / "dwell", "attach", str(pid), *options]

    def result(self):
        export = [BIN / "dwell", "export", self.file, "--to", "collapsed"]
        collapsed = subprocess.check_output(export, text=True, stderr=subprocess.DEVNULL)
        report = [BIN / "dwell", "report", self.file, "--format", "json"]
        return json.loads(subprocess.check_output(report))["sampling"][0]["taken"], by_part(
            collapsed, PARTS
        )


class PySpy(Tool):
    extra: tuple[str, ...] = ()
    most = 1000  # it stops the program for each sample; at 10 kHz that takes minutes

    def command(self, pid, rate):
        if rate == "max" or rate > self.most:
            return None
        options = ["-f", "raw", "-r", str(rate), "-d", str(SECONDS), "-o", self.file, *self.extra]
        return [BIN / "py-spy", "record", "-p", str(pid), *options]


class PySpyNonblocking(PySpy):
    extra = ("--nonblocking",)
    most = 10000


class Austin(Tool):
    def command(self, pid, rate):
        microseconds = 1 if rate == "max" else 1_000_000 // rate
        options = ["-i", str(microseconds), "-x", str(SECONDS), "-o", self.file]
        return [BIN / "austin", *options, "-p", str(pid)]

    def result(self):
        """Samples are weighed by the microseconds that each stands for."""
        lines = f"{self.file}.txt"
        convert = [BIN / "mojo2austin", self.file, lines]
        subprocess.run(convert, check=True, timeout=300, capture_output=True)
        rows = [line for line in pathlib.Path(lines).read_text().splitlines() if line[:1] == "P"]
        return len(rows), by_part("\n".join(rows), PARTS)


class Tachyon(Tool):
    def command(self, pid, rate):
        if sys.version_info < (3, 15):
            return None
        asked = "1000000" if rate == "max" else str(rate)
        options = ["-r", asked, "-d", str(SECONDS), "--collapsed", "-o", self.file]
        return [sys.executable, "-m", "profiling.sampling", "attach", *options, str(pid)]


def watch(tool, command):
    """Runs the tool to its end; when it began, by the program's clock, and whether it watched for
    as long as it should and left a result. (Austin's status is not 0 when its time is up.)"""
    file = pathlib.Path(tool.file)
    file.unlink(missing_ok=True)
    began_ns = time.perf_counter_ns()
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, capture_output=True, timeout=60)
    lasted = time.perf_counter_ns() - began_ns > 0.9e9 * SECONDS
    return began_ns, lasted and file.exists() and file.stat().st_size > 0


def leave_alone():
    began_ns = time.perf_counter_ns()
    time.sleep(ALONE_SECONDS)
    return began_ns, time.perf_counter_ns()


def watch_by_turns(pid, tools):
    """What each tool gave, and when the program was left alone right before and after it."""
    watched = []
    before = leave_alone()
    for _ in range(TURNS):
        for rate in RATES:
            for name, tool in tools.items():
                command = tool.command(pid, rate)
                if not command or not shutil.which(command[0]):
                    continue
                began_ns, is_good = watch(tool, command)
                after = leave_alone()
                if is_good:
                    alone = (before, after)
                    watched.append((str(rate), name, alone, began_ns, *tool.result()))
                before = after
    return watched


def within(blocks, start_ns, end_ns):
    return [
        block
        for block in blocks
        if start_ns <= block["began_ns"] and block["began_ns"] + block["net_ns"] <= end_ns
    ]


def summed_up(blocks, watched):
    rows: dict = {}
    for rate, name, alone, began_ns, taken, weights in watched:
        end_ns = began_ns + int(SECONDS * 1e9)
        during = within(blocks, began_ns + int(START_SECONDS * 1e9), end_ns)
        bare = [block for start, end in alone for block in within(blocks, start, end)]
        if not during:  # it kept the program from working
            continue
        row = rows.setdefault(rate, {}).setdefault(name, {"slowdown": [], "hz": [], "error": []})
        row["slowdown"].append(typical(during) / typical(bare))
        row["hz"].append(taken / SECONDS)
        row["error"].append(error_of(weights, during))
    for tools in rows.values():
        for name, row in tools.items():
            tools[name] = {key: statistics.median(values) for key, values in row.items()}
    return rows


def main():
    command = [sys.executable, HERE / "shares.py", "python"]
    pipe = subprocess.PIPE
    target = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    target.stdout.readline()  # it says when it begins
    with tempfile.TemporaryDirectory() as folder:
        tools = {
            "py-spy": PySpy(folder),
            "py-spy --nonblocking": PySpyNonblocking(folder),
            "austin": Austin(folder),
            "tachyon": Tachyon(folder),
            "dwell": Dwell(folder),
        }
        watched = watch_by_turns(target.pid, tools)
    blocks = json.loads(target.communicate("")[0])
    print(json.dumps(summed_up(blocks, watched)))


main()
