# SPDX-License-Identifier: MIT
"""Memory over time: what `dwell run --memory` records of it, how it is shown and drawn."""

import csv
import io
import json
import re
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

MIB = 1 << 20

# Each step lasts until two chunks of readings (type 24) were written since it began: the second one
# has a reading of it.
STEPS = """
import os, signal, sys, time

def chunks():
    try:
        with open(LOG, 'rb') as file:
            return file.read().count(bytes([0x44, 0x57, 0x43, 0x4b, 24, 0]))
    except FileNotFoundError:
        return 0

def wait_for_a_reading():
    before = chunks()
    while chunks() < before + 2:
        time.sleep(0.01)

def hold(mib):
    data = bytearray(mib << 20)
    data[::4096] = b'x' * len(data[::4096])
    wait_for_a_reading()
    return data

LOG = os.path.abspath('x.dwell')
"""

GROW_AND_SHRINK = (
    STEPS
    + """
first = hold(64)
second = hold(128)
del second
wait_for_a_reading()
"""
)

WITH_CHILD = (
    STEPS
    + """
first = hold(64)
pid = os.fork()
if not pid:
    LOG = f'x.{os.getpid()}.dwell'
    mine = hold(200)
    os._exit(0)
os.waitpid(pid, 0)
wait_for_a_reading()
"""
)


def series_of(run_dwell, *files) -> list[dict]:
    shown = run_dwell("report", *files, "--by", "time", "--format", "json")
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)["series"]


def find(series: list[dict], name: str) -> dict:
    (found,) = [each for each in series if each["name"] == name]
    return found


def run_memory(run_dwell, tmp_path, source: str, *options: str):
    (tmp_path / "program.py").write_text(source)
    return run_dwell("run", "--memory", *options, "-o", "x.dwell", "program.py")


def check_steps(rss: list[int]) -> None:
    """A start, 64 MiB more, 128 MiB more, and these gone again, in this order."""
    start = rss[0]
    levels = [size - start for size in rss]
    high = next(i for i, level in enumerate(levels) if level >= 190 * MIB)
    assert any(60 * MIB <= level < 130 * MIB for level in levels[:high])
    assert any(level < 130 * MIB for level in levels[high:])


def test_steps_of_memory_are_in_the_series(run_dwell, tmp_path):
    ran = run_memory(run_dwell, tmp_path, GROW_AND_SHRINK)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^dwell: memory: peak \d+(\.\d+)? MiB (at|just before) ", ran.stderr, re.M)
    assert "dwell plot x.dwell" in ran.stderr
    series = series_of(run_dwell, tmp_path / "x.dwell")
    rss, cpu = find(series, "rss"), find(series, "cpu")
    check_steps(rss["values"])
    assert rss["unit"] == "bytes"
    assert cpu["is_total"]
    assert cpu["values"] == sorted(cpu["values"])
    assert cpu["times_ns"] == rss["times_ns"] == sorted(rss["times_ns"])
    peak = find(series, "peak_rss")["values"]
    assert peak == sorted(peak)
    assert peak[-1] >= max(rss["values"])
    assert min(find(series, "threads")["values"]) == 1
    checked = run_dwell("check", "x.dwell")
    assert checked.returncode == 0
    assert re.search(r"readings +\d\d+", checked.stdout)


def test_pss_and_interval(run_dwell, tmp_path):
    ran = run_memory(run_dwell, tmp_path, STEPS + "hold(64)", "--pss", "--interval", "20ms")
    assert ran.returncode == 0, ran.stderr
    series = series_of(run_dwell, "x.dwell")
    assert max(find(series, "pss")["values"]) > 60 * MIB
    assert run_dwell("plot", "x.dwell", "--measure", "pss").returncode == 0


@pytest.mark.parametrize("value", ["0", "x", "5 minutes", "1us", "-1s"])
def test_nonsense_for_an_interval(run_dwell, tmp_path, value):
    ran = run_memory(run_dwell, tmp_path, "pass", f"--interval={value}")
    assert ran.returncode == 2
    assert "--interval" in ran.stderr


