# SPDX-License-Identifier: MIT
"""Labels: where they are current, and how they end."""

import asyncio
import contextvars
import gc
import inspect
import random
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

import dwell
from dwell import _core

other = contextvars.ContextVar("other", default=None)


def nothing_is_left() -> bool:
    return dwell.labels() == {}


@pytest.fixture(autouse=True)
def in_a_context_of_its_own():
    assert nothing_is_left()
    yield
    assert nothing_is_left()


def test_inner_labels_add_to_outer_ones_and_win():
    with dwell.label(endpoint="/x", user=3):
        assert dwell.labels() == {"endpoint": "/x", "user": "3"}
        with dwell.label(user=4, shard="b"):
            assert dwell.labels() == {"endpoint": "/x", "shard": "b", "user": "4"}
        assert dwell.labels() == {"endpoint": "/x", "user": "3"}


def test_an_exception_passes_and_ends_the_label():
    with pytest.raises(KeyError, match="mine"), dwell.label(a=1):
        raise KeyError("mine")
    assert nothing_is_left()


def test_a_label_is_reusable_and_reentrant():
    label = dwell.label(a=1)
    for _ in range(3):
        with label as entered, dwell.label(b=2), label:
            assert entered is label
            assert dwell.labels() == {"a": "1", "b": "2"}
        assert nothing_is_left()


def test_a_label_ends_as_often_as_it_began():
    label = dwell.label(a=1)
    with label:
        with label:
            pass
        assert dwell.labels() == {"a": "1"}


def test_very_deep_recursion():
    label, depth = dwell.label(a=1), 200_000
    for _ in range(depth):
        label.__enter__()
    assert dwell.labels() == {"a": "1"}
    context = contextvars.copy_context()
    for _ in range(depth):
        label.__exit__(None, None, None)
    assert nothing_is_left()
    del context, label  # the chain goes as a whole


def test_values_are_texts():
    class Shown:
        def __str__(self):
            return "shown"

    with dwell.label(a=Shown(), b=None, c=1.5, d="ä\udcff€"):
        assert dwell.labels() == {"a": "shown", "b": "None", "c": "1.5", "d": "ä\udcff€"}


def test_a_value_that_changes_is_read_at_each_call():
    class Counter:
        count = 0

        def __str__(self):
            self.count += 1
            return str(self.count)

    counter = Counter()
    for i in ("1", "2"):
        with dwell.label(n=counter):
            assert dwell.labels() == {"n": i}


def test_a_value_without_text_is_the_callers_error():
    class Broken:
        def __str__(self):
            raise OSError("no text")

    with pytest.raises(OSError, match="no text"):
        dwell.label(a=1, b=Broken())


@pytest.mark.parametrize("key", ["region", "task", "thread", "process", "host"])
def test_reserved_names_are_refused(key):
    with pytest.raises(ValueError, match=f"'{key}' cannot be the name of a label"):
        dwell.label(**{key: 1})


def test_wrong_arguments_are_told():
    with pytest.raises(ValueError, match="must be an identifier, not 'a b'"):
        dwell.label(**{"a b": 1})
    for wrong in (lambda: dwell.label(), lambda: dwell.label("x")):
        with pytest.raises(TypeError, match="takes labels by name"):
            wrong()
    with pytest.raises(TypeError, match="decorates functions, not int"):
        dwell.label(a=1)(3)
    with pytest.raises(TypeError, match="for 'with', or decorates"):
        dwell.label(a=1)(1, 2)


def test_the_type_can_be_used_as_contextlib_does():
    label = dwell.label(a=1)
    type(label).__enter__(label)
    assert dwell.labels() == {"a": "1"}
    type(label).__exit__(label, None, None, None)
    with pytest.raises(TypeError, match="must be a Label"):
        type(label).__enter__(dwell.region("r"))
    assert repr(label) == "<dwell label {'a': '1'}>"


def test_blocks_that_end_in_another_order_leave_nothing_behind():
    def holder():
        with dwell.label(held="yes"):
            yield
            yield

    generator = holder()
    next(generator)
    with dwell.label(mine="yes"):
        generator.close()
        assert dwell.labels() == {"mine": "yes"}


def test_a_label_that_ends_in_another_context_does_no_harm():
    label = dwell.label(a=1)
    with label:
        contextvars.Context().run(label.__exit__, None, None, None)
        assert dwell.labels() == {"a": "1"}


