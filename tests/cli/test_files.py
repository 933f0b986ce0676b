# SPDX-License-Identifier: MIT
"""Every bad file gets one clear sentence; every damaged one gives what it still holds."""

import os
import random
import struct
import subprocess

import pytest

pytestmark = pytest.mark.any_python

PROGRAM = """
import dwell
for i in range(50):
    with dwell.region("outer"):
        with dwell.region("inner"):
            pass
"""


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.fixture
def log(tmp_path, run_dwell):
    run_dwell("run", "--regions", "-q", "--timeline", "-o", "good.dwell", "-c", PROGRAM)
    return tmp_path / "good.dwell"


@pytest.mark.parametrize("command", ["report", "export", "check", "merge"])
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("nosuchfile", None, "No such file or directory"),
        (".", None, "Is a directory"),
        ("empty", b"", "the file is empty"),
        (
            "image.png",
            b"\x89PNG\r\n\x1a\n" + bytes(100),
            "neither a recording nor a profile that dwell reads",
        ),
        ("text", b"hello world\n" * 10, "neither a recording nor a profile that dwell reads"),
        ("short", b"\x89DWELL\r\n", "damaged: no intact part of the recording was found"),
    ],
)
def test_bad_files(tmp_path, run_dwell, command, name, content, says):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    extra = {"export": ["--to", "json"], "merge": ["-o", "out.dwell"]}.get(command, [])
    done = run_dwell(command, name, *extra)
    assert done.returncode != 0
    assert done.stderr == f"dwell: {name}: {says}\n"
    assert done.stdout == ""
    assert not (tmp_path / "out.dwell").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("run", "-o", "notes.txt", "-c", "print('ran')"),
        ("merge", "good.dwell", "-o", "notes.txt"),
        ("attach", str(os.getpid()), "-o", "notes.txt"),
    ],
    ids=lambda command: command[0],
)
def test_files_that_are_no_recordings_are_not_replaced(tmp_path, run_dwell, log, command):
    notes = tmp_path / "notes.txt"
    notes.write_text("precious\n")
    done = run_dwell(*command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "notes.txt: there is a file of that name, and it is not a recording" in done.stderr
    assert notes.read_text() == "precious\n"


def test_start_replaces_recordings_only(tmp_path, log, python_program):
    program = "import dwell\ndwell.start({!r})\ndwell.stop()"
    assert python_program(program.format("good.dwell")).returncode == 0
    (tmp_path / "notes").write_text("precious\n")
    done = python_program(program.format("notes"))
    assert f"FileExistsError: [Errno 17] File exists: '{tmp_path}/notes'" in done.stderr
    assert (tmp_path / "notes").read_text() == "precious\n"


def test_a_newer_format_version(tmp_path, run_dwell, log):
    data = bytearray(log.read_bytes())
    data[8:12] = struct.pack("<I", 99)
    data[12:16] = struct.pack("<I", crc32c(bytes(data[:12])))
    (tmp_path / "newer").write_bytes(data)
    done = run_dwell("report", "newer")
    assert done.returncode != 0
    assert done.stderr == "dwell: newer: written by a newer dwell; update dwell to read it\n"


def test_a_cut_file_gives_what_was_before_the_cut(tmp_path, run_dwell, log):
    data = log.read_bytes()
    cut = tmp_path / "cut.dwell"
    read = 0
    for size in range(0, len(data), 37):
        cut.write_bytes(data[:size])
        done = run_dwell("report", cut)
        assert done.returncode in (0, 1), (size, done.stderr)
        assert (done.returncode == 0) == ("<main>" in done.stdout), size
        assert done.returncode == 0 or len(done.stderr.splitlines()) == 1
        read += done.returncode == 0
    assert read > 3


def test_flipped_bytes_cost_only_their_chunk(tmp_path, run_dwell, log):
    data = log.read_bytes()
    chance = random.Random(1)
    bad = tmp_path / "bad.dwell"
    for _ in range(40):
        flipped = bytearray(data)
        flipped[chance.randrange(16, len(data))] ^= 1 << chance.randrange(8)
        bad.write_bytes(flipped)
        done = run_dwell("check", bad)
        assert done.returncode == 1, done.stderr
        assert "damaged" in done.stdout + done.stderr


def test_check_of_a_whole_file(run_dwell, log):
    done = run_dwell("check", log)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "whole"


def test_merge_gives_the_same_in_any_order(tmp_path, run_dwell):
    for name in "abc":
        code = PROGRAM.replace("outer", f"outer-{name}").replace("50", str(ord(name)))
        run_dwell("run", "--regions", "-q", "--timeline", "-o", f"{name}.dwell", "-c", code)
    run_dwell("merge", "a.dwell", "b.dwell", "c.dwell", "-o", "abc.dwell")
    run_dwell("merge", "c.dwell", "a.dwell", "b.dwell", "-o", "cab.dwell")
    run_dwell("merge", "a.dwell", "b.dwell", "-o", "ab.dwell")
    run_dwell("merge", "c.dwell", "ab.dwell", "-o", "c_ab.dwell")
    assert (tmp_path / "abc.dwell").read_bytes() == (tmp_path / "cab.dwell").read_bytes()
    for lens in ("json", "chrome", "speedscope", "collapsed", "csv"):
        outputs = {
            run_dwell("export", f"{name}.dwell", "--to", lens).stdout
            for name in ("abc", "cab", "c_ab")
        }
        assert len(outputs) == 1, lens
        assert outputs != {""}


def test_merging_a_recording_with_itself_is_refused(run_dwell, log):
    done = run_dwell("merge", log, log, "-o", "out.dwell")
    assert done.returncode == 1
    assert "the same recording was given twice" in done.stderr


def test_a_lens_that_needs_a_timeline_says_so(run_dwell):
    run_dwell("run", "--regions", "-q", "-o", "x.dwell", "-c", PROGRAM)
    done = run_dwell("export", "x.dwell", "--to", "chrome")
    assert done.returncode == 1
    assert done.stderr == (
        "dwell: x.dwell: holds no timeline; record it with 'dwell run --timeline'\n"
    )


LENSES = [
    "table",
    "tree",
    "svg",
    "pprof",
    "speedscope",
    "collapsed",
    "pstats",
    "callgrind",
    "dot",
    "svg-graph",
]


def refusal(run_dwell, *arguments):
    done = run_dwell(*arguments)
    assert (done.returncode, done.stdout) == (1, ""), arguments
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_timings_are_not_shown_as_an_empty_recording(run_dwell):
    run_dwell("time", "-r", "2", "-n", "1", "-o", "x.dwell", "pass")
    says = (
        "dwell: x.dwell: holds timings, no calls or regions; see them with 'dwell report x.dwell'"
    )
    for lens in [*LENSES, "csv", "html", "chrome", "lines"]:
        assert refusal(run_dwell, "export", "x.dwell", "--to", lens).startswith(says), lens
    for options in (["--by", "function"], ["--format", "tree"], ["--format", "csv"]):
        assert refusal(run_dwell, "report", "x.dwell", *options).startswith(says), options
    assert '"timings"' in run_dwell("export", "x.dwell", "--to", "json").stdout
    assert "pass" in run_dwell("report", "x.dwell").stdout


def test_lines_are_not_shown_as_an_empty_recording(run_dwell):
    code = "@profile\ndef f():\n    return 1\nf()"
    run_dwell("run", "-q", "--lines", "-o", "x.dwell", "-c", code)
    says = "dwell: x.dwell: holds lines, no calls or regions; see them with 'dwell report x.dwell'"
    for lens in [*LENSES, "chrome"]:
        assert refusal(run_dwell, "export", "x.dwell", "--to", lens).startswith(says), lens
    for command in (
        ["report", "x.dwell", "--by", "function"],
        ["report", "x.dwell", "--by", "region", "--format", "tree"],
        ["export", "x.dwell", "--to", "csv", "--columns", "name"],
    ):
        assert refusal(run_dwell, *command).startswith(says), command
    for lens in ("lines", "html", "csv", "json"):
        assert run_dwell("export", "x.dwell", "--to", lens).returncode == 0


def test_a_recording_in_which_no_region_was_entered_is_fine(run_dwell):
    run_dwell("run", "--regions", "-q", "-o", "x.dwell", "-c", "pass")
    for lens in [*LENSES[:-1], "csv", "html", "json"]:  # the last needs Graphviz
        done = run_dwell("export", "x.dwell", "--to", lens, "-o", "out")
        assert (done.returncode, done.stderr) == (0, "")
    assert "<main>" in run_dwell("report", "x.dwell").stdout


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("x.json", '{\n  "dwell"'),
        ("x.speedscope.json", '{"$schema":"https://www.speedscope.app'),
        ("x.svg", "<svg"),
        ("x.html", "<!doctype html>"),
        ("x.folded", "outer"),
    ],
)
def test_name_of_the_output_says_which_lens(tmp_path, run_dwell, log, name, begins):
    done = run_dwell("export", log, "-o", name)
    assert (done.returncode, done.stdout) == (0, "")
    assert begins in (tmp_path / name).read_text()[:200]


