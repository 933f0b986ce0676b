# SPDX-License-Identifier: MIT
"""objgraph's counts of objects by type. Like there, of what the garbage collector tracks; unlike
there, nothing is collected first."""

import gc
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, TextIO

Filter = Callable[[Any], bool]
_grown: dict[str, int] = {}
_ids: dict[str, dict[str, set[int]]] = {"known": {}, "new": {}}
# What Python remembers when these are first called shall not look like growth.
Counter(map(type, ())), Counter(_ for _ in ()), sorted((), key=len)


def _name(cls: type, shortnames: bool = True) -> str:
    name: str = type.__getattribute__(cls, "__qualname__" if not shortnames else "__name__")
    return name if shortnames else f"{cls.__module__}.{name}"


def typestats(
    objects: Iterable[object] | None = None, shortnames: bool = True, filter: Filter | None = None
) -> dict[str, int]:
    """How many objects there are of each type."""
    chosen = gc.get_objects() if objects is None else objects
    types = Counter(map(type, chosen if filter is None else (o for o in chosen if filter(o))))
    counts: Counter[str] = Counter()
    for cls, number in types.items():
        counts[_name(cls, shortnames)] += number
    return dict(counts)


def count(typename: str, objects: Iterable[object] | None = None) -> int:
    """How many objects there are of a type, by its name with or without the module."""
    return typestats(objects, "." not in typename).get(typename, 0)


def by_type(typename: str, objects: Iterable[object] | None = None) -> list[Any]:
    """The objects of a type, by its name with or without the module."""
    short = "." not in typename
    chosen = gc.get_objects() if objects is None else objects
    return [o for o in chosen if _name(type(o), short) == typename]


def most_common_types(
    limit: int | None = 10,
    objects: Iterable[object] | None = None,
    shortnames: bool = True,
    filter: Filter | None = None,
) -> list[tuple[str, int]]:
    """The types that have most objects."""
    stats = typestats(objects, shortnames, filter)
    return sorted(stats.items(), key=lambda item: -item[1])[:limit]


def show_most_common_types(
    limit: int | None = 10,
    objects: Iterable[object] | None = None,
    shortnames: bool = True,
    file: TextIO | None = None,
    filter: Filter | None = None,
) -> None:
    """Prints the types that have most objects."""
    rows = most_common_types(limit, objects, shortnames, filter)
    width = max((len(name) for name, _ in rows), default=0)
    for name, number in rows:
        print(f"{name:<{width}} {number}", file=file)


def growth(
    limit: int | None = 10,
    peak_stats: dict[str, int] | None = None,
    shortnames: bool = True,
    filter: Filter | None = None,
) -> list[tuple[str, int, int]]:
    """Types with more objects than ever before: name, number, and by how many it grew."""
    peaks = _grown if peak_stats is None else peak_stats
    grown = []
    for name, number in typestats(None, shortnames, filter).items():
        if number > peaks.get(name, 0):
            grown.append((name, number, number - peaks.get(name, 0)))
            peaks[name] = number
    return sorted(grown, key=lambda row: -row[2])[:limit]


def show_growth(
    limit: int | None = 10,
    peak_stats: dict[str, int] | None = None,
    shortnames: bool = True,
    file: TextIO | None = None,
    filter: Filter | None = None,
) -> None:
    """Prints what grew since the last call."""
    rows = growth(limit, peak_stats, shortnames, filter)
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, number, more in rows:
        print(f"{name:<{width}}{number:9} {more:+9}", file=file)


def get_new_ids(
    skip_update: bool = False,
    limit: int | None = 10,
    sortby: Literal["old", "current", "new", "deltas"] = "deltas",
    shortnames: bool | None = None,
    file: TextIO | None = None,
) -> dict[str, set[int]]:
    """Prints types with objects that are new since the last call, and gives their ids by type."""
    if skip_update:
        return _ids["new"]
    before, now = _ids["known"], _ids_by_type(shortnames is not False)
    _ids["known"] = now
    _ids["new"] = new = {name: ids - before.get(name, set()) for name, ids in now.items()}
    rows = []
    for name, ids in now.items():
        old = len(before.get(name, ()))
        rows.append((name, old, len(ids), len(new[name]), len(ids) - old))
    column = ("old", "current", "new", "deltas").index(sortby) + 1
    _show_ids(sorted(rows, key=lambda row: -int(row[column]))[:limit], file)
    return new


def _ids_by_type(shortnames: bool) -> dict[str, set[int]]:
    ids: dict[str, set[int]] = {}
    for obj in gc.get_objects():
        ids.setdefault(_name(type(obj), shortnames), set()).add(id(obj))
    return ids


def _show_ids(rows: list[tuple[str, int, int, int, int]], file: TextIO | None) -> None:
    if not rows:
        return
    width = max(len(row[0]) for row in rows)
    heads = ("Old_ids", "Current_ids", "New_ids", "Count_Deltas")
    line = "=" * (width + 52)
    print(
        line, f"{'Type':<{width}}" + "".join(f"{h:>13}" for h in heads), line, sep="\n", file=file
    )
    for name, old, current, fresh, delta in rows:
        print(f"{name:<{width}}{old:13}{current:13}{fresh:+13}{delta:+13}", file=file)
    print(line, file=file)
