# SPDX-License-Identifier: MIT
"""The time that a recording holds, as readers of each export see it, in nanoseconds. A reader adds
up what a viewer of the format would: own times, or what is outermost on a timeline. It is told how
many frames a stack has at least: 2 leaves out what is in <main> and in nothing else."""

import csv
import gzip
import io
import json
import marshal
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gprof2dot

from .protobuf import fields_of, packed


class _Slices:
    """Begins and ends on tracks; counts what is outermost, and refuses time that goes back."""

    def __init__(self) -> None:
        self.open: dict[Any, list[int]] = {}
        self.last: dict[Any, int] = {}
        self.total = 0

    def take(self, track: Any, begins: bool, time_ns: int) -> None:
        assert time_ns >= self.last.get(track, 0)
        self.last[track] = time_ns
        stack = self.open.setdefault(track, [])
        if begins:
            stack.append(time_ns)
        else:
            begun = stack.pop()
            self.total += 0 if stack else time_ns - begun

    def sum(self) -> int:
        assert not any(self.open.values())
        return self.total


def chrome(data: bytes, _: int) -> float:
    slices = _Slices()
    for event in json.loads(data)["traceEvents"]:
        if event["ph"] in "BE":
            slices.take((event["pid"], event["tid"]), event["ph"] == "B", round(event["ts"] * 1000))
    return slices.sum()


def perfetto(data: bytes, _: int) -> float:
    slices = _Slices()
    for packet in map(fields_of, fields_of(data)[1]):
        for event in map(fields_of, packet.get(11, [])):
            if event[9][0] in (1, 2):
                slices.take(event[11][0], event[9][0] == 1, packet.get(8, [0])[0])
    return slices.sum()


def speedscope(data: bytes, least: int) -> float:
    total = 0
    for profile in json.loads(data)["profiles"]:
        if profile["type"] == "sampled":
            weights = zip(profile["samples"], profile["weights"], strict=True)
            assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"]
            total += sum(weight for stack, weight in weights if len(stack) >= least)
            continue
        slices = _Slices()
        for event in profile["events"]:
            slices.take(0, event["type"] == "O", event["at"])
        total += slices.sum()
    return total


def firefox(data: bytes, least: int) -> float:
    document = json.loads(data)
    above = document["shared"]["stackTable"]["prefix"]
    total = 0.0
    for samples in (thread["samples"] for thread in document["threads"]):
        assert samples["time"] == sorted(samples["time"])
        for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
            total += weight if least == 1 or above[stack] is not None else 0
    return 1e6 * total


def collapsed(data: bytes, least: int) -> float:
    lines = (line.rpartition(b" ") for line in data.splitlines())
    return 1000.0 * sum(int(time) for stack, _, time in lines if stack.count(b";") + 1 >= least)


def pprof(data: bytes, least: int) -> float:
    fields = fields_of(gzip.decompress(data))
    types = [fields[6][fields_of(kind)[2][0]].decode() for kind in fields[1]]
    [time] = [i for i, unit in enumerate(types) if unit == "nanoseconds"]
    samples = [fields_of(sample) for sample in fields[2]]
    stacks = [packed(sample[1][0]) for sample in samples]
    assert all(stacks)
    times = [packed(sample[2][0])[time] for sample in samples]
    return sum(time for stack, time in zip(stacks, times, strict=True) if len(stack) >= least)


def pstats(data: bytes, _: int) -> float:
    """What pstats prints at the top: "in 1.23 seconds"."""
    return 1e9 * sum(own for _, _, own, _, _ in marshal.loads(data).values())


def callgrind(data: bytes, _: int) -> float:
    """The costs of lines, and not those after `calls=`, which are told again by the callee."""
    total, is_call = 0, False
    for line in data.decode().splitlines():
        if re.match(r"\d+ \d+$", line) and not is_call:
            total += int(line.split()[1])
        is_call = line.startswith("calls=")
    [stated] = re.findall(rb"^totals: (\d+)$", data, re.MULTILINE)
    assert int(stated) == total
    assert re.search(rb"^summary: (\d+)$", data, re.MULTILINE)[1] == stated  # type: ignore[index]
    return total


