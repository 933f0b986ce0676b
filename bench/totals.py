# SPDX-License-Identifier: MIT
"""Whether every export holds the time that the report holds, in recordings of programs that others
wrote: test suites, libraries, servers under load.

Prints JSON: {program: {"total_s": seconds, "worst": percent, "export": its name}}, where the worst
export is the one that is furthest from the report. A program that is not there is left out.

totals.py NAME...   only those
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from handled import BIN, Server  # noqa: E402
from suites import TESTS, suite  # noqa: E402

from tests.lens.totals import Totals  # noqa: E402

SECONDS = 3  # that a server is kept busy
RUN = [BIN / "dwell", "run", "-q", "--timeline"]
NUMERICAL = """
import sys, time
sys.path.insert(0, {folder!r})
import numerical
program = numerical.Program({name!r})
end = time.monotonic() + 2
while time.monotonic() < end:
    program.block()
"""


def of_suite(name, options=()):
    def record(file):
        folder = suite(name)
        if folder is None:
            raise FileNotFoundError(name)
        environment = ["env", f"PYTHONPATH={folder}/src", "PYTHONDONTWRITEBYTECODE=1"]
        command = [*environment, *RUN, *options, "-o", file, *TESTS[name]]
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL)

    return record


def of_library(name):
    def record(file):
        script = pathlib.Path(file).with_suffix(".py")
        script.write_text(NUMERICAL.format(folder=str(HERE), name=name))
        subprocess.run([*RUN, "-o", file, script], check=True, stderr=subprocess.DEVNULL)

    return record


def of_server(name, options=()):
    def record(file):
        with Server(name).running([*RUN, *options, "-o", file]):
            time.sleep(SECONDS)

    return record


PROGRAMS = {
    "jinja2's tests": of_suite("jinja2"),
    "packaging's tests, wall time": of_suite("packaging", ["--mode", "wall"]),
    "click's tests": of_suite("click"),
    "numpy: matmul": of_library("numpy: matmul"),
    "sklearn: KMeans.fit": of_library("sklearn: KMeans.fit"),
    "torch: training step": of_library("torch: training step"),
    "numba: a loop": of_library("numba: a loop"),
    "pandas: groupby": of_library("pandas: groupby"),
    "polars: group_by": of_library("polars: group_by"),
    "gunicorn gthread": of_server("gunicorn gthread"),
    "gunicorn gevent, wall time": of_server("gunicorn gevent", ["--mode", "wall"]),
    "FastAPI under uvicorn": of_server("FastAPI under uvicorn"),
}


def measure(record):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        record(str(folder / "x.dwell"))
        totals = Totals(str(BIN / "dwell"), sorted(folder.glob("x*.dwell")), folder)
        truth = totals.samples_reported()
        off = {lens: 100 * abs(found / truth - 1) for lens, found in totals.of_samples().items()}
    worst = max(off, key=off.__getitem__)
    return {"total_s": truth / 1e9, "worst": off[worst], "export": worst}


def main():
    found = {}
    for name in sys.argv[1:] or PROGRAMS:
        print(name, file=sys.stderr)
        try:
            found[name] = measure(PROGRAMS[name])
        except (OSError, subprocess.SubprocessError) as trouble:
            print(f"{name}: {trouble}", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
