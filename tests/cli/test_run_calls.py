# SPDX-License-Identifier: MIT
"""`dwell run --calls`: the calls of a program, from its first line on."""

import json
import math
import pstats
import sys

import pytest

from ..measured import assert_between, repeated

PROGRAM = """
import threading

def leaf(x):
    return x

def work(n):
    for i in range(n):
        leaf(i)

threads = [threading.Thread(target=work, args=(100,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
work(50)
leaf("text")
"""


def functions(run_dwell, log, *arguments):
    done = run_dwell("report", log, "--by", "function", "--format", "json", *arguments)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}


COMPILED_OFTEN = """
source = "def inner(): pass\\ndef template(): inner()"
def render(n):
    names = {}
    exec(compile(source, "<template>", "exec"), names)
    for _ in range(n):
        names["template"]()
for i in range(10):
    render(i + 1)
"""


def test_calls_of_code_that_was_compiled_again_are_added_up(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(COMPILED_OFTEN)
    log = tmp_path / "a.dwell"
    assert run_dwell("run", "--calls", "-q", "-o", log, tmp_path / "program.py").returncode == 0
    calls = {name: row["calls"]["total"] for name, row in functions(run_dwell, log).items()}
    assert calls["template"] == calls["inner"] == 55
    assert calls["render"] == 10


def test_counts_of_all_threads(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_dwell("run", "--calls", "-o", "x.dwell", "program.py")
    assert done.returncode == 0
    assert "ncalls  tottime  percall  cumtime" in done.stderr
    found = functions(run_dwell, "x.dwell")
    assert found["leaf"]["calls"]["total"] == 451
    assert found["work"]["calls"]["total"] == 5


def test_it_begins_with_the_program(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text("def f(): pass\nf()\n")
    run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py")
    done = run_dwell("report", "x.dwell", "--by", "path", "--format", "csv", "--columns", "name")
    paths = done.stdout.splitlines()[1:]
    assert "<module> > f" in paths
    assert not any("addsite" in path for path in paths)


def test_signatures(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_dwell("run", "-q", "--signatures", "-o", "x.dwell", "program.py")
    found = functions(run_dwell, "x.dwell")
    assert found["leaf(x:int)"]["calls"]["total"] == 450
    assert found["leaf(x:str)"]["calls"]["total"] == 1


@repeated
def test_a_killed_program_leaves_its_calls(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import os, time\n"
        "def leaf(): pass\n"
        "start = time.monotonic()\n"
        "early = 0\n"
        "while time.monotonic() < start + 2.2:\n"
        "    leaf()\n"
        "    early += time.monotonic() < start + 1.2\n"
        "print(early, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py")
    assert done.returncode == -9
    calls = functions(run_dwell, "x.dwell")["leaf"]["calls"]["total"]
    assert_between(int(done.stdout) - 1, calls, math.inf)


def test_a_forked_child_has_calls_of_its_own(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import os\n"
        "def leaf(): pass\n"
        "pid = os.fork()\n"
        "for _ in range(3): leaf()\n"
        "if pid == 0: os._exit(0)\n"
        "os.wait()\n"
    )
    run_dwell("run", "-q", "--calls", "--keep", "-o", "x.dwell", "program.py")
    (child,) = tmp_path.glob("x.*.dwell")
    for file, calls in ((child, 3), ("x.dwell", 6)):
        assert run_dwell("check", file).returncode == 0
        assert functions(run_dwell, file)["leaf"]["calls"]["total"] == calls


def test_export_for_pstats(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py")
    run_dwell("export", "x.dwell", "--to", "pstats", "-o", "x.pstats")
    stats = {key[2]: value for key, value in pstats.Stats(str(tmp_path / "x.pstats")).stats.items()}
    assert stats["leaf"][:2] == (451, 451)


@repeated
def test_open_calls_of_a_killed_program_have_their_time(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import os, time\n"
        "def inner(): time.sleep(0.01)\n"
        "def serve():\n"
        "    end = time.monotonic() + 1.5\n"
        "    while time.monotonic() < end: inner()\n"
        "    os.kill(os.getpid(), 9)\n"
        "serve()\n"
    )
    run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py")
    found = functions(run_dwell, "x.dwell")
    assert_between(0.9e9, found["serve"]["call_total"]["total"], math.inf)
    assert found["<module>"]["call_total"]["total"] >= found["serve"]["call_total"]["total"]
    assert found["inner"]["call_total"]["total"] <= found["serve"]["call_total"]["total"]


def test_a_failed_exec_does_not_end_the_recording(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import os\n"
        "def leaf(): pass\n"
        "try: os.execvp('no-such-program', ['x'])\n"
        "except OSError: pass\n"
        "for _ in range(1000): leaf()\n"
    )
    run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py")
    assert functions(run_dwell, "x.dwell")["leaf"]["calls"]["total"] == 1000


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 has one profile function a thread")
def test_a_program_that_profiles_itself_runs_as_before(tmp_path, run_dwell):
    code = "import cProfile; cProfile.run('len(\"x\")'); print('fine')"
    done = run_dwell("run", "-q", "--calls", "-o", "x.dwell", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("fine\n")


def test_the_log_does_not_grow_while_nothing_new_is_called(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(
        "import ast, os, time\n"
        "tree = ast.parse(open(os.__file__).read())\n"
        "ast.unparse(tree)\n"
        "sizes = []\n"
        "def busy(seconds):\n"
        "    end = time.monotonic() + seconds\n"
        "    while time.monotonic() < end: time.sleep(0.01)\n"
        "while len(sizes) < 4 or sizes[-1] - sizes[-4] > sizes[-4] / 10:\n"
        "    busy(0.6)\n"
        "    sizes.append(os.path.getsize('x.dwell'))\n"
        "    if len(sizes) == 30: break\n"
        "print(sizes)\n"
    )
    done = run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py")
    assert len(json.loads(done.stdout)) < 30, done.stdout  # writing takes longer on a busy machine
