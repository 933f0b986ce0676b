# SPDX-License-Identifier: MIT
"""What a Dask worker does beside its tasks: transfer, serialisation, spill.

What runs for one of them has a label, `activity`. How long each lasted on the clock Dask measures
itself, where an event loop waits for several of them at once.
"""

import importlib
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from .._labels import label

_PLACES = {
    "serialisation": (
        *("distributed.protocol.serialize:serialize_and_split",),
        *("distributed.protocol.serialize:merge_and_deserialize",),
        *("distributed.protocol.compression:maybe_compress",),
        *("distributed.protocol.compression:decompress_frames",),
    ),
    "spill": ("distributed.spill:Slow.__getitem__", "distributed.spill:Slow.__setitem__"),
}
_METERS = {  # of Dask, by what it calls them
    **dict.fromkeys(("network", "network-read", "network-write"), "transfer"),
    **dict.fromkeys(("serialize", "deserialize", "compress", "decompress"), "serialisation"),
    **dict.fromkeys(("disk-read", "disk-write"), "spill"),
    **dict.fromkeys(("thread-cpu", "thread-noncpu"), "task"),
}
_lock = threading.Lock()
_users = 0
_undo: list[Callable[[], None]] = []


def begin() -> None:
    """Labels what this process does, for one worker more."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            for activity, places in _PLACES.items():
                for place in places:
                    _label(place, activity)


def end() -> None:
    """For one worker less. After the last one, all is as it was."""
    global _users
    with _lock:
        _users -= 1
        while not _users and _undo:
            _undo.pop()()


def _label(place: str, activity: str) -> None:
    """A version of Dask that does not have it does without."""
    module, _, name = place.partition(":")
    try:
        owner: Any = importlib.import_module(module)
        *classes, name = name.split(".")
        for inner in classes:
            owner = getattr(owner, inner)
        plain = vars(owner)[name]
    except (ImportError, AttributeError, KeyError):
        return
    labelled = label(activity=activity)(plain)
    _replace(owner, name, plain, labelled)
    if not classes:  # a function has been imported elsewhere, too
        for user_name, user in list(sys.modules.items()):
            if user_name.startswith("distributed."):
                _replace(user, name, plain, labelled)


def _replace(owner: Any, name: str, plain: Any, labelled: Any) -> None:
    if vars(owner).get(name) is plain:
        setattr(owner, name, labelled)
        _undo.append(lambda: setattr(owner, name, plain))


def seconds_of(worker: Any) -> Counter[str]:
    """Of the clock, since the worker began; several tasks at once count each."""
    sums: Counter[str] = Counter()
    for name, value in list(worker.digests_total.items()):
        if isinstance(name, tuple) and name[-1] == "seconds" and name[-2] in _METERS:
            sums[_METERS[name[-2]]] += value
    return sums
