# SPDX-License-Identifier: MIT
"""Stacks of programs whose frames lie all over memory: coroutines, generators, what C code calls.
None may lack its inner part."""

import time
from collections import Counter
from pathlib import Path

import pytest

from .attached import Attached
from .conftest import MAY_READ, Attach, Start

pytestmark = MAY_READ

# Runs until it is told to go on, and then for ever where nothing has been yet.
HELD = """\
import asyncio, os, sys, threading
def hold():
    print("ready", flush=True)
    while not os.path.exists(sys.argv[1]):
        pass
def leaf():
    print("inside", flush=True)
    while True:
        pass
"""

COROUTINE = """\
async def handler():
    leaf()
async def mid():
    await handler()
async def main():
    asyncio.get_running_loop().call_soon(hold)
    await asyncio.sleep(0)
    await asyncio.gather(mid())
asyncio.run(main())
"""

GENERATOR = """\
def numbers(depth):
    if not depth:
        leaf()
    yield from numbers(depth - 1)
def outer():
    hold()
    return sum(numbers(3))
outer()
"""

CALLBACK = """\
def work():
    hold()
    sorted(map(lambda x: leaf(), [1]))
threading.Thread(target=work).start()
"""

NESTED = """\
def inner(x):
    return max([x], key=lambda y: leaf())
def work():
    hold()
    sorted([1], key=lambda x: list(map(inner, [x])))
work()
"""


def weights(attached: Attached) -> Counter[tuple[str, ...]]:
    """Microseconds of each stack of functions, but for a first thread that waits for another."""
    found: Counter[tuple[str, ...]] = Counter()
    for stack, weight in attached.stacks().items():
        names = tuple(name for name, _ in stack)
        if names[:1] != ("_shutdown",):
            found[names] += weight
    return found


def wait_for(attached: Attached, end: tuple[str, ...], us: int) -> Counter[tuple[str, ...]]:
    """What the recording holds when stacks with that end have that much time."""
    while True:
        found = weights(attached)
        if sum(found[stack] for stack in found if stack[-len(end) :] == end) >= us:
            return found
        assert attached.goes_on()
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("program", "end"),
    [
        (COROUTINE, ("Handle._run", "mid", "handler", "leaf")),
        (GENERATOR, ("outer", "numbers", "numbers", "numbers", "numbers", "leaf")),
        (CALLBACK, ("work", "work.<locals>.<lambda>", "leaf")),
        (
            NESTED,
            ("work", "work.<locals>.<lambda>", "inner", "inner.<locals>.<lambda>", "leaf"),
        ),
    ],
    ids=["coroutine", "generator", "callback", "nested"],
)
def test_a_thread_that_goes_elsewhere_is_followed(
    start: Start, attach: Attach, tmp_path: Path, program: str, end: tuple[str, ...]
):
    """What it was in before says nothing of what it is in now. When the first sample from inside is
    in the file, all those from before are."""
    process = start(HELD + program, str(tmp_path / "go"), sleeps=False)
    attached = attach(process, "--rate", "200", "--duration", "60")
    attached.wait_for_samples()
    (tmp_path / "go").touch()
    assert process.stdout and process.stdout.readline() == "inside\n"
    before = wait_for(attached, end, 1)
    after = wait_for(attached, end, 1_000_000)
    attached.process.terminate()
    attached.wait()
    assert {stack[-len(end) :] for stack in after - before} == {end}
