# SPDX-License-Identifier: MIT
"""Dask clusters of real processes and threads."""

import json
import os
from pathlib import Path

import pytest

import dwell

from ..compiled import compile_library
from ..conftest import Program
from ..measured import assert_close, repeated
from .conftest import Rows

pytest.importorskip("distributed")
pytestmark = pytest.mark.any_python

BEGIN = """
import glob, json, os, signal, sys, time
from distributed import Client, LocalCluster, get_worker
from dwell.cluster.dask import merge, profile_cluster


def spin(seconds):
    begin = time.thread_time()
    while time.thread_time() < begin + seconds:
        sum(range(1000))
    return time.thread_time() - begin


def count(n):
    total = 0
    for i in range(n):
        total += i
    return total


def cluster(workers=2, processes=True, threads=2):
    return LocalCluster(
        n_workers=workers, threads_per_worker=threads, processes=processes, dashboard_address=None
    )


def main():
"""
END = """
if __name__ == "__main__":
    main()
"""
# A busy machine is no reason for Dask to give somebody up.
PATIENT = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "900s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "900s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "900s",
    "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "900s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "10",
}


@pytest.fixture
def dask_program(python_program: Program):
    """Runs the body of main() and returns what it printed as JSON."""

    def run(body: str, *args: str):
        lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
        done = python_program(BEGIN + lines + END, *args, env={**os.environ, **PATIENT})
        assert not done.returncode, done.stderr
        run.stderr = done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


@pytest.mark.parametrize("processes", [True, False], ids=["processes", "threads"])
def test_samples_and_lines_of_all_workers_are_known_by_task(
    dask_program, rows: Rows, tmp_path: Path, processes: bool
):
    dask_program(f"""
with cluster(processes={processes}) as local, Client(local) as client:
    with profile_cluster(client, "run.dwell", lines=[count]):
        spinning = [
            client.submit(spin, 0.2, key=f"spin-{{w}}{{i}}", workers=[w], allow_other_workers=False)
            for w in (0, 1) for i in (0, 1)
        ]
        counting = [client.submit(count, n, key=f"count-{{n}}") for n in range(1, 10)]
        client.gather(spinning + counting)
    assert not any(client.run(lambda dask_worker: "execute" in vars(dask_worker)).values())
    left = lambda dask_worker: dask_worker.handlers["get_data"] != dask_worker.get_data
    assert not any(client.run(left).values())
""")
    found = rows("run.dwell", "task_prefix,worker", "--measure", "cpu")
    assert {("spin", "0"), ("spin", "1")} <= {(r["task_prefix"], r["worker"]) for r in found}
    keys = rows("run.dwell", "task_key", "--match-label", "task_prefix=spin")
    assert {row["task_key"] for row in keys} == {"spin-00", "spin-01", "spin-10", "spin-11"}
    assert {row["host"] for row in rows("run.dwell", "host")} == {os.uname().nodename}
    (lines,) = dwell.load_stats(tmp_path / "run.dwell").timings.values()
    assert [hits for _, hits, _ in lines] == [9, 45 + 9, 45, 9]


def test_a_function_from_earlier_tasks_is_found(dask_program, tmp_path: Path):
    """Its code was unpickled before the recording, and is unpickled again."""
    dask_program("""
with cluster() as local, Client(local) as client:
    for part in range(3):
        counting = [client.submit(count, 5, pure=False) for n in range(8)]
        if part == 1:
            with profile_cluster(client, "run.dwell", sample=False, lines=[count]):
                client.gather([client.submit(count, 5, pure=False) for n in range(8)])
        client.gather(counting)
""")
    (lines,) = dwell.load_stats(tmp_path / "run.dwell").timings.values()
    first, loop, body, last = (hits for _, hits, _ in lines)
    assert loop == 6 * first and body == 5 * first and last == first and 8 <= first <= 16


def test_worker_killed_in_a_task_is_named_and_its_data_is_there(
    dask_program, rows: Rows, run_dwell: Program
):
    """It is killed when its file has grown; the nanny's next one records on."""
    victim = dask_program("""
def die_once(folder):
    mark = f"{folder}/died"
    file, = glob.glob(f"{folder}/dwell-*/*.{os.getpid()}.*.dwell")
    sizes = {os.path.getsize(file)}
    while len(sizes) < 4:
        spin(0.05)
        sizes.add(os.path.getsize(file))
    if os.path.exists(mark):
        return int(open(mark).read())
    with open(mark, "w") as out:
        out.write(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGKILL)

folder = os.getcwd()
with cluster(workers=1, threads=1) as local, Client(local) as client:
    with profile_cluster(client, "run.dwell", directory=folder):
        print(client.submit(die_once, folder, key="die-1").result())
    assert not glob.glob("dwell-*")
""")
    found = {row["process"]: row["cpu"] for row in rows("run.dwell", "process", "--measure", "cpu")}
    assert len(found) == 2 and found[f"dask worker 0 {victim}"] > 0
    shown = run_dwell("report", "run.dwell", "--by", "task_prefix")
    assert "1 of 2 processes did not close their log" in shown.stdout + shown.stderr
    assert f"dask worker 0 {victim}@" in shown.stdout + shown.stderr


