# SPDX-License-Identifier: MIT
"""Numerical programs whose shares are known: how far samples are from the truth, how many stacks
are not whole, and what it costs, on an idle machine and beside two busy loops.

Each program works by turns in a library and in a function of pure Python, `counts`, and measures
both. Prints JSON: {program: {"quiet" or "busy": {tool: {figure: value}}}}. A program whose library
is not there, and a tool that does not know this Python, is left out.

numerical.py sampled PROGRAM        works with and without dwell's samples by turns
numerical.py watched PROGRAM TOOL   is watched from outside
numerical.py bare PROGRAM           works until standard input ends
"""

import contextlib
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time

from shares import share_of, typical, waited_ns
from turns import run

HERE = pathlib.Path(__file__).parent
BIN = pathlib.Path(sys.executable).parent
RATE = 1000
ROUNDS, BLOCKS = 10, 10  # so many blocks with samples, and as many without, by turns
BLOCK_S = 0.1
SECONDS = 4  # that a tool watches from outside


def matrix_product():
    import numpy

    values = numpy.random.default_rng(1).random((300, 300))
    return lambda: values @ values


def linear_solve():
    import numpy
    import scipy.linalg

    values = numpy.random.default_rng(1).random((300, 300))
    return lambda: scipy.linalg.solve(values, values[0])


def cluster_fit():
    import numpy
    from sklearn.cluster import KMeans

    values = numpy.random.default_rng(1).random((4000, 8))
    return lambda: KMeans(8, n_init=1, max_iter=5, tol=0, random_state=1).fit(values)


def training_step():
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(14400, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    pictures, answers = torch.randn(16, 3, 32, 32), torch.randint(10, (16,))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(pictures), answers).backward()
        optimizer.step()

    return step


def compiled_loop():
    import numba

    @numba.njit
    def add(n):
        total = 0.0
        for i in range(n):
            total += (i % 7) ** 0.5
        return total

    return lambda: add(300_000)


def group_by():
    import numpy
    import pandas

    random = numpy.random.default_rng(1)
    frame = pandas.DataFrame({"key": random.integers(0, 100, 100_000), "x": random.random(100_000)})
    return lambda: frame.groupby("key").x.agg(["mean", "std", "max"])


def lazy_frame():
    import polars

    frame = polars.DataFrame({"key": [i % 100 for i in range(200_000)], "x": range(200_000)})
    x = polars.col("x")
    return lambda: frame.group_by("key").agg(x.mean(), x.std().alias("spread"))


PROGRAMS = {
    "numpy: matmul": matrix_product,
    "scipy: solve": linear_solve,
    "sklearn: KMeans.fit": cluster_fit,
    "torch: training step": training_step,
    "numba: a loop": compiled_loop,
    "pandas: groupby": group_by,
    "polars: group_by": lazy_frame,
}


