# SPDX-License-Identifier: MIT
"""Uses dwell as its wheel installs it, on a system with nothing but Python: tools/wheel-test."""

import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
DWELL = Path(sysconfig.get_path("scripts")) / "dwell"
BUSY = "def busy():\n    return sum(i * i for i in range(10_000))\n"


def output(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def shares(report: str) -> dict[str, float]:
    """Total percentages by name, of a table of samples."""
    rows = re.findall(r"^ *([\d.]+) +(?:[\d.]+ +)+(.*)$", report, re.MULTILINE)
    return {name: float(total) for total, name in rows}


def check_names() -> None:
    version = importlib.metadata.version("dwell")
    assert DWELL.read_bytes()[:4] == b"\x7fELF"  # no script that starts it
    assert output(DWELL, "--version") == f"dwell {version}\n"
    assert output(sys.executable, "-m", "dwell", "--version") == f"dwell {version}\n"
    assert output(sys.executable, "-c", "import dwell; print(dwell.__version__)").strip() == version


def check_description() -> None:
    about = importlib.metadata.metadata("dwell")
    assert about["Requires-Python"] == ">=3.11" and about["License-Expression"].startswith("MIT")
    assert about["Description-Content-Type"] == "text/markdown" and about.get_payload()
    files = {str(file) for file in importlib.metadata.files("dwell") or ()}
    assert {
        "dwell/py.typed",
        "dwell/__init__.pyi",
        "dwell/_core.pyi",
        "dwell/include/dwell.h",
    } <= files


def check_run() -> None:
    Path("busy.py").write_text(BUSY + "for _ in range(1000):\n    busy()\n")
    output(DWELL, "run", "-o", "run.dwell", "busy.py")
    assert shares(output(DWELL, "report", "run.dwell", "--by", "function"))["busy (busy.py:1)"] > 50


def check_exports() -> None:
    output(DWELL, "export", "run.dwell", "--to", "html", "-o", "run.html")
    assert Path("run.html").read_text().startswith("<!doctype html>")
    output(DWELL, "export", "run.dwell", "--to", "pprof", "-o", "run.pb.gz")
    assert Path("run.pb.gz").read_bytes()[:2] == b"\x1f\x8b"


def check_attach() -> None:
    code = BUSY + "print('ready', flush=True)\nwhile True:\n    busy()\n"
    Path("forever.py").write_text(code)
    command = [sys.executable, "forever.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stdout.readline() == "ready\n"
            pid = str(process.pid)
            # It may not have come to it yet.
            assert any("busy" in output(DWELL, "dump", pid) for _ in range(100))
            output(DWELL, "attach", pid, "--native", "--duration", "2", "-o", "attached.dwell")
        finally:
            process.kill()
    report = output(DWELL, "report", "attached.dwell", "--by", "function")
    assert shares(report)["busy (forever.py:1)"] > 50


def check_inlined_lines() -> None:
    """The compiler has inlined mix() twice; the source need not be there to name its line."""
    os.chdir(HERE / "scatter")
    output(sys.executable, "main.py", "scatter.dwell")
    report = shares(output(DWELL, "report", "scatter.dwell", "--by", "line"))
    mix = next(name for name in report if re.fullmatch(r"scatter\.cc:\d+ \(native::mix\)", name))
    assert report[mix] > 10
    assert any(name.startswith("main.py:12 ") for name in report)


def main(checks: list[Callable[[], None]]) -> None:
    for check in checks:
        check()
        print(check.__name__.removeprefix("check_"))


os.chdir(HERE)
main([check_names, check_description, check_run, check_exports, check_attach, check_inlined_lines])
