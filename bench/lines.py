# SPDX-License-Identifier: MIT
"""The time that line profilers add to each line that they see: in a tight loop, where a line
does next to nothing, and in a function that counts words.

"empty" is a C trace function that does nothing: what the interpreter itself spends on tracing, the
floor of every tool that traces.

Prints JSON: {program: {tool: added nanoseconds a hit}}, and what wrapping a function adds.
"""

import ctypes
import json
import sys
import time

from turns import best_of_turns, run


def loop(n):
    for x in range(n):
        y = x  # noqa: F841


def words(n):
    counts = {}
    longest = ""
    for i in range(n):
        word = TEXT[i % len(TEXT)].strip().lower()
        if not word:
            continue
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
        if len(word) > len(longest):
            longest = word
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [word for word, count in ordered if count > 1], longest


def wrapped(n):
    for _ in range(n):
        empty()


def empty():
    return None


SENTENCE = "The quick brown fox jumps over the lazy dog while nobody counts the words"
TEXT = [*SENTENCE.split(), ""]
# Runs of a few milliseconds, so that some of them have a CPU for themselves from begin to end.
PROGRAMS = {"loop": (loop, 20_000), "words": (words, 5_000), "wrapped": (wrapped, 2_000)}
REPEATS = 50
TOOLS = ("none", "empty", "line_profiler", "dwell")


def profiler_of(tool):
    if tool == "dwell":
        import dwell

        return dwell.LineProfiler()
    import line_profiler

    return line_profiler.LineProfiler()


def trace_emptily():
    """PyErr_Occurred reads none of its arguments and returns zero, as a trace function should."""
    ctypes.pythonapi.PyEval_SetTrace(ctypes.pythonapi.PyErr_Occurred, None)


def measure(tool, program):
    global empty
    function, argument = PROGRAMS[program]
    if tool == "empty":
        trace_emptily()
    elif tool != "none":
        profiler = profiler_of(tool)
        if program == "wrapped":
            empty = profiler(empty)
        else:
            profiler.add_function(function)
            profiler.enable_by_count()
    best = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter_ns()
        function(argument)
        best = min(best, time.perf_counter_ns() - began)
    return best


def hits(program):
    """Lines that the program runs, by dwell's count."""
    function, argument = PROGRAMS[program]
    profiler = profiler_of("dwell")
    profiler.add_function(function)
    profiler.runcall(function, argument)
    (rows,) = profiler.get_stats().timings.values()
    return sum(row[1] for row in rows)


def main():
    if len(sys.argv) == 3:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    if len(sys.argv) == 2:
        print(json.dumps(hits(sys.argv[1])))
        return
    best = best_of_turns(__file__, [(tool, program) for program in PROGRAMS for tool in TOOLS])
    added = {}
    for program, (_, argument) in PROGRAMS.items():
        count = argument if program == "wrapped" else run(__file__, program)
        added[program] = {
            tool: (best[tool, program] - best["none", program]) / count
            for tool in TOOLS[1:]
            if (tool, program) in best
        }
    print(json.dumps(added))


main()
