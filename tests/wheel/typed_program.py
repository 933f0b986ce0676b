# SPDX-License-Identifier: MIT
"""A program of a user who checks types: `mypy --strict` has no complaints about it."""

from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

import dwell


@dwell.func()
def load(paths: list[Path]) -> int:
    size = 0
    for path in dwell.iter_proxy(paths, "next"):
        with dwell.region("read"):
            size += len(path.read_bytes())
        dwell.count("files")
    return size


@dwell.profile
def squares(count: int) -> Iterator[int]:
    yield from (number * number for number in dwell.progress(range(count)))


@dwell.func("sleep")
async def sleep(seconds: float) -> str:
    return f"{seconds}"


def sample(file: str) -> None:
    dwell.start(file, rate=500)
    snapshot = dwell.stop()
    if snapshot is not None:
        assert_type(snapshot, dwell.Snapshot)
    with dwell.sampling() as measured:
        assert_type(load([]), int)
    print(measured)


def calls() -> dwell.Profile:
    with dwell.Profile() as profile:
        load([])
    assert_type(profile.runcall(load, []), int)
    profile.print_stats("cumulative")
    dwell.plot(profile, "calls.html")
    return profile


def lines() -> dwell.LineStats:
    profiler = dwell.LineProfiler(load)
    with profiler:
        load([])
    profiler.print_stats()
    return profiler.get_stats()


def times() -> None:
    timing = dwell.timeit("sorted(range(9))", repeat=3)
    print(timing.best, dwell.compare(lambda: 1, lambda: 2, repeat=3).warnings)


def main() -> None:
    profiler = dwell.install(log_file="run.dwell")
    assert_type(load([Path(dwell.get_include()) / "dwell.h"]), int)
    assert_type(next(squares(3)), int)
    print(profiler, dwell.snapshot().rows, dwell.__version__)


main()
