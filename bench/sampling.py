# SPDX-License-Identifier: MIT
"""Samplers in the process: what they cost it, how many samples they get, and how far the shares
they report are from the truth.

The cost is that of one process that works with and without samples by turns, since one process
differs from the next by more than what is measured. "empty" is a handler that does nothing on
the timer that dwell uses: what the kernel, and the machine under it, take for a signal.

Prints JSON. A tool that is not there, or does not know this Python, is left out.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from empty_handler import Empty
from shares import Program, by_part, error_of, typical
from turns import run

HERE = pathlib.Path(__file__).parent
BIN = pathlib.Path(sys.executable).parent
PROGRAMS = ("python", "numpy")
RATE = 1000
PAIRS = 25  # of blocks with and without samples
TURNS = 3


class Dwell:
    def __init__(self, folder):
        import dwell

        self.file = f"{folder}/a.dwell"
        self.start = lambda: dwell.start(self.file, rate=RATE)
        self.stop = dwell.stop

    def weights(self, parts):
        export = [BIN / "dwell", "export", self.file, "--to", "collapsed"]
        return by_part(subprocess.check_output(export, text=True), parts)


class Pyinstrument:
    def __init__(self, folder):
        import pyinstrument

        self.profiler = pyinstrument.Profiler(interval=1 / RATE)
        self.start, self.stop = self.profiler.start, self.profiler.stop

    def weights(self, parts):
        frames, weights = [self.profiler.last_session.root_frame()], dict.fromkeys(parts, 0)
        for frame in frames:
            if frame.function in weights:
                weights[frame.function] += frame.time
            else:
                frames += frame.children
        return weights


class Gperftools:
    def __init__(self, folder):
        os.environ["CPUPROFILE_FREQUENCY"] = str(RATE)
        library = ctypes.CDLL("libprofiler.so.0")
        self.start = lambda: library.ProfilerStart(f"{folder}/a.prof".encode())
        self.stop = library.ProfilerStop


SAMPLERS = {
    "empty": Empty,
    "dwell": Dwell,
    "pyinstrument": Pyinstrument,
    "gperftools": Gperftools,
}


def slowdown(program, tool):
    """How many times slower a program is with the tool. The first block after a start is left
    out: what a tool does once is not what it does for each sample."""
    work = Program(program)
    with tempfile.TemporaryDirectory() as folder:
        sampler = SAMPLERS[tool](folder)
        bare, sampled = [], []
        for _ in range(PAIRS):
            bare.append(work.block())
            sampler.start()
            work.block()
            sampled.append(work.block())
            sampler.stop()
    return typical(sampled) / typical(bare)


def scalene(program):
    """It has to run a whole program, so it is compared with another process."""
    command = [HERE / "shares.py", program, "3"]
    options = ["run", "--cpu-only", f"--cpu-sampling-rate={1 / RATE}", "-o", os.devnull]
    blocks: dict[str, list] = {"bare": [], "scalene": []}
    for _ in range(TURNS if (BIN / "scalene").exists() else 0):
        for name, how in (("bare", [sys.executable]), ("scalene", [BIN / "scalene", *options])):
            done = subprocess.run([*how, *command], capture_output=True, text=True)
            lines = [line for line in done.stdout.splitlines() if line.startswith("[{")]
            blocks[name] += json.loads(lines[-1]) if lines else []
    return typical(blocks["scalene"]) / typical(blocks["bare"]) if blocks["scalene"] else None


def slowdowns(program):
    ratios = {tool: run(__file__, "slowdown", program, tool) for tool in SAMPLERS}
    ratios["scalene"] = scalene(program)
    return {tool: ratio for tool, ratio in ratios.items() if ratio}


def error(program, tool):
    """By how many points the share of a part is off at most, in five seconds or so."""
    work = Program(program)
    with tempfile.TemporaryDirectory() as folder:
        sampler = SAMPLERS[tool](folder)
        sampler.start()
        blocks = [work.block() for _ in range(100)]
        sampler.stop()
        return error_of(sampler.weights(blocks[0]["parts"]), blocks)


def errors(program):
    found = {tool: run(__file__, "error", program, tool) for tool in ("pyinstrument", "dwell")}
    return {tool: points for tool, points in found.items() if points is not None}


def sampling_of(file):
    """How the samples of a recording were taken, as its JSON report says."""
    command = [BIN / "dwell", "report", file, "--format", "json"]
    return json.loads(subprocess.check_output(command))["sampling"][0]


def obtained(rate):
    """Samples a second of CPU time, to what was asked for."""
    import dwell

    work = Program("python")
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/rate.dwell"
        dwell.start(file, rate=int(rate))
        began = time.thread_time()
        for _ in range(40):
            work.block()
        lasted = time.thread_time() - began
        dwell.stop()
        return sampling_of(file)["taken"] / lasted / int(rate)


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
began = time.perf_counter()
dwell.start(sys.argv[1], rate=10000)
end = time.perf_counter() + 0.005
while time.perf_counter() < end:
    pass
print((time.perf_counter() - began) * 1000)
dwell.stop()
"""


def first_sample(folder):
    """Milliseconds from the call of start(), with NumPy loaded, after which there were samples:
    at most 5 more than the call takes."""
    file, least = f"{folder}/first.dwell", float("inf")
    for _ in range(TURNS):
        took_ms = float(subprocess.check_output([sys.executable, "-c", FIRST, file]))
        if sampling_of(file)["taken"]:
            least = min(least, took_ms)
    return least


def main():
    if len(sys.argv) > 1:
        measure = {
            "slowdown": slowdown,
            "error": error,
            "obtained": obtained,
            "first": first_sample,
        }[sys.argv[1]]
        print(json.dumps(measure(*sys.argv[2:])))
        return
    with tempfile.TemporaryDirectory() as folder:
        result = {
            "slowdown": {program: slowdowns(program) for program in PROGRAMS},
            "error": {program: errors(program) for program in PROGRAMS},
            "obtained": {
                rate: max(run(__file__, "obtained", rate) for _ in range(TURNS))
                for rate in ("1000", "5000", "10000")
            },
            "first_sample_ms": first_sample(folder),
            "megabytes_a_minute": megabytes_a_minute(folder),
        }
    print(json.dumps(result))


main()
