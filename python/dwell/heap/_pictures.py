# SPDX-License-Identifier: MIT
"""Snapshots of the heap. All work is done by the core; objects are numbers there."""

import os
import sys
import time
from typing import Literal, NamedTuple

from .. import _core
from ._tables import (
    Difference,
    Duplicate,
    Duplicates,
    Holder,
    Holders,
    Roomy,
    Row,
    Spare,
    Types,
    full_name,
    made_at,
)
from ._ways import Step, Way, joined, steps_of

Sort = Literal["retained", "size", "count"]


class _Node(NamedTuple):
    address: int
    module: str
    name: str
    size: int
    retained: int
    dominator: int
    outside: int
    is_garbage: bool

    @property
    def type(self) -> str:
        return full_name(self.module, self.name)


class Taken(NamedTuple):
    """When a snapshot was taken, and why."""

    time: float  # seconds since the epoch
    reason: str
    pid: int


class Snapshot:
    """All objects as they were at one moment. It keeps none of them alive."""

    def __init__(self, picture: _core.HeapSnapshot, taken: Taken, is_live: bool) -> None:
        self._core = picture
        self._is_live = is_live  # of this process, and not loaded
        self._threads = _thread_names() if is_live else {}
        self._types: list[Row] = []
        self.taken = taken

    @property
    def objects(self) -> int:
        """How many objects there were."""
        return self._core.totals()[0]

    @property
    def references(self) -> int:
        return self._core.totals()[1]

    @property
    def size(self) -> int:
        """The bytes of all objects, each as sys.getsizeof counts it."""
        return self._core.totals()[2]

    @property
    def garbage(self) -> tuple[int, int]:
        """Objects, and their bytes, that nothing reaches: the next full collection frees them."""
        return self._core.garbage()

    def types(self, sort: Sort = "size") -> Types:
        """The objects by type: how many, their bytes, and what they retain."""
        if not self._types:
            self._types = _merged(self._core.types())
        column = Row._fields.index(sort)
        return Types(sorted(self._types, key=lambda row: (-row[column], row.type)))  # type: ignore[operator]

    def modules(self) -> Types:
        """The objects by the module that defines their type."""
        rows: dict[str, Row] = {}
        for module, _, count, size in self._core.counts():
            before = rows.get(module, Row(module, 0, 0, 0))
            rows[module] = Row(module, before.count + count, before.size + size, 0)
        return Types(sorted(rows.values(), key=lambda row: (-row.size, row.type)))

    def sizes(self) -> Types:
        """The objects by size, in powers of two."""
        rows = [
            Row(f"{1 << power >> 1}-{(1 << power) - 1}", count, size, 0)
            for power, count, size in self._core.sizes()
            if count
        ]
        return Types(sorted(rows, key=lambda row: -row.size))

    def sites(self, type: str = "") -> Types:
        """The lines that made the objects of a type, or all: those that are known.

        Allocations must be recorded meanwhile, as by dwell run --memory=exact."""
        rows = [
            Row(made_at((function, file, line)), count, size, 0)
            for function, file, line, count, size in self._core.sites(type)
        ]
        return Types(sorted(rows, key=lambda row: (-row.size, row.type)))

    def trash(self, limit: int = 10) -> Holders:
        """Garbage that waits for a collection: what holds the rest of it, the most bytes first."""
        rows = []
        for number in self._core.trash(limit):
            node = self._node(number)
            rows.append(Holder(node.type, node.size, node.retained, "garbage"))
        return Holders(rows)

    def diff(self, other: "Snapshot") -> Difference:
        """What this snapshot has more than another one, by type; the largest change first."""
        now = {row.type: row for row in self.types()}
        then = {row.type: row for row in other.types()}
        rows = []
        for name in {**now, **then}:
            a, b = now.get(name, Row(name, 0, 0, 0)), then.get(name, Row(name, 0, 0, 0))
            row = Row(name, a.count - b.count, a.size - b.size, a.retained - b.retained)
            if any(row[1:]):
                rows.append(row)
        return Difference(sorted(rows, key=lambda row: (-abs(row.size), row.type)))

    def retained(self, obj: object) -> int:
        """The bytes that would be freed if nothing held the object any more."""
        return self._node(self._find(id(obj), type(obj))).retained

    def dominators(self, limit: int = 10) -> Holders:
        """The objects that retain most, with the way that leads to each."""
        return self._holders(self._core.largest(limit))

    def _holders(self, numbers: list[int]) -> Holders:
        rows = []
        for number in numbers:
            node = self._node(number)
            way = self._way(number)
            rows.append(Holder(node.type, node.size, node.retained, way.expression))
        return Holders(rows)

    def path_to_root(self, obj: object) -> Way:
        """A shortest way from a module, a running function or C code to the object."""
        return self._way(self._find(id(obj), type(obj)))

    def duplicates(self, limit: int = 10) -> Duplicates:
        """Strings, bytes and arrays that there are several of; the most bytes that this wastes
        first."""
        found = self._core.duplicates()
        if found is None:
            raise ValueError("duplicates are known of a snapshot(hashes=True) only")
        rows = []
        for number, copies, wasted in sorted(found, key=lambda row: -row[2])[:limit]:
            node = self._node(number)
            rows.append(
                Duplicate(node.type, node.size, copies, wasted, self._way(number).expression)
            )
        return Duplicates(rows)

    def spare(self, limit: int = 10) -> Spare:
        """Room that lists and dictionaries hold and nothing uses; the most of it first."""
        lists, dicts, largest = self._core.spare(limit)
        rows = [Roomy("list", *lists, ""), Roomy("dict", *dicts, "")]
        rows.sort(key=lambda row: -row.spare)
        for number, spare in largest:
            node = self._node(number)
            rows.append(Roomy(node.type, 1, node.size, spare, self._way(number).expression))
        return Spare(rows)

    def __repr__(self) -> str:
        objects, references, size = self._core.totals()
        return f"<Snapshot of {objects} objects, {references} references, {size} bytes>"

    def save(self, path: str | os.PathLike[str], reason: str = "") -> None:
        """Writes it to a file, or into the recording that is written there now.

        Names of references are those of objects that are still there. No values are saved: of
        keys only those that are identifiers, of other keys the type."""
        self._core.save(os.fspath(path), reason or self.taken.reason)

    def holders(self, type: str, limit: int = 10) -> Holders:
        """The objects of a type that retain most, with the way that leads to each."""
        return self._holders(self._core.largest_of(type, limit))

    def _find(self, address: int, cls: type) -> int:
        if not self._is_live:
            raise ValueError("a loaded snapshot knows no objects; holders() has those of a type")
        number = self._core.find(address)
        if not number or self._node(number).name != type.__getattribute__(cls, "__qualname__"):
            raise ValueError("the object was not there when the snapshot was taken")
        return number

    def _node(self, number: int) -> _Node:
        return _Node(*self._core.node(number))

    def _way(self, number: int) -> Way:
        node = self._node(number)
        path = self._core.path(number)
        target = f"{node.type}, {node.size} bytes, retains {node.retained}"
        frame = self._core.frame(path[0]) if path else None
        if not path or (frame and frame[4]):
            return Way(target, "", [], self._alone(node))
        if not self._is_live:
            return Way(
                target, self._core.root(path[0]), self._told(path), self._notes(number, node)
            )
        objects = self._core.alive(path)
        kinds = [self._node(step).type for step in path]
        if frame:
            root, first = self._running(frame), self._core.variable(path[0], path[1]) or ""
            steps = steps_of(objects[1:], kinds[1:], first)
        else:
            root = _root_name(objects[0], kinds[0], self._node(path[0]))
            steps = steps_of(objects, kinds, None)
        return Way(target, root, steps, self._notes(number, node))

    def _told(self, path: list[int]) -> list[Step]:
        """The steps as the file has them."""
        steps = []
        for number in path[1:]:
            name, note = self._core.step(number) or ("", "")
            steps.append(Step(name, self._node(number).type, note))
        return joined(steps)

    def _running(self, frame: tuple[str, str, int, int, bool]) -> str:
        function, file, line, thread, _ = frame
        name = self._threads.get(thread, "")
        where = f" in thread {name}" if name not in ("", "MainThread") else ""
        return f"{function}() at {file.rpartition('/')[2]}:{line}{where}"

    def _alone(self, node: _Node) -> list[str]:
        if node.is_garbage:
            return ["garbage: nothing reaches it, and the next full collection frees it"]
        return ["held by this call only"]

    def _notes(self, number: int, node: _Node) -> list[str]:
        notes = []
        if made := self._core.made(number):
            notes.append(f"made at {made_at(made)}")
        if node.outside <= 0:
            return notes
        held = f"{node.outside} more reference{'s' * (node.outside > 1)}"
        return [*notes, f"{held} from C code, or from an expression that is being evaluated"]


