# SPDX-License-Identifier: MIT
"""`dwell attach PID --memory`: from Python 3.14 on, which lets code into a process."""

import signal
import subprocess
import sys

import pytest

from .conftest import MAY_READ

pytestmark = MAY_READ
LETS_IN = pytest.mark.skipif(sys.version_info < (3, 14), reason="Python lets nobody in")
SERVER = """
import sys

kept = []
def handle():
    kept.append(bytearray(200_000))
    if len(kept) > 100:
        kept.clear()

print("ready", flush=True)
while True:
    handle()
"""


@pytest.fixture
def server(tmp_path):
    (tmp_path / "server.py").write_text(SERVER)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "server.py"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it lets others in")
def test_a_python_that_lets_nobody_in_is_named_with_what_helps(server, run_dwell):
    done = run_dwell("attach", server.pid, "--memory")
    version = f"3.{sys.version_info[1]}"
    assert done.returncode == 1
    assert done.stderr == (
        f"dwell: process {server.pid} runs Python {version}, which lets nobody in: from 3.14 on it "
        "does. Start it with 'dwell run --memory', or call dwell.memory.track() in it\n"
    )
    assert server.poll() is None


@LETS_IN
def test_what_the_process_allocates_meanwhile_is_recorded(server, run_dwell):
    done = run_dwell("attach", server.pid, "--memory=exact", "--duration", "0.5", "-o", "x.dwell")
    assert done.returncode == 0, done.stderr
    assert "server.py:6 (handle)" in done.stdout
    assert server.poll() is None
    check = run_dwell("check", "x.dwell")
    assert check.returncode == 0, check.stdout
    again = run_dwell("attach", server.pid, "--memory", "--duration", "0.2", "-q", "-o", "y.dwell")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


@LETS_IN
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_recording_and_not_the_process(server, number, dwell_program, tmp_path):
    command = [dwell_program, "attach", str(server.pid), "--memory", "-q", "-o", "x.dwell"]
    attach = subprocess.Popen(
        command, cwd=tmp_path, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)
    )
    while not (tmp_path / "x.dwell").exists():
        assert attach.poll() is None
    attach.send_signal(number)
    assert attach.wait() == 0
    check = subprocess.run([dwell_program, "check", tmp_path / "x.dwell"], capture_output=True)
    assert check.returncode == 0, check.stdout
    assert server.poll() is None


@LETS_IN
def test_a_process_that_shuts_itself_off_is_one_sentence(tmp_path, run_dwell):
    process = subprocess.Popen(
        [sys.executable, "-X", "disable-remote-debug", "-c",
         "import time; print('ready', flush=True); time.sleep(1000)"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    process.stdout.readline()
    done = run_dwell("attach", process.pid, "--memory", "-o", "x.dwell")
    process.kill()
    process.communicate()
    assert done.returncode == 1
    assert (
        done.stderr.startswith(f"dwell: process {process.pid}: ") and done.stderr.count("\n") == 1
    )
    assert not (tmp_path / "x.dwell").exists()


@pytest.mark.any_python
def test_words_that_are_not_known(run_dwell):
    done = run_dwell("attach", "1", "--memory=some")
    assert done.returncode == 2 and "'sampled' or 'exact', not 'some'" in done.stderr
