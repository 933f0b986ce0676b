# SPDX-License-Identifier: MIT
"""Which files get into a recording of another process, which names them as it likes."""

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from .attached import Attached
from .conftest import AS_ROOT, MAY_READ, Attach, Start

pytestmark = MAY_READ

NOBODY = 65534
SECRET = "only root may read this\n"

# Runs code that claims to be from a file, a function of that name on that line, as somebody else.
CLAIMS = """\
import os, sys, time
name, function, line, user, before = sys.argv[1:]
text = "\\n" * (int(line) - 1) + f"def {function}():\\n    time.sleep(1000)\\n"
exec(compile(text, name, "exec"))
exec(before)
if int(user):
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
print("ready", flush=True)
globals()[function]()
"""


@pytest.fixture
def claim(start: Start, attach: Attach):
    """The recording of a process whose code claims to be from that file."""

    def run(
        name: object,
        function: str = "f",
        line: int = 1,
        user: int = 0,
        before: str = "",
        options=(),
    ) -> Attached:
        process = start(CLAIMS, str(name), function, str(line), str(user), before)
        return attach(process, "--duration", "0.2", *options).wait()

    return run


def has_text(attached: Attached, text: str) -> bool:
    assert attached.status == 0, attached.stderr
    assert "f" in attached.functions() or "only" in attached.functions()
    return text.strip() in attached.dwell("export", "--to", "html")


@pytest.fixture
def public(tmp_path_factory) -> Path:
    """A directory that others can reach."""
    place = Path("/tmp") / f"dwell-sources-{os.getpid()}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o755)
    yield place
    shutil.rmtree(place)


def write(path: Path, text: str, mode: int = 0o644, owner: int = 0) -> Path:
    path.write_text(text)
    path.chmod(mode)
    if owner:
        os.chown(path, owner, owner)
    return path


def test_source_of_the_program_is_there(tmp_path: Path, claim):
    source = write(tmp_path / "source.py", "def f():\n    'the text of it'\n")
    assert has_text(claim(source), "the text of it")


def test_source_is_left_out_when_asked_for(tmp_path: Path, claim):
    source = write(tmp_path / "source.py", "def f():\n    'the text of it'\n")
    attached = claim(source, options=("--redact", "sources"))
    assert not has_text(attached, "the text of it") and "source.py" in attached.dwell("check")
    attached = claim(source, options=("--redact", "argv,sources"))
    assert not has_text(attached, "the text of it")
    assert b"time.sleep" not in attached.path.read_bytes()
    assert "program.py" not in attached.dwell("check")


@AS_ROOT
def test_file_of_the_other_user_is_read_for_root(public: Path, claim):
    source = write(public / "own.py", "def f():\n    'the text of it'\n", 0o600, NOBODY)
    assert has_text(claim(source, user=NOBODY), "the text of it")


@AS_ROOT
@pytest.mark.parametrize("way", ["name", "link", "hidden directory"])
def test_file_that_the_process_may_not_read_is_not_read_for_root(public: Path, claim, way: str):
    hidden = public / "hidden"
    hidden.mkdir(mode=0o700)
    path = write(public / "secret.py", f"def f():\n    '{SECRET.strip()}'\n", 0o600)
    if way == "link":
        link = public / "link.py"
        link.symlink_to(path)
        path = link
    elif way == "hidden directory":
        path = write(hidden / "secret.py", path.read_text())
    assert has_text(claim(path), SECRET)  # of root's own process it is
    assert not has_text(claim(path, user=NOBODY), SECRET)


@AS_ROOT
def test_file_of_a_group_that_the_process_has_left_is_not_read(public: Path, claim):
    path = write(public / "secret.py", f"def f():\n    '{SECRET.strip()}'\n", 0o640)
    assert not has_text(claim(path, user=NOBODY), SECRET)


@AS_ROOT
def test_file_is_the_one_under_the_root_of_the_process(public: Path, claim):
    (public / "inside" / "tmp").mkdir(parents=True)
    outside = write(public / "source.py", "def f():\n    'outside'\n")
    inside = public / "inside" / str(outside).lstrip("/")
    inside.parent.mkdir(parents=True, exist_ok=True)
    write(inside, "def f():\n    'inside'\n")
    attached = claim(outside, before=f"os.chroot({str(public / 'inside')!r})")
    assert has_text(attached, "'inside'") and not has_text(attached, "'outside'")
    (inside).unlink()
    inside.symlink_to("/../../../../../../../../../etc/hostname")
    assert not has_text(
        claim(outside, before=f"os.chroot({str(public / 'inside')!r})"), "'outside'"
    )


@AS_ROOT
def test_process_that_gave_up_its_rights_meanwhile_gets_nothing(public: Path, start: Start, attach):
    path = write(public / "secret.py", f"def f():\n    '{SECRET.strip()}'\n", 0o600)
    process = start(
        "import os, sys, time\n"
        "print('ready', flush=True)\n"
        "time.sleep(0.5)\n"
        f"os.setuid({NOBODY})\n"
        f"exec(compile('def f():\\n    time.sleep(1000)\\n', {str(path)!r}, 'exec'))\n"
        "f()\n"
    )
    assert not has_text(attach(process, "--duration", "2").wait(), SECRET)


@pytest.mark.parametrize("name", ["/proc/self/environ", "/dev/zero", "/dev/fd/0", "."])
def test_what_is_no_file_is_not_read(claim, name: str, monkeypatch):
    monkeypatch.setenv("DWELL_TEST_SECRET", "secret of the environment")
    attached = claim(name, function="only")
    assert not has_text(attached, "secret of the environment")


def test_pipe_is_not_waited_for(tmp_path: Path, claim):
    os.mkfifo(tmp_path / "pipe.py")
    assert not has_text(claim(tmp_path / "pipe.py"), SECRET)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("root:x:0:0\nsecret line\n", 1),
        ("secret line\n", 50),
        ("\n\ndef g():\n    'secret line'\n", 3),
    ],
)
def test_file_that_is_not_the_source_is_left_out(tmp_path: Path, claim, text: str, line: int):
    path = write(tmp_path / "other.py", text)
    assert not has_text(claim(path, function="only", line=line), "secret line")


def test_decorated_functions_have_their_source(tmp_path: Path, claim):
    path = write(tmp_path / "source.py", "@first\n@second(\n    1\n)\ndef f():\n    'the text'\n")
    assert has_text(claim(path), "the text")


def test_huge_file_costs_no_memory(tmp_path: Path, start: Start, dwell_program: str):
    path = tmp_path / "huge.py"
    with path.open("wb") as file:
        file.write(b"def f():\n    'the text of it'\n")
        file.truncate(12 << 30)
    process = start(CLAIMS, str(path), "f", "1", "0", "")
    words = ["attach", str(process.pid), "--duration", "0.2", "-q", "-o", str(tmp_path / "x.dwell")]
    result = subprocess.run(
        [dwell_program, *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20)),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    shown = subprocess.run(
        [dwell_program, "export", str(tmp_path / "x.dwell"), "--to", "html"],
        capture_output=True,
        text=True,
    )
    assert "the text of it" in shown.stdout
