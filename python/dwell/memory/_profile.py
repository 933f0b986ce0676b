# SPDX-License-Identifier: MIT
"""Memory of lines: dwell.memory.profile takes the place of memory_profiler.profile.

What is shown is the resident memory of the process: the most after a line, and what the line itself
added or gave back, from its begin to its end, summed over its hits.
"""

import functools
import inspect
import linecache
import sys
from collections.abc import Callable
from typing import Any, TextIO

from .. import _core
from ..lines import LineProfiler

_MIB = 1 << 20
_ROW = "{:>6} {:>12} {:>12}  {:>10}   {}"


def profile(
    func: Callable[..., Any] | None = None,
    stream: TextIO | None = None,
    precision: int = 1,
    backend: str = "rss",
) -> Any:
    """Prints what the lines of the function did to memory, after each of its calls."""
    if func is None:
        return functools.partial(profile, stream=stream, precision=precision, backend=backend)
    function = func

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            profiler = LineProfiler(memory=True)
            result = await profiler(function)(*args, **kwargs)
            show_results(profiler, stream, precision)
            return result

        return coroutine

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        profiler = LineProfiler(memory=True)
        result = profiler(function)(*args, **kwargs)
        show_results(profiler, stream, precision)
        return result

    return call


def show_results(profiler: LineProfiler, stream: TextIO | None = None, precision: int = 1) -> None:
    """Prints the table of every function, as memory_profiler lays it out."""
    out = stream or sys.stdout
    for file, first, _, lines in _core.line_memory(profiler.get_stats().log()):
        header = _ROW.format("Line #", "Mem usage", "Increment", "Occurrences", "Line Contents")
        out.write(f"Filename: {file}\n\n{header}\n{'=' * len(header)}\n")
        by_line = {line: rest for line, *rest in lines}
        calls, usage, _ = by_line.pop(0, (0, 0, 0))
        by_line[first] = [calls, usage, usage]  # what there was before its first line
        source = linecache.getlines(file)
        block = inspect.getblock(source[first - 1 :]) if first <= len(source) else []
        for line in range(first, max(first + len(block), max(by_line) + 1)):
            text = source[line - 1].rstrip("\n") if line <= len(source) else ""
            out.write(_row(line, by_line.get(line), text, precision) + "\n")
        out.write("\n\n")


def _row(line: int, numbers: list[int] | None, text: str, precision: int) -> str:
    if not numbers or not numbers[0]:
        return _ROW.format(line, "", "", "", text)
    hits, usage, increment = numbers
    mib = [f"{size / _MIB:.{precision}f} MiB" for size in (usage, increment)]
    return _ROW.format(line, *mib, hits, text)
