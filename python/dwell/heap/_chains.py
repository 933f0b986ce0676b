# SPDX-License-Identifier: MIT
"""objgraph's chains of references between objects that live."""

import gc
import sys
from collections.abc import Callable, Collection, Iterable
from typing import Any

from .. import _core

Predicate = Callable[[Any], bool]


def is_proper_module(obj: object) -> bool:
    """Whether it is a module that sys.modules has under its name."""
    return isinstance(obj, type(sys)) and sys.modules.get(getattr(obj, "__name__", "")) is obj


def find_ref_chain(
    obj: object, predicate: Predicate, max_depth: int = 20, extra_ignore: Collection[int] = ()
) -> list[Any]:
    """The shortest chain from an object to one that the predicate accepts, or the object."""
    came_from: dict[int, object] = {id(obj): None}
    level = [obj]
    for _ in range(max_depth + 1):
        for found in level:
            if predicate(found):
                return _chain_to(found, came_from)
        level = [
            _came(held, holder, came_from)
            for holder in level
            for held in _core.heap_referents(holder)
            if id(held) not in came_from and id(held) not in extra_ignore
        ]
    return [obj]


def find_backref_chain(
    obj: object, predicate: Predicate, max_depth: int = 20, extra_ignore: Collection[int] = ()
) -> list[Any]:
    """The shortest chain to an object from one that the predicate accepts, or the object."""
    if predicate(obj):
        return [obj]
    picture = _core.HeapSnapshot()
    level = [picture.find(id(obj))]
    leads_to = dict.fromkeys(level, 0)
    for _ in range(max_depth if level[0] else 0):
        holders = {a: b for a, b in picture.referrers(level) if a not in leads_to}
        level = []
        for node, holder in zip(holders, picture.alive(list(holders)), strict=True):
            if holder is None or id(holder) in extra_ignore:
                continue
            level.append(node)
            leads_to[node] = holders[node]
            if predicate(holder):
                return _alive_chain(picture, node, leads_to) or [obj]
    return [obj]


def at(address: int) -> object:
    """The object that is at an address, if the garbage collector tracks one there; else None."""
    return next(iter(at_addrs([address])), None)


def at_addrs(address_set: Iterable[int]) -> list[Any]:
    """The objects that are at some addresses and that the garbage collector tracks."""
    wanted = set(address_set)
    return [obj for obj in gc.get_objects() if id(obj) in wanted]


def _came(held: object, holder: object, came_from: dict[int, object]) -> object:
    came_from[id(held)] = holder
    return held


def _chain_to(found: object, came_from: dict[int, object]) -> list[Any]:
    chain = [found]
    while (before := came_from[id(chain[-1])]) is not None:
        chain.append(before)
    return chain[::-1]


def _alive_chain(picture: _core.HeapSnapshot, node: int, leads_to: dict[int, int]) -> list[Any]:
    nodes = [node]
    while leads_to[nodes[-1]]:
        nodes.append(leads_to[nodes[-1]])
    objects = picture.alive(nodes)
    return [] if any(o is None for o in objects) else objects
