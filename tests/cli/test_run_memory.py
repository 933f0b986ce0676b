# SPDX-License-Identifier: MIT
"""`dwell run --memory`: reports, children, and programs that end badly."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import Program
from ..lens.protobuf import fields_of, packed
from .test_full_disk import with_small_files

LEAK = """
import sys
kept = [None] * 5000
def leak():
    for i in range(5000):
        kept[i] = bytearray(1000)
def churn():
    for i in range(20000):
        [i] * 50
def large():
    bytearray(50_000_000)
leak()
churn()
large()
print("done", flush=True)
"""
MODES = pytest.mark.parametrize("mode", ["exact", "sampled"])


def view(run_dwell: Program, by: str, *files: str) -> list[dict]:
    done = run_dwell(
        "report", *files, "--by", by, "--format", "json",
        "--measure", "peak_bytes,live_bytes,live,alloc_bytes,allocations",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def of_function(rows: list[dict], function: str, measure: str) -> int:
    return sum(row[measure]["self"] for row in rows if row["function"].startswith(function + " "))


def test_report_begins_with_sums_and_the_lines_of_the_peak(run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(LEAK)
    done = run_dwell("run", "--memory=exact", "-o", "x.dwell", "program.py")
    assert (done.returncode, done.stdout) == (0, "done\n")
    text = done.stderr
    assert "allocated" in text and "at the peak" in text and "at the end" in text
    peak, end = text.split("Still there at the end")
    assert "program.py:11 (large)" in peak and "program.py:6 (leak)" in peak
    assert "program.py:6 (leak)" in end and "large" not in end
    assert run_dwell("report", "x.dwell").stdout.startswith("Resident in the end, by what it is\n")


def resident_parts(run_dwell: Program) -> dict[str, int]:
    done = run_dwell(
        "report", "x.dwell", "--by", "function", "--measure", "resident_bytes", "--format", "json"
    )
    return {
        row["function"]: row["resident_bytes"]["self"] for row in json.loads(done.stdout)["rows"]
    }


@MODES
def test_parts_of_resident_memory_add_up_to_it(mode, run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(
        "import mmap, threading\n"
        "kept = [bytearray(i) for i in range(30000)]\n"
        "objects = [object() for _ in range(300000)]\n"
        "mapped = mmap.mmap(-1, 20_000_000)\n"
        "mapped.write(b'x' * 20_000_000)\n"
        "del kept[::2]\n"
        "print(open('/proc/self/statm').read().split()[1])\n"
    )
    done = run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py")
    resident = 4096 * int(done.stdout)
    parts = resident_parts(run_dwell)
    sums = sum(parts.values()) - 2 * parts.get("<live, but never touched>", 0)
    assert sums == pytest.approx(resident, rel=0.1)
    assert parts["<mapped by the program>"] >= 20_000_000
    assert parts["<Python, live>"] >= (200_000_000 if mode == "exact" else 100_000_000)
    assert parts.get("<not explained>", 0) < 0.1 * resident


@MODES
def test_parts_of_a_small_program_have_nothing_of_what_dwell_did_not_use(
    mode, run_dwell: Program, tmp_path: Path
):
    (tmp_path / "program.py").write_text("kept = [[i] for i in range(200_000)]\n")
    run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py")
    parts = resident_parts(run_dwell)
    assert parts.get("<live, but never touched>", 0) < 1_500_000  # more than 2,500,000 before
    assert parts.get("<not explained>", 0) < 1_500_000


def test_memory_from_before_the_recording_is_told_apart(tmp_path: Path, run_dwell: Program):
    (tmp_path / "program.py").write_text(
        "import dwell.memory\n"
        "kept = [str(i) * 3 for i in range(500_000)], bytearray(20_000_000)\n"
        "with dwell.memory.track('x.dwell'): pass\n"
    )
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, check=True)
    parts = resident_parts(run_dwell)
    assert 30_000_000 < parts["<mapped before the recording>"] < 50_000_000
    assert 24_000_000 < parts["<malloc: from before, unseen, or overhead>"] < 30_000_000
    assert parts.get("<not explained>", 0) < 3_000_000
    assert parts.get("<live, but never touched>", 0) < 3_000_000
    assert run_dwell("report", "x.dwell").stdout.startswith("Resident in the end"), "no sample"


@MODES
def test_what_leaks_is_live_at_the_end(mode, run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(LEAK)
    run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py")
    rows = view(run_dwell, "function", "x.dwell")
    if mode == "exact":
        assert of_function(rows, "leak", "live") == 10_000  # objects, and their bytes
        assert of_function(rows, "leak", "live_bytes") >= 5_000_000
    assert of_function(rows, "large", "peak_bytes") == pytest.approx(50_000_000, rel=0.01)
    assert of_function(rows, "large", "live_bytes") == 0
    assert of_function(rows, "churn", "live_bytes") == 0


FORKS = """
import os, sys, threading
stops = False
def churn():
    while not stops:
        [bytearray(700) for _ in range(100)]
