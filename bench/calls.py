# SPDX-License-Identifier: MIT
"""The time that call profilers add to a Python call and to a call of a builtin.

Each case runs in a process of its own; the cases take turns and the best of all
turns counts. Prints JSON: {program: {tool: added nanoseconds a call}}.
"""

import json
import sys
import time

from turns import best_of_turns, run


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Packet:
    def __init__(self, kind, data):
        self.kind = kind
        self.data = data
        self.link = None

    def append_to(self, queue):
        self.link = None
        if queue is None:
            return self
        last = queue
        while last.link is not None:
            last = last.link
        last.link = self
        return queue


class Task:
    def __init__(self, name):
        self.name = name
        self.queue = None
        self.handled = 0

    def take(self):
        packet = self.queue
        self.queue = packet.link
        return packet

    def add(self, packet):
        self.queue = packet.append_to(self.queue)

    def is_waiting(self):
        return self.queue is not None

    def handle(self, packet):
        raise NotImplementedError


class Worker(Task):
    def handle(self, packet):
        self.handled += 1
        packet.data = self.transform(packet.data)
        return packet

    def transform(self, data):
        return (data * 31 + 7) % 1009


class Device(Task):
    def handle(self, packet):
        self.handled += 1
        return packet


class Scheduler:
    def __init__(self):
        self.tasks = [Worker("a"), Worker("b"), Device("c"), Device("d")]

    def next_of(self, index):
        return self.tasks[(index + 1) % 4]

    def step(self, index):
        task = self.tasks[index]
        if task.is_waiting():
            self.next_of(index).add(task.handle(task.take()))

    def run(self, rounds):
        for i in range(6):
            self.tasks[i % 4].add(Packet(i, i))
        for i in range(rounds):
            self.step(i % 4)


def methods(n):
    """Small methods calling each other, as in a simulation."""
    Scheduler().run(n)


def builtins(n):
    for _ in range(n):
        len("x")


def arrays(n):
    import numpy

    a = numpy.zeros(16, dtype=numpy.float32)
    for _ in range(n):
        pair(a, a)


def pair(a, b):
    return a


PROGRAMS = {"fib": (fib, 21), "methods": (methods, 20_000), "builtins": (builtins, 60_000)}
ARRAYS = {"arrays": (arrays, 30_000)}


def tool_none():
    return (lambda: None), (lambda: None)


def tool_cprofile():
    import cProfile

    profile = cProfile.Profile()
    return profile.enable, profile.disable


def tool_yappi():
    import yappi

    yappi.set_clock_type("wall")
    return (lambda: yappi.start(builtins=True)), yappi.stop


def tool_viztracer():
    from viztracer import VizTracer

    tracer = VizTracer(verbose=0, tracer_entries=2_000_000)
    return tracer.start, tracer.stop


def tool_dwell():
    import dwell

    profile = dwell.Profile(signatures=False)
    return profile.enable, profile.disable


def tool_dwell_signatures():
    import dwell

    profile = dwell.Profile(signatures=True)
    return profile.enable, profile.disable


def measure(tool, program):
    function, argument = {**PROGRAMS, **ARRAYS}[program]
    function(2)
    start, stop = globals()[f"tool_{tool}"]()
    best = float("inf")
    for _ in range(3):
        start()
        began = time.perf_counter_ns()
        function(argument)
        best = min(best, time.perf_counter_ns() - began)
        stop()
    return best


def call_count(program):
    import cProfile

    function, argument = {**PROGRAMS, **ARRAYS}[program]
    function(2)
    profile = cProfile.Profile()
    profile.runcall(function, argument)
    return sum(entry.callcount for entry in profile.getstats())


def main():
    if len(sys.argv) == 3:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    if len(sys.argv) == 2:
        print(json.dumps(call_count(sys.argv[1])))
        return
    cases = [(t, p) for p in PROGRAMS for t in ("none", "cprofile", "yappi", "viztracer", "dwell")]
    cases += [(t, p) for p in ARRAYS for t in ("none", "cprofile", "dwell_signatures")]
    best = best_of_turns(__file__, cases)
    added = {}
    for (tool, program), took in best.items():
        if tool != "none":
            count = added.setdefault(program, {}).setdefault("calls", run(__file__, program))
            added[program][tool] = (took - best["none", program]) / count
    print(json.dumps(added))


main()
