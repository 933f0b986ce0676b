# SPDX-License-Identifier: MIT
"""LineProfiler leaves the program alone: exceptions, signals, lifetimes, other threads."""

import asyncio
import functools
import gc
import signal
import sys
import weakref
from pathlib import Path

import pytest

import dwell
from dwell import LineProfiler

from ..line_rows import hits_of, load, profiled, rows_of


def test_a_pending_exception_outlives_the_profiler() -> None:
    def work() -> int:
        return 1

    profiled(work)
    with pytest.raises(ZeroDivisionError):
        print(LineProfiler(work), 1 / 0)


def test_a_callee_becomes_a_profiled_function_while_it_runs() -> None:
    profiler = LineProfiler(callees=True)

    def down(n: int) -> None:
        if n == 3:
            profiler.add_function(down)
        if n:
            down(n - 1)

    def outer() -> None:
        down(8)

    profiler.add_function(outer)
    with profiler:
        outer()
        outer()
    assert hits_of(profiler, "down")[1] > 9


def test_an_idle_profiler_of_the_same_function_is_let_go() -> None:
    def work(n: int) -> None:
        for _ in range(n):
            pass

    idle, busy = LineProfiler(work), LineProfiler(work)
    idle.runcall(work, 1)
    busy.runcall(work, 10_000)
    busy.runcall(work, 10)
    idle.runcall(work, 1)
    assert hits_of(busy, "work") == {1: 10_012, 2: 10_010}
    assert hits_of(idle, "work") == {1: 4, 2: 2}


def test_objects_do_not_live_longer() -> None:
    class Thing(list):
        pass

    def work() -> weakref.ref:
        thing = Thing()
        append = thing.append
        append(1)
        return weakref.ref(thing)

    profiler = LineProfiler(work, callees=True)
    assert profiler.runcall(work)() is None


def test_things_that_make_up_attributes() -> None:
    from unittest import mock

    LineProfiler().add_callable(mock.call)  # comes to an end
    made_up = functools.partial(print)
    made_up.__wrapped__ = made_up
    assert LineProfiler().add_callable(made_up) == 0


def test_a_signal_is_not_lost() -> None:
    def work() -> None:
        signal.raise_signal(signal.SIGINT) or [].append(1)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    try:
        for profiler in (LineProfiler(work, callees=True), dwell.Profile()):
            with pytest.raises(KeyboardInterrupt), profiler:
                work()
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_last_reference_goes_while_a_name_is_made() -> None:
    holder = []

    class Gone:
        def __del__(self) -> None:
            holder.clear()

    def work() -> None:
        [[], [], [], []].append(1)

    holder.append(LineProfiler(work, callees=True))
    holder[0].enable()
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(3)
    try:
        gone = Gone()
        gone.me = gone
        del gone
        work()
    finally:
        gc.set_threshold(*before)


def test_an_exception_that_leaves_the_with_block() -> None:
    def work() -> int:
        return 1

    with pytest.raises(ValueError, match="own"), LineProfiler(work):
        raise ValueError("own")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 tells of C functions only")
def test_a_class_and_its_instances_are_different_callees() -> None:
    class Thing:
        def __call__(self) -> int:
            return 1

    def work() -> None:
        thing = Thing()
        thing()

    rows = rows_of(profiled(work, callees=True), "work")
    (made,), (called_,) = rows[1][5], rows[2][5]
    assert "Thing" in made[0] and made != called_ and made[0] != called_[0]


def test_an_abandoned_async_generator_is_closed_by_the_loop() -> None:
    profiler = LineProfiler()
    closed = []

    @profiler
    async def numbers():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    kept = []

    async def main() -> None:
        kept.append(numbers())
        await anext(kept[0])

    asyncio.run(main())
    assert closed == [True]


def test_instances_stay_what_they_are_when_their_module_is_wrapped(tmp_path: Path) -> None:
    module = load(
        tmp_path / "models.py",
        "class Model:\n    def __call__(self):\n        return self.train()\n"
        "    def train(self):\n        return 2\n"
        "model = Model()\n",
    )
    profiler = LineProfiler()
    profiler.add_module(module, wrap=True)
    assert (module.model.train(), module.model()) == (2, 2)


def test_threads_do_not_go_on_in_a_forked_child(python_program) -> None:
    done = python_program(
        "import os, sys, threading, time, dwell\n"
        "release = threading.Event()\n"
        "def work():\n"
        "    release.wait()\n"
        "profiler = dwell.LineProfiler(work)\n"
        "profiler.enable()\n"
        "threads = [threading.Thread(target=work) for _ in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "time.sleep(0.1)\n"
        "if os.fork() == 0:\n"
        "    time.sleep(0.2)\n"
        "    rows = profiler.get_stats().rows()[0][4]\n"
        "    print(rows[0][2] < 0.2e9)\n"
        "    sys.stdout.flush()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "release.set()\n"
        "for thread in threads: thread.join()\n"
    )
    assert done.stdout == "True\n"