def test_a_killed_program_leaves_its_series(run_dwell, tmp_path):
    ran = run_memory(
        run_dwell, tmp_path, GROW_AND_SHRINK + "os.kill(os.getpid(), signal.SIGKILL)", "-q"
    )
    assert ran.returncode != 0
    check_steps(find(series_of(run_dwell, "x.dwell"), "rss")["values"])
    drawn = run_dwell("plot", "x.dwell", "-o", "x.svg")
    assert drawn.returncode == 0, drawn.stderr


def test_children_have_series_of_their_own_on_one_clock(run_dwell, tmp_path):
    ran = run_memory(run_dwell, tmp_path, WITH_CHILD)
    assert ran.returncode == 0, ran.stderr
    parent_rss, child_rss = (
        each for each in series_of(run_dwell, "x.dwell") if each["name"] == "rss"
    )
    assert max(child_rss["values"]) - child_rss["values"][0] > 190 * MIB
    assert max(parent_rss["values"]) < 190 * MIB + parent_rss["values"][0]
    # The child lived while the parent did.
    assert parent_rss["times_ns"][0] < child_rss["times_ns"][0]
    assert child_rss["times_ns"][-1] < parent_rss["times_ns"][-1]
    # The parent goes on being read after the fork.
    assert max(parent_rss["times_ns"]) == parent_rss["times_ns"][-1]
    shown = run_dwell("report", "x.dwell", "--by", "time", "--format", "json")
    data = json.loads(shown.stdout)
    assert data["peak"]["value"] >= max(child_rss["values"])
    together = data["peak_of_sum"]["value"]
    assert max(child_rss["values"]) + 60 * MIB < together
    assert together <= max(child_rss["values"]) + max(parent_rss["values"])


def test_regions_and_counters_over_time(run_dwell, tmp_path):
    source = (
        STEPS
        + """
import dwell
with dwell.region('grow & shrink'):
    dwell.count('items', 3)
    held = hold(64)
dwell.count('items', 4)
"""
    )
    ran = run_memory(run_dwell, tmp_path, source, "--regions", "--timeline")
    assert ran.returncode == 0, ran.stderr
    assert find(series_of(run_dwell, "x.dwell"), "items")["values"] == [3, 7]
    drawn = run_dwell("plot", "x.dwell", "-o", "-")
    assert "grow &amp; shrink" in drawn.stdout
    ElementTree.fromstring(drawn.stdout)


@pytest.fixture
def dat(tmp_path):
    """What mprof wrote of a program with two processes."""
    lines = ["CMDLINE python <it> & co.py"]
    for i in range(100):
        lines.append(f"MEM {20 + i:.6f} {1700000000 + i / 10:.4f}")
        if 30 <= i < 60:
            lines.append(f"CHLD 4711 {500 - i:.6f} {1700000000 + i / 10 + 0.05:.4f}")
    lines.append("FUNC __main__.load 25.0 1700000001.0000 60.0 1700000004.0000 0")
    path = tmp_path / "mprofile_20260101000000.dat"
    path.write_text("\n".join(lines) + "\n")
    return path


def texts(svg: str) -> list[str]:
    return [
        "".join(each.itertext())
        for each in ElementTree.fromstring(svg).iter()
        if each.tag.endswith("}text")
    ]


@pytest.mark.any_python
def test_a_file_of_mprof_is_drawn(run_dwell, dat):
    drawn = run_dwell("plot", dat.name, "-o", "-", "--title", "My <title>")
    assert drawn.returncode == 0, drawn.stderr
    shown = texts(drawn.stdout)
    assert "My <title>" in shown
    assert "__main__.load" in shown
    assert any(text.startswith("python <it> & co.py") for text in shown)
    # 470 MiB of the child until its second reading, 51 MiB of the program
    assert "521.0 MiB at 3.10 s" in shown


@pytest.mark.any_python
def test_a_sum_is_one_curve(run_dwell, dat):
    drawn = run_dwell("plot", dat.name, "-o", "-", "--sum")
    assert drawn.stdout.count('class="c0 line"') == 1
    assert 'class="c1 line"' not in drawn.stdout
    assert "521.0 MiB at 3.10 s" in texts(drawn.stdout)


