# SPDX-License-Identifier: MIT
"""Threads, generators and tasks: each has its own stack of regions."""

import asyncio
import contextlib
import gc
import os
import sys
import threading
import time

import pytest

import dwell


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_each_thread_has_its_own_stack(recording):
    barrier = threading.Barrier(4)

    def work(n):
        for _ in range(n):
            with dwell.region("outer"):
                barrier.wait()
                with dwell.region("inner"):
                    pass

    threads = [threading.Thread(target=work, args=(50,), name=f"worker-{i}") for i in range(4)]
    with dwell.region("main"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert recording.counts() == {("main",): 1, ("outer",): 200, ("outer", "inner"): 200}


def test_report_by_thread_separates_them(recording):
    def work(n):
        for _ in range(n):
            with dwell.region("work"):
                pass

    for index in range(3):
        thread = threading.Thread(target=work, args=(index + 1,), name=f"worker-{index}")
        thread.start()
        thread.join()
    text = dwell.snapshot().render("csv", by="thread", columns=("name", "count"))
    assert text.splitlines() == [
        "name,count",
        "MainThread,1",
        "worker-0,1",
        "work,1",
        "worker-1,1",
        "work,2",
        "worker-2,1",
        "work,3",
    ]


def test_thousands_of_threads_are_all_counted(recording):
    def work():
        with dwell.region("work"):
            pass

    for _ in range(100):
        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert recording.counts() == {("work",): 2000}


def test_region_held_across_yield_belongs_to_its_generator(recording):
    def producer():
        with dwell.region("producer"):
            for i in range(3):
                spin(0.005)
                yield i

    began = time.perf_counter_ns()
    for _ in producer():
        with dwell.region("consumer"):
            time.sleep(0.01)
    took = time.perf_counter_ns() - began
    assert recording.counts() == {("producer",): 1, ("consumer",): 3}
    row = recording["producer"]
    assert row["suspended_ns"] >= 29_000_000
    assert 14_000_000 <= row["active_ns"] <= took - row["suspended_ns"]


def test_interleaved_generators(recording):
    def walk(name):
        with dwell.region(name):
            for _ in range(3):
                with dwell.region("step"):
                    pass
                yield

    a, b = walk("a"), walk("b")
    for _ in range(3):
        next(a)
        next(b)
    for generator in (a, b):
        assert next(generator, "end") == "end"
    assert recording.counts() == {
        ("a",): 1,
        ("a", "step"): 3,
        ("b",): 1,
        ("b", "step"): 3,
    }


def test_generators_inside_generators(recording):
    def inner():
        with dwell.region("inner"):
            yield 1
            yield 2

    def outer():
        with dwell.region("outer"):
            yield from inner()

    for _ in outer():
        with dwell.region("consumer"):
            pass
    assert recording.counts() == {
        ("outer",): 1,
        ("outer", "inner"): 1,
        ("consumer",): 2,
    }


def test_generator_closed_early(recording):
    def producer():
        with dwell.region("producer"):
            while True:
                yield

    generator = producer()
    next(generator)
    with dwell.region("other"):
        generator.close()
        with dwell.region("child"):
            pass
    assert recording.counts() == {("producer",): 1, ("other",): 1, ("other", "child"): 1}


def test_generator_dropped(recording):
    def producer():
        with dwell.region("producer"):
            while True:
                yield

    with dwell.region("other"):
        next(producer())
        gc.collect()
        with dwell.region("child"):
            pass
    assert recording.counts() == {
        ("other",): 1,
        ("other", "producer"): 1,
        ("other", "child"): 1,
    }


def test_exception_thrown_into_a_generator(recording):
    def helper():
        with dwell.region("helper"):
            pass

    def producer():
        with dwell.region("producer"):
            try:
                yield
            except KeyError:
                helper()
            yield

    generator = producer()
    next(generator)
    with dwell.region("consumer"):
        generator.throw(KeyError())
    generator.close()
    counts = recording.counts()
    assert counts["producer",] == 1
    assert counts["consumer",] == 1


def test_tasks_have_their_own_stacks(recording):
    async def job(i):
        with dwell.region("job"):
            await asyncio.sleep(0.02)
            with dwell.region("part"):
                await asyncio.sleep(0.01)

    async def main():
        with dwell.region("main"):
            await asyncio.gather(*(job(i) for i in range(100)))

    asyncio.run(main())
    assert recording.counts() == {("main",): 1, ("job",): 100, ("job", "part"): 100}
    row = recording["job"]
    assert row["suspended_ns"] >= 100 * 29_000_000
    assert row["active_ns"] < 100 * 10_000_000


def test_suspended_time_is_near_the_sleeps(recording):
    times = []

    async def job():
        times.append(time.perf_counter_ns())
        with dwell.region("job"):
            spin(0.02)
            times.append(time.perf_counter_ns())
            await asyncio.sleep(0.02)
            times.append(time.perf_counter_ns())
            spin(0.02)
        times.append(time.perf_counter_ns())

    async def main():
        task = asyncio.create_task(job())
        await asyncio.sleep(0)  # it sleeps now
        time.sleep(0.05)
        await task

    asyncio.run(main())
    row = recording["job"]
    assert 49_000_000 <= row["suspended_ns"] <= times[2] - times[1]
    assert 40_000_000 <= row["active_ns"] <= times[3] - times[0] - row["suspended_ns"]


def test_async_iter_proxy(recording):
    async def ticks():
        for i in range(3):
            await asyncio.sleep(0.01)
            yield i

    async def main():
        return [item async for item in dwell.iter_proxy(ticks(), "tick")]

    assert asyncio.run(main()) == [0, 1, 2]
    row = recording["tick"]
    assert row["count"] == 3
    assert row["total_ns"] >= 29_000_000


def test_region_in_a_context_manager_belongs_to_the_with_statement(recording):
    @contextlib.contextmanager
    def timed(name):
        with dwell.region(name):
            yield

    with timed("outer"), dwell.region("inner"):
        time.sleep(0.01)
    assert recording.counts() == {("outer",): 1, ("outer", "inner"): 1}
    assert recording["outer"]["suspended_ns"] == 0


def test_context_manager_of_a_coroutine_sleeps_with_it(recording):
    @contextlib.contextmanager
    def timed(name):
        with dwell.region(name):
            yield

    class Timed:
        def __init__(self, name):
            self.region = dwell.region(name)

        def __enter__(self):
            return self.region.__enter__()

        def __exit__(self, *exception):
            return self.region.__exit__(*exception)

    async def job(manager):
        with manager("job"):
            await asyncio.sleep(0.02)
            with dwell.region("part"):
                pass

    async def stacked():
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(dwell.region("stacked"))
            await asyncio.sleep(0.02)

    async def main():
        jobs = (job(timed), job(Timed), stacked(), job(timed))
        tasks = [asyncio.create_task(job) for job in jobs]
        await asyncio.sleep(0)  # all of them sleep now
        time.sleep(0.02)
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert recording.counts() == {("job",): 3, ("job", "part"): 3, ("stacked",): 1}
    assert recording["job"]["suspended_ns"] >= 3 * 19_000_000


def test_async_context_manager_belongs_to_the_with_statement(recording):
    @contextlib.asynccontextmanager
    async def timed(name):
        with dwell.region(name):
            await asyncio.sleep(0.005)
            yield

    async def job():
        async with timed("outer"):
            await asyncio.sleep(0.01)
            with dwell.region("inner"):
                pass

    async def main():
        await asyncio.gather(job(), job())

    asyncio.run(main())
    assert recording.counts() == {("outer",): 2, ("outer", "inner"): 2}


def test_generator_that_moves_to_another_thread(recording):
    def producer():
        with dwell.region("producer"):
            yield 1
            with dwell.region("step"):
                yield 2

    generator = producer()
    next(generator)
    thread = threading.Thread(target=lambda: list(generator))
    with dwell.region("main"):
        thread.start()
        thread.join()
    assert recording.counts() == {
        ("main",): 1,
        ("producer",): 1,
        ("producer", "step"): 1,
    }


def test_progress_in_a_coroutine(recording):
    async def job():
        for _ in dwell.progress(range(2), "steps"):
            await asyncio.sleep(0.01)

    async def main():
        await asyncio.gather(job(), job())

    asyncio.run(main())
    assert recording.counts() == {("steps",): 4}


def test_a_profile_function_of_somebody_else_is_left_alone(recording):
    calls = []

    def other(frame, event, arg):
        calls.append(event)

    def producer():
        with dwell.region("producer"):
            yield

    sys.setprofile(other)
    try:
        list(producer())
        assert sys.getprofile() is other
    finally:
        sys.setprofile(None)
    assert "call" in calls
    assert recording.counts() == {("producer",): 1}


def test_suspended_time_never_exceeds_the_total(recording):
    async def ticks():
        yield 1
        await asyncio.sleep(0.05)  # then the end: an entry that is none

    @dwell.func(as_global=True)
    async def nested(depth):
        await asyncio.sleep(0.02)
        if depth:
            await nested(depth - 1)

    async def main():
        async for _ in dwell.iter_proxy(ticks(), "tick"):
            pass
        task = asyncio.create_task(nested(2))
        while not task.done():
            await asyncio.sleep(0)
            time.sleep(0.02)  # while it sleeps

    began = time.perf_counter_ns()
    asyncio.run(main())
    took = time.perf_counter_ns() - began
    tick, row = recording["tick"], recording["nested()"]
    assert tick["suspended_ns"] <= tick["total_ns"]
    assert tick["count"] == row["count"] == 1
    assert 59_000_000 <= row["suspended_ns"] <= row["total_ns"] <= took


CPU_PROGRAM = """
import dwell, sys, threading, time

dwell.install(dwell.reporters.SilentReporter(), cpu=True)

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def producer():
    with dwell.region("producer"):
        for _ in range(3):
            spin(0.02)
            yield

def finish(generator):
    for _ in generator:
        spin(0.05)

generator = producer()
next(generator)
spin(0.1)
if "thread" in sys.argv:
    thread = threading.Thread(target=finish, args=(generator,))
    thread.start()
    thread.join()
else:
    finish(generator)
print(0.059 <= dwell.snapshot()["producer"]["cpu_ns"] / 1e9 < 0.09)
"""


def test_cpu_time_of_a_generator_is_its_own(python_program):
    done = python_program(CPU_PROGRAM)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="3.11 does not tell of the other thread")
