# SPDX-License-Identifier: MIT
"""@dwell.func() on every kind of function keeps what it decorates and measures the body."""

import asyncio
import inspect
import time

import pytest

import dwell


def test_plain_function_keeps_its_signature_and_name(recording):
    @dwell.func()
    def add(a: int, b: int = 2) -> int:
        """Adds."""
        return a + b

    assert add(1) == 3
    assert str(inspect.signature(add)) == "(a: int, b: int = 2) -> int"
    assert (add.__name__, add.__doc__) == ("add", "Adds.")
    assert recording.counts() == {("add()",): 1}


def test_methods_of_every_kind(recording):
    class Thing:
        @dwell.func()
        def method(self, x):
            return self, x

        @dwell.func()
        @classmethod
        def on_class(cls):
            return cls

        @classmethod
        @dwell.func("named")
        def on_class_inside(cls):
            return cls

        @dwell.func()
        @staticmethod
        def static(x):
            return x

    thing = Thing()
    assert thing.method(1) == (thing, 1)
    assert thing.on_class() is Thing.on_class() is thing.on_class_inside() is Thing
    assert thing.static(3) == Thing.static(3) == 3
    assert recording.counts() == {
        ("method()",): 1,
        ("on_class()",): 2,
        ("named()",): 1,
        ("static()",): 2,
    }


def test_one_decorator_for_several_functions(recording):
    decorate = dwell.func()
    first, second = decorate(lambda: 1), decorate(len)
    assert (first(), second("ab")) == (1, 2)
    assert recording.tree() == [("<lambda>()",), ("len()",)]


def test_generator_measures_the_body(recording):
    @dwell.func()
    def numbers(n):
        for i in range(n):
            time.sleep(0.005)
            with dwell.region("inner"):
                pass
            yield i
        return "done"

    assert inspect.isgeneratorfunction(numbers)
    began = time.perf_counter_ns()
    for _ in numbers(3):
        with dwell.region("consumer"):
            time.sleep(0.01)
    took = time.perf_counter_ns() - began
    row = recording["numbers()"]
    assert recording.counts() == {
        ("numbers()",): 1,
        ("numbers()", "inner"): 3,
        ("consumer",): 3,
    }
    assert row["suspended_ns"] >= 29_000_000
    assert 14_000_000 < row["active_ns"] <= took - row["suspended_ns"]


def test_generator_protocol_passes_through(recording):
    @dwell.func()
    def echo():
        caught = []
        try:
            while True:
                try:
                    caught.append((yield len(caught)))
                except KeyError as error:
                    caught.append(error)
        finally:
            caught.append("closed")
            result.extend(caught)

    result: list = []
    generator = echo()
    assert next(generator) == 0
    assert generator.send("a") == 1
    assert generator.throw(KeyError("k")) == 2
    generator.close()
    assert [str(item) for item in result] == ["a", "'k'", "closed"]
    assert recording.counts() == {("echo()",): 1}


def test_generator_returns_its_value(recording):
    @dwell.func()
    def inner():
        yield 1
        return "value"

    def outer():
        return (yield from inner())

    generator = outer()
    next(generator)
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "value"


def test_coroutine_measures_the_body(recording):
    awake = []

    @dwell.func()
    async def work():
        await asyncio.sleep(0.01)
        began = time.perf_counter_ns()
        time.sleep(0.01)
        awake.append(time.perf_counter_ns() - began)
        return 5

    async def main():
        task = asyncio.create_task(work())
        await asyncio.sleep(0)  # it is suspended from here on
        time.sleep(0.03)
        return await task

    assert inspect.iscoroutinefunction(work)
    began = time.perf_counter_ns()
    assert asyncio.run(main()) == 5
    took = time.perf_counter_ns() - began
    row = recording["work()"]
    assert row["count"] == 1
    assert row["suspended_ns"] >= 29_000_000
    assert awake[0] <= row["active_ns"] <= took - row["suspended_ns"]


def test_async_generator_passes_everything_through(recording):
    log = []

    @dwell.func()
    async def stream():
        try:
            got = yield 1
            log.append(got)
            try:
                yield 2
            except KeyError:
                log.append("thrown")
            yield 3
        finally:
            log.append("closed")

    async def main():
        generator = stream()
        assert inspect.isasyncgenfunction(stream)
        assert await anext(generator) == 1
        assert await generator.asend("sent") == 2
        assert await generator.athrow(KeyError()) == 3
        await generator.aclose()
        return [item async for item in stream()]

    assert asyncio.run(main()) == [1, 2, 3]
    assert log == ["sent", "thrown", "closed", None, "closed"]
    assert recording.counts() == {("stream()",): 2}


def test_decorated_before_install_counts_after(python_program):
    done = python_program("""
import dwell

@dwell.func()
def work():
    pass

work()
dwell.install(dwell.reporters.SilentReporter())
work()
print(dwell.snapshot()["work()"]["count"])
""")
    assert done.stdout == "1\n", done.stderr