threads = [threading.Thread(target=churn) for _ in range(4)]
for thread in threads: thread.start()
def in_child():
    kept.extend(bytearray(900) for _ in range(200)) # larger integers may be kept by Python
kept = []
children = []
for _ in range(25):
    child = os.fork()
    if not child:
        in_child()
        sys.exit(0)
    children.append(child)
print(sum(os.waitpid(child, 0)[1] != 0 for child in children))
stops = True
for thread in threads: thread.join()
"""


@MODES
def test_forks_while_threads_allocate_harm_nobody(mode, run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(FORKS)
    done = run_dwell("run", "-q", f"--memory={mode}", "-o", "x.dwell", "-W", "ignore", "program.py")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert run_dwell("check", "x.dwell").returncode == 0
    if mode == "exact":
        assert len(view(run_dwell, "process", "x.dwell")) == 1 + 25
        rows = view(run_dwell, "function", "x.dwell")
        assert of_function(rows, "in_child.<locals>.<genexpr>", "live") == 25 * 400


@MODES
def test_a_full_disk_does_not_harm_the_program(mode, run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(
        "import time\n"
        "for i in range(3000):\n"
        "    exec(f'def f{i}(): return [bytearray(2000) for _ in range(20)]\\nf{i}()')\n"
        "    time.sleep(0.0003)\n"
        "print('done')\n"
    )
    done = run_dwell("run", "-q", f"--memory={mode}", "program.py", preexec_fn=with_small_files)
    assert (done.returncode, done.stdout) == (0, "done\n")
    if mode == "exact":
        assert "File too large; recording goes on without the file" in done.stderr
        assert done.stderr.count("\n") == 1


def test_samples_of_time_beside_it_are_a_table_of_their_own(run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(
        LEAK + "import time\nend = time.process_time() + 0.3\n"
        "while time.process_time() < end: sum(range(1000))\n"
    )
    done = run_dwell("run", "--sample", "--memory", "-o", "x.dwell", "program.py")
    assert "Samples: where" in done.stderr and "Memory: what was allocated" in done.stderr
    report = run_dwell("report", "x.dwell").stdout
    assert "Samples: where" in report and "Memory: what was allocated" in report
    assert "peak_bytes" in run_dwell("report", "x.dwell", "--by", "thread", "--measure",
                                     "cpu,peak_bytes").stdout  # fmt: skip


def test_exports_are_of_bytes_at_the_peak(run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(LEAK)
    run_dwell("run", "-q", "--memory=exact", "-o", "x.dwell", "program.py")
    stacks = run_dwell("export", "x.dwell", "--to", "collapsed").stdout
    (large,) = (line for line in stacks.splitlines() if ";large " in line)
    assert large.startswith("<main>;<module>;large ") and 5e7 <= int(large.split()[-1]) < 5.01e7
    live = run_dwell("export", "x.dwell", "--to", "collapsed", "--measure", "live_bytes").stdout
    assert ";leak " in live and ";large " not in live
    scope = json.loads(run_dwell("export", "x.dwell", "--to", "speedscope").stdout)
    assert {profile["unit"] for profile in scope["profiles"]} == {"bytes"}
    picture = run_dwell("export", "x.dwell", "--to", "svg").stdout
    assert "widths are bytes with what is inside" in picture and "MiB" in picture
    page = run_dwell("export", "x.dwell", "--to", "html").stdout
    assert '"id":"total","unit":"bytes"' in page and '"id":"samples"' not in page
    assert '"whole":"the memory in use at the peak"' in page
    refused = run_dwell("report", "x.dwell", "--by", "path", "--measure", "peak_bytes")
    assert refused.returncode == 2 and "'dwell export --to collapsed'" in refused.stderr


def test_pprof_has_the_four_types_of_heap_profiles(run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(LEAK)
    run_dwell("run", "-q", "--memory=exact", "-o", "x.dwell", "program.py")
    assert run_dwell("export", "x.dwell", "-o", "x.pb.gz").returncode == 0
    profile = fields_of(gzip.decompress((tmp_path / "x.pb.gz").read_bytes()))
    strings = [text.decode() for text in profile[6]]
    types = [strings[fields_of(found)[1][0]] for found in profile[1]]
    assert types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
    values = [packed(fields_of(sample)[2][0]) for sample in profile[2]]
    sums = [sum(column) for column in zip(*values, strict=True)]
    (all_of_it,) = view(run_dwell, "process", "x.dwell")
    wanted = [
        all_of_it[name]["self"] for name in ("allocations", "alloc_bytes", "live", "live_bytes")
    ]
    assert sums == wanted


def test_word_that_is_no_mode_is_named(run_dwell: Program):
    done = run_dwell("run", "--memory=all", "x.py")
    assert done.returncode == 2
    assert done.stderr == "dwell: --memory is 'sampled' or 'exact', not 'all'\n"


def preloadable() -> list[str]:
    found = [
        str(path)
        for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2")
        for path in Path("/usr/lib").glob(f"*/{name}")
    ]
    return found or [""]


@MODES
@pytest.mark.parametrize("library", preloadable())
def test_another_malloc_is_left_in_place(library, mode, run_dwell: Program, tmp_path: Path):
    if not library:
        pytest.skip("no other allocator is installed")
    (tmp_path / "program.py").write_text(LEAK)
    environment = {**os.environ, "LD_PRELOAD": library}
    done = run_dwell(
        "run", "-q", f"--memory={mode}", "-o", "x.dwell", "program.py", env=environment
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert of_function(view(run_dwell, "function", "x.dwell"), "large", "peak_bytes") >= 5e7


def test_programs_that_it_starts_are_not_recorded(run_dwell: Program, tmp_path: Path):
    if not shutil.which("true"):
        pytest.skip("no program")
    (tmp_path / "program.py").write_text(
        "import subprocess, sys\n"
        "subprocess.run(['true'], check=True)\n"
        "subprocess.run([sys.executable, '-c', 'print([0] * 10)'], check=True)\n"
    )
    done = run_dwell("run", "-q", "--memory=exact", "-o", "x.dwell", "program.py")
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("x.*.dwell"))
    subprocess.run(["true"], check=True)


GROWING = """
def grow():
    kept = b"x" * (64 << 20)
    del kept
grow()
"""


def test_lines_have_what_they_did_to_memory(run_dwell: Program, tmp_path: Path):
    (tmp_path / "program.py").write_text(GROWING)
    words = ("--memory", "--lines", "-f", "grow", "-q", "-o", "x.dwell")
    assert run_dwell("run", *words, "program.py").returncode == 0
    text = run_dwell("report", "x.dwell").stdout
    heading = next(line for line in text.splitlines() if line.startswith("Line #"))
    shown = " ".join(heading.split("% Time")[1].split())
    assert shown == "Mem usage Increment Allocated Freed Net Line peak At peak Line Contents"
    rows = text[text.index(heading) :].splitlines()
    cells = {row.split()[0]: row.split() for row in rows if " MiB " in row}
    assert float(cells["3"][7]) > 32 and float(cells["4"][7]) < -32
