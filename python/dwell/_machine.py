# SPDX-License-Identifier: MIT
"""What a timing should say about the machine, the interpreter and the code it was made with."""

import os
import sys

_CPU = "/sys/devices/system/cpu/"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _cpu_model() -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return ""


def _turbo() -> str:
    """Whether the clock may rise above its nominal rate, where the kernel tells."""
    no_turbo = _read(_CPU + "intel_pstate/no_turbo")
    boost = _read(_CPU + "cpufreq/boost")
    if no_turbo:
        return "off" if no_turbo == "1" else "on"
    return {"1": "on", "0": "off"}.get(boost, "")


def git(*arguments: str, directory: str | None = None) -> str:
    """What git prints, or nothing when it cannot say."""
    import subprocess

    try:
        done = subprocess.run(
            ["git", *arguments], cwd=directory, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def git_revision(directory: str | None = None) -> str:
    """The commit, with a + when files differ from it; nothing outside of a repository."""
    commit = git("rev-parse", "--short=12", "HEAD", directory=directory)
    changed = commit and git("status", "--porcelain", "--untracked-files=no", directory=directory)
    return commit + ("+" if changed else "")


def describe() -> dict[str, str]:
    from . import _process

    _process.describe()
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    facts = {
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count() or ""),
        "usable_cores": str(len(os.sched_getaffinity(0))),
        "governor": _read(_CPU + "cpu0/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "load": load,
        "kernel": os.uname().release,
        "implementation": sys.implementation.name,
        "python_build": sys.version.partition(" ")[2].replace("\n", " "),
        "git": git_revision(),
    }
    return {key: value for key, value in facts.items() if value}
