# SPDX-License-Identifier: MIT
"""Reports of lines, of logs whose numbers are chosen."""

import argparse
import csv
import dataclasses
import functools
import inspect
import io
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from ..line_log import LineLog

SOURCE = '''\
def scale(rows):
    """Twice."""
    out = []
    for row in rows:
        if not row:
            raise ValueError
        out.append(double(row))
    return out


def double(row):
    return 2 * row
'''

SCALE = """\
Total time: 0.0025 s
File: scale.py
Function: scale at line 1

Line #      Hits         Time  Per Hit   % Time         Self  Line Contents
===========================================================================
     1                                                        def scale(rows):
     2                                                            \"\"\"Twice.\"\"\"
     3         2        100.0     50.0      4.0        100.0      out = []
     4        12        400.0     33.3     16.0        400.0      for row in rows:
     5        10        500.0     50.0     20.0        500.0          if not row:
     6         0                                                          raise ValueError
     7        10       1500.0    150.0     60.0        300.0          out.append(double(row))
     8         0                                                  return out
"""


@pytest.fixture
def log(tmp_path: Path) -> LineLog:
    """Written to x.dwell."""
    log = LineLog()
    log.source("scale.py", SOURCE)
    scale = log.function("scale", "scale.py", 1)
    double = log.function("double", "scale.py", 11)
    log.line(scale, 0, hits=2)
    log.line(scale, 3, hits=2, time=100_000)
    log.line(scale, 4, hits=12, time=400_000)
    log.line(scale, 5, hits=10, time=500_000)
    log.line(scale, 6)
    log.line(scale, 7, hits=10, time=1_500_000, self=300_000)
    log.line(scale, 7, callee=double, hits=10, time=1_200_000)
    log.line(scale, 8)
    log.line(double, 12)
    log.write(tmp_path / "x.dwell")
    return log


def test_recording_of_lines_is_reported_by_line(log: LineLog, run_dwell: Callable) -> None:
    plain = run_dwell("report", "x.dwell")
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout.startswith("Timer unit: 1e-06 s\n\n" + SCALE + "\n")
    assert "Function: double at line 11\n" in plain.stdout
    assert run_dwell("report", "x.dwell", "--by", "line").stdout == plain.stdout
    assert run_dwell("export", "x.dwell", "--to", "lines").stdout == plain.stdout


def test_options(log: LineLog, run_dwell: Callable) -> None:
    short = run_dwell("report", "x.dwell", "--strip-zeros", "--unit", "1e-4", "--callees").stdout
    assert short.startswith("Timer unit: 0.0001 s\n")
    assert "Function: double" not in short
    assert re.search(
        r"^ +7 +10 +15\.0 +1\.5 .*double\(row\)\)\n +10 +12\.0 +1\.2 .* -> double$", short, re.M
    )
    summary = ["  0.00 seconds - scale.py:11 - double", "  0.00 seconds - scale.py:1 - scale"]
    shown = run_dwell("report", "x.dwell", "--summarize", "--sort", "time").stdout
    assert shown.splitlines()[-2:] == summary
    assert shown.index("Function: double") < shown.index("Function: scale")
    assert "Function: scale" not in run_dwell("report", "x.dwell", "--match", r":11\(").stdout


def test_data(log: LineLog, run_dwell: Callable) -> None:
    text = run_dwell("report", "x.dwell", "--by", "line", "--format", "csv").stdout
    assert run_dwell("export", "x.dwell", "--to", "csv").stdout == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(row["line"]) for row in rows] == [0, 3, 4, 5, 6, 7, 8, 0, 12]
    assert rows[5]["source"] == "        out.append(double(row))"
    assert rows[5]["time"] == "1500000"
    done = run_dwell("report", "x.dwell", "--callees", "--format", "json")
    found = json.loads(done.stdout)["rows"]
    [scale, double] = [row for row in found if not row["line"]]
    assert [scale["function"], scale["hits"], scale["time"]] == ["scale", 2, 2_500_000]
    assert [row["time"] for row in found if row["callee"]] == [1_200_000]
    assert double["hits"] is None
    whole = json.loads(run_dwell("export", "x.dwell", "--to", "json").stdout)
    assert whole["lines"] == found


