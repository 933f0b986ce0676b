# SPDX-License-Identifier: MIT
"""`dwell run` follows the processes that a program starts, and makes one recording of all."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from ..measured import Near, repeated
from ..sampled import Samples

PROGRAM = """
import multiprocessing, os, subprocess, sys, time
import dwell

def work(seconds):
    with dwell.region("work"):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            sum(range(1000))

def by_method(method):
    process = multiprocessing.get_context(method).Process(target=work, args=(0.3,))
    process.start()
    process.join()

def by_command(*arguments):
    subprocess.run([sys.executable, __file__, *arguments], check=True)

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["work"]:
            work(0.3)
        case ["become another"]:
            work(0.3)
            os.execv(sys.executable, [sys.executable, __file__, "work"])
        case ["start another"]:
            by_command("work")
        case ["start", *arguments]:
            by_command(*arguments)
        case ["with another environment"]:
            subprocess.run([sys.executable, __file__, "work"], env={**os.environ, "X": "1"})
        case [method]:
            by_method(method)
"""
WAYS = {
    "fork": 1,
    "spawn": 1,
    "forkserver": 1,
    "start,work": 1,
    "start,start another": 1,
    "start,become another": 2,
    "with another environment": 1,
}


def counts(run_dwell, file) -> dict[str, int]:
    done = run_dwell("report", file, "--by", "region", "--format", "csv")
    found: dict[str, int] = {}
    for row in csv.DictReader(done.stdout.splitlines()):
        found[row["name"]] = found.get(row["name"], 0) + int(row["count"])
    return found


def names(run_dwell, file) -> list[str]:
    """Of processes that have entered regions, without their ids."""
    done = run_dwell("report", file, "--by", "process", "--measure", "count", "--format", "json")
    found = [row["process"] for row in json.loads(done.stdout)["rows"]]
    return sorted(re.sub(r" \d+(@.*)?$", "", name) for name in found)


@pytest.mark.parametrize("arguments", WAYS)
def test_every_process_is_in_the_recording(tmp_path, run_dwell, arguments):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_dwell("run", "-o", "x.dwell", "program.py", *arguments.split(","))
    assert (done.returncode, done.stdout) == (0, "")
    assert counts(run_dwell, "x.dwell")["work"] == WAYS[arguments]
    assert [path.name for path in tmp_path.glob("x*.dwell")] == ["x.dwell"]


@pytest.mark.accuracy
@pytest.mark.parametrize("arguments", WAYS)
@repeated
def test_samples_of_every_process(tmp_path, run_dwell, arguments):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_dwell("run", "-q", "-o", "x.dwell", "program.py", *arguments.split(","))
    samples = Samples.of(tmp_path / "x.dwell")
    took = samples.where(lambda row: any(frame.name == "work" for frame in row.stack)) / 1e9
    assert took == Near(0.3 * WAYS[arguments], within=0.1)


POOL = """
import multiprocessing, sys
import dwell
def work(n):
    with dwell.region("work"):
        return n * n
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(sum(pool.map(work, range(10), 1)))
"""
PROBES = {"sample": [], "regions": ["--regions"], "calls": ["--calls", "--regions"]}


@pytest.mark.parametrize("probes", PROBES.values(), ids=PROBES)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_a_pool_that_ends_them(tmp_path, run_dwell, method, probes):
    """The pool ends them by SIGTERM when it is left, which loses nothing."""
    (tmp_path / "program.py").write_text(POOL)
    done = run_dwell("run", *probes, "-o", "x.dwell", "program.py", method)
    assert done.stdout == "285\n", done.stderr
    assert counts(run_dwell, "x.dwell")["work"] == 10
    assert [path.name for path in tmp_path.glob("x*.dwell")] == ["x.dwell"]


PREFIXES = {"fork": "Fork", "spawn": "Spawn", "forkserver": "ForkServer"}


@pytest.mark.parametrize("method", PREFIXES)
def test_processes_have_the_names_that_multiprocessing_gives_them(tmp_path, run_dwell, method):
    (tmp_path / "program.py").write_text(
        "import dwell, multiprocessing, sys\n"
        "def work(all_are_there):\n"
        "    with dwell.region('work'):\n"
        "        all_are_there.wait()\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    both = context.Barrier(2)\n"
        "    processes = [context.Process(target=work, args=(both,), name=name)\n"
        "                 for name in (None, 'loader')]\n"
        "    for process in processes: process.start()\n"
        "    for process in processes: process.join()\n"
    )
    done = run_dwell("run", "--regions", "-o", "x.dwell", "program.py", method)
    assert done.returncode == 0, done.stderr
    expected = sorted([f"{PREFIXES[method]}Process-1", "loader"])
    assert names(run_dwell, "x.dwell") == expected


ENDS = {
    "os._exit": "os._exit(0)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGINT": "signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)",
    "exception": "raise SystemExit(3)",
    "exec": "os.execv('/bin/true', ['true'])",
}


@pytest.mark.parametrize("probes", PROBES.values(), ids=PROBES)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_children_lose_nothing_however_they_end(tmp_path, run_dwell, end, probes):
    (tmp_path / "program.py").write_text(
        "import dwell, os, signal\n"
        "for _ in range(3):\n"
        "    if not (child := os.fork()):\n"
        "        with dwell.region('work'): pass\n"
        f"        {end}\n"
        "    os.waitpid(child, 0)\n"
    )
    done = run_dwell("run", *probes, "-o", "x.dwell", "program.py")
    assert done.returncode == 0, done.stderr
    assert counts(run_dwell, "x.dwell")["work"] == 3
    assert "did not close" not in run_dwell("report", "x.dwell").stdout
    assert [path.name for path in tmp_path.glob("x*.dwell")] == ["x.dwell"]


def test_a_killed_child_is_named_as_such(tmp_path, run_dwell):
    """What it had flushed is there: it is killed when that is on disk."""
    (tmp_path / "program.py").write_text(
        "import dwell, glob, os, signal, time\n"
        "if not (child := os.fork()):\n"
        "    while True:\n"
        "        with dwell.region('work'): time.sleep(0.001)\n"
        "file = f'x.{child}.dwell'\n"
        "while not (os.path.exists(file) and os.path.getsize(file) > 500): time.sleep(0.01)\n"
        "os.kill(child, signal.SIGKILL)\n"
        "os.waitpid(child, 0)\n"
    )
    done = run_dwell("run", "--regions", "-o", "x.dwell", "program.py")
    assert "1 of 2 processes did not close their log" in done.stderr
    assert counts(run_dwell, "x.dwell")["work"] >= 1
    assert [path.name for path in tmp_path.glob("x*.dwell")] == ["x.dwell"]


def test_daemons_that_end_with_their_parent_lose_nothing(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, multiprocessing, time\n"
        "def work(done):\n"
        "    with dwell.region('work'): pass\n"
        "    done.set()\n"
        "    time.sleep(1000)\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('fork')\n"
        "    done = context.Event()\n"
        "    context.Process(target=work, args=(done,), daemon=True).start()\n"
        "    done.wait()\n"
    )
    run_dwell("run", "-q", "-o", "x.dwell", "program.py")
    assert counts(run_dwell, "x.dwell")["work"] == 1


def test_a_child_that_outlives_the_program_keeps_its_file(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, os, time\n"
        "if not os.fork():\n"
        "    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\n"
        "    os.dup2(1, 2)\n"
        "    with dwell.region('work'):\n"
        "        while not os.path.exists('end'): time.sleep(0.01)\n"
        "    raise SystemExit\n"
        "while not [name for name in os.listdir() if name.startswith('x.') and name != 'x.dwell'\n"
        "           and os.path.getsize(name) > 100]: time.sleep(0.01)\n"
    )
    done = run_dwell("run", "--regions", "-o", "x.dwell", "program.py")
    assert "dwell: 1 child has not ended yet: the file of it is beside it" in done.stderr
    (file,) = tmp_path.glob("x.*.dwell")
    (tmp_path / "end").touch()
    while run_dwell("check", file).returncode:
        time.sleep(0.05)
    assert run_dwell("merge", "--children", "x.dwell").stderr == ""
    assert counts(run_dwell, "x.dwell")["work"] == 1
    assert not file.exists()


def test_no_follow(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import dwell, os, subprocess, sys\n"
        "assert 'DWELL_RUN' not in os.environ\n"
        "if not (child := os.fork()):\n"
        "    with dwell.region('work'): pass\n"
        "    sys.exit()\n"
        "os.waitpid(child, 0)\n"
        "subprocess.run([sys.executable, '-c', 'pass'], check=True)\n"
        "with dwell.region('own'): pass\n"
    )
    for probes in PROBES.values():
        done = run_dwell("run", "--no-follow", *probes, "-o", "x.dwell", "program.py")
        assert done.returncode == 0, done.stderr
        assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]
        found = counts(run_dwell, "x.dwell")
        assert "work" not in found and found["own"] == 1


@pytest.mark.any_python
def test_only_some_processes(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_dwell("run", "--only", "*Process-1", "-q", "-o", "x.dwell", "program.py", "spawn")
    assert names(run_dwell, "x.dwell") == ["SpawnProcess-1"]
    assert [path.name for path in tmp_path.glob("x*.dwell")] == ["x.dwell"]
    done = run_dwell("run", "--only", "nobody", "-o", "x.dwell", "program.py", "fork")
    says = "no process is called 'nobody', so all are recorded: program.py ForkProcess-1\n"
    assert says in done.stderr
    assert names(run_dwell, "x.dwell") == ["ForkProcess-1"]
    assert run_dwell("run", "--no-follow", "--only", "x", "program.py").returncode == 2


@pytest.mark.any_python
def test_keep(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_dwell("run", "--keep", "--subprocesses", "-q", "-o", "x.dwell", "program.py", "fork")
    (child,) = tmp_path.glob("x.*.dwell")
    assert counts(run_dwell, child)["work"] == 1
    assert counts(run_dwell, "x.dwell")["work"] == 1


@pytest.mark.any_python
def test_files_stay_when_they_cannot_be_merged(tmp_path, dwell_program):
    """A limit on the size of files, which the merged one is beyond."""
    (tmp_path / "program.py").write_text(
        "import dwell, os\n"
        "for child in range(8):\n"
        "    if not os.fork():\n"
        "        for i in range(200):\n"
        "            with dwell.region(f'{child} {i} ' + os.urandom(100).hex()): pass\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
    )
    limit = f"ulimit -f 64; exec {dwell_program} run -o x.dwell program.py"
    done = subprocess.run(["bash", "-c", limit], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "/x.dwell: File too large\n" in done.stderr
    assert "the files of 9 processes were not merged, and lie beside each other\n" in done.stderr
    assert len(list(tmp_path.glob("x*.dwell"))) == 9
    assert "recorded in x.dwell and the files of 8 children; next:\n" in done.stderr


@pytest.mark.any_python
def test_children_of_earlier_runs(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = ("run", "--keep", "-o", "x.dwell", "program.py", "fork")
    assert "earlier runs" not in run_dwell(*command).stderr
    for path in tmp_path.glob("x.*.dwell"):
        os.utime(path, (0, 0))
    done = run_dwell(*command)
    assert ", with 1 child;" in done.stderr
    assert "dwell: 1 file of children beside it: of earlier runs, and not in" in done.stderr
    assert counts(run_dwell, "x.dwell")["work"] == 1


@pytest.mark.parametrize("option", ["-S", "-I", "-E"])
def test_other_pythons_are_unharmed(tmp_path, run_dwell, option):
    (tmp_path / "program.py").write_text(
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, {option!r}, '-c', 'print(7)'], check=True)\n"
        "subprocess.run(['/bin/echo', '8'], check=True)\n"
    )
    done = run_dwell("run", "-q", "-o", "x.dwell", "program.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n8\n", "")


def test_a_run_that_is_over_has_no_more_children(tmp_path, run_dwell):
    """A server that it has started may start others for days."""
    (tmp_path / "program.py").write_text(
        "import os\nprint(os.environ['DWELL_RUN'])\nos.environ.pop('DWELL_RUN')\n"
    )
    request = run_dwell("run", "-q", "-o", "x.dwell", "program.py").stdout.strip()
    late = subprocess.run(
        [sys.executable, "-c", "print(9)"],
        env={**os.environ, "DWELL_RUN": request},
        capture_output=True,
        text=True,
    )
    assert (late.stdout, late.stderr) == ("9\n", "")
    assert [path.name for path in tmp_path.glob("x*.dwell")] == ["x.dwell"]


MANY = """
import dwell, os
children = []
for _ in range(200):
    if not (child := os.fork()):
        with dwell.region("work"): pass
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_two_hundred_children_at_once(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(MANY)
    done = run_dwell("run", "-o", "x.dwell", "program.py")
    assert done.returncode == 0, done.stderr
    assert ", with 200 children;" in done.stderr
    assert counts(run_dwell, "x.dwell")["work"] == 200
    assert [path.name for path in tmp_path.glob("x*.dwell")] == ["x.dwell"]


FORKS_WHILE_SAMPLING = """
import dwell, os, sys, threading

def busy():
    while not is_over.is_set():
        sum(range(500))

def fork_often():
    for _ in range(25):
        if not (child := os.fork()):
            with dwell.region("work"):
                sum(range(2000))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

is_over = threading.Event()
workers = [threading.Thread(target=busy) for _ in range(2)]
forkers = [threading.Thread(target=fork_often) for _ in range(4)]
for thread in workers + forkers: thread.start()
for thread in forkers: thread.join()
is_over.set()
"""


@pytest.mark.parametrize("mode", ["cpu", "wall"])
def test_forks_of_several_threads_while_samples_are_taken(tmp_path, run_dwell, mode):
    (tmp_path / "program.py").write_text(FORKS_WHILE_SAMPLING)
    options = ["-W", "ignore", "--rate", "5000", "--mode", mode]
    done = run_dwell("run", "-q", *options, "-o", "x.dwell", "program.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert counts(run_dwell, "x.dwell")["work"] == 100
    assert run_dwell("check", "x.dwell").returncode == 0


def test_the_balance_of_workers_is_told(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(POOL.replace("return n * n", "return sum(range(10**6))"))
    run_dwell("run", "-q", "-o", "x.dwell", "program.py", "fork")
    shown = run_dwell("report", "x.dwell").stdout
    assert re.search(r"2 processes beside the first: CPU time from .* to .*, median .*\n", shown)


SUBINTERPRETERS = """
try:
    import _interpreters as interpreters
    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
one = interpreters.create()
run(one, "pass")
interpreters.destroy(one)
"""


def test_nothing_is_said_of_subinterpreters(tmp_path, run_dwell):
    """They come across what passes a recording on, but the process is recorded already."""
    done = run_dwell("run", "-q", "-o", "x.dwell", "-c", SUBINTERPRETERS)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]


def test_signals_that_come_while_files_are_merged(tmp_path, run_dwell, dwell_program):
    """Whoever stops a server may send the signal again."""
    (tmp_path / "program.py").write_text(
        MANY + "print('done', flush=True)\nos.kill(os.getpid(), 15)"
    )
    process = subprocess.Popen(
        [dwell_program, "run", "-q", "-o", "x.dwell", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"done\n"
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.001)
    assert process.returncode == -signal.SIGTERM
    assert counts(run_dwell, "x.dwell")["work"] == 200
