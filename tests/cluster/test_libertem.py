# SPDX-License-Identifier: MIT
"""LiberTEM with its own executors: the lines of a UDF have the hits that they have inline."""

import json
from pathlib import Path

import pytest

from ..conftest import Program
from .conftest import Rows

pytest.importorskip("libertem")
pytestmark = pytest.mark.any_python

PROGRAM = """
import json, sys
import numpy as np
from libertem.api import Context
from libertem.executor.inline import InlineJobExecutor
from libertem.executor.pipelined import PipelinedExecutor
from libertem.udf import UDF
import dwell
from dwell.cluster.libertem import profile_libertem


class Bright(UDF):
    def get_result_buffers(self):
        return {"total": self.buffer(kind="nav", dtype="float64")}

    def get_task_data(self):
        window = np.hanning(self.meta.partition_shape.sig[1])
        return {"window": window}

    def process_frame(self, frame):
        total = 0.0
        for row in frame:
            if row[0] > 0.5:
                total += float(np.abs(np.fft.fft(row * self.task_data.window)).sum())
        self.results.total[:] = total


def context(kind):
    if kind == "inline":
        return Context(executor=InlineJobExecutor())
    if kind == "pipelined":
        spec = PipelinedExecutor.make_spec(cpus=[0, 1], cudas=[])
        return Context(executor=PipelinedExecutor(spec=spec, startup_timeout=900))
    return Context() if kind == "dask" else Context.make_with(kind, cpus=2)


def profile(kind):
    with context(kind) as ctx:
        shape = {"nav_shape": (8, 8), "sig_shape": (32, 32)}
        data = ctx.load("raw", "frames.raw", dtype="float32", num_partitions=4, **shape)
        lines = [Bright.process_frame, Bright.get_task_data]
        with profile_libertem(ctx, f"{kind}.dwell", lines=lines):
            result = ctx.run_udf(dataset=data, udf=Bright(), progress=True)
    timings = dwell.load_stats(f"{kind}.dwell").timings
    hits = {f"{key[2]}:{row[0]}": row[1] for key, rows in timings.items() for row in rows}
    return hits, float(np.sum(result["total"].data))


def main():
    np.random.default_rng(3).random((64, 32, 32)).astype(np.float32).tofile("frames.raw")
    print(json.dumps([profile(kind) for kind in ("inline", sys.argv[1])]))


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("executor", ["dask", "threads", "pipelined"])
def test_lines_of_a_udf_have_the_hits_of_the_inline_executor(
    python_program: Program, rows: Rows, tmp_path: Path, executor: str
):
    done = python_program(PROGRAM, executor)
    assert not done.returncode, done.stderr
    (inline, inline_sum), (hits, total) = json.loads(done.stdout)
    assert hits == inline and total == inline_sum
    assert sorted(count for line, count in hits.items() if "process_frame" in line)[:2] == [64, 64]
    assert "64/64" in done.stderr  # the progress bar
    workers = {row["process"] for row in rows(f"{executor}.dwell", "process", "--measure", "cpu")}
    assert len(workers) >= {"dask": 2, "threads": 1, "pipelined": 3}[executor]
