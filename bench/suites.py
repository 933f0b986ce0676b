# SPDX-License-Identifier: MIT
"""What profilers cost programs that people have: test suites, the import of large libraries, and
threads that hardly do anything. Each is a whole process, from its start to the end of the report.

A tool's run is compared with the bare one beside it. "cpu" is user and system time of the process
and all that it waited for, "wall" the time until it was over; both are medians of ratios, of
short threads the milliseconds that each took more. "empty" is a signal that nobody does
anything about, at dwell's pace and on its timer: less cannot be had on this machine.

The suites are in source distributions, which pip fetches by name into build/suites. Prints JSON.
A tool that is not there, or does not know this Python, is left out.

suites.py [--tools TOOL,...] [PROGRAM=PAIRS...]   only those, each with so many pairs of runs
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BIN = pathlib.Path(sys.executable).parent
SUITES = HERE.parent / "build" / "suites"
PAIRS = 7
THREADS = 3000

PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
# Of packaging without tests that differ from run to run, and without 50,000 of one comparison each.
TESTS = {
    "jinja2": PYTEST,
    "packaging": [*PYTEST, "--ignore=tests/property", "--ignore=tests/test_version.py"],
    "click": PYTEST,
}
IMPORTS = ("torch", "pandas", "scipy.stats", "sklearn")
SHORT_THREADS = f"""
import threading
for _ in range({THREADS}):
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
"""


def tools(out):
    """The commands that programs are put behind."""
    python, dwell = [sys.executable], [BIN / "dwell", "run", "-o", f"{out}/a.dwell"]
    pyspy = ["record", "--rate", "1000", "--format", "raw", "-o", f"{out}/a.txt", "--"]
    return {
        "bare": python,
        "empty": [*python, HERE / "empty_handler.py"],
        "dwell": dwell,
        "dwell 100 Hz": [*dwell, "--rate", "100"],
        "dwell wall": [*dwell, "--mode", "wall"],
        "dwell calls": [*dwell, "--calls"],
        "cprofile": [*python, "-m", "cProfile", "-o", f"{out}/a.pstats"],
        "pyinstrument": [*python, "-m", "pyinstrument", "-i", "0.001", "-o", f"{out}/b.txt"],
        "scalene": [*python, "-m", "scalene", "run", "--cpu-only", "-o", f"{out}/a.json"],
        "py-spy": [BIN / "py-spy", *pyspy, *python],
    }


def suite(name):
    """The folder of a library's source distribution; None when it cannot be had."""
    folder = SUITES / name
    if folder.exists():
        return folder
    fetch = ["pip", "download", "-q", "--no-binary", ":all:", "--no-deps", name]
    with tempfile.TemporaryDirectory() as fetched:
        if subprocess.run([sys.executable, "-m", *fetch, "-d", fetched]).returncode:
            return None
        (archive,) = pathlib.Path(fetched).iterdir()
        with tarfile.open(archive) as opened:
            opened.extractall(fetched, filter="data")
        (unpacked,) = (path for path in pathlib.Path(fetched).iterdir() if path.is_dir())
        SUITES.mkdir(parents=True, exist_ok=True)
        shutil.move(unpacked, folder)
    return folder


def can_import(name):
    command = [sys.executable, "-c", f"import {name}"]
    return subprocess.run(command, capture_output=True).returncode == 0


def programs(folder):
    """By name: the folder to run in, and the arguments of Python."""
    result = {}
    for name, arguments in TESTS.items():
        if (found := suite(name)) is not None:
            result[name] = (found, arguments)
    for name, text in (
        *((f"import {name}", f"import {name}") for name in IMPORTS if can_import(name)),
        ("threads", SHORT_THREADS),
    ):
        script = pathlib.Path(folder, name.replace(" ", "_") + ".py")
        script.write_text(text)
        result[name] = (folder, [script])
    return result


def took(command, folder):
    """CPU and wall seconds; None when the tool is not there, or the program did not end well."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}/src", "PYTHONDONTWRITEBYTECODE": "1"}
    began = time.perf_counter()
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    return None if status else (usage.ru_utime + usage.ru_stime, wall)


def compare(commands, folder, arguments, count):
    """Pairs of the runs of each tool with the bare ones right before."""
    pairs = {name: [] for name in commands if name != "bare"}
    for _ in range(count):
        bare = None
        for index, name in enumerate(list(pairs)):
            if index % 3 == 0:
                bare = took([*commands["bare"], *arguments], folder)
            measured = took([*commands[name], *arguments], folder)
            if bare and measured:
                pairs[name].append((bare, measured))
            else:
                del pairs[name]
    return pairs


def slowdown(pairs):
    return {
        unit: statistics.median(measured[i] / bare[i] for bare, measured in pairs)
        for i, unit in enumerate(("cpu", "wall"))
    }


def added_ms(pairs):
    return {
        unit: statistics.median(measured[i] - bare[i] for bare, measured in pairs) / THREADS * 1e3
        for i, unit in enumerate(("cpu", "wall"))
    }


def main():
    result = {}
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    chosen = dict(word.rsplit("=", 1) for word in options.programs)
    with tempfile.TemporaryDirectory() as folder:
        commands = tools(folder)
        if options.tools:
            commands = {tool: commands[tool] for tool in ("bare", *options.tools.split(","))}
        for name, (place, arguments) in programs(folder).items():
            if chosen and name not in chosen:
                continue
            pairs = compare(commands, place, arguments, int(chosen.get(name, PAIRS)))
            if not pairs:
                print(f"{name}: does not end well without a profiler either", file=sys.stderr)
            numbers = added_ms if name == "threads" else slowdown
            result[name] = {tool: numbers(found) for tool, found in pairs.items()}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
