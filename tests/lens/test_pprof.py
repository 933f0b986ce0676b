# SPDX-License-Identifier: MIT
"""The pprof lens, read by a decoder of our own and by pprof itself."""

import gzip
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ..conftest import PATIENCE_S
from ..line_log import varint
from .protobuf import fields_of, packed

BUILT = Path(__file__).parents[2] / "build" / "go" / "pprof"
PPROF = str(BUILT) if BUILT.exists() else shutil.which("pprof")
needs_pprof = pytest.mark.skipif(PPROF is None, reason="needs pprof; tools/pprof builds it")

PROGRAM = """
import threading

def spin(n):
    return sum(i for i in range(n))

def twice():
    spin(20_000)
    spin(10_000)
    len("abc")

helper = threading.Thread(target=twice, name="helper")
helper.start()
helper.join()
twice()
"""


class Decoded:
    """perftools.profiles.Profile, with its ids resolved and checked."""

    def __init__(self, path):
        fields = fields_of(gzip.decompress(path.read_bytes()))
        self.strings = [text.decode() for text in fields[6]]
        assert self.strings[0] == ""
        assert len(set(self.strings)) == len(self.strings)
        self.sample_types = [self.named(each, 1, 2) for each in fields[1]]
        self.default = self.strings[fields[14][0]]
        self.comments = [self.strings[each] for each in fields[13]]
        self.time_ns, self.duration_ns = (fields.get(n, [0])[0] for n in (9, 10))
        self.functions = {}
        for function in map(fields_of, fields.get(5, [])):
            assert function[1][0] not in self.functions
            name, file = (self.strings[function.get(n, [0])[0]] for n in (2, 4))
            self.functions[function[1][0]] = (name, file, function.get(5, [0])[0])
        self.locations = {}
        for location in map(fields_of, fields.get(4, [])):
            line, *outer = map(fields_of, location[4])
            assert location[1][0] not in self.locations
            function = self.functions[line[1][0]]
            if self.default == "time":  # calls are known by function only
                assert line.get(2, [0])[0] == function[2] and not outer
            self.locations[location[1][0]] = function
        self.samples = [self.sample(fields_of(each)) for each in fields.get(2, [])]

    def named(self, data, *numbers):
        return tuple(self.strings[fields_of(data)[n][0]] for n in numbers)

    def sample(self, fields):
        labels = {}
        for label in map(fields_of, fields[3]):
            value = self.strings[label[2][0]] if 2 in label else label[3][0]
            labels[self.strings[label[1][0]]] = value
        stack = [self.locations[each] for each in packed(fields[1][0])]
        return stack, packed(fields[2][0]), labels


@pytest.fixture
def export(tmp_path, run_dwell):
    def of(program=PROGRAM, *options):
        (tmp_path / "program.py").write_text(program)
        done = run_dwell("run", "-q", *options, "-o", "x.dwell", "program.py")
        assert done.returncode == 0, done.stderr
        done = run_dwell("export", "x.dwell", "--to", "pprof", "-o", "x.pb.gz")
        assert (done.returncode, done.stderr) == (0, "")
        return tmp_path / "x.pb.gz"

    return of


def function_rows(run_dwell):
    """Function to calls, own time in nanoseconds: the report's."""
    done = run_dwell("report", "x.dwell", "--by", "function", "--format", "json", "--full-paths")
    return {
        (each["name"], each["file"], each["lineno"]): (
            each["calls"]["total"],
            each["call_total"]["self"],
            each["call_total"]["total"],
        )
        for each in json.loads(done.stdout)["rows"]
    }


def test_decoder_of_our_own_sees_what_the_report_says(export, run_dwell, tmp_path):
    decoded = Decoded(export(PROGRAM, "--calls"))
    assert decoded.sample_types == [("calls", "count"), ("time", "nanoseconds")]
    assert decoded.default == "time"
    calls, own, threads = Counter(), Counter(), set()
    for stack, values, labels in decoded.samples:
        calls[stack[0]] += values[0]
        own[stack[0]] += values[1]
        threads.add((labels["thread"], labels["thread id"]))
        assert stack[-1][0] == "<main>"
    reported = function_rows(run_dwell)
    assert ("spin", str(tmp_path / "program.py"), 4) in reported
    for function, (ncalls, tottime_ns, _) in reported.items():
        assert (calls[function], own[function]) == (ncalls, tottime_ns)
    assert {name for name, _ in threads} == {"MainThread", "helper"}
    assert len({tid for _, tid in threads}) == 2


def test_facts_about_the_run(export):
    decoded = Decoded(export(PROGRAM, "--calls"))
    assert decoded.comments[0].startswith("dwell ")
    assert any(re.match(r"argv: .*program\.py", comment) for comment in decoded.comments)
    assert {comment.split(":")[0] for comment in decoded.comments[1:]} == {"argv", "host", "python"}
    assert decoded.time_ns > 1_700_000_000_000_000_000
    main_ns = sum(v[1] for _, v, labels in decoded.samples if labels["thread"] == "MainThread")
    assert decoded.duration_ns >= main_ns


def test_the_same_recording_gives_the_same_bytes(export, run_dwell, tmp_path):
    first = export(PROGRAM, "--calls").read_bytes()
    run_dwell("export", "x.dwell", "--to", "pprof", "-o", "y.pb.gz")
    assert (tmp_path / "y.pb.gz").read_bytes() == first


REGIONS = """
import dwell, sys
sys.setrecursionlimit(10_000)

def dive(depth):
    with dwell.region("deep"):
        if depth:
            dive(depth - 1)

dive(2000)
for name in ("two\\nlines", "\\udcff", "é☃", "", "a;b"):
    with dwell.region(name):
        pass
"""


