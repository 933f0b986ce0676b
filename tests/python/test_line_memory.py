# SPDX-License-Identifier: MIT
"""Memory of lines: resident memory before and after each hit, in memory_profiler's table."""

import asyncio
import io
import json
import os
import re

import pytest

import dwell
from dwell import _core
from dwell.memory._profile import profile

from ..fresh_memory import mapped

MIB = 1 << 20
SIZE = 64 * MIB  # far more than anything else does meanwhile
ROW = re.compile(r" *(\d+) +(-?[\d.]+) MiB +(-?[\d.]+) MiB +(\d+)   ( *\S.*)")


def grow():
    for _ in range(3):
        kept = mapped(SIZE)
        del kept
    kept = mapped(SIZE)
    return len(kept)


def table(text: str) -> dict[str, tuple[float, float, int]]:
    """Usage and increment in MiB and occurrences, by the text of the line."""
    rows = [match.groups() for line in text.splitlines() if (match := ROW.fullmatch(line))]
    return {
        source.strip(): (float(usage), float(increment), int(hits))
        for _, usage, increment, hits, source in rows
    }


def test_the_table_of_memory_profiler():
    out = io.StringIO()
    assert profile(grow, stream=out, precision=3)() == SIZE
    lines = out.getvalue().splitlines()
    assert lines[0] == f"Filename: {__file__}"
    assert lines[2] == "Line #    Mem usage    Increment  Occurrences   Line Contents"
    assert lines[3] == "=" * len(lines[2])
    rows = table(out.getvalue())
    first = rows["def grow():"]
    assert first[0] == first[1] and first[2] == 1
    assert rows["for _ in range(3):"][2] == 4
    usage, increment, hits = rows["kept = mapped(SIZE)"]  # the last of the two
    assert (hits, usage > first[0] + 32) == (1, True)
    assert 32 < increment < 96
    freed = rows["del kept"]
    assert freed[2] == 3 and -3 * 96 < freed[1] < -3 * 32
    assert freed[0] < usage


def test_what_falls_again_leaves_no_drift():
    profiler = dwell.LineProfiler(grow, memory=True)
    profiler.runcall(grow)
    ((_, _, _, lines),) = _core.line_memory(profiler.get_stats().log())
    added = sum(increment for line, _, _, increment in lines if line)
    assert -32 * MIB < added < 96 * MIB  # memory_profiler's would be lower by what was freed


def test_each_call_is_told_and_exceptions_pass():
    out = io.StringIO()

    @profile(stream=out)
    def fails(n):
        return 1 // n

    assert fails(1) == fails(1) == 1
    with pytest.raises(ZeroDivisionError):
        fails(0)
    assert out.getvalue().count("Filename: ") == 2
    assert fails.__name__ == "fails"


def test_coroutines():
    out = io.StringIO()

    @profile(stream=out)
    async def work():
        kept = mapped(SIZE)
        await asyncio.sleep(0)
        return len(kept)

    assert asyncio.run(work()) == SIZE
    rows = table(out.getvalue())
    assert rows["kept = mapped(SIZE)"][1] > 32
    assert rows["await asyncio.sleep(0)"][2] == 1
    assert rows["@profile(stream=out)"][0] < rows["kept = mapped(SIZE)"][0]


def test_a_recording_has_it_as_measures(tmp_path, run_dwell):
    profiler = dwell.LineProfiler(grow, memory=True)
    profiler.runcall(grow)
    profiler.dump_stats(tmp_path / "x.dwell")
    words = ("--by", "line", "--measure", "hits,line_memory,line_grown,line_shrunk")
    done = run_dwell("report", "x.dwell", *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert max(row["line_grown"]["total"] for row in rows) > 96 * MIB
    assert max(row["line_shrunk"]["total"] for row in rows) > 96 * MIB
    assert max(row["line_memory"]["total"] for row in rows) > SIZE


def test_a_forked_child_measures_itself():
    profiler = dwell.LineProfiler(grow, memory=True)
    profiler.runcall(grow)
    read, write = os.pipe()
    if not (child := os.fork()):
        mine = dwell.LineProfiler(grow, memory=True)
        mine.runcall(grow)
        ((_, _, _, lines),) = _core.line_memory(mine.get_stats().log())
        os.write(write, b"%d" % max(increment for _, _, _, increment in lines))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert int(os.read(read, 100)) > 96 * MIB


def test_files_that_the_program_closes_and_opens_again_do_not_matter(tmp_path):
    """dwell's own file is found closed at the begin of a function, and another is never taken for
    it, whatever number it has."""
    strange = tmp_path / "strange"
    strange.write_text("1 999999999 3 4 5 6 7\n")

    def close_all():
        os.closerange(3, 4096)
        return [os.open(strange, os.O_RDONLY) for _ in range(64)]

    def looks():
        value = mapped(SIZE)
        return len(value)

    profiler = dwell.LineProfiler(looks, memory=True)
    pid = os.fork()
    if not pid:
        status = 1
        try:
            profiler.runcall(looks)
            close_all()
            profiler.runcall(looks)
            ((_, _, _, lines),) = _core.line_memory(profiler.get_stats().log())
            highest = max(usage for _, _, usage, _ in lines)
            grown = sum(increment for line, _, _, increment in lines if line)
            status = 0 if highest < 64 << 30 and grown > 3 * SIZE // 2 else 1
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
