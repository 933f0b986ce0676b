# SPDX-License-Identifier: MIT
"""What recording memory costs, beside memray, tracemalloc, scalene, fil and memory_profiler.

Each program runs in a process of its own under each tool; the tools take turns, and the best of
all turns counts. Prints JSON: {program: {tool: {"cpu": times that of the plain program, "file":
bytes, "memory": bytes more than the plain program had at its peak}}}, and under "line" the
nanoseconds that tools add to a line.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

TURNS = 3
DEEP = 100
BIN = pathlib.Path(sys.executable).parent


class Node:
    def __init__(self, number):
        self.number = number
        self.name = str(number)


def small(rounds=3_000_000):
    """Twelve million blocks: an object, its name and two numbers each round."""
    kept = [None] * 1000
    for i in range(rounds):
        kept[i % 1000] = Node(i)


def deep(level=DEEP):
    if level:
        deep(level - 1)
    else:
        small()


def numpy(rounds=150_000):
    """Three temporaries of 16 KB each round."""
    import numpy as np

    a = np.ones(2048)
    for _ in range(rounds):
        (a + 1) * 2 - a


def live(count=10_000_000):
    """So many objects are there in the end, and some come and go among them."""
    kept = [None] * count
    for i in range(count):
        kept[i] = object()
    small(500_000)


def line(rounds=20_000):
    total = 0
    for i in range(rounds):
        pair = (i, total)
        total = pair[0] + 1
    return total


def line_times(tool):
    """Seconds for three lines a round, with the tool and without."""
    rounds = {"memory_profiler": 2000}.get(tool, 200_000)
    began = time.process_time()
    line(rounds)
    plain = time.process_time() - began
    if tool == "dwell":
        import dwell.memory as tool_module
    else:
        import memory_profiler as tool_module
    with open(os.devnull, "w") as nowhere:
        profiled = tool_module.profile(stream=nowhere)(line)
        began = time.process_time()
        profiled(rounds)
    return (time.process_time() - began - plain) / rounds / 3 * 1e9


def memray(*options):
    return lambda file: [sys.executable, "-m", "memray", "run", "-q", "-f", *options, "-o", file]


def dwell(option):
    return lambda file: [str(BIN / "dwell"), "run", option, "-o", file]


TOOLS = {
    "plain": lambda file: [sys.executable],
    "dwell": dwell("--memory"),
    "dwell exact": dwell("--memory=exact"),
    "memray": memray(),
    "memray, Python allocators": memray("--trace-python-allocators"),
    "tracemalloc": lambda file: [sys.executable, "-X", "tracemalloc=1"],
    "scalene": lambda file: [sys.executable, "-m", "scalene", "run", "-o", file],
    "fil": lambda file: [str(BIN / "fil-profile"), "--no-browser", "-o", file, "run"],
}
PROGRAMS = {program.__name__: program for program in (small, deep, numpy, live)}
# Tools that take minutes for it.
TOO_SLOW = {("fil", "live"), ("scalene", "live")}


def size_of(path):
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def run(tool, program, directory):
    """CPU seconds of the program's function, bytes of the file, peak of resident bytes."""
    file, answer = directory / "recorded", directory / "answer"
    command = [*TOOLS[tool](str(file)), __file__, program, str(answer)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child.wait()
    if not answer.exists():
        return None
    cpu, peak = json.loads(answer.read_text())
    return {"cpu": cpu, "file": size_of(file) if file.exists() else 0, "memory": peak}


def measure(program, answer):
    import resource

    began = time.process_time()
    PROGRAMS[program]()
    cpu = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    pathlib.Path(answer).write_text(json.dumps((cpu, peak)))


def best(runs):
    found = [run for run in runs if run]
    return {key: min(run[key] for run in found) for key in found[0]} if found else None


def compare(program, tools):
    runs = {tool: [] for tool in tools}
    for _ in range(TURNS):
        for tool in tools:
            with tempfile.TemporaryDirectory() as directory:
                runs[tool].append(run(tool, program, pathlib.Path(directory)))
    figures = {tool: best(found) for tool, found in runs.items()}
    plain = figures.pop("plain")
    return {
        tool: found
        and {
            "cpu": found["cpu"] / plain["cpu"],
            "file": found["file"],
            "memory": found["memory"] - plain["memory"],
        }
        for tool, found in figures.items()
    } | {"heap": plain["memory"]}


def best_line(tool):
    command = [sys.executable, __file__, tool]
    done = [subprocess.run(command, capture_output=True, text=True) for _ in range(TURNS)]
    times = [float(one.stdout.splitlines()[-1]) for one in done if one.returncode == 0]
    return min(times, default=None)


def main():
    if len(sys.argv) == 3:
        measure(*sys.argv[1:])
        return
    if len(sys.argv) == 2:
        print(line_times(sys.argv[1]))
        return
    result = {
        program: compare(program, [tool for tool in TOOLS if (tool, program) not in TOO_SLOW])
        for program in PROGRAMS
    }
    result["line"] = {tool: best_line(tool) for tool in ("memory_profiler", "dwell")}
    print(json.dumps(result))


main()