def test_limits_keep_the_first_functions(log: LineLog, run_dwell: Callable) -> None:
    first = run_dwell("report", "x.dwell", "--limit", "1").stdout
    assert "Function: scale" in first and "Function: double" not in first
    longest = run_dwell("report", "x.dwell", "--limit", "1", "--sort", "time").stdout
    assert "Function: scale" in longest and "Function: double" not in longest
    both = run_dwell("report", "x.dwell", "--match", "scale", "--match", r":11\(").stdout
    assert "Function: scale" not in both and "Function: double" in both


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--unit", "0"], "--unit needs seconds such as 1e-3, not '0'"),
        (["--unit", "nan"], "--unit needs seconds such as 1e-3, not 'nan'"),
        (["--unit", "1", "--by", "region"], "--unit goes with --by line"),
        (["--sort", "self"], "cannot sort functions with lines by 'self'; there are: file, time"),
        (["--match", "("], "--match '(': "),
        (["--limit", "x"], "--limit needs a number of rows or a part of them"),
        (["--callers"], "--callers goes with --by function"),
        (["--format", "tree"], "--format tree does not go with --by line"),
        (["--by", "line", "--columns", "name"], "--columns does not go with --by line"),
        (["--columns", "name"], "--columns does not go with --by line"),
    ],
)
def test_bad_usage(log: LineLog, run_dwell: Callable, arguments: list[str], complaint: str) -> None:
    done = run_dwell("report", "x.dwell", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dwell: {complaint}")


FIB = """
def fib(n):
    if n < 2:
        return n
    a = fib(n - 1)
    b = fib(n - 2)
    return a + b
fib(29)
"""


def test_shares_of_sampled_lines_are_of_the_function_in_recursion(
    tmp_path: Path, run_dwell: Callable
) -> None:
    (tmp_path / "fib.py").write_text(FIB)
    assert run_dwell("run", "-q", "-o", "x.dwell", "fib.py").returncode == 0
    text = run_dwell("report", "x.dwell", "--by", "line", "--summarize", "--match", "fib").stdout
    table = text[text.index("Function: fib at") :]
    for line in ("a = fib(n - 1)", "b = fib(n - 2)"):  # both are in nearly every sample
        row = next(row for row in table.splitlines() if row.endswith(line))
        assert 95 < float(row.split()[3]) <= 100


def test_recording_without_lines(tmp_path: Path, run_dwell: Callable) -> None:
    (tmp_path / "program.py").write_text("import dwell\nwith dwell.region('a'): pass\n")
    assert run_dwell("run", "--regions", "-o", "x.dwell", "program.py").returncode == 0
    for command in (["report", "x.dwell", "--by", "line"], ["export", "x.dwell", "--to", "lines"]):
        done = run_dwell(*command)
        assert (done.returncode, done.stdout) == (1, "")
        assert (
            done.stderr == "dwell: x.dwell: holds no lines; record them with 'dwell run --lines'\n"
        )
    assert run_dwell("report", "x.dwell", "--strip-zeros").returncode == 1


def codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


@pytest.mark.parametrize("module", [argparse, dataclasses, functools, textwrap])
def test_functions_end_where_inspect_says(
    module: ModuleType, tmp_path: Path, run_dwell: Callable
) -> None:
    text = inspect.getsource(module)
    log = LineLog()
    log.source("module.py", text)
    expected = {}
    for code in codes(compile(text, module.__file__, "exec")):
        if code.co_name.startswith("<"):
            continue
        first = code.co_firstlineno
        log.line(log.function(code.co_qualname, "module.py", first), 0, hits=1)
        block = inspect.getblock(text.splitlines(keepends=True)[first - 1 :])
        expected[code.co_qualname, first] = (first, first + len(block) - 1)
    log.write(tmp_path / "x.dwell")
    report = run_dwell("report", "x.dwell").stdout
    found = {}
    for part in report.split("Function: ")[1:]:
        name, first = part.split("\n", 1)[0].rsplit(" at line ", 1)
        numbers = [int(n) for n in re.findall(r"^ *(\d+)(?= {20})", part, re.M)]
        found[name, int(first)] = (numbers[0], numbers[-1])
    assert len(expected) > 5
    assert found == expected
