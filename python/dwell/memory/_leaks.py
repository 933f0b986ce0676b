# SPDX-License-Identifier: MIT
"""dwell.memory.leaks: what each run of a function leaves behind."""

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ._paths import Path, Patterns, Scope, describe, read, read_suppressions, size_text
from ._track import mark, track


@dataclass(frozen=True)
class Leaks:
    """`bytes` is what every run left at least, path by path: what is kept once is no leak."""

    bytes: int
    runs: int
    paths: list[tuple[int, Path]]

    def __str__(self) -> str:
        if not self.bytes:
            return f"nothing is left by each of {self.runs} runs"
        return f"{size_text(self.bytes)} left by each of {self.runs} runs:\n{describe(self.paths)}"


def leaks(
    function: Callable[[], Any],
    runs: int = 3,
    warmups: int = 1,
    *,
    paths: Iterable[str] = (),
    suppressions: str | os.PathLike[str] | Iterable[str] | None = None,
) -> Leaks:
    """Calls the function several times and tells what each call left, after collecting garbage."""
    if runs < 1 or warmups < 0:
        raise ValueError("runs is at least 1, warmups at least 0")
    scope = Scope(
        Patterns([paths] if isinstance(paths, str) else paths), read_suppressions(suppressions)
    )
    for _ in range(warmups):
        function()
    gc.collect()
    with track(mode="exact") as tracked:
        for run in range(runs):
            _run_marked(function, f"run {run}")
    return _left(scope.choose(read(tracked.log())), runs)


def _run_marked(function: Callable[[], Any], name: str) -> None:
    mark(name)
    try:
        function()
    finally:
        mark(None)
        gc.collect()


def _left(paths: list[Path], runs: int) -> Leaks:
    """A path counts with what the run that left least of it did."""
    by_stack: dict[Any, list[Path]] = defaultdict(list)
    for path in paths:
        if path.mark and path.live:
            by_stack[path.stack].append(path)
    found = []
    for same in by_stack.values():
        by_run: dict[str | None, int] = defaultdict(int)
        for path in same:
            by_run[path.mark] += path.live
        if len(by_run) == runs:
            found.append((min(by_run.values()), same[0]))
    return Leaks(sum(size for size, _ in found), runs, found)
