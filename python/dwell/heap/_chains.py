# SPDX-License-Identifier: MIT
"""objgraph's chains of references between objects that live."""

import gc
import sys
import types
from collections.abc import Callable, Collection, Iterable
from typing import Any

from .. import _core

Predicate = Callable[[Any], bool]

_NARROW = 8  # objects whose holders are asked for together


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
    found = _narrow_chain(obj, predicate, max_depth, extra_ignore)
    return found or _wide_chain(obj, predicate, max_depth, extra_ignore)


def _narrow_chain(
    obj: object, predicate: Predicate, max_depth: int, extra_ignore: Collection[int]
) -> list[Any]:
    """While few objects are to be held, asking the collector is cheaper than a snapshot."""
    leads_to: dict[int, object] = {id(obj): None}
    level = [obj]
    for _ in range(max_depth):
        if not 0 < len(level) <= _NARROW:
            break
        holders = gc.get_referrers(*level)
        own = {id(level), id(leads_to)}
        above = []
        for holder in holders:
            if id(holder) in leads_to or id(holder) in own or id(holder) in extra_ignore:
                continue
            if isinstance(holder, types.FrameType):
                continue
            leads_to[id(holder)] = _held_by(holder, level)
            above.append(holder)
            if predicate(holder):
                return _chain_to(holder, leads_to)[::-1]
        level = above
        del holders
    return []


def _held_by(holder: object, level: list[Any]) -> object:
    """Which of a few objects one refers to."""
    if len(level) == 1:
        return level[0]
    wanted = {id(held): held for held in level}
    return next((wanted[id(held)] for held in gc.get_referents(holder) if id(held) in wanted), None)


def _wide_chain(
    obj: object, predicate: Predicate, max_depth: int, extra_ignore: Collection[int]
) -> list[Any]:
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
