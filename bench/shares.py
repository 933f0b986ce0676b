# SPDX-License-Identifier: MIT
"""Programs whose shares are known: they time their three parts themselves.

shares.py PROGRAM [SECONDS]: works in blocks of some 50 ms, for that long or until standard input
ends, and prints a line when it begins and its blocks, as JSON, at the end.
"""

import json
import os
import re
import select
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


def python_parts():
    yield "fib", lambda: fib(17)
    yield "loop", lambda: loop(20_000)
    yield "leaf", lambda: leaf(40, 14_000)


def numpy_parts():
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # all of its time is this thread's
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
    """How long this thread has waited for a CPU."""
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1])


ROUNDS = {"python": 28, "numpy": 50}  # of a block


class Program:
    def __init__(self, name):
        self.parts = list({"python": python_parts, "numpy": numpy_parts}[name]())
        self.rounds = ROUNDS[name]
        self.block()

    def block(self):
        """When it began; how long it took by the clock, less the time in which the thread waited
        for a CPU; and the CPU time of each part."""
        took = dict.fromkeys((name for name, _ in self.parts), 0)
        waited, began = waited_ns(), time.perf_counter_ns()
        for _ in range(self.rounds):
            for name, part in self.parts:
                start = time.thread_time_ns()
                part()
                took[name] += time.thread_time_ns() - start
        net = time.perf_counter_ns() - began - (waited_ns() - waited)
        return {"began_ns": began, "net_ns": net, "parts": took}


def typical(blocks):
    """The time of a block that others on the machine hardly disturbed: one in four took less.
    (The least of all may be one in which the kernel's counts were late.)"""
    times = sorted(block["net_ns"] for block in blocks)
    return times[len(times) // 4]


def by_part(collapsed, parts):
    """Weights of collapsed stacks by the part of the program that they are in."""
    weights = dict.fromkeys(parts, 0.0)
    for line in collapsed.splitlines():
        stack, _, weight = line.rpartition(" ")
        for part in parts:
            if re.search(rf"\b{part}\b", stack):
                weights[part] += float(weight)
    return weights


def share_of(function, collapsed):
    """What the stacks with that function in them have of all, in percent."""
    whole = inside = 0.0
    for line in collapsed.splitlines():
        stack, _, weight = line.rpartition(" ")
        whole += float(weight)
        inside += float(weight) * bool(re.search(rf"(^|;){function}\b", stack))
    return 100 * inside / whole


def error_of(weights, blocks):
    """By how many points the share of a part is off at most; without any, by all of them."""
    true = {part: sum(block["parts"][part] for block in blocks) for part in blocks[0]["parts"]}
    whole, seen = sum(true.values()), sum(weights.values())
    if not seen:
        return 100
    return 100 * max(abs(weights[part] / seen - true[part] / whole) for part in true)


def main(name, seconds=None):
    program = Program(name)
    end = time.monotonic() + float(seconds or "inf")
    blocks = []
    print("begins", flush=True)
    while time.monotonic() < end and (seconds or not select.select([sys.stdin], [], [], 0)[0]):
        blocks.append(program.block())
    print(json.dumps(blocks))


if __name__ == "__main__":
    main(*sys.argv[1:])
