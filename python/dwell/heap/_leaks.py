# SPDX-License-Identifier: MIT
"""What grows and does not stop: types whose objects become more from look to look, with what holds
them and, where allocations are recorded, the line that made them."""

import re
import threading
import time
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from .. import _core
from ._tables import full_name, made_at
from ._ways import Step, joined

_SAMPLE = 40  # objects of a type that are asked for what holds them
_STEADY = 0.8  # of the steps in which a type grew, to call it steady
_BUSY = 20  # looks take no more than this part of the time


class Leak(NamedTuple):
    """A type that grew steadily."""

    type: str
    grown: int  # objects more than at the first look
    steps: int  # from look to look in which it grew
    size: int  # bytes of what it grew by
    retained: int  # bytes that all objects of the type retain
    holder: str  # the way to most of them; numbers and keys that differ are left out
    site: str  # the line that made most of them; "" when it is not known


class Leaks(list[Leak]):
    """Types that grew steadily, the most bytes first."""

    looks = 0
    seconds = 0.0

    def __str__(self) -> str:
        if not self:
            return f"Nothing grew steadily in {self.looks} looks over {self.seconds:.1f} s."
        lines = [
            f"What grew steadily in {self.looks} looks over {self.seconds:.1f} s:",
            "     Grown     Steps       Size   Retained Kind",
        ]
        for leak in self:
            lines.append(
                f"{leak.grown:+10} {leak.steps:9} {leak.size:10} {leak.retained:10} {leak.type}"
            )
            lines.append(f"           held by {leak.holder}")
            if leak.site:
                lines.append(f"           made at {leak.site}")
        return "\n".join(lines)

    __repr__ = __str__


class watch:
    """Looks at the heap again and again; `leaks` has what grew steadily, after the block.

    with heap.watch() as watched:
        ...
    print(watched.leaks)

    Without an interval nothing is looked at but at the begin, at the end, and when look() is
    called."""

    def __init__(self, interval: float | None = 1.0, limit: int = 10) -> None:
        self.interval = interval
        self.limit = limit
        self.leaks = Leaks()
        self._looks: list[dict[str, tuple[int, int]]] = []
        self._began = time.monotonic()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "watch":
        self.look()
        if self.interval:
            self._thread = threading.Thread(target=self._run, name="dwell-watch", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        if self._thread:
            self._thread.join()
        self.find()

    def look(self) -> None:
        """Counts the objects of each type, as they are now."""
        self._looks.append(_counts(_core.HeapSnapshot()))

    def find(self) -> Leaks:
        """Takes the last look, and finds what grew up to now."""
        picture = _core.HeapSnapshot()
        self._looks.append(_counts(picture))
        grown = _grown(self._looks)
        retained = _retained(picture) if grown else {}
        self.leaks = Leaks()
        self.leaks.looks = len(self._looks)
        self.leaks.seconds = time.monotonic() - self._began
        ranked = sorted(grown.items(), key=lambda item: -_weight(item[1], retained.get(item[0], 0)))
        if ranked:
            picture.name()
        for name, (more, steps, size, _) in ranked[: self.limit]:
            holder, site = _origin(picture, name)
            self.leaks.append(Leak(name, more, steps, size, retained.get(name, 0), holder, site))
        return self.leaks

    def _run(self) -> None:
        assert self.interval
        wait = self.interval
        while not self._end.wait(wait):
            begin = time.monotonic()
            self.look()
            wait = max(self.interval, _BUSY * (time.monotonic() - begin))


def _counts(picture: _core.HeapSnapshot) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for module, name, count, size in picture.counts():
        full = full_name(module, name)
        before = counts.get(full, (0, 0))
        counts[full] = (before[0] + count, before[1] + size)
    return counts


def _grown(looks: list[dict[str, tuple[int, int]]]) -> dict[str, tuple[int, int, int, int]]:
    """By type: objects more, steps in which it grew, bytes more, objects at the end.

    The first look is that of a program that is still beginning, if there are others enough."""
    used = looks[1:] if len(looks) > 4 else looks
    grown = {}
    for name, (count, size) in used[-1].items():
        numbers = [look.get(name, (0, 0))[0] for look in used]
        steps = sum(b > a for a, b in pairwise(numbers))
        fallen = any(b < a for a, b in pairwise(numbers))
        is_steady = steps >= _STEADY * (len(used) - 1) and steps > 0
        if is_steady and count > numbers[0] and not (fallen and count < 2 * numbers[0]):
            grown[name] = (count - numbers[0], steps, size - used[0].get(name, (0, 0))[1], count)
    return grown


def _weight(grown: tuple[int, int, int, int], retained: int) -> float:
    """What the objects that it grew by retain, about."""
    more, _, size, count = grown
    return max(size, retained * more / max(count, 1))


def _retained(picture: _core.HeapSnapshot) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for module, name, _, _, retained in picture.types():
        sums[full_name(module, name)] += retained
    return sums


def _origin(picture: _core.HeapSnapshot, name: str) -> tuple[str, str]:
    """What holds most of some objects of the type, and what made most of them."""
    holders: Counter[str] = Counter()
    sites: Counter[str] = Counter()
    for number in picture.some_of(name, _SAMPLE):
        holders[_way(picture, number)] += 1
        if made := picture.made(number):
            sites[made_at(made)] += 1
    held = holders.most_common(1)
    makers = sites.most_common(1)
    return held[0][0] if held else "", makers[0][0] if makers else ""


def _way(picture: _core.HeapSnapshot, number: int) -> str:
    path = picture.path(number)
    if not path:
        return "nothing: it is garbage"
    root = picture.root(path[0]).removeprefix("module ")
    steps = joined([Step((picture.step(at) or ("", ""))[0], "") for at in path[1:]])
    names = "".join(re.sub(r"^\[\d+\]$", "[…]", step.name) or "→" for step in steps)
    return root + (names if picture.root(path[0]).startswith("module ") else f": {names}")
