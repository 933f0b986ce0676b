# SPDX-License-Identifier: MIT
"""Samples from files of other tools, through our lenses, read by tools that are not ours."""

import json
import os
import re
import shutil
import struct
import subprocess

import gprof2dot
import pytest

from .test_formats import SPEEDSCOPE
from .test_pprof import Decoded, needs_pprof, pprof, rows_of

C_SOURCE = """\
#include <math.h>

static inline double square(double x)
{
    return x * x;
}

double scatter(double x)
{
    double sum = 0;
    for (int i = 0; i < 100; i++)
        sum += square(x + i);
    return sum;
}

double gather(double x)
{
    return scatter(x) + 1;
}
"""

FOLDED = """\
main;load (x.py:3);parse 10
main;load (x.py:4) 20
main;work;sys_read_[k] 5
main;work;work;work 15
"""

PERF = """\
python3 12/13 [001]  100.5:     250000 cpu-clock:pppH:
\t    7f01 do_it+0x10 (/usr/lib/libwork.so)
\t    7e01 py::run:/home/x/app.py (/tmp/perf-12.map)

python3 12/12 [001]  100.6:     750000 cpu-clock:pppH:
\t    55aa main+0x1 (/usr/bin/python3)

"""

BASE = 0x7F0000000000


class Library:
    """A real library with debug information, and where its code would be in memory."""

    def __init__(self, directory):
        source = directory / "work.c"
        self.source = source
        self.path = directory / "libwork.so"
        source.write_text(C_SOURCE)
        self.build()
        headers = self.run("readelf", "-lW", self.path)
        loads = re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E", headers)
        [(self.offset, self.address, self.size)] = [[int(n, 16) for n in load] for load in loads]
        symbols = re.findall(r"^(\w+) T (\w+)", self.run("nm", self.path), re.MULTILINE)
        self.symbols = {name: int(address, 16) for address, name in symbols}

    def build(self):
        self.run("cc", "-g", "-O0", "-fPIC", "-shared", "-o", self.path, self.source)

    def run(self, *command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def pc(self, name, offset):
        return BASE + self.symbols[name] + offset - self.address

    def gperftools(self, records):
        """The file that gperftools would write: samples, then the program counters."""
        words = [0, 3, 0, 10_000, 0]
        for count, pcs in records:
            words += [count, len(pcs), *pcs]
        words += [0, 1, 0]
        maps = f"{BASE:x}-{BASE + 0x10000:x} r-xp {self.offset:08x} 08:01 1234 {self.path}\n"
        return struct.pack(f"<{len(words)}Q", *words) + maps.encode()


@pytest.fixture
def library(tmp_path):
    if not shutil.which("cc") or not shutil.which("readelf"):
        pytest.skip("needs a compiler and binutils")
    return Library(tmp_path)


@pytest.fixture
def recorded(library, tmp_path):
    stacks = [(30, [library.pc("scatter", 20), library.pc("gather", 30)])]
    stacks.append((10, [library.pc("gather", 8)]))
    path = tmp_path / "old.prof"
    path.write_bytes(library.gperftools(stacks))
    return path


def done(result):
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_old_profile_has_functions_and_lines(recorded, run_dwell):
    functions = done(run_dwell("report", recorded))
    assert re.search(r"^ +75\.00 +75\.00 +0\.300 +0\.300 +30  scatter", functions, re.MULTILINE)
    assert re.search(r"^ *100\.00 +25\.00 +0\.400 +0\.100 +40  gather", functions, re.MULTILINE)
    lines = done(run_dwell("report", recorded, "--by", "line"))
    assert re.search(r"work\.c:\d+ \(scatter\)", lines)


@needs_pprof
def test_pprof_prints_lines_of_native_functions(recorded, run_dwell, library, tmp_path):
    done(run_dwell("export", recorded, "--to", "pprof", "-o", "x.pb.gz"))
    rows = rows_of(pprof("-text", "-lines", tmp_path / "x.pb.gz"))
    [scatter] = [row for row in rows if row.startswith("scatter ")]
    assert re.fullmatch(rf"scatter {library.source}:\d+", scatter)
    assert rows[scatter] == ("300ms", "300ms")
    gather = [value for row, value in rows.items() if row.startswith("gather ")]
    assert sorted(flat for flat, _ in gather) in (["0", "100ms"], ["100ms"])
    # The profile is all that pprof needs: it looks nothing up.
    library.path.unlink()
    assert rows_of(pprof("-text", "-lines", tmp_path / "x.pb.gz")) == rows


def test_a_library_that_changed_names_nothing(recorded, run_dwell, library):
    library.source.write_text("int other(void) { return 1; }\n" + C_SOURCE)
    library.build()
    later = recorded.stat().st_mtime_ns + 10**9
    os.utime(library.path, ns=(later, later))
    result = run_dwell("report", recorded, "--by", "line")
    assert "[libwork.so]" in done(result)
    assert "scatter" not in result.stdout
    assert f"{library.path}: " in result.stderr and "changed" in result.stderr


@pytest.mark.parametrize("name", ["x.folded", "x.perf"])
def test_the_same_file_gives_the_same_sums_everywhere(name, run_dwell, tmp_path):
    (tmp_path / name).write_text({"x.folded": FOLDED, "x.perf": PERF}[name])
    rows = json.loads(done(run_dwell("report", name, "--format", "json")))["rows"]
    total = sum(row["samples"]["self"] for row in rows)
    done(run_dwell("export", name, "--to", "pprof", "-o", "x.pb.gz"))
    assert sum(values[0] for _, values, _ in Decoded(tmp_path / "x.pb.gz").samples) == total
    scope = json.loads(done(run_dwell("export", name, "--to", "speedscope")))
    weights = [weight for profile in scope["profiles"] for weight in profile["weights"]]
    collapsed = done(run_dwell("export", name, "--to", "collapsed")).splitlines()
    counted = {"x.folded": total, "x.perf": 1000}[name]  # samples, or microseconds
    assert sum(int(line.rsplit(" ", 1)[1]) for line in collapsed) == counted
    assert sum(weights) == {"x.folded": total, "x.perf": 1_000_000}[name]


@pytest.mark.skipif(not SPEEDSCOPE.exists(), reason="needs speedscope")
def test_speedscope_takes_samples(run_dwell, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    (tmp_path / "x.folded").write_text(FOLDED)
    document = json.loads(done(run_dwell("export", "x.folded", "--to", "speedscope")))
    schema = json.loads((SPEEDSCOPE / "file-format-schema.json").read_text())
    jsonschema.validate(document, schema)


def test_gprof2dot_reads_samples_as_callgrind(recorded, run_dwell, tmp_path):
    done(run_dwell("export", recorded, "--to", "callgrind", "-o", "x.callgrind"))
    with open(tmp_path / "x.callgrind") as lines:
        profile = gprof2dot.CallgrindParser(lines).parse()
    times = {f.name: f[gprof2dot.TOTAL_TIME_RATIO] for f in profile.functions.values()}
    assert times["scatter"] == pytest.approx(0.75)
    assert times["gather"] == pytest.approx(1)


@pytest.mark.skipif(not shutil.which("callgrind_annotate"), reason="needs valgrind")
def test_callgrind_annotate_adds_up(recorded, run_dwell, tmp_path):
    done(run_dwell("export", recorded, "--to", "callgrind", "-o", "x.callgrind"))
    text = done(
        subprocess.run(
            ["callgrind_annotate", "--auto=no", tmp_path / "x.callgrind"],
            capture_output=True,
            text=True,
        )
    )
    assert "400,000,000 (100.0%)  PROGRAM TOTALS" in text
    assert re.search(r"300,000,000 \(75\.00%\) .*work\.c:scatter \[.*libwork\.so\]", text)


def test_counts_and_times_are_not_added_up(recorded, run_dwell, tmp_path):
    (tmp_path / "x.folded").write_text(FOLDED)
    result = run_dwell("report", recorded, "x.folded")
    assert result.returncode == 1
    assert "cannot be added up" in result.stderr


def test_a_file_of_no_kind_is_refused(run_dwell, tmp_path):
    (tmp_path / "x.txt").write_text("hello\n")
    result = run_dwell("report", "x.txt")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "dwell: x.txt: neither a recording nor a profile that dwell reads\n"


def test_stacks_that_py_spy_could_not_read(run_dwell, tmp_path):
    (tmp_path / "x.folded").write_text("<module> (x.py:3);f (x.py:2) 5\n 2\n")
    report = done(run_dwell("report", "x.folded"))
    assert report.startswith("counts: 7 samples")
    assert "[no frames]" in report
    (tmp_path / "numbers.txt").write_text(" 2\n 3\n")
    assert run_dwell("report", "numbers.txt").returncode == 1


def test_rows_that_do_not_match_are_not_more_of_the_same(run_dwell, tmp_path):
    (tmp_path / "x.folded").write_text("a;bb 1\na;bc 2\na;d 3\n")
    assert "more)" not in done(run_dwell("report", "x.folded", "--match", "b"))
    assert "(1 more)" in done(run_dwell("report", "x.folded", "--match", "b", "--limit", "1"))


def test_functions_of_files_of_one_name_are_told_apart(run_dwell, tmp_path):
    (tmp_path / "x.folded").write_text("f (/a/x.py:3) 1\nf (/b/x.py:3) 2\ng (/b/y.py:3) 3\n")
    for by in ("function", "line", "module"):
        report = done(run_dwell("report", "x.folded", "--by", by))
        assert re.search(r"\ba/x\.py", report) and re.search(r"\bb/x\.py", report)
        assert "b/y.py" not in report


def test_diffs_tell_functions_of_files_of_one_name_apart(run_dwell, tmp_path):
    def write(name, periods):
        functions = ("f:/a/x.py", "f:/b/x.py", "g:/b/y.py")
        samples = [
            f"python3 12/12 [001]  100.5:     {period} cpu-clock:pppH:\n"
            f"\t    7e01 py::{function} (/tmp/perf-12.map)\n\n"
            for function, period in zip(functions, periods, strict=True)
        ]
        (tmp_path / name).write_text("".join(samples))

    write("old.perf", (10_000_000, 20_000_000, 30_000_000))
    write("new.perf", (20_000_000, 40_000_000, 60_000_000))
    diff = done(run_dwell("diff", "old.perf", "new.perf", "--by", "function"))
    assert re.search(r"\ba/x\.py", diff) and re.search(r"\bb/x\.py", diff)
    assert "b/y.py" not in diff
