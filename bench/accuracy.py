# SPDX-License-Identifier: MIT
"""The tests that measure, which a busy machine may bend: how many passed, and by how many points
the worst share was off in programs whose shares are known.

Prints JSON: {"passed": n, "failed": [test], "shares": {program: points}}. A test that this Python,
or this machine, cannot run is left out.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
SHARES = "cli/test_attach_shares.py::test_"
MEMORY = "python/test_memory_accuracy.py::test_"
RATE = f"{SHARES}shares_are_right_at_every_rate"
PROGRAMS = {
    "fib, a loop, a leaf 40 calls deep": "python/test_sampling.py::test_shares_are_those_of_an_ex",
    "three functions in C, called by two lines": "python/test_sampling_native.py::test_functions",
    "C++ with templates and inlines": "python/test_sampling_native.py::test_templates_and_inlined",
    "matrix products in BLAS": "python/test_sampling_native.py::test_matrix_products",
    "tasks of asyncio": "python/test_sampling_tasks.py::test_shares_of_tasks",
    "in step with the samples": "python/test_sampling.py::test_samples_do_not_keep_step",
    "timers refused": "python/test_sampling_refused.py::test_shares",
    "from outside, at 100 Hz": f"{RATE}[100-",
    "from outside, at 1 kHz": f"{RATE}[1000-",
    "from outside, at 10 kHz": f"{RATE}[10000-",
    "from outside, as fast as it goes": f"{RATE}[max-",
    "from outside, in step with the samples": f"{SHARES}samples_do_not_keep_step",
    "from outside, with native frames": f"{SHARES}native_frames_are_where_they_belong",
    "from outside, half of the time waiting": f"{SHARES}wall_time_has_what_waits",
    "regions of threads, tasks and a child, four probes": "cli/test_run_together.py::test_cpu",
    "memory: sampled runs inside of their interval, of 95.4 %": f"{MEMORY}estimates",
    "memory: lists of 8 and 160 MB, exact": f"{MEMORY}lists_of_8_and_160_megabytes[exact",
    "memory: lists of 8 and 160 MB, sampled": f"{MEMORY}lists_of_8_and_160_megabytes[sampled",
    "memory: temporaries of the newest NumPy": f"{MEMORY}numpy_temporaries_are_counted_once[new",
    "memory: temporaries of an old NumPy": f"{MEMORY}numpy_temporaries_are_counted_once[old",
    "memory: the peak, by memray": f"{MEMORY}memray_agrees",
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        notes = pathlib.Path(folder, "notes")
        notes.touch()
        chosen = ["-m", "accuracy or repeated", "tests/python", "tests/cli"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen],
            cwd=ROOT,
            env={**os.environ, "DWELL_ACCURACY": str(notes)},
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = [line.rsplit(" ", 1) for line in notes.read_text().splitlines()]
    print(done.stdout, file=sys.stderr)
    found = {}
    for program, test in PROGRAMS.items():
        points = [float(points) for name, points in lines if name.startswith(f"tests/{test}")]
        if points:
            found[program] = points[-1]  # those before were repeated
    passed = re.search(r"(\d+) passed", done.stdout)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    count = int(passed[1]) if passed else 0
    print(json.dumps({"passed": count, "failed": failed, "shares": found}))


main()
