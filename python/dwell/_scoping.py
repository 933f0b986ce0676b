# SPDX-License-Identifier: MIT
"""Which members of a class or module belong to it, for adding all of them to a profiler."""

import enum
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ._line_targets import functions_of


class ScopingPolicy(enum.StrEnum):
    """How far to go from a class or module: EXACT takes the functions defined in it and
    enters nothing; CHILDREN also enters what is directly in it; DESCENDANTS what is in that;
    SIBLINGS also what is defined beside it; NONE takes all that can be reached."""

    EXACT = "exact"
    CHILDREN = "children"
    DESCENDANTS = "descendants"
    SIBLINGS = "siblings"
    NONE = "none"


_DEFAULT = {"func": "siblings", "class": "siblings", "module": "exact"}


def _policies(policy: Any) -> dict[str, ScopingPolicy]:
    given = policy if isinstance(policy, dict) else dict.fromkeys(_DEFAULT, policy or "")
    names = {kind: given.get(kind) or default for kind, default in _DEFAULT.items()}
    return {kind: ScopingPolicy(name) for kind, name in names.items()}


def _place(thing: Any) -> str:
    """Where something is defined, as module.qualname; of a module its name."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    return f"{getattr(thing, '__module__', '?')}.{getattr(thing, '__qualname__', '?')}"


def _is_in_scope(space: str, place: str, policy: ScopingPolicy) -> bool:
    parent = place.rpartition(".")[0]
    if policy is ScopingPolicy.NONE:
        return True
    if policy in (ScopingPolicy.EXACT, ScopingPolicy.CHILDREN):
        return parent == space
    if policy is ScopingPolicy.SIBLINGS:
        space = space.rpartition(".")[0] or space
    return place.startswith(space + ".")


def _kind(member: Any) -> str:
    if isinstance(member, type):
        return "class"
    return "module" if isinstance(member, ModuleType) else "func"


def members_in_scope(space: Any, policy: Any) -> Iterator[tuple[str, Any]]:
    """(name, member): functions to profile, and classes and modules to enter."""
    policies = _policies(policy)
    where = _place(space)
    for name, member in list(vars(space).items()):
        kind = _kind(member)
        enters = kind != "func"
        if enters and policies[kind] is ScopingPolicy.EXACT:
            continue
        places = [_place(member)] if enters else [_place(f) for f in functions_of(member)]
        if any(_is_in_scope(where, place, policies[kind]) for place in places):
            yield name, member
