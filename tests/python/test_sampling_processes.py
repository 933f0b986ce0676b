# SPDX-License-Identifier: MIT
"""Samples of programs that fork, start others, and die."""

from ..measured import assert_above
from ..sampled import Samples

BUSY = """
import time
def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
"""


def test_forks_in_a_loop(tmp_path, python_program):
    done = python_program("""
import os, warnings
import dwell
warnings.simplefilter("error")
def busy():
    return sum(range(100_000))
def child():
    for _ in range(15):
        busy()
    os._exit(0)
dwell.start("x.dwell")
for _ in range(40):
    busy()
    pid = os.fork()
    if not pid:
        child()
    assert os.waitpid(pid, 0)[1] == 0
for _ in range(100):
    busy()
dwell.stop()
""")
    assert (done.returncode, done.stderr) == (0, "")
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.info["ended"]
    assert not any(frame.name == "child" for row in samples.rows for frame in row.stack)
    children = [Samples.of(path) for path in tmp_path.glob("x.*.dwell")]
    assert 30 < len(children) <= 40  # some have no sample, and leave nothing
    for each in children:
        assert_above(50, each.inside("child"))


def test_a_child_without_room_for_a_file(tmp_path, python_program):
    done = python_program(f"""{BUSY}
import os, shutil, warnings
import dwell
os.mkdir("logs")
dwell.start("logs/x.dwell")
shutil.rmtree("logs")
warnings.simplefilter("error")  # of threads that are there at a fork
pid = os.fork()
if not pid:
    busy(1.2)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
dwell.stop()
""")
    assert done.returncode == 0
    [line] = done.stderr.splitlines()
    assert "No such file or directory; recording goes on without the file" in line


def test_a_killed_program_leaves_its_samples(tmp_path, python_program):
    done = python_program("""
import os, signal, time
import dwell
dwell.start("x.dwell")
end = time.thread_time() + 1
while time.thread_time() < end:
    pass
time.sleep(0.7)
os.kill(os.getpid(), signal.SIGKILL)
""")
    assert done.returncode == -9
    samples = Samples.of(tmp_path / "x.dwell")
    assert not samples.info["ended"]
    assert_above(100, samples.info["taken"])


def test_dwell_run_takes_samples(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "def work():\n    return sum(range(20_000_000))\nprint(work())\n"
    )
    done = run_dwell("run", "--rate", "2000", "-o", "x.dwell", "program.py")
    assert done.stdout == "199999990000000\n"
    assert "work" in done.stderr and "2000 Hz asked" in done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.info["period_ns"] == 500_000 and samples.info["ended"]
    assert_above(50, samples.inside("work"))


def test_dwell_run_without_native_frames(tmp_path, run_dwell):
    run_dwell("run", "-q", "--no-native", "-o", "x.dwell", "-c", "sum(range(10_000_000))")
    samples = Samples.of(tmp_path / "x.dwell")
    assert {frame.kind for row in samples.rows for frame in row.stack} <= {"python", "mark"}
    assert samples.rows


def test_children_that_become_other_programs(tmp_path, python_program):
    done = python_program(f"""{BUSY}
import os, subprocess, sys
import dwell
def before_exec():
    busy(0.1)
    os.execv(sys.executable, [sys.executable, "-c", "print('another')"])
dwell.start("x.dwell")
for _ in range(5):
    busy(0.05)
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        before_exec()
    assert os.waitpid(pid, 0)[1] == 0
    command = [sys.executable, "-c", "print('started')"]
    subprocess.run(command, check=True, preexec_fn=lambda: None)
dwell.stop()
""")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "another\nstarted\n" * 5
    samples = Samples.of(tmp_path / "x.dwell")
    assert samples.info["ended"]
    assert_above(20, samples.inside("busy"))
    children = [Samples.of(path) for path in tmp_path.glob("x.*.dwell")]
    busy = [each for each in children if each.inside("busy")]
    assert len(busy) == 5
    for each in busy:
        assert_above(80, each.inside("before_exec"))
    assert len(children) <= 10  # those of subprocess may have one when they take long to exec