def html(data: bytes, least: int) -> float:
    """The first view holds everything."""
    script = re.search(
        rb'<script type="application/json" id="data">(.*?)</script>', data, re.DOTALL
    )
    assert script
    view = json.loads(script[1])["views"][0]
    assert view["kind"] == "all"
    return sum(view["values"]["self"][least - 1 :])


UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1}


def svg(data: bytes) -> float:
    """What the widest box, that of all, says of itself."""
    title = re.search(r"<title>&lt;main&gt;\n([\d.]+) (\S+), 100\.00 %", data.decode())
    assert title
    return float(title[1]) * UNITS[title[2]]


def self_column(data: bytes) -> float:
    rows = csv.DictReader(io.StringIO(data.decode(), newline=""))
    return sum(int(row["wall_self" if "wall_self" in row else "cpu_self"]) for row in rows)


def json_rows(data: bytes, least: int) -> float:
    document = json.loads(data)
    name = document.get("measures", [{"name": ""}])[0]["name"]  # trees have none
    return sum(
        row[name]["self"] if name else row["self_ns"]
        for row in document["rows"]
        if least == 1 or row["path"]
    )


def by_gprof2dot(format: str, path: Path) -> float:
    """In the unit of the format."""
    if format == "pstats":
        return float(gprof2dot.PstatsParser(str(path)).parse()[gprof2dot.TIME])
    with path.open() as file:
        return float(gprof2dot.CallgrindParser(file).parse()[gprof2dot.SAMPLES])


Reader = Callable[[bytes, int], float]

READERS: dict[str, Reader] = {
    "json": json_rows,
    "html": html,
    "speedscope": speedscope,
    "firefox": firefox,
    "collapsed": collapsed,
    "pprof": pprof,
    "pstats": pstats,
    "callgrind": callgrind,
}
TIMELINES: dict[str, Reader] = {"chrome": chrome, "perfetto": perfetto}


class Totals:
    """Of the same recordings in every format."""

    def __init__(self, dwell: str, files: list[Path], directory: Path) -> None:
        self.dwell, self.files, self.directory = dwell, [*map(str, files)], directory

    def run(self, *words: str) -> bytes:
        done = subprocess.run([self.dwell, *words], capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def report(self, *words: str) -> bytes:
        return self.run("report", *self.files, *words)

    def export(self, lens: str, *words: str) -> bytes:
        path = self.directory / f"x.{lens}"
        self.run("export", *self.files, "--to", lens, "-o", str(path), *words)
        return path.read_bytes()

    def samples_reported(self) -> int:
        """What the report of samples says at its top."""
        total: int = json.loads(self.report("--by", "function", "--format", "json"))["measures"][0][
            "all"
        ]
        return total

    def of_all(self, least: int, timeline: bool, *words: str) -> dict[str, float]:
        """In the formats that any recording is exported to."""
        readers = READERS | (TIMELINES if timeline else {})
        return {lens: read(self.export(lens, *words), least) for lens, read in readers.items()}

    def of_samples(self, timeline: bool = True) -> dict[str, float]:
        found = self.of_all(1, timeline, "--by", "function")
        found["svg"] = svg(self.export("svg"))
        found["gprof2dot pstats"] = 1e9 * by_gprof2dot("pstats", self.directory / "x.pstats")
        found["gprof2dot callgrind"] = by_gprof2dot("callgrind", self.directory / "x.callgrind")
        found["collapsed --lines"] = collapsed(self.export("collapsed", "--lines"), 1)
        for by in ("function", "line", "module"):
            found[f"csv by {by}"] = self_column(self.report("--by", by, "--format", "csv"))
        for by in ("thread", "process", "path"):
            found[f"json by {by}"] = json_rows(self.report("--by", by, "--format", "json"), 1)
        return found
