# SPDX-License-Identifier: MIT
"""What the tests of lines share: rows by their offset, and an independent clock."""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

from dwell import LineProfiler

from .measured import Near


def rows_of(profiler: LineProfiler, name: str) -> dict[int, tuple]:
    """The lines of a function by their offset from its first line, those that ran or could."""
    for _, first, found, _, lines in profiler.get_stats().rows():
        if found.split(".")[-1] == name:
            return {row[0] - first: row[1:] for row in lines}
    raise AssertionError(f"{name} is not in {[each[2] for each in profiler.get_stats().rows()]}")


def hits_of(profiler: LineProfiler, name: str) -> dict[int, int]:
    return {offset: row[0] for offset, row in rows_of(profiler, name).items()}


def seconds_of(profiler: LineProfiler, name: str) -> dict[int, float]:
    return {offset: row[1] * 1e-9 for offset, row in rows_of(profiler, name).items()}


class Clock:
    """Spins and sleeps that say how long they really took, by name: the independent clock."""

    def __init__(self) -> None:
        self.took: dict[str, float] = {}

    def spin(self, seconds: float, name: str = "spin") -> None:
        began = time.perf_counter()
        while time.perf_counter() < began + seconds:
            pass
        self._note(name, began)

    def sleep(self, seconds: float, name: str = "sleep") -> None:
        began = time.perf_counter()
        time.sleep(seconds)
        self._note(name, began)

    def _note(self, name: str, began: float) -> None:
        self.took[name] = self.took.get(name, 0.0) + time.perf_counter() - began

    def __getitem__(self, name: str) -> Near:
        """Nanoseconds, within 5 %."""
        return Near(self.took[name] * 1e9)


def spin(seconds: float) -> None:
    Clock().spin(seconds)


def profiled(function: Callable, *args: object, **options: bool) -> LineProfiler:
    profiler = LineProfiler(function, **options)
    profiler.runcall(function, *args)
    return profiler


def load(path: Path, source: str):
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
