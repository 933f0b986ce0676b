# SPDX-License-Identifier: MIT
"""What the calls probe itself costs, measured on this machine when it is first asked for."""

import functools
import time
from typing import NamedTuple

from . import _core

_CALLS = 2000
_ROUNDS = 7


class Cost(NamedTuple):
    """Nanoseconds that measuring adds: inside a call's own time, and outside it."""

    python_inside: float
    python_outside: float
    c_inside: float
    c_outside: float


def _callee() -> None:
    pass


def _python_calls() -> None:
    for _ in range(_CALLS):
        _callee()


def _c_calls() -> None:
    for _ in range(_CALLS):
        len("")


@functools.cache
def cost() -> Cost:
    """Measured once, in some milliseconds; nothing else may be profiling calls meanwhile."""
    return Cost(*_measure(_python_calls, "_callee"), *_measure(_c_calls, "<built-in method"))


def _measure(loop: "object", name: str) -> tuple[float, float]:
    plain = profiled = inside = float("inf")
    for _ in range(_ROUNDS):
        plain = min(plain, _timed(loop))
        profiler = _core.CallProfiler()
        profiler._enable(True)
        profiled = min(profiled, _timed(loop))
        profiler.disable()
        for entry in profiler._entries():
            if entry[1].startswith(name) and entry[2] >= _CALLS:
                inside = min(inside, entry[5] * 1e9 / entry[2])
    added = max(profiled - plain, 0.0) / _CALLS
    inside = min(inside, added)
    return inside, added - inside


def _timed(loop: "object") -> float:
    start = time.perf_counter_ns()
    loop()  # type: ignore[operator]
    return float(time.perf_counter_ns() - start)