# --- decorators


def test_a_decorated_function_keeps_its_kind_and_signature():
    @dwell.label(a=1)
    def plain(x: int, *, y=2):
        """Doc."""
        return dwell.labels(), x, y

    assert plain(1, y=3) == ({"a": "1"}, 1, 3)
    assert plain.__name__ == "plain" and plain.__doc__ == "Doc."
    assert str(inspect.signature(plain)) == "(x: int, *, y=2)"


def test_decorated_methods():
    class Thing:
        @dwell.label(a=1)
        def method(self):
            return dwell.labels()

        @dwell.label(a=2)
        @staticmethod
        def static():
            return dwell.labels()

        @dwell.label(a=3)
        @classmethod
        def of_class(cls):
            return dwell.labels()

    assert [Thing().method(), Thing.static(), Thing.of_class()] == [
        {"a": "1"},
        {"a": "2"},
        {"a": "3"},
    ]


def test_a_decorated_generator_has_the_label_only_while_it_runs():
    seen = []

    @dwell.label(a=1)
    def numbers():
        seen.append(dwell.labels())
        try:
            sent = yield 1
        except KeyError:
            seen.append(dwell.labels())
            sent = yield 2
        seen.append((sent, dwell.labels()))
        return "end"

    assert inspect.isgeneratorfunction(numbers)
    generator = numbers()
    assert next(generator) == 1 and nothing_is_left()
    assert generator.throw(KeyError()) == 2 and nothing_is_left()
    with pytest.raises(StopIteration) as end:
        generator.send("sent")
    assert end.value.value == "end"
    assert seen == [{"a": "1"}, {"a": "1"}, ("sent", {"a": "1"})]


def test_a_decorated_generator_is_closed_with_the_label():
    seen = []

    @dwell.label(a=1)
    def numbers():
        try:
            yield 1
        finally:
            seen.append(dwell.labels())

    generator = numbers()
    next(generator)
    generator.close()
    assert seen == [{"a": "1"}] and nothing_is_left()


def test_a_decorated_coroutine():
    @dwell.label(a=1)
    async def work():
        await asyncio.sleep(0)
        return dwell.labels()

    async def main():
        result = await work()
        return result, dwell.labels()

    assert inspect.iscoroutinefunction(work)
    assert asyncio.run(main()) == ({"a": "1"}, {})


def test_a_decorated_async_generator():
    seen = []

    @dwell.label(a=1)
    async def numbers():
        try:
            for i in range(3):
                await asyncio.sleep(0)
                sent = yield i, dwell.labels()
                seen.append(sent)
        finally:
            seen.append(dwell.labels())

    async def main():
        generator = numbers()
        items = [await anext(generator), dwell.labels(), await generator.asend("s")]
        await generator.aclose()
        whole = [item async for item in numbers()]
        return items, whole, dwell.labels()

    assert inspect.isasyncgenfunction(numbers)
    items, whole, after = asyncio.run(main())
    a = {"a": "1"}
    assert items == [(0, a), {}, (1, a)] and after == {}
    assert whole == [(0, a), (1, a), (2, a)]
    assert seen == ["s", a, None, None, None, a]


# --- carried


async def labelled(n: int) -> bool:
    with dwell.label(n=n):
        for _ in range(5):
            await asyncio.sleep(0)
            if dwell.labels() != {"n": str(n), "outer": "yes"}:
                return False
    return dwell.labels() == {"outer": "yes"}


def test_tasks_have_the_labels_of_their_maker_and_their_own():
    async def main():
        with dwell.label(outer="yes"):
            return await asyncio.gather(*(labelled(n) for n in range(50)))

    assert all(asyncio.run(main()))


def test_task_groups():
    async def main():
        with dwell.label(outer="yes"):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(labelled(n)) for n in range(10)]
        return [task.result() for task in tasks], dwell.labels()

    results, after = asyncio.run(main())
    assert all(results) and after == {}


def test_a_task_keeps_its_labels_when_its_maker_goes_on():
    async def late(event):
        await event.wait()
        return dwell.labels()

    async def main():
        event = asyncio.Event()
        with dwell.label(a=1):
            task = asyncio.create_task(late(event))
            await asyncio.sleep(0)
        with dwell.label(b=2):
            event.set()
            return await task

    assert asyncio.run(main()) == {"a": "1"}


