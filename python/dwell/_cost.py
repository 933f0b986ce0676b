# SPDX-License-Identifier: MIT
"""What the calls probe itself costs, measured on this machine when it is first asked for."""

import functools
import time
from collections.abc import Callable
from typing import NamedTuple

from . import _core

_CALLS = 2000
_ROUNDS = 25  # the best of many: other work on the machine would count as our cost


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
def cost(signatures: bool) -> Cost:
    """Measured once, in some milliseconds; nothing else may be profiling calls meanwhile."""
    python = _measure(_python_calls, "_callee", signatures)
    return Cost(*python, *_measure(_c_calls, "<built-in method", signatures))


def _measure(loop: Callable[[], None], name: str, signatures: bool) -> tuple[float, float]:
    plain = profiled = inside = float("inf")
    for _ in range(_ROUNDS):
        plain = min(plain, _timed(loop))
        profiler = _core.CallTracer(signatures=signatures)
        profiler._enable(True)
        profiled = min(profiled, _timed(loop))
        profiler.disable()
        for entry in profiler._entries():
            if entry[1].startswith(name) and entry[2] >= _CALLS:
                inside = min(inside, entry[5] * 1e9 / entry[2])
    added = max(profiled - plain, 0.0) / _CALLS
    inside = min(inside, added)
    return inside, added - inside


def _timed(loop: Callable[[], None]) -> float:
    start = time.perf_counter_ns()
    loop()
    return float(time.perf_counter_ns() - start)