@pytest.mark.any_python
def test_a_window(run_dwell, dat):
    shown = texts(run_dwell("plot", dat.name, "-o", "-", "--from", "7", "--to", "8s").stdout)
    assert "100.0 MiB at 8.00 s" in shown
    assert "7.4 s" in shown
    assert "6.8 s" not in shown
    assert not any("processes" in text for text in shown)  # the child was over
    for words in (["--from", "11"], ["--from", "3", "--to", "2"]):
        empty = run_dwell("plot", dat.name, *words)
        assert empty.returncode == 1
        assert "nothing from" in empty.stderr
    assert run_dwell("plot", dat.name, "--from", "soon").returncode == 2


@pytest.mark.any_python
def test_a_chart_in_the_terminal(run_dwell, dat):
    shown = run_dwell("plot", dat.name)
    assert shown.returncode == 0
    assert shown.stdout.startswith("sum of 2 processes: peak ")
    assert "⣿" in shown.stdout
    assert "9.90 s" in shown.stdout
    assert max(map(len, shown.stdout.splitlines()[1:12])) <= 80


@pytest.mark.any_python
def test_many_processes_are_ten_curves(run_dwell, tmp_path):
    lines = ["CMDLINE many.py", "MEM 5.0 1700000000.0", "MEM 6.0 1700000002.0"]
    for pid in range(1, 16):
        lines.append(f"CHLD {pid} {pid}.0 1700000001.0")
    (tmp_path / "many.dat").write_text("\n".join(lines))
    drawn = run_dwell("plot", "many.dat", "-o", "-")
    assert 'class="c9 line"' in drawn.stdout
    assert any(text.startswith("7 others together") for text in texts(drawn.stdout))
    assert "many.py 6.00 MiB" in texts(drawn.stdout)  # not among the others
    assert f"{5 + sum(range(1, 16))}.0 MiB at 1.00 s" in texts(drawn.stdout)


@pytest.mark.any_python
def test_a_report_of_a_file_of_mprof(run_dwell, dat):
    table = run_dwell("report", dat.name, "--limit", "5")
    assert table.returncode == 0, table.stderr
    assert "100 readings, of which the highest in each of 5 stretches are shown" in table.stdout
    shown = run_dwell("report", dat.name, "--by", "time", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert len(rows) == 130
    assert rows[0]["rss"] == str(20 * MIB)
    assert rows[1]["seconds"] == "0.100000000"
    assert run_dwell("report", dat.name, "--by", "time", "--format", "tree").returncode == 2


@pytest.mark.any_python
def test_pictures_that_cannot_be_made(run_dwell, dat, tmp_path):
    assert run_dwell("plot").returncode == 2
    assert run_dwell("plot", dat.name, "-o", dat.name).returncode == 2
    assert run_dwell("plot", "none.dat").returncode == 1
    nowhere = run_dwell("plot", dat.name, "-o", "none/x.svg")
    assert nowhere.returncode == 1
    assert "none/x.svg" in nowhere.stderr
    (tmp_path / "folded.txt").write_text("main;work 3\n")
    plain = run_dwell("plot", "folded.txt")
    assert plain.returncode == 1
    assert "holds no memory over time" in plain.stderr
    assert run_dwell("report", "folded.txt", "--by", "time").returncode == 1


@pytest.mark.any_python
def test_a_png_needs_a_converter_and_says_so(run_dwell, dat, tmp_path):
    bare = run_dwell("plot", dat.name, "-o", "x.png", env={"PATH": str(tmp_path)})
    assert bare.returncode == 1
    assert "rsvg-convert" in bare.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [dat.name]
    (tmp_path / "rsvg-convert").write_text('#!/bin/sh\nhead -c 4 "$4" > "$3"\n')
    (tmp_path / "rsvg-convert").chmod(0o755)
    path = f"{tmp_path}:{shutil.which('head').removesuffix('/head')}"
    made = run_dwell("plot", dat.name, "-o", "x.png", env={"PATH": path})
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "x.png").read_text() == "<svg"
    assert not list(tmp_path.glob("x.png.*"))
