# SPDX-License-Identifier: MIT
"""What many processes cost: children of a program, workers of Dask, files to merge.

Cases take turns, and the best of all turns counts. Times are of the CPU, of all processes together.
tools/merge-scale merges more files than there is time for here. Prints JSON.
"""

import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile

from turns import best_of_turns, run

DWELL = os.path.join(sysconfig.get_path("scripts"), "dwell")
TURNS = 3
CHILDREN = 250
TASKS = 600
FILES = 100

FORKS = """
import os, sys
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if not child:
        sum(range(200_000))
        os._exit(0)
    os.waitpid(child, 0)
"""
WORK = """
import contextlib, sys
from distributed import Client, LocalCluster

def work(n):
    return sum(i * i for i in range(n))

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        with Client(local) as client, contextlib.ExitStack() as stack:
            if sys.argv[1] == "dwell":
                from dwell.cluster.dask import profile_cluster

                stack.enter_context(profile_cluster(client, "run.dwell"))
            client.gather(client.map(work, [200_000 + n for n in range(int(sys.argv[2]))]))
"""
# Regions twelve deep, nine of ten paths the same in all files: what tools/merge-scale makes.
WORKERS = """
import random, sys
from dwell import _core, region

NAMES = [f"module_{i // 20}.function_{i}" for i in range(300)]

def enter(names, at=0):
    if at < len(names):
        with region(names[at]):
            enter(names, at + 1)

for number in range(int(sys.argv[1])):
    common, own = random.Random(1), random.Random(number + 2)
    _core.start(f"x.{number}.dwell")
    for _ in range(0, 90_000, 12):
        chooser = common if common.random() < 0.9 else own
        enter([NAMES[chooser.randrange(len(NAMES))] for _ in range(12)])
    _core.stop()
"""


def cpu_seconds(*command: str) -> float:
    """Of the program and of all that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def written(source: str) -> str:
    with open("program.py", "w") as file:
        file.write(source)
    return "program.py"


def forks(tool: str) -> float:
    command = [DWELL, "run", "-q", "-o", "x.dwell"] if tool == "dwell" else [sys.executable]
    return cpu_seconds(*command, written(FORKS), str(CHILDREN))


def dask(tool: str) -> float:
    return cpu_seconds(sys.executable, written(WORK), tool, str(TASKS))


def merge(_: str) -> dict[str, float]:
    subprocess.run([sys.executable, written(WORKERS), str(FILES)], check=True)
    files = [f"x.{number}.dwell" for number in range(FILES)]
    size = sum(os.path.getsize(file) for file in files)
    merging = subprocess.Popen([DWELL, "merge", *files, "-o", "all.dwell"])
    _, status, usage = os.wait4(merging.pid, 0)
    if status:
        sys.exit("the recordings were not merged")
    seconds = usage.ru_utime + usage.ru_stime
    return {"megabytes": size / 1e6, "seconds": seconds, "memory": usage.ru_maxrss / 1024}


def main() -> None:
    if len(sys.argv) == 3:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
        return
    cases = [(case, tool) for case in ("forks", "dask") for tool in ("bare", "dwell")]
    best = best_of_turns(__file__, cases, TURNS)
    result: dict[str, object] = {f"{case}_{tool}": value for (case, tool), value in best.items()}
    result["children"] = CHILDREN
    result["merge"] = run(__file__, "merge", "")
    print(json.dumps(result))


main()
