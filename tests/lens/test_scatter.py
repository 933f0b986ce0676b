# SPDX-License-Identifier: MIT
"""C++ under Python, from start() and stop() to pprof's table and ours; and the library that is
built again before anybody looks."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .test_pprof import needs_pprof, pprof

EXAMPLE = Path(__file__).parents[2] / "examples" / "scatter"
pytestmark = pytest.mark.skipif(not shutil.which("c++"), reason="needs a C++ compiler")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example, so that it can be changed, compiled."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder)
    build(folder)
    return folder


def build(folder: Path) -> None:
    subprocess.run([folder / "build.sh", sys.executable, folder], check=True)


def record(folder: Path, name: str) -> Path:
    subprocess.run([sys.executable, folder / "main.py", folder / name], check=True, cwd=folder)
    return folder / name


def line_of(folder: Path, text: str) -> int:
    lines = (folder / "scatter.cc").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


@needs_pprof
def test_pprof_shows_functions_with_files_and_lines(example: Path) -> None:
    text = pprof("-text", "-lines", "-nodefraction=0", str(record(example, "x.prof")))
    rows = re.findall(r"^ +\S+ +(\S+)% +\S+% +\S+ +(\S+)% +(.*)$", text, re.MULTILINE)
    own = {name: float(flat) for flat, _, name in rows}
    total = {name: float(cum) for _, cum, name in rows}
    mix = line_of(example, "a * T(31)")
    assert own[f"native::mix {example}/scatter.cc:{mix} (inline)"] > 5
    gather = line_of(example, "sum = mix(")
    assert total[f"native::gather {example}/scatter.cc:{gather}"] > 10
    assert any("operator() " in name and "(inline)" in name for name in own)
    assert total[f"<module> {example}/main.py:12"] + total[f"<module> {example}/main.py:13"] > 95
    assert sum(own.values()) == pytest.approx(100, abs=1)  # each is rounded
    assert "Type: cpu" in text


def lines_of(report: str) -> dict[str, tuple[float, float]]:
    """Total and self percentages by place."""
    rows = re.findall(r"^ +(\S+) +(\S+)(?: +\S+){6}  (.*)$", report, re.MULTILINE)
    return {place: (float(total), float(own)) for total, own, place in rows}


def test_the_report_by_line_shows_the_same(example: Path, run_dwell) -> None:
    done = run_dwell("report", record(example, "x.dwell"), "--by", "line")
    assert done.returncode == 0 and done.stderr == ""
    rows = lines_of(done.stdout)
    mix = line_of(example, "a * T(31)")
    assert rows[f"scatter.cc:{mix} (native::mix)"][1] > 5
    python = [rows[f"main.py:{line} (<module>)"][0] for line in (12, 13)]
    assert sum(python) > 95
    assert sum(own for _, own in rows.values()) == pytest.approx(100, abs=1)


def test_a_library_that_was_built_again(example: Path, run_dwell) -> None:
    log = record(example, "x.dwell")
    names = {row[1] for row in function_rows(run_dwell, log)}
    assert {"native::gather", "native::scatter"} <= names
    source = (example / "scatter.cc").read_text()
    start, middle = source.index("__attribute__((no"), source.rindex("__attribute__((no")
    end = source.index("} // namespace")
    swapped = source[middle:end] + "int padding(int n) { return n ^ 5; }\n" + source[start:middle]
    (example / "scatter.cc").write_text(source[:start] + swapped + source[end:])
    build(example)
    assert {row[1] for row in function_rows(run_dwell, log)} == names
    done = run_dwell("report", log, "--by", "line")
    library = next(example.glob("scatter.*.so"))
    assert done.stderr == (
        f"dwell: {library}: has changed since it was recorded; "
        "its functions are shown without lines\n"
    )
    assert "scatter.cc:" not in done.stdout and "(native::gather)" in done.stdout


def function_rows(run_dwell, log: Path) -> list[tuple[str, str]]:
    """Samples and names of functions."""
    done = run_dwell("report", log, "--limit", "1000")
    return re.findall(r"^(?: +\S+){4} +(\d+)  (\S+)", done.stdout, re.MULTILINE)
