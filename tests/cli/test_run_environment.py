# SPDX-License-Identifier: MIT
"""What `dwell run` tells the interpreter by its environment, and what anybody else does."""

import os
import shutil
import subprocess
import sys

import pytest

from .conftest import AS_ROOT

GOOD = "sample,regions,native,period=1000000"
SAID = "dwell: the environment variable DWELL_RUN is not understood; nothing is recorded\n"


def run_python(tmp_path, request: str, *options: str, python: str = sys.executable):
    return subprocess.run(
        [python, *options, "-c", "print('ran', sum(range(100000)) and 1)"],
        cwd=tmp_path,
        env={**os.environ, "DWELL_RUN": request},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "request_",
    [
        "",
        " ",
        "x",
        "sample,period=0 {}",
        "sample,period=1 {}",
        "sample,period=-5 {}",
        "sample,period=1e3 {}",
        "sample,period=" + "9" * 400 + " {}",
        "sample,period=٣٣٣٣٣٣ {}",
        "sample {}",
        "period=1000000 {}",
        "sample,period=1000000",
        "sample,period=1000000 relative.dwell",
        "sample,period=1000000,more {}",
        "lines,callees,sample,period= {}",
        "\udcff\udcfe {}",
        "sample,period=1000000,by=x {}",
    ],
)
def test_what_is_not_understood_is_said_in_a_sentence(tmp_path, request_):
    done = run_python(tmp_path, request_.format(tmp_path / "x.dwell"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran 1\n", SAID)
    assert list(tmp_path.iterdir()) == []


def test_what_is_understood_is_obeyed(tmp_path):
    done = run_python(tmp_path, f"{GOOD} {tmp_path / 'x.dwell'}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran 1\n", "")
    assert (tmp_path / "x.dwell").stat().st_size


@pytest.mark.parametrize("option", ["-I", "-E"])
@pytest.mark.parametrize("by", ["", ",by=1", ",by={parent}", ",by={process}"])
def test_environment_that_is_to_be_ignored_is(tmp_path, option, by):
    by = by.format(parent=os.getpid(), process=os.getppid())
    done = run_python(tmp_path, f"{GOOD}{by} {tmp_path / 'x.dwell'}", option)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran 1\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["-I", "-E"])
def test_dwell_run_is_obeyed_all_the_same(tmp_path, run_dwell, option):
    child = f"import subprocess, sys; subprocess.run([sys.executable, {option!r}, '-c', 'pass'])"
    words = ["run", "-q", "--keep", "--subprocesses", "-o", "x.dwell", option, "-c", child]
    done = run_dwell(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(tmp_path.glob("x*.dwell"))) == 2


@AS_ROOT
def test_program_with_more_rights_ignores_it(tmp_path):
    place = tmp_path / "venv"
    (place / "bin").mkdir(parents=True)
    (place / "lib").symlink_to(os.path.join(sys.prefix, "lib"))
    shutil.copy(os.path.join(sys.prefix, "pyvenv.cfg"), place)
    python = place / "bin" / "python"
    shutil.copy(sys._base_executable, python)
    request = f"{GOOD} {tmp_path / 'x.dwell'}"
    assert run_python(tmp_path, request, python=str(python)).stdout == "ran 1\n"
    assert (tmp_path / "x.dwell").exists()
    (tmp_path / "x.dwell").unlink()
    os.chown(python, 0, 65534)
    python.chmod(0o2755)
    done = run_python(tmp_path, request, python=str(python))
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran 1\n", "")
    assert not (tmp_path / "x.dwell").exists()