def test_workers_that_come_and_go_are_recorded(dask_program, rows: Rows):
    """Those that left before the end were on this host, whose files the others have."""
    dask_program("""
with cluster(workers=1) as local, Client(local) as client:
    with profile_cluster(client, "run.dwell"):
        local.scale(2)
        client.wait_for_workers(2)
        client.submit(spin, 0.2, key="spin-new", workers=[1], allow_other_workers=False).result()
        local.scale(1)
        while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.workers)) > 1:
            pass  # to ask the one that leaves would be to wait for its answer
""")
    assert "1" in {row["worker"] for row in rows("run.dwell", "worker")}


def test_worker_without_dwell_costs_one_warning(dask_program, rows: Rows, tmp_path: Path):
    (tmp_path / "hidden.py").write_text("import sys\nsys.modules['dwell'] = None\n")
    dask_program(
        """
import subprocess
command = [sys.executable, "-m", "dask", "worker", "--preload", "hidden.py", "--name", "bare"]
with cluster(workers=1) as local, Client(local) as client:
    bare = subprocess.Popen([*command, "--no-dashboard", local.scheduler_address])
    client.wait_for_workers(2)
    with profile_cluster(client, "run.dwell"):
        done = [
            client.submit(spin, 0.2, key=f"spin-{w}", workers=[w], allow_other_workers=False)
            for w in (0, "bare")
        ]
        client.gather(done)
    bare.terminate()
    bare.wait()
"""
    )
    assert dask_program.stderr.count("dwell records 1 of 2 workers") == 1
    assert "dwell" in dask_program.stderr.partition("1 of 2 workers;")[2].splitlines()[0]
    keys = {row["task_key"] for row in rows("run.dwell", "task_key")}
    assert "spin-0" in keys and "spin-bare" not in keys


def test_files_of_other_hosts_are_fetched(dask_program, rows: Rows, tmp_path: Path):
    """A worker that calls its host another name and has another folder for temporary files."""
    (tmp_path / "away.py").write_text("import socket\nsocket.gethostname = lambda: 'away'\n")
    (tmp_path / "away").mkdir()
    dask_program("""
import subprocess
command = [sys.executable, "-m", "dask", "worker", "--preload", "away.py", "--name", "away"]
with cluster(workers=1) as local, Client(local) as client:
    there = {**os.environ, "TMPDIR": os.path.abspath("away")}
    away = subprocess.Popen([*command, "--no-dashboard", local.scheduler_address], env=there)
    client.wait_for_workers(2)
    with profile_cluster(client, "run.dwell"):
        done = [
            client.submit(spin, 0.2, key=f"spin-{w}", workers=[w], allow_other_workers=False)
            for w in (0, "away")
        ]
        client.gather(done)
        assert glob.glob("away/dwell-*/*.dwell")
    assert not glob.glob("away/dwell-*")
    away.terminate()
    away.wait()
""")
    assert {"0", "away"} <= {row["worker"] for row in rows("run.dwell", "worker")}


def test_the_tasks_own_error_is_kept(dask_program):
    dask_program("""
with cluster() as local, Client(local) as client:
    try:
        with profile_cluster(client, "run.dwell"):
            client.submit(lambda: 1 / 0).result()
    except ZeroDivisionError:
        print(json.dumps(os.path.exists("run.dwell")))
""")


def test_merge_on_the_cluster_is_that_of_the_command(dask_program, run_dwell: Program):
    dask_program("""
import dwell
for part in range(5):
    dwell.start(f"part{part}.dwell")
    spin(0.05)
    dwell.stop()
with cluster() as local, Client(local) as client:
    merge(client, [f"part{part}.dwell" for part in range(5)], "tree.dwell", at_once=2)
""")
    run_dwell("merge", *(f"part{part}.dwell" for part in range(5)), "-o", "flat.dwell")
    tree, flat = (
        run_dwell("report", file, "--by", "process,function", "--format", "json").stdout
        for file in ("tree.dwell", "flat.dwell")
    )
    assert json.loads(tree)["rows"] == json.loads(flat)["rows"] != []


def test_preloaded_worker_records_without_a_client(dask_program, rows: Rows, tmp_path: Path):
    dask_program("""
import subprocess
command = [sys.executable, "-m", "dask", "worker", "--preload", "dwell.cluster.dask"]
os.environ["DWELL_DIRECTORY"] = os.getcwd()
with cluster(workers=0) as local, Client(local) as client:
    worker = subprocess.Popen([*command, "--name", "w", "--no-dashboard", local.scheduler_address])
    client.submit(spin, 0.2, key="spin-1").result()
    worker.terminate()
    worker.wait()
""")
    (file,) = tmp_path.glob("*.dwell")
    found = {(row["task_prefix"], row["worker"]) for row in rows(file, "task_prefix,worker")}
    assert ("spin", "w") in found