def test_regions_deep_and_of_any_name(export):
    decoded = Decoded(export(REGIONS, "--regions"))
    names = {function[0] for function in decoded.functions.values()}
    assert {"<main>", "deep", "two\\nlines", "é☃", "", "a;b", "[…]"} <= names
    longest = max((stack for stack, _, _ in decoded.samples), key=len)
    assert len(longest) == 1026  # the middle of it is cut out
    assert [function[0] for function in longest].count("[…]") == 1
    assert sum(values[0] for stack, values, _ in decoded.samples if stack[0][0] == "deep") == 2001


def test_processes_are_told_apart(export, run_dwell, tmp_path):
    export(PROGRAM, "--calls").rename(tmp_path / "first.pb.gz")
    (tmp_path / "x.dwell").rename(tmp_path / "first.dwell")
    second = Decoded(export(PROGRAM, "--calls"))
    run_dwell("export", "first.dwell", "x.dwell", "--to", "pprof", "-o", "both.pb.gz")
    first, both = (Decoded(tmp_path / f"{name}.pb.gz") for name in ("first", "both"))
    times = Counter()
    for _, values, labels in both.samples:
        times[labels["process id"]] += values[1]
        assert labels["host"]
    totals = [sum(values[1] for _, values, _ in one.samples) for one in (first, second)]
    assert sorted(times.values()) == sorted(totals)
    assert sum(comment.startswith("argv: ") for comment in both.comments) == 2


def field(number, value):
    """Of a message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(number, **fields):
    """With fields named after their numbers: f1, f2."""
    return field(number, b"".join(field(int(n[1:]), value) for n, value in fields.items()))


def test_what_was_inlined_is_told_once(run_dwell, tmp_path):
    """A profile with `inner` inlined into `outer`, called by `caller`, comes back as it was."""
    texts = ["", "cpu", "nanoseconds", "inner", "outer", "caller", "x.c", "/lib/libx.so"]
    inlined = field(4, field(1, 1) + field(2, 11)) + field(4, field(1, 2) + field(2, 22))
    data = message(1, f1=1, f2=2) + message(11, f1=1, f2=2) + message(2, f1=b"\1\2", f2=b"\7")
    data += message(3, f1=1, f2=0x1000, f3=0x9000, f5=7, f7=1, f9=1, f10=1)
    data += field(4, field(1, 1) + field(2, 1) + field(3, 0x1100) + inlined)
    data += message(4, f1=2, f2=1, f3=0x1200, f4=field(1, 3) + field(2, 33))
    data += b"".join(message(5, f1=i, f2=i + 2, f4=6) for i in (1, 2, 3))
    data += b"".join(field(6, text.encode()) for text in texts)
    (tmp_path / "old.pb.gz").write_bytes(gzip.compress(data))
    done = run_dwell("export", "old.pb.gz", "--to", "pprof", "-o", "new.pb.gz")
    assert done.returncode == 0, done.stderr
    [(stack, values, _)] = Decoded(tmp_path / "new.pb.gz").samples
    assert [function[0] for function in stack] == ["inner", "caller"] and values[-1] == 7
    fields = fields_of(gzip.decompress((tmp_path / "new.pb.gz").read_bytes()))
    lines = [[fields_of(line)[2][0] for line in fields_of(each)[4]] for each in fields[4]]
    assert sorted(lines) == [[11, 22], [33]]


def pprof(*arguments):
    done = subprocess.run([PPROF, *arguments], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def rows_of(text):
    """Name to flat and cumulative values, of `pprof -top`."""
    rows = re.findall(r"^ *(\S+) +\S+% +\S+% +(\S+) +\S+% +(.*)$", text, re.MULTILINE)
    return {name: (flat, cumulative) for flat, cumulative, name in rows}


@needs_pprof
def test_pprof_adds_up_what_the_report_adds_up(export, run_dwell):
    path = export(PROGRAM, "--calls")
    options = ["-nodecount=1000", "-nodefraction=0"]
    times = rows_of(pprof("-top", "-unit=ns", *options, path))
    calls = rows_of(pprof("-top", "-sample_index=calls", *options, path))
    reported = function_rows(run_dwell)
    uses = Counter(name for name, _, _ in reported)
    for (name, _, _), (ncalls, own_ns, total_ns) in reported.items():
        if uses[name] == 1:  # pprof takes functions of one name for one
            own, total = (int(time.removesuffix("ns")) for time in times[name])
            assert own == own_ns
            assert total == pytest.approx(total_ns, abs=100)  # ticks are rounded for each path
            assert calls[name][0] == str(ncalls)
            del times[name]
    assert uses["spin"] == uses["twice"] == uses["<built-in method builtins.len>"] == 1
    assert times.keys() <= uses.keys() | {"<main>"}
    assert calls["spin"][0] == "4"


@needs_pprof
def test_pprof_knows_lines_and_threads(export, tmp_path):
    path = export(PROGRAM, "--calls")
    lines = rows_of(pprof("-text", "-lines", "-nodecount=1000", "-nodefraction=0", path))
    assert f"spin {tmp_path}/program.py:4" in lines
    assert f"twice {tmp_path}/program.py:7" in lines
    helper = rows_of(pprof("-top", "-tagfocus=thread=helper", "-sample_index=calls", path))
    assert helper["spin"][0] == "2"


@needs_pprof
def test_pprof_reads_all_of_it(export):
    path = export(REGIONS, "--regions")
    raw = pprof("-raw", path)
    assert "calls/count time/nanoseconds[dflt]" in raw
    total = sum(values[1] for _, values, _ in Decoded(path).samples)
    assert sum(int(t) for t in re.findall(r"^ +\d+ +(\d+): \d", raw, re.MULTILINE)) == total
