# SPDX-License-Identifier: MIT
"""Tables of types and of single holders; printed as guppy prints them, with one column more."""

from typing import NamedTuple


class Row(NamedTuple):
    type: str
    count: int  # type: ignore[assignment]
    size: int  # bytes, as sys.getsizeof counts them
    retained: int  # bytes that would go with the objects of the type


class Holder(NamedTuple):
    type: str
    size: int
    retained: int
    name: str  # a way to it, as one would write it; else what kind of root holds it


class Duplicate(NamedTuple):
    type: str
    size: int
    copies: int
    wasted: int  # the bytes of all but one
    name: str  # a way to one of them


class Roomy(NamedTuple):
    type: str
    count: int  # type: ignore[assignment]
    size: int
    spare: int  # bytes of it that nothing uses
    name: str  # a way to it; "" in the row of all of a type


def full_name(module: str, name: str) -> str:
    """A type's name with its module, but for those of builtins."""
    return name if module in ("builtins", "") else f"{module}.{name}"


def made_at(made: tuple[str, str, int]) -> str:
    """A function, its file and a line as people write them."""
    function, file, line = made
    return f"{file.rpartition('/')[2]}:{line} ({function})"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:3.0f}" if whole else "  0"


class Types(list[Row]):
    """The objects of a snapshot by type, the largest first."""

    limit = 20  # rows that are printed

    def named(self, name: str) -> Row:
        """The row of a type, by its name with or without the module."""
        for row in self:
            if name in (row.type, row.type.rpartition(".")[2]):
                return row
        return Row(name, 0, 0, 0)

    @property
    def objects(self) -> int:
        return sum(row.count for row in self)

    @property
    def size(self) -> int:
        return sum(row.size for row in self)

    def __str__(self) -> str:
        count, size, cumulative = self.objects, self.size, 0
        lines = [
            f"Partition of a set of {count} objects. Total size = {size} bytes.",
            " Index    Count   %       Size   % Cumulative   %   Retained Kind",
        ]
        for index, row in enumerate(self[: self.limit]):
            cumulative += row.size
            lines.append(
                f"{index:6} {row.count:8} {_share(row.count, count)} {row.size:10}"
                f" {_share(row.size, size)} {cumulative:10} {_share(cumulative, size)}"
                f" {row.retained:10} {row.type}"
            )
        if len(self) > self.limit:
            lines.append(f"<{len(self) - self.limit} more rows>")
        return "\n".join(lines)

    __repr__ = __str__


class Difference(Types):
    """What one snapshot has more than another, or less, by type."""

    def __str__(self) -> str:
        lines = [
            f"{self.objects:+} objects, {self.size:+} bytes.",
            "    Count       Size   Retained Kind",
        ]
        for row in self[: self.limit]:
            lines.append(f"{row.count:+9} {row.size:+10} {row.retained:+10} {row.type}")
        return "\n".join(lines)

    __repr__ = __str__


class Holders(list[Holder]):
    """Single objects by what they retain."""

    def __str__(self) -> str:
        lines = ["  Retained       Size Kind                 Held by"]
        for row in self:
            lines.append(f"{row.retained:10} {row.size:10} {row.type:<20} {row.name}")
        return "\n".join(lines)

    __repr__ = __str__


class Duplicates(list[Duplicate]):
    """Equal strings and bytes."""

    def __str__(self) -> str:
        lines = ["    Wasted   Copies       Size Kind   One is held by"]
        for row in self:
            lines.append(f"{row.wasted:10} {row.copies:8} {row.size:10} {row.type:<6} {row.name}")
        return "\n".join(lines)

    __repr__ = __str__


class Spare(list[Roomy]):
    """Room that nothing uses: a row for each type, then the objects that have most of it."""

    def __str__(self) -> str:
        lines = ["     Spare       Size    Count Kind   Held by"]
        for row in self:
            lines.append(f"{row.spare:10} {row.size:10} {row.count:8} {row.type:<6} {row.name}")
        return "\n".join(lines)

    __repr__ = __str__