@pytest.mark.parametrize("name", ["x.prof", "x.pprof", "x.pb.gz"])
def test_names_of_pprof_are_those_of_start(tmp_path, run_dwell, log, name):
    assert run_dwell("export", log, "-o", name).returncode == 0
    assert (tmp_path / name).read_bytes()[:2] == b"\x1f\x8b"


def test_export_without_a_lens_is_refused(run_dwell, log):
    for words, reason in (
        ([], "export needs a file and --to LENS"),
        (["-o", "x.txt"], "no format is known by the name 'x.txt'"),
        (["-o", ".json"], "no format is known by the name '.json'"),
    ):
        done = run_dwell("export", log, *words)
        assert done.returncode == 2 and reason in done.stderr


@pytest.mark.parametrize(
    "words", [["run", "-c", "pass"], ["attach", "1"], ["merge", "good.dwell"]], ids=lambda w: w[0]
)
def test_recording_is_not_written_under_the_name_of_another_format(tmp_path, run_dwell, log, words):
    done = run_dwell(words[0], "-o", "x.svg", *words[1:])
    assert done.returncode == 2
    assert done.stderr == (
        "dwell: x.svg: this makes a recording, so call it NAME.dwell; then "
        "'dwell export NAME.dwell -o x.svg' makes the svg file\n"
    )
    assert not (tmp_path / "x.svg").exists()


def test_pipes_are_read_like_files(tmp_path, run_dwell, log):
    as_file = run_dwell("report", log).stdout
    for name in ("-", "/dev/stdin"):
        with open(log, "rb") as content:
            piped = subprocess.Popen(["cat"], stdin=content, stdout=subprocess.PIPE)
        assert run_dwell("report", name, stdin=piped.stdout).stdout == as_file
        assert piped.wait() == 0
    done = run_dwell("export", "-", "--to", "collapsed", input="main;f 3\nmain;g 2\n" * 50_000)
    assert done.stdout == "<main>;main;f 150000\n<main>;main;g 100000\n"


def test_pipe_without_a_writer_does_not_hang(tmp_path, run_dwell):
    os.mkfifo(tmp_path / "pipe")
    assert run_dwell("report", "pipe").stderr == "dwell: pipe: the file is empty\n"
