# SPDX-License-Identifier: MIT
"""Samplers in the process and from outside: what they cost the program, how many samples they
get, and how far the shares they report are from the truth, which the program measures itself.

Prints JSON. A tool that is not there, or does not know this Python, is left out.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
TURNS = 3
ROUNDS = {"python": 900, "numpy": 1000}
RATES = (100, 1000, 10000)
BIN = pathlib.Path(sys.executable).parent


def work(program, *tool, before=(), environment=None):
    """Runs the program of known shares to its end; what it prints, or None."""
    command = [*before, sys.executable, HERE / "shares.py", program, str(ROUNDS[program]), *tool]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if done.returncode == 0 and lines else None


def scalene(program, rate):
    if not (BIN / "scalene").exists():
        return None
    target = [HERE / "shares.py", program, str(ROUNDS[program])]
    options = ["run", "--cpu-only", f"--cpu-sampling-rate={1 / rate}", "-o", os.devnull]
    done = subprocess.run([BIN / "scalene", *options, *target], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def in_process(folder):
    """Time of a fixed amount of work under each tool, to that of the bare program, which runs
    just before it. The least of all turns."""
    tools = {
        "dwell": lambda program: work(program, "dwell", "1000", f"{folder}/a.dwell"),
        "pyinstrument": lambda program: work(program, "pyinstrument", "1000"),
        "gperftools": lambda program: work(
            program,
            *("gperftools", "1000", f"{folder}/a.prof"),
            environment={"CPUPROFILE_FREQUENCY": "1000"},
        ),
        "scalene": lambda program: scalene(program, 1000),
    }
    best = {program: {} for program in ROUNDS}
    for _ in range(TURNS):
        for program, rows in best.items():
            for tool, run in tools.items():
                for name, result in (("none", work(program)), (tool, run(program))):
                    if result:
                        rows[name] = min(rows.get(name, float("inf")), result["net_ns"])
    return {
        program: {tool: took / rows["none"] for tool, took in rows.items() if tool != "none"}
        for program, rows in best.items()
    }


def sampling_of(file):
    """How the samples of a recording were taken, as its JSON report says."""
    command = [BIN / "dwell", "report", file, "--format", "json"]
    return json.loads(subprocess.check_output(command))["sampling"][0]


def obtained(folder):
    """Samples a second of CPU time, to what was asked for."""
    shares = {}
    for rate in (1000, 5000, 10000):
        for _ in range(TURNS):
            file = f"{folder}/rate.dwell"
            result = work("python", "dwell", str(rate), file)
            share = sampling_of(file)["taken"] / (result["cpu_ns"] * 1e-9) / rate
            shares[rate] = max(shares.get(rate, 0), share)
    return shares


DEEP = """
import sys, time, dwell
def down(depth):
    if depth:
        return down(depth - 1)
    end = time.monotonic() + 10
    total = 0
    while time.monotonic() < end:
        for i in range(1000):
            total += i
dwell.start(sys.argv[1], rate=1000)
down(100)
dwell.stop()
"""


def megabytes_a_minute(folder):
    """The file of a recording at 1 kHz of stacks 100 deep, for a minute; ten seconds are run."""
    file = f"{folder}/deep.dwell"
    subprocess.run([sys.executable, "-c", DEEP, file], check=True)
    return os.path.getsize(file) * 6 / 1e6


FIRST = """
import sys, time, numpy, dwell
end = time.perf_counter() + 0.1
dwell.start(sys.argv[1], rate=10000)
while time.perf_counter() < end:
    pass
