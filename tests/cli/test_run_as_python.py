# SPDX-License-Identifier: MIT
"""A program that looks around finds under `dwell run` what it finds without."""

import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SHOW = """
import builtins, faulthandler, gc, json, os, re, signal, site, sys, sysconfig, threading, warnings
frame, frames = sys._getframe(), []
while frame:
    frames.append([frame.f_code.co_name, frame.f_code.co_filename])
    frame = frame.f_back
main = sys.modules["__main__"]
links = []
for number in range(3, 100):
    try:
        links.append(os.readlink(f"/proc/self/fd/{number}"))
    except OSError:  # not open, or not any more: threads of ours read files
        pass
seen = {
    "argv": sys.argv,
    "orig_argv": sys.orig_argv,
    "executable": sys.executable,
    "base executable": sys._base_executable,
    "prefixes": [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix],
    "path": sys.path,
    "flags": str(sys.flags),
    "xoptions": sys._xoptions,
    "warnoptions": sys.warnoptions,
    "filters": [str(entry) for entry in warnings.filters],
    "main": {name: str(value) for name, value in vars(main).items()
             if name.startswith("__") and name != "__builtins__"},
    "builtins": main.__builtins__ is builtins,
    "names of builtins": sorted(dir(builtins)),
    "frames": frames,
    "environment": dict(os.environ),
    "modules": sorted(sys.modules),
    "hooks": [str(hook) for hook in (sys.getprofile(), sys.gettrace(), sys.excepthook,
              sys.displayhook, sys.unraisablehook, threading.excepthook)],
    "recursion": sys.getrecursionlimit(),
    "switch interval": sys.getswitchinterval(),
    "gc": [gc.isenabled(), gc.get_threshold(), gc.get_debug()],
    "site": [site.ENABLE_USER_SITE, site.USER_SITE],
    "standard files": [[file.name, file.encoding, file.errors, file.line_buffering,
                        file.write_through] for file in (sys.stdout, sys.stderr)],
    "handlers": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    "faulthandler": faulthandler.is_enabled(),
    "threads": [str(thread.name) for thread in threading.enumerate()],
    "parts of path_hooks": [str(hook)[:30] for hook in sys.path_hooks],
    "finders": [str(finder) for finder in sys.meta_path],
    "small numbers of files": [link for link in links if link.endswith(".dwell")],
    "scheme": sysconfig.get_paths(),
}
print(re.sub(" at 0x[0-9a-f]+", "", json.dumps(seen)))
"""

WAYS = {
    "script": ["show.py", "a b", "-m", "--calls"],
    "absolute": ["{directory}/show.py"],
    "link": ["link.py"],
    "module": ["-m", "show", "x"],
    "module in one word": ["-mshow", "x"],
    "package": ["-m", "package"],
    "module of a package": ["-m", "package.inner"],
    "code": ["-c", SHOW, "1"],
    "directory": ["."],
    "archive": ["show.zip"],
    "standard input": ["-", "x", "-c"],
}

OPTIONS = {
    "isolated": ["-I"],
    "no environment": ["-E"],
    "no user site": ["-s"],
    "safe path": ["-P"],
    "development": ["-X", "dev"],
    "optimized": ["-OO", "-B"],
    "warnings": ["-W", "error", "-Wignore::DeprecationWarning", "-bb"],
    "unbuffered": ["-u", "-Xutf8=1"],
    "together": ["-IuBO"],
    "hashes": ["--check-hash-based-pycs", "never", "-X", "int_max_str_digits=1000"],
    "quiet": ["--", "-q"],
}

PROBES = {"sample": [], "regions": ["--regions"], "calls": ["--calls"], "lines": ["--lines"]}