def test_cpu_time_of_a_generator_that_moves_to_another_thread(python_program):
    done = python_program(CPU_PROGRAM, "thread")
    assert done.stdout == "True\n", done.stderr


def test_a_generator_that_dies_without_a_throw(recording):
    def walk():
        for item in dwell.progress(range(3), "steps"):
            yield item * 2

    generator = walk()
    next(generator)
    del generator
    gc.collect()

    def other():
        with dwell.region("two"):
            yield

    generators = [other() for _ in range(5)]
    for generator in generators:
        next(generator)
    for generator in generators:
        generator.close()
    assert recording.counts() == {("steps",): 1, ("two",): 5}


def test_a_region_left_open_ends_with_its_thread(recording):
    def work():
        dwell.region("forgotten").__enter__()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    while os.path.exists(f"/proc/self/task/{thread.native_id}"):
        time.sleep(0.001)  # join() returns a little before the thread is gone
    first = recording["forgotten"]["total_ns"]
    time.sleep(0.02)
    later = recording["forgotten"]["total_ns"]
    assert abs(later - first) <= first / 1000  # the rate of the clock is known better by now


def test_self_time_of_entries_that_end_out_of_order(recording):
    began = time.perf_counter_ns()
    with dwell.region("P"):
        a, b = dwell.region("A"), dwell.region("B")
        a.__enter__()
        b.__enter__()
        time.sleep(0.02)
        a.__exit__(None, None, None)
        time.sleep(0.02)
        b.__exit__(None, None, None)
        time.sleep(0.03)
    took = time.perf_counter_ns() - began
    assert 29_000_000 < recording["P"]["self_ns"] <= took - 40_000_000
    assert recording["A"]["self_ns"] <= took - 70_000_000


def test_threads_may_end_while_other_recordings_begin(python_program):
    """The system's thread ends some time after Python's."""
    done = python_program(
        "import _thread\n"
        "from dwell import _core, region\n"
        "def work(lock):\n"
        "    with region('work'):\n"
        "        pass\n"
        "    lock.release()\n"
        "for _ in range(2000):\n"
        "    _core.start()\n"
        "    locks = [_thread.allocate_lock() for _ in range(4)]\n"
        "    for lock in locks:\n"
        "        lock.acquire()\n"
        "        _thread.start_new_thread(work, (lock,))\n"
        "    for lock in locks:\n"
        "        lock.acquire()\n"
        "    _core.stop()\n"
        "print('ended')\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