def test_copied_contexts():
    with dwell.label(a=1):
        context = contextvars.copy_context()
    assert context.run(dwell.labels) == {"a": "1"}
    assert contextvars.Context().run(dwell.labels) == {}


def test_to_thread_and_run_in_executor():
    async def main():
        loop = asyncio.get_running_loop()
        with dwell.label(a=1):
            results = [
                await asyncio.to_thread(dwell.labels),
                await loop.run_in_executor(None, dwell.labels),
            ]
        return [*results, await loop.run_in_executor(None, dwell.labels)]

    assert asyncio.run(main()) == [{"a": "1"}, {"a": "1"}, {}]


def test_executors_carry_labels_and_nothing_else_of_a_context():
    def work(x):
        return dwell.labels(), other.get(), x

    token = other.set("mine")
    with ThreadPoolExecutor(1) as executor:
        with dwell.label(a=1):
            submitted = executor.submit(work, x=1)
            mapped = executor.map(work, [2, 3])
        assert submitted.result()[0] == {"a": "1"} and submitted.result()[2] == 1
        assert [labels for labels, _, _ in mapped] == [{"a": "1"}] * 2
        assert executor.submit(work, 4).result()[0] == {}
    inherits = getattr(sys.flags, "thread_inherit_context", False)
    assert submitted.result()[1] == ("mine" if inherits else None)
    other.reset(token)


def test_an_exception_of_submitted_work_is_its_own():
    def work():
        dwell.label(left="open").__enter__()
        raise LookupError("work")

    with ThreadPoolExecutor(1) as executor:
        with dwell.label(a=1):
            future = executor.submit(work)
        with pytest.raises(LookupError, match="work"):
            future.result()
        assert executor.submit(dwell.labels).result() == {}


