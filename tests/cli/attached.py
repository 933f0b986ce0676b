# SPDX-License-Identifier: MIT
"""Recordings of running processes, and what they hold."""

import json
import re
import subprocess
import time
from collections import Counter
from pathlib import Path

Frame = tuple[str, int]
Stacks = dict[tuple[Frame, ...], int]

SPIN = "print('ready', flush=True)\ndef spin():\n    while True:\n        pass\nspin()\n"

PATIENCE_S = 300  # with a recorder that writes nothing


class Attached:
    """A recording that goes on, and what it holds when it is over."""

    def __init__(self, program: str, pid: int, path: Path, options: tuple[str, ...]):
        self.program, self.path = program, path
        path.unlink(missing_ok=True)  # of an attempt before this one
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [program, "attach", str(pid), "-o", str(path), *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (path.exists() and path.stat().st_size) and self.goes_on():
            time.sleep(0.001)

    def goes_on(self) -> bool:
        assert time.monotonic() - self.began < PATIENCE_S
        return self.process.poll() is None

    def wait_for_samples(self) -> None:
        """Until some are in the file, which cannot be read at all before it has its head."""
        command = [self.program, "export", str(self.path), "--to", "collapsed"]
        while self.goes_on():
            if subprocess.run(command, capture_output=True).stdout:
                return
            time.sleep(0.01)

    def starved(self) -> float:
        """The share of its time that the recorder waited for a CPU, as the kernel counts it."""
        _, waited_ns, _ = Path(f"/proc/{self.process.pid}/schedstat").read_text().split()
        return int(waited_ns) / 1e9 / (time.monotonic() - self.began)

    def wait(self, timeout: float = 60) -> "Attached":
        _, self.stderr = self.process.communicate(timeout=timeout)
        self.status = self.process.returncode
        return self

    def dwell(self, *words: str, path: Path | None = None) -> str:
        command = [self.program, words[0], str(path or self.path), *words[1:]]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def stacks(self, path: Path | None = None) -> Stacks:
        """Microseconds of each stack of functions and lines, outermost first."""
        return parse(self.dwell("export", "--to", "collapsed", "--lines", path=path))

    def functions(self, path: Path | None = None) -> Counter[str]:
        """Microseconds of each function itself."""
        own: Counter[str] = Counter()
        for stack, weight in self.stacks(path).items():
            own[stack[-1][0] if stack else ""] += weight  # at its end a program has no frames
        return own

    def is_whole(self, path: Path | None = None) -> bool:
        return self.dwell("check", path=path).endswith("whole\n")

    def summary(self) -> str:
        return self.dwell("report").split("total %")[0]

    def thread_names(self) -> set[str]:
        written = json.loads(self.dwell("export", "--to", "speedscope"))
        return {profile["name"].split(" (")[0] for profile in written["profiles"]}


def parse(text: str) -> Stacks:
    stacks: Stacks = Counter()
    for line in text.splitlines():
        names, _, weight = line.rpartition(" ")
        if names.endswith(";<memory map>"):
            continue  # the kernel mapped memory for the thread, and where it was is not known
        frames = [split(frame) for frame in names.split(";")[1:] if frame != "[no frames]"]
        stacks[tuple(frames)] += int(weight)
    return stacks


def split(frame: str) -> Frame:
    match = re.fullmatch(r"(.*) \(.*?(?::(\d+))?\)", frame)
    assert match, frame
    return match[1], int(match[2] or 0)


def go(process: "subprocess.Popen[str]") -> None:
    """Lets a program go on that waits for a line."""
    assert process.stdin
    process.stdin.write("go\n")
    process.stdin.flush()


def shares(times: dict[str, float]) -> dict[str, float]:
    return {name: 100 * value / sum(times.values()) for name, value in times.items()}
