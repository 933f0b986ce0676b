# SPDX-License-Identifier: MIT
"""`dwell run --lines`: functions marked or named, threads, forks, and every way to end."""

import csv
import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..measured import assert_between, repeated

PROGRAM = """\
import json
import threading

@profile
def marked(n):
    for i in range(n):
        json.dumps(i)

class Model:
    def fit(self, n):
        for _ in range(n):
            self.step()

    def step(self):
        return 1

def plain(n):
    return n

marked(10)
Model().fit(5)
plain(3)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def lines_in(run_dwell, *files) -> dict[str, dict[int, int]]:
    """Hits by function and line."""
    done = run_dwell("report", *files, "--by", "line", "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[int, int]] = {}
    for row in json.loads(done.stdout)["rows"]:
        of_function = found.setdefault(row["function"], {})
        if row["line"]:
            of_function[row["line"]] = row["hits"]
    return found


def record(run_dwell, tmp_path: Path, *arguments: str) -> dict[str, dict[int, int]]:
    done = run_dwell("run", "--lines", "-q", "-o", "run.dwell", *arguments)
    assert done.returncode == 0, done.stderr
    return lines_in(run_dwell, tmp_path / "run.dwell")


def test_marked_functions(run_dwell, tmp_path, program) -> None:
    assert record(run_dwell, tmp_path, "program.py") == {"marked": {6: 11, 7: 10}}


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("plain", {"plain"}),
        ("Model", {"Model.fit", "Model.step"}),
        ("Model.step", {"Model.step"}),
        ("program.plain", {"plain"}),
        ("program", {"marked", "Model.fit", "Model.step", "plain"}),
        ("json.dumps", {"dumps"}),
        ("json.encoder.JSONEncoder", {"JSONEncoder.encode", "JSONEncoder.iterencode"}),
    ],
)
def test_functions_by_name(run_dwell, tmp_path, program, name, functions) -> None:
    found = record(run_dwell, tmp_path, "-f", name, "program.py")
    assert functions | {"marked"} <= set(found)
    ran = {function for function, hits in found.items() if any(hits.values())}
    assert functions - {"JSONEncoder.iterencode"} <= ran


def test_modules_that_were_loaded_before(run_dwell, tmp_path) -> None:
    found = record(
        run_dwell, tmp_path, "-f", "os.path.basename", "-c", "import os; os.path.basename('/a/b')"
    )
    assert sum(found["basename"].values()) > 1


def test_a_name_that_nothing_has_is_told(run_dwell, tmp_path, program) -> None:
    done = run_dwell("run", "--lines", "-q", "-f", "no.such", "-o", "run.dwell", "program.py")
    assert done.returncode == 0
    assert done.stderr == "dwell: -f no.such: no such function came along in this run\n"


def test_modules_run_by_name(run_dwell, tmp_path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tool.py").write_text("def work():\n    return 1\n\nwork()\n")
    assert record(run_dwell, tmp_path, "-f", "work", "-m", "package.tool") == {"work": {2: 1}}
    assert record(run_dwell, tmp_path, "-f", "package.tool", "-m", "package.tool") == {
        "work": {2: 1}
    }


PACKAGE = {
    "application/__init__.py": "def top():\n    return 1\n",
    "application/util.py": "def help_application():\n    return 2\n",
    "application/inner/__init__.py": "",
    "application/inner/deep.py": "class Deep:\n    def dive(self):\n        return 3\n",
    "other/util.py": "def help_other():\n    return 4\n",
    "util.py": "def help_all():\n    return 5\n",
    "use.py": (
        "import application.util, application.inner.deep, other.util, util\n"
        "def use():\n    application.inner.deep.Deep().dive()\n"
    ),
}


@pytest.mark.parametrize(
    ("name", "functions"),
    [
        ("application", {"top", "help_application", "Deep.dive"}),
        ("application.inner", {"Deep.dive"}),
        ("application.inner.deep.Deep", {"Deep.dive"}),
        ("application.util", {"help_application"}),
        ("util", {"help_all"}),
        ("other.util", {"help_other"}),
        ("use", {"use"}),
    ],
)
def test_packages_and_modules_by_their_full_name(run_dwell, tmp_path, name, functions) -> None:
    for file, text in PACKAGE.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert set(record(run_dwell, tmp_path, "-f", name, "use.py")) == functions


def test_a_package_that_is_the_program(run_dwell, tmp_path) -> None:
    package = tmp_path / "application"
    package.mkdir()
    (package / "__init__.py").write_text("def top():\n    return 1\n")
    (package / "__main__.py").write_text("from . import top\ndef main():\n    top()\nmain()\n")
    found = record(run_dwell, tmp_path, "-f", "application", "-m", "application")
    assert found == {"top": {2: 1}, "main": {3: 1}}


def test_a_directory_is_no_package(run_dwell, tmp_path) -> None:
    (tmp_path / "application").mkdir()
    (tmp_path / "application" / "use.py").write_text("def use():\n    pass\nuse()\n")
    done = run_dwell(
        "run", "--lines", "-q", "-f", "application", "-o", "x.dwell", "application/use.py"
    )
    assert done.stderr == "dwell: -f application: no such function came along in this run\n"


def test_report_at_the_end(run_dwell, tmp_path, program) -> None:
    done = run_dwell("run", "--lines", "-o", "run.dwell", "program.py")
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[1] == "Timer unit: 1e-06 s"
    assert "Function: marked at line 4" in lines
    row = next(line for line in lines if line.endswith("json.dumps(i)"))
    assert row.split()[:2] == ["7", "10"]
    assert lines[-3] == "dwell: recorded in run.dwell; next:"


MANY = "@profile\ndef work():\n" + "".join(f"    x{i} = {i}\n" for i in range(300)) + "work()\n"


def test_a_long_report_is_one_of_the_longest_lines(run_dwell, tmp_path) -> None:
    (tmp_path / "program.py").write_text(MANY)
    done = run_dwell("run", "--lines", "-o", "run.dwell", "program.py")
    lines = done.stderr.splitlines()
    assert lines[1].split() == ["time", "s", "%", "func", "hits", "line"]
    rows = [line.split() for line in lines[2:22]]
    assert all(row[2] == "1" and row[3].startswith("program.py:") for row in rows)
    assert all(row[4:] == ["(work)", f"x{row[-1]}", "=", row[-1]] for row in rows)
    assert lines[22] == "(280 more)"
    assert "Line #" in run_dwell("report", "run.dwell").stdout


def test_nothing_marked_is_refused_when_it_is_certain(run_dwell, tmp_path) -> None:
    (tmp_path / "program.py").write_text("print('runs')\n")
    for program in (["-c", "print('runs')"], ["-cprint('runs')"], ["program.py"]):
        done = run_dwell("run", "--lines", "-o", "run.dwell", *program)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "dwell: --lines has nothing to record: no function is marked with @profile; mark some, "
            "or name them with -f FUNCTION\n"
        )
    assert run_dwell("run", "--lines", "-f", "f", "program.py").stdout == "runs\n"
    assert run_dwell("run", "--lines", "--sample", "program.py").stdout == "runs\n"


def test_nothing_marked_is_told_before_and_after(run_dwell, tmp_path) -> None:
    (tmp_path / "program.py").write_text("import sys\nsys.stderr.write('runs\\n')\n")
    done = run_dwell("run", "--lines", "program.py")
    before, between, _, after, command = done.stderr.splitlines()
    assert before.startswith("dwell: the program marks no function with @profile; unless ")
    assert between == "runs"
    assert after.startswith("dwell: no lines were recorded: no function that is marked ")
    assert command.split("#")[0].split() == [
        "dwell",
        "run",
        "-f",
        "FUNCTION",
        "--lines",
        "program.py",
    ]
    assert list(tmp_path.glob("*.dwell")) == []
    named = run_dwell("run", "-f", "no_such", "-o", "x.dwell", "program.py")
    assert named.stderr.endswith("no lines were recorded: no function that -f names has run\n")


def test_a_mark_in_a_module_needs_no_other_word(run_dwell, tmp_path) -> None:
    (tmp_path / "helper.py").write_text("@profile\ndef work():\n    return 1\n")
    (tmp_path / "program.py").write_text("import helper\nhelper.work()\n")
    assert record(run_dwell, tmp_path, "program.py") == {"work": {3: 1}}


def test_callees(run_dwell, tmp_path, program) -> None:
    done = run_dwell("run", "--lines", "--callees", "-o", "run.dwell", "program.py")
    assert "-> dumps" in done.stderr


def test_runs_add_up(run_dwell, tmp_path, program) -> None:
    for name in ("one", "two"):
        run_dwell("run", "--lines", "-q", "-o", f"{name}.dwell", "program.py")
    expected = {"marked": {6: 22, 7: 20}}
    assert lines_in(run_dwell, "one.dwell", "two.dwell") == expected
    run_dwell("merge", "one.dwell", "two.dwell", "-o", "both.dwell")
    assert lines_in(run_dwell, "both.dwell") == expected


def test_csv(run_dwell, tmp_path, program) -> None:
    run_dwell("run", "--lines", "-q", "-o", "run.dwell", "program.py")
    done = run_dwell("report", "run.dwell", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["function"], row["line"], row["hits"]) for row in rows if row["line"] != "0"] == [
        ("marked", "6", "11"),
        ("marked", "7", "10"),
    ]


def test_the_source_is_that_of_the_run(run_dwell, tmp_path, program) -> None:
    run_dwell("run", "--lines", "-q", "-o", "run.dwell", "program.py")
    program.write_text("# nothing of it is left\n")
    assert "json.dumps(i)" in run_dwell("report", "run.dwell").stdout


FORKS = """\
import os, sys
@profile
def work(n):
    for _ in range(n):
        pass

