# SPDX-License-Identifier: MIT
"""A program whose shares are known: it times its three parts itself.

shares.py PROGRAM ROUNDS [TOOL RATE FILE]: does that much work, under a profiler of the process
itself if one is named, and prints a line when it begins and then JSON: how long the work took, in
CPU time and as the clock has it less the time in which the thread waited for a CPU, and the true
shares.
"""

import ctypes
import json
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def loop(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def leaf(depth, n):
    if depth:
        return leaf(depth - 1, n)
    total = 0
    for i in range(n):
        total ^= i
    return total


def python_round():
    yield "fib", lambda: fib(17)
    yield "loop", lambda: loop(20_000)
    yield "leaf", lambda: leaf(40, 14_000)


def numpy_round():
    import numpy

    values = numpy.random.default_rng(1).random((160, 160))

    def product():
        return values @ values

    def order():
        return numpy.sort(values, axis=None)

    def loop_over():
        return [float(row.sum()) for row in values]

    yield "product", product
    yield "order", order
    yield "loop_over", loop_over


def waited_ns():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1])


class Tool:
    """A profiler that is started and stopped by the program itself."""

    def __init__(self, name, rate, file):
        self.name, self.rate, self.file = name, int(rate), file

    def start(self):
        if self.name == "dwell":
            import dwell

            dwell.start(self.file, rate=self.rate)
        elif self.name == "pyinstrument":
            import pyinstrument

            self.profiler = pyinstrument.Profiler(interval=1 / self.rate)
            self.profiler.start()
        elif self.name == "gperftools":
            self.library = ctypes.CDLL("libprofiler.so.0")
            self.library.ProfilerStart(self.file.encode())

    def stop(self):
        if self.name == "dwell":
            import dwell

            dwell.stop()
        elif self.name == "pyinstrument":
            self.profiler.stop()
        elif self.name == "gperftools":
            self.library.ProfilerStop()


def main(program, rounds, name="none", rate="0", file=""):
    parts = list({"python": python_round, "numpy": numpy_round}[program]())
    for _, part in parts:
        part()
    tool = Tool(name, rate, file)
    tool.start()
    print("begins", flush=True)
    took = dict.fromkeys((key for key, _ in parts), 0)
    waited, began, cpu = waited_ns(), time.perf_counter_ns(), time.thread_time_ns()
    for _ in range(int(rounds)):
        for key, part in parts:
            start = time.thread_time_ns()
            part()
            took[key] += time.thread_time_ns() - start
    cpu = time.thread_time_ns() - cpu
    net = time.perf_counter_ns() - began - (waited_ns() - waited)
    tool.stop()
    whole = sum(took.values())
    shares = {key: value / whole for key, value in took.items()}
    print(json.dumps({"net_ns": net, "cpu_ns": cpu, "shares": shares}))


main(*sys.argv[1:])
