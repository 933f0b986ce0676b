# SPDX-License-Identifier: MIT
"""Snapshots of the heap. All work is done by the core; objects are numbers there."""

import sys
from typing import Literal, NamedTuple

from .. import _core
from ._tables import Difference, Duplicate, Duplicates, Holder, Holders, Row, Types
from ._ways import Way, steps_of

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
        return _full_name(self.module, self.name)


def _full_name(module: str, name: str) -> str:
    return name if module in ("builtins", "") else f"{module}.{name}"


class Snapshot:
    """All objects as they were at one moment. It keeps none of them alive."""

    def __init__(self, hashes: bool = False) -> None:
        self._core = _core.HeapSnapshot(hashes)
        self._threads = _thread_names()
        self._types: list[Row] = []

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
        rows = []
        for number in self._core.largest(limit):
            node = self._node(number)
            way = self._way(number)
            rows.append(Holder(node.type, node.size, node.retained, way.expression))
        return Holders(rows)

    def path_to_root(self, obj: object) -> Way:
        """A shortest way from a module, a running function or C code to the object."""
        return self._way(self._find(id(obj), type(obj)))

    def duplicates(self, limit: int = 10) -> Duplicates:
        """Strings and bytes that there are several of; the most bytes that this wastes first."""
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

    def __repr__(self) -> str:
        objects, references, size = self._core.totals()
        return f"<Snapshot of {objects} objects, {references} references, {size} bytes>"

    def _find(self, address: int, cls: type) -> int:
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
        objects = self._core.alive(path)
        kinds = [self._node(step).type for step in path]
        if frame:
            root, first = self._running(frame), self._core.variable(path[0], path[1]) or ""
            steps = steps_of(objects[1:], kinds[1:], first)
        else:
            root = _root_name(objects[0], kinds[0], self._node(path[0]))
            steps = steps_of(objects, kinds, None)
        return Way(target, root, steps, self._outside(node))

    def _running(self, frame: tuple[str, str, int, int, bool]) -> str:
        function, file, line, thread, _ = frame
        name = self._threads.get(thread, "")
        where = f" in thread {name}" if name not in ("", "MainThread") else ""
        return f"{function}() at {file.rpartition('/')[2]}:{line}{where}"

    def _alone(self, node: _Node) -> list[str]:
        if node.is_garbage:
            return ["garbage: nothing reaches it, and the next full collection frees it"]
        return ["held by this call only"]

    def _outside(self, node: _Node) -> list[str]:
        if node.outside <= 0:
            return []
        held = f"{node.outside} more reference{'s' * (node.outside > 1)}"
        return [f"{held} from C code, or from an expression that is being evaluated"]


def snapshot(hashes: bool = False) -> Snapshot:
    """A picture of all objects. Nothing is collected before; the program waits meanwhile.

    With hashes of strings and bytes it knows duplicates."""
    return Snapshot(hashes)


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
        full = _full_name(module, name)
        before = merged.get(full, Row(full, 0, 0, 0))
        merged[full] = Row(full, *(a + b for a, b in zip(before[1:], numbers, strict=True)))
    return [row for row in merged.values() if row.count]


def _root_name(root: object, kind: str, node: _Node) -> str:
    if kind == "module":
        return f"module {getattr(root, '__name__', '?')}"
    return f"the interpreter: {kind}" if node.outside < 0 else f"C code: {kind}"