work(10)
for _ in range(2):
    child = os.fork()
    if child == 0:
        work(100)
        HOW
    os.waitpid(child, 0)
work(1)
"""


@pytest.mark.parametrize("how", ["os._exit(0)", "sys.exit(0)"])
def test_forked_children(run_dwell, tmp_path, how) -> None:
    (tmp_path / "forks.py").write_text(FORKS.replace("HOW", how))
    done = run_dwell("run", "--keep", "--lines", "-o", "run.dwell", "forks.py")
    assert ", with 2 children;" in done.stderr
    assert lines_in(run_dwell, "run.dwell") == {"work": {4: 215, 5: 211}}
    children = sorted(tmp_path.glob("run.*.dwell"))
    assert lines_in(run_dwell, children[0]) == {"work": {4: 101, 5: 100}}


def test_a_child_that_goes_on_inside_an_open_function(run_dwell, tmp_path) -> None:
    source = (
        "import os\n"
        "@profile\n"
        "def main():\n"
        "    if os.fork() == 0:\n"
        "        for _ in range(5):\n"
        "            pass\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "main()\n"
    )
    (tmp_path / "forks.py").write_text(source)
    run_dwell("run", "--lines", "-q", "--keep", "-o", "run.dwell", "forks.py")
    (child,) = tmp_path.glob("run.*.dwell")
    assert lines_in(run_dwell, child)["main"][5] == 6


def test_directories_and_packages_are_programs_too(run_dwell, tmp_path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("def work():\n    return 1\n\nwork()\n")
    expected = {"work": {2: 1}}
    assert record(run_dwell, tmp_path, "-f", "work", "-m", "package") == expected
    assert record(run_dwell, tmp_path, "-f", "work", "package") == expected


@pytest.mark.skipif(sys.version_info < (3, 13), reason="sub-interpreters have no module yet")
def test_programs_with_sub_interpreters(run_dwell, tmp_path) -> None:
    name = "concurrent.interpreters" if sys.version_info >= (3, 14) else "_interpreters"
    source = (
        f"import {name} as interpreters\n"
        "def work():\n    return 1\n"
        "for _ in range(5):\n"
        "    made = interpreters.create()\n"
        "    run = getattr(made, 'exec', None) or (lambda s: interpreters.exec(made, s))\n"
        "    run('import json; import string')\n"
        "work()\n"
    )
    (tmp_path / "many.py").write_text(source)
    assert record(run_dwell, tmp_path, "-f", "work", "many.py") == {"work": {3: 1}}


ENDLESS = """\
import time
@profile
def work():
    count, end = 0, time.monotonic() + 1
    while time.monotonic() < end:
        time.sleep(0.001); count += 1
    print(count, flush=True)
    while True:
        time.sleep(0.001)
