# SPDX-License-Identifier: MIT
"""The heap: what is alive, what grows, who holds it.

snapshot() takes a picture of all objects while the program waits once; why() says what keeps an
object alive. The other names are those of objgraph, with the same meaning. docs/heap.md has all.
"""

from ._chains import at, at_addrs, find_backref_chain, find_ref_chain, is_proper_module
from ._counts import (
    by_type,
    count,
    get_new_ids,
    growth,
    most_common_types,
    show_growth,
    show_most_common_types,
    typestats,
)
from ._drawing import show_backrefs, show_chain, show_refs
from ._leaks import Leak, LeakingLine, Leaks, watch
from ._pictures import Snapshot, Taken, load, load_all, snapshot, why
from ._tables import Difference, Duplicates, Holders, Spare, Types
from ._ways import Way

__all__ = [
    "Difference",
    "Duplicates",
    "Holders",
    "Leak",
    "LeakingLine",
    "Leaks",
    "Snapshot",
    "Spare",
    "Taken",
    "Types",
    "Way",
    "at",
    "at_addrs",
    "by_type",
    "count",
    "find_backref_chain",
    "find_ref_chain",
    "get_new_ids",
    "growth",
    "is_proper_module",
    "load",
    "load_all",
    "most_common_types",
    "show_backrefs",
    "show_chain",
    "show_growth",
    "show_most_common_types",
    "show_refs",
    "snapshot",
    "typestats",
    "watch",
    "why",
]