def counts(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def took_ns(function, *arguments):
    start = time.process_time_ns()
    function(*arguments)
    return time.process_time_ns() - start


class Program:
    """Works in blocks of the same work, half of it in `counts`."""

    def __init__(self, name):
        os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
        self.work = PROGRAMS[name]()
        for _ in range(3):
            self.work(), counts(100_000)  # what is made at the first call is made now
        turn_ns = min(took_ns(self.work) for _ in range(10))
        self.count = 100_000 * turn_ns // min(took_ns(counts, 100_000) for _ in range(10))
        self.rounds = max(1, int(BLOCK_S * 1e9 / 2 / turn_ns))

    def block(self):
        """How long it took by the clock, less the time without a CPU; the CPU time of both."""
        waited, began = waited_ns(), time.perf_counter_ns()
        parts = {"work": 0, "counts": 0}
        for _ in range(self.rounds):
            parts["work"] += took_ns(self.work)
            parts["counts"] += took_ns(counts, self.count)
        net = time.perf_counter_ns() - began - (waited_ns() - waited)
        return {"net_ns": net, "parts": parts}


def share_of_counts(blocks):
    parts = {name: sum(block["parts"][name] for block in blocks) for name in ("work", "counts")}
    return 100 * parts["counts"] / sum(parts.values())


def dwell(*words):
    return subprocess.check_output([BIN / "dwell", *words], text=True, stderr=subprocess.DEVNULL)


def sampled(name):
    """The truth is that of the blocks without samples: what samples cost is not the program's."""
    import dwell as recorder

    program = Program(name)
    blocks = {"bare": [], "sampled": []}
    shares, taken, lost = [], 0, dict.fromkeys(("cut", "guessed", "missed"), 0)
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/x.dwell"
        for _ in range(ROUNDS):
            recorder.start(file, rate=RATE)
            blocks["sampled"] += [program.block() for _ in range(BLOCKS)]
            recorder.stop()
            blocks["bare"] += [program.block() for _ in range(BLOCKS)]
            info = json.loads(dwell("report", file, "--format", "json"))["sampling"][0]
            collapsed = dwell("export", file, "--to", "collapsed")
            shares.append((info["taken"], share_of("counts", collapsed)))
            taken += info["taken"]
            lost = {key: lost[key] + info[key] for key in lost}
    found = sum(share * count for count, share in shares) / taken
    return {
        "error": abs(found - share_of_counts(blocks["bare"])),
        "slowdown": typical(blocks["sampled"]) / typical(blocks["bare"]),
        **{key: 100 * number / taken for key, number in lost.items()},
    }


def bare(name):
    program = Program(name)
    print("begins", flush=True)
    blocks = []
    while not select.select([sys.stdin], [], [], 0)[0]:
        blocks.append(program.block())
    return share_of_counts(blocks)


def py_spy(pid, folder):
    file = f"{folder}/py-spy"
    options = ["--native", "-f", "raw", "-r", "100", "-d", str(SECONDS), "-o", file]
    subprocess.run([BIN / "py-spy", "record", "-p", str(pid), *options], capture_output=True)
    return share_of("counts", pathlib.Path(file).read_text())


def attach(pid, folder):
    file = f"{folder}/attached.dwell"
    pace = ["--rate", str(RATE), "--duration", str(SECONDS)]
    options = ["--native", "--mode", "cpu", *pace, "-o", file]
    subprocess.run([BIN / "dwell", "attach", str(pid), *options], capture_output=True)
    return share_of("counts", dwell("export", file, "--to", "collapsed"))


def perf(pid, folder):
    """It does not know Python's functions: `counts` is what the interpreter itself takes."""
    file = f"{folder}/perf"
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-p", str(pid), "-o", file]
    subprocess.run([*record, "sleep", str(SECONDS)], capture_output=True)
    script = subprocess.run(
        ["perf", "script", "-i", file, "-F", "dso,ip"], capture_output=True, text=True
    ).stdout
    objects = re.findall(r"\((.*)\)$", script, re.MULTILINE)
    return 100 * sum("python" in pathlib.Path(name).name for name in objects) / len(objects)


WATCHERS = {"py-spy --native": py_spy, "perf": perf, "dwell attach --native": attach}


def watched(name, tool):
    """By how many points a tool that watches from outside is off."""
    command = [sys.executable, __file__, "bare", name]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process,
        tempfile.TemporaryDirectory() as folder,
    ):
        process.stdout.readline()
        try:
            found = WATCHERS[tool](process.pid, folder)
        finally:
            truth = json.loads(process.communicate("")[0])
    return {"error": abs(found - truth)}


@contextlib.contextmanager
def busy():
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure(name):
    found = {"dwell": run(__file__, "sampled", name)}
    if found["dwell"] is None:
        return None  # the library is not there
    found.update({tool: run(__file__, "watched", name, tool) for tool in WATCHERS})
    return {tool: figures for tool, figures in found.items() if figures}


def main():
    if len(sys.argv) > 1:
        kinds = {"sampled": sampled, "bare": bare, "watched": watched}
        print(json.dumps(kinds[sys.argv[1]](*sys.argv[2:])))
        return
    found = {}
    for name in PROGRAMS:
        print(name, file=sys.stderr)
        quiet = measure(name)
        if quiet:
            with busy():
                found[name] = {"quiet": quiet, "busy": measure(name)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