work()
"""


@repeated
def test_kill_9_loses_the_last_second_at_most(run_dwell, tmp_path, dwell_program) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    command = [dwell_program, "run", "--lines", "-o", "run.dwell", "endless.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        early = int(process.stdout.readline())
        time.sleep(1)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    hits = lines_in(run_dwell, "run.dwell")["work"]
    assert hits[4] == 1
    assert_between(early - 1, hits[6], early + 1)
    assert "did not close" in run_dwell("report", "run.dwell").stdout


@pytest.mark.parametrize(
    ("ending", "status"),
    [("raise SystemExit(3)", 3), ("1 / 0", 1), ("import os; os._exit(4)", 4)],
)
def test_every_way_to_end(run_dwell, tmp_path, ending, status) -> None:
    source = f"@profile\ndef work():\n    x = 1\n    {ending}\nwork()\n"
    (tmp_path / "ends.py").write_text(source)
    done = run_dwell("run", "--lines", "-q", "-o", "run.dwell", "ends.py")
    assert done.returncode == status
    assert lines_in(run_dwell, "run.dwell")["work"] == {3: 1, 4: 1}


def test_program_is_what_it_is_without_us(run_dwell, tmp_path) -> None:
    source = (
        "import sys\n"
        "def work():\n    return sys._getframe().f_back.f_code.co_name\n"
        "print(work(), sys.gettrace(), sys.argv, 'dwell' in sys.modules, __file__)\n"
    )
    (tmp_path / "looks.py").write_text(source)
    plain = subprocess.run(
        [sys.executable, "looks.py", "a"], cwd=tmp_path, capture_output=True, text=True
    )
    done = run_dwell("run", "--lines", "-q", "-f", "work", "-o", "run.dwell", "looks.py", "a")
    if sys.version_info >= (3, 12):
        assert done.stdout == plain.stdout
    assert "DWELL" not in done.stdout


def test_the_decorator_does_nothing_until_asked(tmp_path, python_program) -> None:
    source = (
        "import dwell\n"
        "@dwell.profile\n"
        "def work(n):\n"
        "    for _ in range(n):\n"
        "        pass\n"
        "work(10)\n"
        "LATER\n"
        "work(5)\n"
    )
    quiet = python_program(source.replace("LATER", ""))
    assert (quiet.stdout, list(tmp_path.glob("profile_output*"))) == ("", [])
    asked = python_program(source.replace("LATER", ""), env={**os.environ, "LINE_PROFILE": "1"})
    assert "work" in asked.stdout
    report = (tmp_path / "profile_output.txt").read_text()
    assert next(line for line in report.splitlines() if "for _ in" in line).split()[:2] == [
        "4",
        "17",
    ]
    later = python_program(source.replace("LATER", "dwell.profile.enable('later')"))
    assert "wrote later.txt" in later.stdout
    report = (tmp_path / "later.txt").read_text()
    assert next(line for line in report.splitlines() if "for _ in" in line).split()[:2] == [
        "4",
        "6",
    ]


def test_the_decorator_under_dwell_run(run_dwell, tmp_path) -> None:
    source = "import dwell\n@dwell.profile\ndef work():\n    return 1\nwork()\n"
    (tmp_path / "decorated.py").write_text(source)
    assert record(run_dwell, tmp_path, "decorated.py") == {"work": {4: 1}}


@repeated
def test_lines_and_samples_are_one_table(run_dwell, tmp_path) -> None:
    (tmp_path / "both.py").write_text(
        "import time\n"
        "@profile\n"
        "def work():\n"
        "    end = time.thread_time() + 0.5\n"
        "    while time.thread_time() < end: sum(range(10_000))\n"
        "    time.sleep(0.3)\n"
        "def other():\n"
        "    sum(range(3_000_000))\n"
        "work()\n"
        "other()\n"
    )
    done = run_dwell("run", "--lines", "--mode", "wall", "-o", "both.dwell", "both.py")
    assert "Samples: " in done.stderr and "Lines: " in done.stderr
    table = run_dwell("report", "both.dwell", "--by", "line").stdout
    assert "Samples" in table and "Waiting" in table
    assert [path.name for path in tmp_path.glob("both.dwell*")] == ["both.dwell"]
    report = run_dwell("report", "both.dwell", "--by", "line", "--format", "json").stdout
    rows = {row["line"]: row for row in json.loads(report)["rows"]}
    assert {row["function"] for row in rows.values()} == {"work"}
    assert rows[6]["hits"] == 1
    assert rows[6]["time"] > 0.25e9
    assert_between(0.8 * rows[6]["time"], rows[6]["waiting"], math.inf)
    assert rows[5]["native"] + rows[5]["python"] > 0.3e9
    assert rows[5]["self"] == rows[5]["time"]
    assert "other" in run_dwell("report", "both.dwell", "--by", "function").stdout
