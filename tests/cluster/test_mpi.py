# SPDX-License-Identifier: MIT
"""Ranks of MPI jobs: by what launchers say, and with a real one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..conftest import PATIENCE_S, Program
from .conftest import Rows

pytestmark = pytest.mark.any_python

LAUNCHERS = {
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "MVAPICH": ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    "MPICH": ("PMI_RANK", "PMI_SIZE"),
    "Slurm": ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
}
PROGRAM = "import dwell\nfor _ in range(3):\n    with dwell.region('work'): pass\n"


def environment(launcher: str, rank: int, size: int) -> dict[str, str]:
    known = {name for pair in LAUNCHERS.values() for name in pair}
    mine = {name: value for name, value in os.environ.items() if name not in known}
    return mine | dict(zip(LAUNCHERS[launcher], (str(rank), str(size)), strict=True))


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_each_rank_has_a_file_and_a_name(
    run_dwell: Program, rows: Rows, tmp_path: Path, launcher: str
):
    (tmp_path / "job.py").write_text(PROGRAM)
    for rank in range(2):
        done = run_dwell("run", "-o", "run.dwell", "job.py", env=environment(launcher, rank, 2))
        assert not done.returncode
        assert ("this was rank 0 of 2" in done.stderr) == (rank == 0)
        assert bool(done.stderr) == (rank == 0)
    files = sorted(file.name for file in tmp_path.glob("*.dwell"))
    assert files == ["run.rank0.dwell", "run.rank1.dwell"]
    run_dwell("merge", *files, "-o", "run.dwell")
    found = rows("run.dwell", "rank,region", "--measure", "count")
    counts = {row["rank"]: row["count"] for row in found if row["region"] == "work"}
    assert counts == {"0": 3, "1": 3}
    processes = rows("run.dwell", "process", "--measure", "count")
    assert {row["process"][-7:] for row in processes} == {" rank 0", " rank 1"}


def test_only_some_ranks(run_dwell: Program, tmp_path: Path):
    (tmp_path / "job.py").write_text("import sys; print('ran'); sys.exit(3)")
    for rank in range(12):
        done = run_dwell("run", "--ranks", "0,11", "job.py", env=environment("MPICH", rank, 12))
        assert (done.stdout, done.returncode) == ("ran\n", 3)
    names = sorted(file.name.split(".")[1] for file in tmp_path.glob("*.dwell"))
    assert names == ["rank0", "rank11"]


@pytest.mark.parametrize("ranks", ["", "one", "0,,1", "0,", "-1"])
def test_ranks_that_are_no_numbers_are_refused(run_dwell: Program, tmp_path: Path, ranks: str):
    (tmp_path / "job.py").write_text("print('ran')")
    done = run_dwell("run", "--ranks", ranks, "job.py")
    assert done.returncode == 2 and not done.stdout and "--ranks" in done.stderr


def test_a_job_of_one_is_no_job(run_dwell: Program, tmp_path: Path):
    (tmp_path / "job.py").write_text(PROGRAM)
    run_dwell("run", "-o", "run.dwell", "job.py", env=environment("Slurm", 0, 1))
    assert [file.name for file in tmp_path.glob("*.dwell")] == ["run.dwell"]


def test_a_program_names_the_file_of_its_rank(python_program: Program):
    source = "from dwell.cluster import mpi\n"
    source += "print(mpi.rank(), mpi.size(), mpi.rank_file('run.dwell'), mpi.rank_file('x'))"
    ranked = python_program(source, env=environment("Open MPI", 3, 4)).stdout
    assert ranked == "3 4 run.rank3.dwell x.rank3.dwell\n"
    assert python_program(source, env=environment("Open MPI", 0, 1)).stdout == "0 1 run.dwell x\n"


JOB = """
import dwell
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
for _ in range(rank + 1):
    with dwell.region("work"):
        sum(range(1000 if rank else 20_000_000))
with dwell.region("wait"):
    total = MPI.COMM_WORLD.allreduce(rank)
if rank == 0:
    print(total)
"""


@pytest.fixture
def mpirun(tmp_path: Path, dwell_program: str) -> Program:
    """Runs JOB on four ranks with a real launcher."""
    pytest.importorskip("mpi4py")
    program = shutil.which("mpirun")
    if not program or b"Open MPI" not in subprocess.check_output([program, "--version"]):
        pytest.skip("there is no mpirun of Open MPI")
    (tmp_path / "job.py").write_text(JOB)

    def run(*options: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [program, "--allow-run-as-root", "--oversubscribe", "-n", "4", dwell_program, "run"]
            + [*options, "-o", "run.dwell", "--python", sys.executable, "job.py"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=PATIENCE_S,
        )
        assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr
        return done

    return run


def test_four_ranks_of_a_real_job(mpirun: Program, run_dwell: Program, rows: Rows, tmp_path: Path):
    mpirun()
    run_dwell("merge", *(f"run.rank{rank}.dwell" for rank in range(4)), "-o", "run.dwell")
    found = rows("run.dwell", "rank,region", "--measure", "count")
    counts = {(row["rank"], row["region"]): row["count"] for row in found}
    for rank in range(4):
        assert counts[str(rank), "work"] == rank + 1
        assert counts[str(rank), "wait"] == 1


def test_rank_0_merges_and_time_in_mpi_is_told_apart(mpirun: Program, rows: Rows, tmp_path: Path):
    """The other ranks wait for the first one, and MPI does that by looking again and again."""
    done = mpirun("--merge-ranks")
    assert "all ranks are in run.dwell" in done.stderr
    assert [file.name for file in tmp_path.glob("*.dwell")] == ["run.dwell"]
    found = rows("run.dwell", "rank,module")
    assert {row["rank"] for row in found} == {"0", "1", "2", "3"}
    assert any("mpi" in row["module"] or "open-pal" in row["module"] for row in found)