def test_subclasses_of_executors_see_their_own_function():
    submitted = []

    class Mine(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            submitted.append(fn)
            return super().submit(fn, *args, **kwargs)

    with Mine(1) as executor, dwell.label(a=1):
        assert executor.submit(dwell.labels).result() == {"a": "1"}
    assert submitted == [dwell.labels]


def test_submit_is_as_it_was():
    assert ThreadPoolExecutor.submit.__doc__ == Executor.submit.__doc__
    assert str(inspect.signature(ThreadPoolExecutor.submit)) == "(self, fn, /, *args, **kwargs)"
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'fn'"):
            executor.submit()
        with dwell.label(a=1), pytest.raises(TypeError, match="not callable"):
            executor.submit(3).result()


def test_what_is_carried_answers_for_the_function():
    def work():
        """Doc."""

    assert _core.carry(work) is work
    with dwell.label(a=1):
        carried = _core.carry(work)
    assert carried is not work and callable(carried)
    assert carried.__name__ == "work" and carried.__doc__ == "Doc." and repr(carried) == repr(work)


def test_plain_threads_begin_without_labels():
    seen = []
    with dwell.label(a=1):
        thread = threading.Thread(target=lambda: seen.append(dwell.labels()))
        thread.start()
        thread.join()
    inherits = getattr(sys.flags, "thread_inherit_context", False)
    assert seen == [{"a": "1"} if inherits else {}]


def test_threads_share_a_label_without_harm():
    label, rounds, problems = dwell.label(shared="yes"), 2000, []

    def work(n):
        mine = dwell.label(n=n)
        for _ in range(rounds):
            with label, mine, label:
                if dwell.labels() != {"shared": "yes", "n": str(n)}:
                    problems.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_greenlets_have_labels_of_their_own():
    gevent = pytest.importorskip("gevent")
    problems = []

    def work(n):
        with dwell.label(n=n):
            for _ in range(20):
                gevent.sleep(0)
                if dwell.labels() != {"n": str(n)}:
                    problems.append(n)

    gevent.joinall([gevent.spawn(work, n) for n in range(20)], raise_error=True)
    assert problems == []


# --- what dwell leaves alone


def test_other_variables_of_a_context_are_left_alone():
    others = [contextvars.ContextVar(f"v{i}") for i in range(100)]
    for i, variable in enumerate(others):
        with dwell.label(i=i):
            token = variable.set(i)
    assert [variable.get() for variable in others] == list(range(100))
    with dwell.label(a=1):
        others[0].reset(token) if others[0] is token.var else token.var.reset(token)
    assert others[-1].get(None) is None and others[0].get() == 0


def test_objects_in_other_variables_die_when_they_would():
    class Thing:
        pass

    label, thing = dwell.label(a=1), Thing()
    died = weakref.ref(thing)
    with label:
        token = other.set(thing)
        with label:
            pass
        del thing
        other.reset(token)
        del token
        gc.collect()
        assert died() is None


def test_a_context_that_is_copied_back_by_hand_brings_labels():
    def inside():
        dwell.label(a=1).__enter__()
        return contextvars.copy_context()

    def outside():
        for variable, value in contextvars.Context().run(inside).items():
            variable.set(value)
        return dwell.labels()

    assert contextvars.copy_context().run(outside) == {"a": "1"}


@pytest.mark.parametrize("count", [0, 3, 20, 300])
def test_a_copy_of_a_context_and_the_context_do_not_touch_each_other(count):
    variables = [contextvars.ContextVar(f"v{i}") for i in range(count)]

    def inside():
        for variable in variables:
            variable.set(0)
        with dwell.label(a=1):
            with dwell.label(b=2):
                copy = contextvars.copy_context()
                apart = contextvars.copy_context()
                for variable in [*variables[::7], other]:
                    apart.run(variable.set, 1)  # its tree has most nodes in common with ours
            for context in (copy, apart):
                assert context.run(dwell.labels) == {"a": "1", "b": "2"}
            with dwell.label(c=3):
                assert copy.run(dwell.labels) == apart.run(dwell.labels) == {"a": "1", "b": "2"}
                apart.run(dwell.label(d=4).__enter__)
                assert dwell.labels() == {"a": "1", "c": "3"}
                assert copy.run(dwell.labels) == {"a": "1", "b": "2"}
            assert apart.run(dwell.labels) == {"a": "1", "b": "2", "d": "4"}
        return dwell.labels()

    assert contextvars.Context().run(inside) == {}


def one_id() -> int:
    first, *rest = _core.label_ids()
    assert rest == [first, first]
    return first


def test_all_ways_to_find_the_labels_agree():
    ids = {}
    others = [contextvars.ContextVar(f"w{i}") for i in range(40)]
    chance = random.Random(1)

    def check():
        labels = tuple(sorted(dwell.labels().items()))
        assert ids.setdefault(labels, one_id()) == one_id()

    def step(depth):
        for _ in range(3):
            check()
            with dwell.label(**{chance.choice("abc"): chance.choice("xyz")}):
                check()
                chance.choice(others).set(object())
                check()
                if depth:
                    chance.choice([contextvars.copy_context(), contextvars.Context()]).run(
                        step, depth - 1
                    )
                    check()
            check()

    contextvars.copy_context().run(step, 5)
    assert ids[()] == 0 and len(ids) > 10 and len(set(ids.values())) == len(ids)


def test_one_label_after_another_is_noticed():
    a, b = dwell.label(a=1), dwell.label(b=1)
    a.__enter__()
    first = one_id()
    a.__exit__(None, None, None)
    b.__enter__()  # the tree of the context may be where that of the first was
    assert one_id() not in (0, first)
    b.__exit__(None, None, None)
    assert one_id() == 0


def test_labels_that_somebody_else_puts_are_noticed():
    with dwell.label(a=1):
        copied = contextvars.copy_context()
        expected = one_id()

    def put():
        assert one_id() == 0
        for variable, value in copied.items():
            variable.set(value)
        return one_id()

    assert contextvars.Context().run(put) == expected


def test_nothing_is_touched_before_a_label_is_asked_for():
    code = (
        "import dwell, contextvars\n"
        "from concurrent.futures import ThreadPoolExecutor as T\n"
        "submit = T.submit\n"
        "with dwell.region('r'): T(1).submit(len, '')\n"
        "assert T.submit is submit and not len(contextvars.copy_context())\n"
        "dwell.label\n"
        "assert T.submit is not submit and not len(contextvars.copy_context())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_labels_survive_fork():
    code = (
        "import os, dwell\n"
        "with dwell.label(a=1):\n"
        "    if (child := os.fork()) == 0:\n"
        "        with dwell.label(b=2):\n"
        "            os._exit(dwell.labels() != {'a': '1', 'b': '2'})\n"
        "    assert os.waitpid(child, 0)[1] == 0 and dwell.labels() == {'a': '1'}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_contexts_of_this_python_can_be_read():
    assert _core.label_start() is None
