# SPDX-License-Identifier: MIT
"""What grows and does not stop: types whose objects become more from look to look, with what holds
them; and, where allocations are recorded, the lines that make more and more."""

import re
import threading
import time
from collections import Counter
from itertools import pairwise
from typing import NamedTuple, TypeVar

from .. import _core
from ._tables import full_name, made_at
from ._ways import Step, joined

_SAMPLE = 40  # objects of a type that are asked for what holds them
_TYPES = 20  # whose lines are asked for
_LEAST = 1024  # bytes of a line that are worth a look
_LOOKS = 60  # that are remembered; of more, every second is forgotten
_STEADY = 0.8  # of the steps in which a type grew, to call it steady
_STILL = 10_000  # a heap that grows by less than this part is still
_BUSY = 10  # looks take no more than this part of the time

_OWN = __file__.rpartition("/")[0]

_K = TypeVar("_K")
_Sum = tuple[int, int]  # objects, and their bytes
_Site = tuple[str, str, int]  # function, file and line
_Growth = tuple[int, int, int, int]  # objects more, steps, bytes more, objects at the end


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
        self._looks: list[dict[str, _Sum]] = []
        self._site_looks: list[dict[_Site, _Sum]] = []
        self._count = 0
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
        self._look()

    def _look(self) -> _core.HeapSnapshot:
        """What waits for a collection does not count, nor does what this remembers."""
        picture = _core.HeapSnapshot()
        picture.leave_out(picture.find(id(self)))
        self._looks.append(_counts(picture))
        self._site_looks.append(_site_counts(picture, "", _LEAST))
        self._count += 1
        if len(self._looks) > _LOOKS:
            del self._looks[1:-1:2], self._site_looks[1:-1:2]
        return picture

    def find(self) -> Leaks:
        """Takes the last look, and finds what grew up to now."""
        picture = self._look()
        grown, sites = _grown(self._looks), _grown(self._site_looks)
        retained = _retained(picture) if grown else {}
        self.leaks = Leaks()
        self.leaks.looks = self._count
        self.leaks.seconds = time.monotonic() - self._began
        ranked = sorted(grown.items(), key=lambda item: -_weight(item[1], retained.get(item[0], 0)))
        if ranked or sites:
            picture.name()
        for name, (more, steps, size, _) in ranked[: self.limit]:
            site = _site_of(picture, name, sites)
            holder = _holder(picture, name, site)
            made = made_at(site) if site else ""
            self.leaks.append(Leak(name, more, steps, size, retained.get(name, 0), holder, made))
        self.leaks.lines = _lines(picture, sites, [name for name, _ in ranked], self.limit)
        return self.leaks

    def _run(self) -> None:
        assert self.interval
        wait = self.interval
        while not self._end.wait(wait):
            begin = time.monotonic()
            self.look()
            wait = max(self.interval, _BUSY * (time.monotonic() - begin))


def _lines(
    picture: _core.HeapSnapshot, grown: dict[_Site, _Growth], types: list[str], limit: int
) -> list[LeakingLine]:
    """The lines that grew, those with most bytes first; of types only the first are asked."""
    ranked = sorted(grown.items(), key=lambda item: -item[1][2])[:limit]
    made = {name: _site_counts(picture, name, 0) for name in types[:_TYPES] if ranked}
    lines = []
    for site, (more, steps, size, _) in ranked:
        best = max(made, key=lambda name: made[name].get(site, (0, 0))[1], default="")
        kind = best if best and site in made[best] else ""
        holder = _holder(picture, kind, site) if kind else ""
        lines.append(LeakingLine(made_at(site), more, steps, size, kind, holder))
    return lines


def _site_counts(picture: _core.HeapSnapshot, name: str, least: int) -> dict[_Site, _Sum]:
    """By line, of the objects of a type or of all; nothing where no allocations are recorded."""
    return {
        (function, file, line): (count, size)
        for function, file, line, count, size in picture.sites(name)
        if size >= least and not file.startswith(_OWN)
    }


def _counts(picture: _core.HeapSnapshot) -> dict[str, _Sum]:
    counts: dict[str, _Sum] = {}
    for module, name, count, size in picture.counts():
        full = full_name(module, name)
        before = counts.get(full, (0, 0))
        counts[full] = (before[0] + count, before[1] + size)
    return counts


def _grown(looks: list[dict[_K, _Sum]]) -> dict[_K, _Growth]:
    """By type, or by line: objects more, steps in which it grew, bytes more, objects at the end.

    The first look is that of a program that is still beginning, if there are others enough. Steps
    in which there were no more objects than before are those of a program that does nothing."""
    used = looks[1:] if len(looks) > 3 else looks
    totals = [sum(count for count, _ in look.values()) for look in used]
    active = sum(b > a + a // _STILL for a, b in pairwise(totals))
    least = max(_STEADY * active, min(2, len(used) - 1))  # steps
    grown = {}
    for name, (count, size) in used[-1].items():
        numbers = [look.get(name, (0, 0))[0] for look in used]
        steps = sum(b > a for a, b in pairwise(numbers))
        fallen = any(b < a for a, b in pairwise(numbers))
        is_steady = steps >= least
        if is_steady and count > numbers[0] and not (fallen and count < 2 * numbers[0]):
            grown[name] = (count - numbers[0], steps, size - used[0].get(name, (0, 0))[1], count)
    return grown


def _weight(grown: _Growth, retained: int) -> float:
    """What the objects that it grew by retain, about."""
    more, _, size, count = grown
    return max(size, retained * more / max(count, 1))


def _retained(picture: _core.HeapSnapshot) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for module, name, _, _, retained in picture.types():
        sums[full_name(module, name)] += retained
    return sums


def _site_of(picture: _core.HeapSnapshot, name: str, grown: dict[_Site, _Growth]) -> _Site | None:
    """The line that made most of the objects of a type, if it can be one of those that grew."""
    sites = _site_counts(picture, name, 0)
    growing = {site: numbers for site, numbers in sites.items() if site in grown}
    return max(growing or sites, key=lambda site: sites[site][0], default=None)


def _holder(picture: _core.HeapSnapshot, name: str, site: _Site | None) -> str:
    """The way to most of some objects of the type, of those that were made at the line.

    Keys and indexes in which ways differ are left out."""
    numbers = picture.some_of(name, _SAMPLE, *(site or ()))
    exact = [_way(picture, number) for number in numbers]
    ways = [_general(way) for way in exact]
    if not ways:
        return ""
    best, _ = Counter(ways).most_common(1)[0]
    alike = {way for way, general in zip(exact, ways, strict=True) if general == best}
    return alike.pop() if len(alike) == 1 else best


def _general(way: str) -> str:
    return re.sub(r"\[\d+\]", "[…]", re.sub(r"\['\w+'\]", "[<str>]", way))


def _way(picture: _core.HeapSnapshot, number: int) -> str:
    path = picture.path(number)
    if not path:
        return "nothing: it is garbage"
    root = picture.root(path[0])
    steps = joined([Step((picture.step(at) or ("", ""))[0], "") for at in path[1:]])
    names = "".join(step.name or "→" for step in steps)
    is_module = root.startswith("module ")
    return root.removeprefix("module ") + names if is_module else f"{root}: {names}"
