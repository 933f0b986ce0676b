# SPDX-License-Identifier: MIT
"""Files made to harm: no more memory than 64 times their size and 64 MB, no time that grows faster
than they do. The bounds on the time are on that of the CPU, and many times what is needed."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from ..hostile_log import EVENTS, KINDS, Log, plain

pytestmark = pytest.mark.any_python

PICTURES = ["table", "tree", "lines", "csv", "json", "html", "svg", "callgrind", "dot"]
TRACES = ["chrome", "perfetto", "speedscope", "collapsed", "pprof", "pstats"]
COMMANDS = [
    ["check"],
    ["report"],
    ["report", "--by", "thread"],
    ["report", "--by", "path"],
    ["diff"],
    ["diff", "--format", "json"],
    ["merge", "-o", "merged.dwell"],
    *(["export", "--to", lens] for lens in PICTURES + TRACES),
]
BASE_BYTES = 64 << 20  # the program itself, its libraries and its stack
CPU_SECONDS = 100


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("hostile")
    for name, make in KINDS.items():
        (directory / f"{name}.dwell").write_bytes(make())
    return {name: directory / f"{name}.dwell" for name in KINDS}


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="sanitizers take memory of their own")
@pytest.mark.parametrize("command", COMMANDS, ids="-".join)
@pytest.mark.parametrize("kind", KINDS)
def test_memory_and_time_are_bounded(
    files: dict[str, Path], tmp_path: Path, dwell_program: str, kind: str, command: list[str]
):
    file = files[kind]
    operands = [file] * (2 if command[0] == "diff" else 1)
    memory = BASE_BYTES + (64 << 20) + 128 * sum(f.stat().st_size for f in operands)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))

    done = subprocess.run(
        [dwell_program, command[0], *operands, *command[1:]],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
        check=False,
    )
    assert done.returncode in (0, 1, 2), done.stderr
    assert "out of memory" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3
    assert os.listdir(tmp_path) == (
        ["merged.dwell"] if command[0] == "merge" and not done.returncode else []
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_merged_can_be_read(
    files: dict[str, Path], tmp_path: Path, dwell_program: str, kind: str
):
    merged = tmp_path / "merged.dwell"
    command = [dwell_program, "merge", files[kind], "-o", merged]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert merged.exists() == (done.returncode == 0)
    if merged.exists():
        shown = subprocess.run(
            [dwell_program, "check", merged], capture_output=True, text=True, check=False
        )
        assert shown.returncode in (0, 1), shown.stderr
        assert "damaged" not in shown.stdout


def test_two_timelines_of_one_process_can_be_merged(tmp_path: Path, dwell_program: str):
    log = Log()
    for stream in range(2):
        log.process(stream=stream)
        log.function(stream)
        log.numbers(5, (1, 0, 1), stream)
        log.thread(0, 41, stream)
        log.stored(EVENTS, bytes(4) + plain(b"\x00\x01\x09"), 3, stream)
    (tmp_path / "x.dwell").write_bytes(log.bytes())
    for command in (["merge", "x.dwell", "-o", "y.dwell"], ["report", "y.dwell"]):
        done = subprocess.run(
            [dwell_program, *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