# What is there because the program is recorded, and cannot be hidden.
KNOWN = {
    "modules": {"atexit", "dwell._core"},
    "names of builtins": {"profile"},  # with --lines
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "show.py").write_text(SHOW)
    (tmp_path / "__main__.py").write_text(SHOW)
    (tmp_path / "link.py").symlink_to("show.py")
    package = tmp_path / "package"
    package.mkdir()
    for name in ("__init__", "__main__", "inner"):
        (package / f"{name}.py").write_text(SHOW if name != "__init__" else "")
    with zipfile.ZipFile(tmp_path / "show.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW)
    return tmp_path


def without_known(ours: dict, plain: dict) -> dict:
    for key, names in KNOWN.items():
        ours[key] = sorted(set(ours[key]) - (names - set(plain[key])))
    assert ours["environment"].pop("DWELL_RUN")  # for the programs that it starts
    return ours


def compare(python: str, dwell: list[str], options: list[str], program: list[str], cwd: Path):
    """Runs both with the same environment and the same standard input."""
    program = [word.format(directory=cwd) if "{directory}" in word else word for word in program]
    known = {"cwd": cwd, "input": SHOW, "capture_output": True, "text": True, "timeout": 180}
    plain_options = [word for word in options if word != "--"]
    plain = subprocess.run([python, *plain_options, *program], **known)
    ours = subprocess.run([*dwell, *options, *program], **known)
    assert ours.stderr == plain.stderr
    assert ours.returncode == plain.returncode == 0
    seen, expected = json.loads(ours.stdout), json.loads(plain.stdout)
    assert without_known(seen, expected) == expected
    return seen


@pytest.fixture
def python(dwell_program: str) -> str:
    return os.path.join(os.path.dirname(dwell_program), "python")


@pytest.fixture
def run(dwell_program: str, tmp_path: Path) -> list[str]:
    return [dwell_program, "run", "-q", "-o", f"{tmp_path}/x.dwell"]


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_to_start_a_program(directory, run_dwell, run, python, way, probe):
    compare(python, [*run, *probe], [], way, directory)
    assert run_dwell("check", "x.dwell").returncode == 0


@pytest.mark.parametrize("way", [["show.py"], ["-m", "show"], ["-"]], ids=["script", "-m", "-"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_options_of_python(directory, run_dwell, run, python, options, way):
    if way[0] == "-m" and any(word[:2] in ("-I", "-P") for word in options):
        way = ["-c", SHOW]  # the module of this directory cannot be found
    compare(python, run, options, way, directory)
    assert run_dwell("check", "x.dwell").returncode == 0


def test_options_and_program_in_one_word(directory, run_dwell, run, python):
    compare(python, run, [], ["-OBm", "package.inner", "x"], directory)
    compare(python, run, [], ["-uIc", SHOW], directory)
    compare(python, run, ["-O"], [f"-c{SHOW}", "x"], directory)


def test_our_options_among_those_of_python(directory, run_dwell):
    done = run_dwell("run", "-O", "--regions", "-X", "dev", "-o", "x.dwell", "-u", "-q", "show.py")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["orig_argv"][1:] == ["-O", "-X", "dev", "-u", "show.py"]


@pytest.mark.parametrize(
    ("words", "name", "file"),
    [
        (["-X", "dev", "show.py"], "show.py", "show"),
        (["-W", "ignore", "-m", "package.inner"], "package.inner", "package.inner"),
        (["-Xdev", "-mshow"], "show", "show"),
        (["-Im", "this", "a.py"], "this", "this"),
        (["-", "a.py"], "-", "python"),
        (["-uc", "0", "a.py"], "-c", "python"),
    ],
)
def test_recordings_are_named_after_the_program(directory, run_dwell, words, name, file):
    done = run_dwell("run", "-q", *words, input=SHOW)
    assert done.returncode == 0, done.stderr
    (log,) = directory.glob("*.dwell")
    assert log.name.rsplit(".", 2)[0] == file
    exported = json.loads(run_dwell("export", log, "--to", "json").stdout)
    assert exported["processes"][0]["properties"]["program"] == name


@pytest.mark.parametrize("words", [["-S", "x.py"], ["-uSm", "this"], ["--", "-IS", "-"]])
def test_without_site_is_refused_in_one_sentence(run_dwell, words):
    done = run_dwell("run", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dwell: with -S Python does not load what starts the recording")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("word", ["-V", "-?", "-Z", "-uV", "--version", "--help-all"])
def test_options_that_run_no_program(run_dwell, word):
    done = run_dwell("run", word, "x.py")
    assert done.returncode == 2
    assert done.stderr == f"dwell: run has no option '{word}'; see 'dwell run --help'\n"


def test_an_option_without_its_value_is_told_by_python(run_dwell):
    done = run_dwell("run", "-X")
    assert done.returncode == 2 and "run needs a program" in done.stderr


@pytest.mark.parametrize("name", ["python", "python3"])
def test_an_interpreter_on_the_path_is_named_as_it_would_be(directory, dwell_program, name):
    folder = os.path.dirname(dwell_program)
    known = {"env": {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, "cwd": directory}
    known |= {"capture_output": True, "text": True}
    ours = [dwell_program, "run", "-q", "-o", "x.dwell", "--python", name, "show.py"]
    expected = json.loads(subprocess.run([name, "show.py"], **known).stdout)
    seen = json.loads(subprocess.run(ours, **known).stdout)
    assert seen["executable"] == f"{folder}/{name}"
    assert without_known(seen, expected) == expected


def test_dwell_through_a_link_runs_the_environment_that_it_is_in(directory, dwell_program, python):
    link = directory / "elsewhere"
    link.symlink_to(dwell_program)
    compare(python, [str(link), "run", "-q", "-o", "x.dwell"], [], ["show.py"], directory)


def test_the_module_runs_the_interpreter_that_runs_it(directory, tmp_path):
    ours = [sys.executable, "-m", "dwell", "run", "-q", "-o", "x.dwell"]
    compare(sys.executable, ours, [], ["show.py"], directory)


GONE = """
import os, subprocess, sys
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
done = subprocess.run(sys.argv[1:])
sys.exit(done.returncode)
"""


@pytest.mark.parametrize(
    ("program", "status"),
    [(["{directory}/show.py"], 0), (["-c", "import sys; sys.exit(3)"], 3), (["-m", "this"], 0)],
    ids=["script", "code", "module"],
)
def test_a_working_directory_that_is_gone(directory, dwell_program, python, program, status):
    program = [word.format(directory=directory) for word in program]
    known = {"cwd": directory, "capture_output": True, "text": True}
    plain = subprocess.run([sys.executable, "-c", GONE, python, *program], **known)
    assert plain.returncode == status
    ours = [sys.executable, "-c", GONE, dwell_program, "run", "-q", "--python", python]
    named = subprocess.run([*ours, "-o", f"{directory}/x.dwell", *program], **known)
    assert (named.returncode, named.stderr) == (status, plain.stderr)
    assert (directory / "x.dwell").exists()
    unrecorded = subprocess.run([*ours, *program], **known)
    assert unrecorded.returncode == status
    said, _, rest = unrecorded.stderr.partition("\n")
    assert said.endswith(
        "No such file or directory; nothing is recorded: name another place with -o"
    )
    assert rest == plain.stderr
    refused = subprocess.run([*ours, "-o", "y.dwell", *program], **known)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "y.dwell: No such file or directory; the program was not started" in refused.stderr


def test_too_little_memory_is_named(tmp_path, python_program):
    """Whatever fails for lack of it, at any limit, the reason is there."""
    done = python_program(
        "import os, _dwell_startup as startup\n"
        "def fail(*_): raise MemoryError\n"
        "startup._start = fail\n"
        "os.environ['DWELL_RUN'] = 'sample,period=1000000 /x.dwell'\n"
        "import sys; sys.modules.pop('dwell._core', None)\n"
        "startup.start()\n"
    )
    assert done.stderr == "dwell: not enough memory; nothing is recorded\n"


@pytest.mark.parametrize("mebibytes", range(24, 104, 8))
def test_any_limit_of_memory_gives_a_reason(run_dwell, mebibytes):
    limit = mebibytes << 20
    done = run_dwell(
        "run", "-q", "-o", "x.dwell", "-c", "print('runs')",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    reasons = [line for line in done.stderr.splitlines() if line.startswith("dwell: ")]
    assert not [line for line in reasons if line.startswith("dwell: ;")]
    if done.returncode == 0:
        assert done.stdout == "runs\n"
