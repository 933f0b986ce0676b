# SPDX-License-Identifier: MIT
"""What grows and does not stop: types whose objects become more from look to look, with what holds
them; and, where allocations are recorded, the lines that make more and more."""

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
_MORE = 4000  # of which some are of a site
_TYPES = 20  # whose lines are asked for
_STEADY = 0.8  # of the steps in which a type grew, to call it steady
_BUSY = 20  # looks take no more than this part of the time


_Look = dict[str, tuple[int, int]]  # objects and bytes by name


class Leak(NamedTuple):
    """A type that grew steadily."""

    type: str
    grown: int  # objects more than at the first look
    steps: int  # from look to look in which it grew
    size: int  # bytes of what it grew by
    retained: int  # bytes that all objects of the type retain
    holder: str  # the way to most of them; numbers and keys that differ are left out
    site: str  # the line that made most of them; "" when it is not known


class LeakingLine(NamedTuple):
    """A line of which more and more objects are alive."""

    site: str  # file, line and function
    grown: int
    steps: int
    size: int  # bytes of what it grew by
    type: str  # of most of its objects, of those types that grew; "" when none did
    holder: str  # the way to most of those


class Leaks(list[Leak]):
    """Types that grew steadily, the most bytes first; `lines` has those that made what grew, where
    allocations are recorded."""

    looks = 0
    seconds = 0.0

    def __init__(self) -> None:
        self.lines: list[LeakingLine] = []

    def __str__(self) -> str:
        if not self and not self.lines:
            return f"Nothing grew steadily in {self.looks} looks over {self.seconds:.1f} s."
        head = f"What grew steadily in {self.looks} looks over {self.seconds:.1f} s:"
        return "\n".join([head, *self._type_lines(), *self._site_lines()])

    def _site_lines(self) -> list[str]:
        if not self.lines:
            return []
        lines = ["", "Lines of which more and more objects are alive:"]
        lines.append("     Grown     Steps       Size Line")
        for line in self.lines:
            lines.append(f"{line.grown:+10} {line.steps:9} {line.size:10} {line.site}")
            if line.type:
                lines.append(f"           mostly {line.type}, held by {line.holder}")
        return lines

    def _type_lines(self) -> list[str]:
        lines = ["     Grown     Steps       Size   Retained Kind"]
        for leak in self:
            lines.append(
                f"{leak.grown:+10} {leak.steps:9} {leak.size:10} {leak.retained:10} {leak.type}"
            )
            lines.append(f"           held by {leak.holder}")
            if leak.site:
                lines.append(f"           made at {leak.site}")
        return lines

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
        self._looks: list[_Look] = []
        self._site_looks: list[_Look] = []
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
        """Counts the objects of each type, and of each line that made some, as they are now."""
        self._count(_core.HeapSnapshot())

    def _count(self, picture: _core.HeapSnapshot) -> None:
        self._looks.append(_counts(picture))
        self._site_looks.append(_site_counts(picture, ""))

    def find(self) -> Leaks:
        """Takes the last look, and finds what grew up to now."""
        picture = _core.HeapSnapshot()
        self._count(picture)
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
        self.leaks.lines = self._find_lines(picture, [name for name, _ in ranked])
        return self.leaks

    def _find_lines(self, picture: _core.HeapSnapshot, types: list[str]) -> list[LeakingLine]:
        """The lines that grew, those with most bytes first; of types only the first are asked."""
        grown = _grown(self._site_looks)
        ranked = sorted(grown.items(), key=lambda item: -item[1][2])[: self.limit]
        made = {name: _site_counts(picture, name) for name in types[:_TYPES] if ranked}
        lines = []
        for site, (more, steps, size, _) in ranked:
            best = max(made, key=lambda name: made[name].get(site, (0, 0))[1], default="")
            is_known = bool(best) and site in made[best]
            holder = _origin(picture, best, site)[0] if is_known else ""
            lines.append(LeakingLine(site, more, steps, size, best if is_known else "", holder))
        return lines

    def _run(self) -> None:
        assert self.interval
        wait = self.interval
        while not self._end.wait(wait):
            begin = time.monotonic()
            self.look()
            wait = max(self.interval, _BUSY * (time.monotonic() - begin))


def _site_counts(picture: _core.HeapSnapshot, type_name: str) -> _Look:
    """By line, of the objects of a type or of all; nothing where no allocations are recorded."""
    counts: _Look = {}
    for function, file, line, count, size in picture.sites(type_name):
        site = made_at((function, file, line))
        before = counts.get(site, (0, 0))
        counts[site] = (before[0] + count, before[1] + size)
    return counts


def _counts(picture: _core.HeapSnapshot) -> _Look:
    counts: _Look = {}
    for module, name, count, size in picture.counts():
        full = full_name(module, name)
        before = counts.get(full, (0, 0))
        counts[full] = (before[0] + count, before[1] + size)
    return counts


def _grown(looks: list[_Look]) -> dict[str, tuple[int, int, int, int]]:
    """By type, or by line: objects more, steps in which it grew, bytes more, objects at the end.

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


def _origin(picture: _core.HeapSnapshot, name: str, site: str = "") -> tuple[str, str]:
    """What holds most of some objects of the type, and what made most of them. With a site, of
    those that were made there."""
    holders: Counter[str] = Counter()
    sites: Counter[str] = Counter()
    for number in picture.some_of(name, _SAMPLE if not site else _MORE):
        made = picture.made(number)
        maker = made_at(made) if made else ""
        if site and (maker != site or sites.total() >= _SAMPLE):
            continue
        holders[_way(picture, number)] += 1
        if maker:
            sites[maker] += 1
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