dwell.stop()
"""


def first_sample(folder):
    """Milliseconds of the first 100 that have no samples, from the call of start() on, with
    NumPy loaded."""
    file, least = f"{folder}/first.dwell", float("inf")
    for _ in range(TURNS):
        subprocess.run([sys.executable, "-c", FIRST, file], check=True)
        least = min(least, 100 - sampling_of(file)["taken"] / 10)
    return least


class Nobody:
    """No tool: the program runs alone. Others watch it by a command, whose result is how many
    samples were taken, and their weights by the parts of the program."""

    def __init__(self, folder):
        self.file = f"{folder}/attached"

    def command(self, pid, rate):
        return None


def by_function(collapsed):
    """Weights of collapsed stacks by the part of the program that they are in."""
    weights = {}
    for line in collapsed.splitlines():
        stack, _, weight = line.rpartition(" ")
        for part in ("fib", "loop", "leaf"):
            if re.search(rf"\b{part}\b", stack):
                weights[part] = weights.get(part, 0) + float(weight)
    return weights


class Dwell(Nobody):
    def command(self, pid, rate):
        return [BIN / "dwell", "attach", str(pid), "--rate", str(rate), "-o", self.file]

    def result(self, text):
        export = [BIN / "dwell", "export", self.file, "--to", "collapsed"]
        weights = by_function(subprocess.check_output(export, text=True, stderr=subprocess.DEVNULL))
        return sampling_of(self.file)["taken"], weights


class PySpy(Nobody):
    extra: tuple[str, ...] = ()
    most = 1000  # it stops the program for each sample; at 10 kHz that takes minutes

    def command(self, pid, rate):
        if rate == "max" or rate > self.most:
            return None
        options = ["-f", "raw", "-r", str(rate), "-d", "60", "-o", self.file, *self.extra]
        return [BIN / "py-spy", "record", "-p", str(pid), *options]

    def result(self, text):
        weights = by_function(pathlib.Path(self.file).read_text())
        return sum(weights.values()), weights


class PySpyNonblocking(PySpy):
    extra = ("--nonblocking",)
    most = 10000


class Austin(Nobody):
    def command(self, pid, rate):
        microseconds = 1 if rate == "max" else 1_000_000 // rate
        return [BIN / "austin", "-i", str(microseconds), "-p", str(pid), "-o", self.file]

    def result(self, text):
        """Samples are weighed by the microseconds that each stands for."""
        lines = f"{self.file}.txt"
        convert = [BIN / "mojo2austin", self.file, lines]
        subprocess.run(convert, check=True, timeout=300, capture_output=True)
        rows = [line for line in pathlib.Path(lines).read_text().splitlines() if line[:1] == "P"]
        return len(rows), by_function("\n".join(rows))


class Tachyon(Nobody):
    def command(self, pid, rate):
        if sys.version_info < (3, 15):
            return None
        asked = "1000000" if rate == "max" else str(rate)
        options = ["attach", "-r", asked, "-d", "60", "--collapsed", "-o", self.file]
        return [sys.executable, "-m", "profiling.sampling", *options, str(pid)]

    def result(self, text):
        weights = by_function(pathlib.Path(self.file).read_text())
        return sum(weights.values()), weights


def watch(tool, rate):
    """One run of the program with the tool attached from its start to its end."""
    command = [sys.executable, HERE / "shares.py", "python", str(ROUNDS["python"])]
    target = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()  # it says when it begins
    watching = tool.command(target.pid, rate)
    watcher = watching and subprocess.Popen(
        watching, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    began = time.monotonic()
    said = json.loads(target.communicate()[0])
    lasted = time.monotonic() - began
    if not watcher:
        return {"net_ns": said["net_ns"]}
    try:
        taken, weights = tool.result(watcher.communicate(timeout=60)[0])
    except (OSError, subprocess.SubprocessError, KeyError, ValueError):
        watcher.kill()
        return None
    whole = sum(weights.values())
    if not whole:
        return None
    error = max(abs(weights.get(part, 0) / whole - true) for part, true in said["shares"].items())
    return {"net_ns": said["net_ns"], "hz": taken / lasted, "error": error * 100}


def attached(folder):
    tools = {
        "py-spy": PySpy(folder),
        "py-spy --nonblocking": PySpyNonblocking(folder),
        "austin": Austin(folder),
        "tachyon": Tachyon(folder),
        "dwell": Dwell(folder),
    }
    seen: dict = {}
    bare = []
    for _ in range(TURNS):
        for rate in (*RATES, "max"):
            bare.append(watch(Nobody(folder), rate)["net_ns"])
            for name, tool in tools.items():
                command = tool.command(0, rate)
                result = command and shutil.which(command[0]) and watch(tool, rate)
                if result:
                    seen.setdefault(str(rate), {}).setdefault(name, []).append(result)
    return {
        rate: {name: summed_up(turns, min(bare)) for name, turns in rows.items()}
        for rate, rows in seen.items()
    }


def summed_up(turns, bare_ns):
    """The least slowdown, since only noise makes it more; the median of what a tool reports."""
    return {
        "slowdown": min(turn["net_ns"] for turn in turns) / bare_ns,
        "hz": statistics.median(turn["hz"] for turn in turns),
        "error": statistics.median(turn["error"] for turn in turns),
    }


def main():
    with tempfile.TemporaryDirectory() as folder:
        result = {
            "slowdown": in_process(folder),
            "obtained": obtained(folder),
            "first_sample_ms": first_sample(folder),
            "megabytes_a_minute": megabytes_a_minute(folder),
            "attached": attached(folder),
        }
    print(json.dumps(result))


main()
