# SPDX-License-Identifier: MIT
"""The files that dwell makes: who may read them, and whose they are when others may write there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_python

SPIN = "import time\nend = time.thread_time() + 0.05\nwhile time.thread_time() < end: pass\n"


@pytest.fixture(autouse=True)
def usual_mask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_recordings_and_exports_are_for_their_owner(tmp_path, run_dwell):
    (tmp_path / "p.py").write_text(SPIN)
    assert run_dwell("run", "-q", "p.py").returncode == 0
    (recording,) = tmp_path.glob("p.*.dwell")
    assert mode(recording) == 0o600
    for to in ("html", "json", "chrome", "pprof"):
        assert run_dwell("export", recording, "--to", to, "-o", f"x.{to}").returncode in (0, 1)
    assert run_dwell("merge", recording, "-o", "m.dwell").returncode == 0
    assert run_dwell("time", "--save", "it", "--history-file", "h", "-o", "t.dwell", "pass")
    made = [path for path in tmp_path.iterdir() if path.name != "p.py"]
    assert {path.name for path in made} >= {"x.html", "x.json", "m.dwell", "t.dwell", "h"}
    assert {path.name: mode(path) for path in made} == {path.name: 0o600 for path in made}


def test_existing_file_keeps_its_mode(tmp_path, run_dwell):
    (tmp_path / "p.py").write_text(SPIN)
    assert run_dwell("run", "-q", "-o", "x.dwell", "p.py").returncode == 0
    os.chmod(tmp_path / "x.dwell", 0o644)
    (tmp_path / "x.json").touch(0o640)
    assert run_dwell("export", "x.dwell", "-o", "x.json").returncode == 0
    assert mode(tmp_path / "x.json") == 0o640


def test_umask_that_asks_for_less_is_obeyed(tmp_path, run_dwell):
    (tmp_path / "p.py").write_text(SPIN)
    os.umask(0o277)
    assert run_dwell("run", "-q", "-o", "x.dwell", "p.py").returncode == 0
    assert mode(tmp_path / "x.dwell") == 0o400


def test_files_of_the_python_interface_are_for_their_owner(tmp_path, python_program):
    done = python_program(
        "import os, dwell\n"
        "with dwell.sampling('s.dwell'):\n    sum(range(10**6))\n"
        "with dwell.sampling() as taken:\n    sum(range(10**6))\n"
        "taken.result.save('r.dwell')\n"
        "with dwell.Profile() as profile:\n    sum([1])\n"
        "profile.dump_stats('p.prof')\n"
        "dwell.plot(profile, 'p.html')\n"
        "dwell.profile.enable()\n"
        "@dwell.profile\ndef f():\n    pass\n"
        "f()\n"
    )
    assert done.returncode == 0, done.stderr
    made = [path for path in tmp_path.iterdir() if path.name != "program.py"]
    assert len(made) >= 7
    assert {path.name: mode(path) for path in made} == {path.name: 0o600 for path in made}


@pytest.mark.parametrize("kind", ["link", "hard link", "dangling link"])
def test_name_that_somebody_has_taken_is_left_alone(tmp_path, python_program, kind):
    """The child of a fork would write to NAME.PID.dwell."""
    (tmp_path / "mine").touch()
    done = python_program(
        "import os, sys, dwell\n"
        "dwell.start('x.dwell')\n"
        "if not (pid := os.fork()):\n"
        "    name = f'x.{os.getpid()}.dwell'\n"
        f"    kind = {kind!r}\n"
        "    os.link('mine', name) if kind == 'hard link' else os.symlink(\n"
        "        'mine' if kind == 'link' else 'nowhere', name)\n"
        "    sum(range(10**7))\n"
        "    dwell.stop()\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "dwell.stop()\n"
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine").read_bytes() == b"" and not (tmp_path / "nowhere").exists()
    assert "File exists" in done.stderr


def test_name_of_a_run_is_not_a_link(tmp_path, dwell_program):
    """The name has the number of the process, which the shell knows before."""
    (tmp_path / "p.py").write_text(SPIN)
    (tmp_path / "mine").touch()
    script = 'ln -s mine p.$$.dwell; exec "$0" run -q p.py'
    done = subprocess.run(
        ["sh", "-c", script, dwell_program], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert (tmp_path / "mine").read_bytes() == b"", done.stderr


def test_child_asked_by_the_environment_has_files_of_its_own(tmp_path):
    (tmp_path / "child.py").write_text(
        "import dwell\n@dwell.profile\ndef of_child():\n    pass\nof_child()\n"
    )
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys, dwell\n"
        "@dwell.profile\ndef of_parent():\n"
        "    subprocess.run([sys.executable, 'child.py'], check=True)\n"
        "of_parent()\n"
    )
    environment = {**os.environ, "LINE_PROFILE": "1"}
    subprocess.run([sys.executable, "parent.py"], cwd=tmp_path, env=environment, check=True)
    assert "of_parent" in (tmp_path / "profile_output.txt").read_text()
    (child,) = (path for path in tmp_path.iterdir() if re.fullmatch(r"\D+\.\d+\.txt", path.name))
    assert "of_child" in child.read_text()
    assert len(list(tmp_path.glob("profile_output*.dwell"))) == 2


@pytest.mark.parametrize("way", ["run", "lines"])
def test_huge_source_costs_no_memory(tmp_path, run_dwell, way):
    with (tmp_path / "huge.py").open("wb") as file:
        file.write(b"def f():\n    'the text of it'\n")
        file.truncate(12 << 30)
    (tmp_path / "p.py").write_text(
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "import dwell, time\n"
        "text = 'def f():\\n    end = time.thread_time() + 0.2\\n'\n"
        "text += '    while time.thread_time() < end:\\n        pass\\n'\n"
        "exec(compile(text, 'huge.py', 'exec'))\n"
        "f = dwell.profile(f)\n"
        "f()\n"
        "if dwell._core.line_recorder is None:\n"
        "    profile = dwell.LineProfiler(f)\n"
        "    profile.runcall(f)\n"
        "    profile.dump_stats('s.dwell')\n"
    )
    done = run_dwell("run", "-q", "-o", "x.dwell", *(["--lines"] if way == "lines" else []), "p.py")
    assert done.returncode == 0, done.stderr
    assert "the text of it" in run_dwell("export", "x.dwell", "--to", "html").stdout


def test_what_is_redacted_is_not_there(tmp_path, run_dwell, python_program):
    (tmp_path / "p.py").write_text("'secret of source'\n" + SPIN)
    for words, has_argv, has_source in [
        ("argv", False, True),
        ("sources", True, False),
        ("argv,sources", False, False),
    ]:
        done = run_dwell("run", "-q", "--redact", words, "-o", "x.dwell", "p.py", "secret-word")
        assert done.returncode == 0, done.stderr
        assert ("secret-word" in run_dwell("check", "x.dwell").stdout) == has_argv
        assert ("secret-word" in run_dwell("export", "x.dwell", "--to", "html").stdout) == has_argv
        shown = run_dwell("export", "x.dwell", "--to", "html").stdout
        assert ("secret of source" in shown) == has_source
    assert run_dwell("run", "--redact", "more", "p.py").returncode == 2
    done = python_program(
        "import dwell\n'secret of source'\n"
        "with dwell.sampling('y.dwell', redact=('argv', 'sources')):\n"
        "    sum(range(10**7))\n",
        "secret-word",
    )
    assert done.returncode == 0, done.stderr
    shown = run_dwell("export", "y.dwell", "--to", "html").stdout
    assert "secret-word" not in shown and "secret of source" not in shown