def test_memory_of_tasks_that_share_a_process_is_told_apart(dask_program, rows: Rows):
    dask_program("""
def churn(megabytes):
    for _ in range(megabytes):
        bytearray(1_000_000)

def hold(megabytes):
    return bytearray(1_000_000 * megabytes)

with cluster(workers=1, threads=4) as local, Client(local) as client:
    with profile_cluster(client, "run.dwell", sample=False, memory="exact"):
        done = [client.submit(churn, n, key=f"churn-{n}") for n in (20, 40)]
        held = [client.submit(hold, n, key=f"hold-{n}") for n in (10, 30)]
        client.gather(done)
        while not all(future.done() for future in held):
            pass
""")
    found = rows("run.dwell", "task_key", "--measure", "alloc_bytes,live_bytes")
    allocated = {row["task_key"]: row["alloc_bytes"] // 1_000_000 for row in found}
    held = {row["task_key"]: row["live_bytes"] // 1_000_000 for row in found}
    for n in (20, 40):
        assert (allocated[f"churn-{n}"], held[f"churn-{n}"]) == (n, 0)
    for n in (10, 30):
        assert (allocated[f"hold-{n}"], held[f"hold-{n}"]) == (n, n)


def test_what_workers_do_beside_tasks_is_told_apart(dask_program, rows: Rows, run_dwell: Program):
    """A result whose pickling takes 0.2 s goes from one worker to the other; then it is spilled."""
    dask_program("""
class Heavy:
    def __reduce__(self):
        spin(0.2)
        return Heavy, ()

def make():
    spin(0.1)
    return Heavy()

with cluster(threads=1) as local, Client(local) as client:
    with profile_cluster(client, "run.dwell"):
        heavy = client.submit(make, key="make-1", workers=[0])
        client.submit(lambda heavy: spin(0.1), heavy, key="use-1", workers=[1]).result()
        def spill(dask_worker):
            from distributed.spill import Slow
            slow = Slow(".spilled")
            slow["heavy"] = Heavy()
            return type(slow["heavy"]).__name__
        assert set(client.run(spill).values()) == {"Heavy"}
""")
    found = rows("run.dwell", "worker,activity", "--measure", "cpu")
    activities = {(row["worker"], row["activity"]) for row in found}
    assert {("0", "task"), ("0", "serialisation"), ("1", "task")} <= activities
    (first, second) = sorted(
        rows("run.dwell", "worker,transfer,serialisation,spill,idle"), key=lambda row: row["worker"]
    )
    assert float(first["transfer"].split()[0]) > 0 and first["transfer"].endswith(" s")
    assert float(first["serialisation"].split()[0]) >= 0.2
    assert float(second["transfer"].split()[0]) > 0
    assert first["idle"].endswith("% of 1 thread")
    shown = run_dwell("report", "run.dwell").stdout
    assert "2 workers: CPU time from " in shown


OTHER_CLOCK = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    long status = syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += clock == CLOCK_REALTIME ? 36000 : 0;
    return (int)status;
}
"""


def test_hosts_with_other_clocks_are_on_one(dask_program, run_dwell: Program, tmp_path: Path):
    """The clock of one worker is ten hours ahead. Hours cannot pass by chance."""
    compile_library(tmp_path, "other_clock", OTHER_CLOCK)
    dask_program("""
import subprocess
command = [sys.executable, "-m", "dask", "worker", "--name", "ahead", "--no-dashboard"]
with cluster(workers=1) as local, Client(local) as client:
    there = {**os.environ, "LD_PRELOAD": os.path.abspath("other_clock.so")}
    ahead = subprocess.Popen([*command, local.scheduler_address], env=there)
    client.wait_for_workers(2)
    assert max(client.run(time.time).values()) - time.time() > 9 * 3600
    with profile_cluster(client, "run.dwell"):
        client.gather(client.map(spin, [0.1] * 8, pure=False))
    ahead.terminate()
    ahead.wait()
""")
    document = json.loads(run_dwell("export", "run.dwell", "--to", "json").stdout)
    starts = [process["start_ns"] / 1e9 for process in document["processes"]]
    assert len(starts) == 2 and abs(starts[0] - starts[1]) < 3600
    shifts = [process["properties"].get("clock_shift") for process in document["processes"]]
    assert sorted(shift is None for shift in shifts) == [False, True]


@pytest.mark.accuracy
@repeated
def test_cpu_time_of_tasks_is_what_they_measured(dask_program, rows: Rows):
    truth = dask_program("""
with cluster() as local, Client(local) as client:
    with profile_cluster(client, "run.dwell"):
        done = {f"spin-{n}": client.submit(spin, n / 4, key=f"spin-{n}") for n in range(1, 9)}
        print(json.dumps(client.gather(done)))
""")
    found = rows("run.dwell", "task_key", "--match-label", "task_prefix=spin", "--measure", "cpu")
    measured = {row["task_key"]: row["cpu"] / 1e9 for row in found}
    for key, seconds in truth.items():
        assert_close({key: 100 * measured[key] / seconds}, {key: 100}, within=5)