def snapshot(hashes: bool = False) -> Snapshot:
    """A picture of all objects. Nothing is collected before; the program waits meanwhile.

    With hashes of strings, bytes and arrays of NumPy it knows duplicates."""
    taken = Taken(time.time(), "asked for", os.getpid())
    return Snapshot(_core.HeapSnapshot(hashes), taken, True)


def load(path: str | os.PathLike[str], number: int = -1) -> Snapshot:
    """A snapshot of a file: the last one, or that of a number, which counts from 0."""
    return load_all(path)[number]


def load_all(path: str | os.PathLike[str]) -> list[Snapshot]:
    """All snapshots of a file, in the order in which they were taken."""
    return [
        Snapshot(picture, Taken(time_ns / 1e9, reason, pid), False)
        for picture, time_ns, reason, pid in _core.heap_load(os.fspath(path))
    ]


def why(obj: object) -> Way:
    """Why an object is alive: print what this returns."""
    return snapshot().path_to_root(obj)


def _thread_names() -> dict[int, str]:
    threading = sys.modules.get("threading")
    threads = list(getattr(threading, "_active", {}).items())
    return {ident: thread.name for ident, thread in threads}


def _merged(rows: list[tuple[str, str, int, int, int]]) -> list[Row]:
    """Types of one name are one row."""
    merged: dict[str, Row] = {}
    for module, name, *numbers in rows:
        full = full_name(module, name)
        before = merged.get(full, Row(full, 0, 0, 0))
        merged[full] = Row(full, *(a + b for a, b in zip(before[1:], numbers, strict=True)))
    return [row for row in merged.values() if row.count]


def _root_name(root: object, kind: str, node: _Node) -> str:
    if kind == "module":
        return f"module {getattr(root, '__name__', '?')}"
    return f"the interpreter: {kind}" if node.outside < 0 else f"C code: {kind}"
