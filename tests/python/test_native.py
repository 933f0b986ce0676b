# SPDX-License-Identifier: MIT
"""Regions marked in C: the examples, compiled and run for real."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dwell

EXAMPLES = Path(__file__).parents[2] / "examples" / "native"
compiler = shutil.which(os.environ.get("CC", "cc"))


def test_native_regions_stand_in_the_same_tree(tmp_path, python_program):
    subprocess.run([EXAMPLES / "build.sh", sys.executable, tmp_path], check=True)
    done = python_program("""
import array, dwell, native
values = array.array("d", range(1000))
native.smooth(values, 2)                       # before install: nothing
dwell.install(dwell.reporters.SilentReporter())
with dwell.region("python"):
    native.smooth(values, 5)
snapshot = dwell.snapshot()
print([(row["path"], row["count"]) for row in snapshot.rows[1:]], snapshot.counters)
""")
    assert done.stdout == (
        "[(['python'], 1), (['python', 'smooth'], 1), (['python', 'smooth', 'filter'], 5)]"
        " {'passes': 5}\n"
    ), done.stderr


@pytest.fixture
def standalone(tmp_path):
    program = tmp_path / "standalone"
    library = dwell.get_library_dir()
    subprocess.run(
        [compiler, "-O2", f"-I{dwell.get_include()}", EXAMPLES / "standalone.c"]
        + [f"-L{library}", "-ldwell", f"-Wl,-rpath,{library}", "-o", program],
        check=True,
    )
    return program


def test_a_program_without_python_records_and_reads(tmp_path, standalone, run_dwell):
    log = tmp_path / "c.dwell"
    done = subprocess.run([standalone, log], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "178 steps"
    assert [line.split()[0] for line in lines[3:]] == ["<main>", ".", "."]
    assert lines[-1].startswith(". . collatz")
    counts = run_dwell("report", log, "--format", "csv", "--columns", "name,count").stdout
    assert counts.splitlines() == ["name,count", "<main>,1", "search,1", "collatz,999"]
