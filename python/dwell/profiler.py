# SPDX-License-Identifier: MIT
"""The names of accelerate.profiler: a Profile that tells functions apart by their arguments, and
plot()."""

from collections.abc import Callable
from typing import Any

from . import calls
from ._plot import plot

__all__ = ["Profile", "plot"]


class Profile(calls.Profile):
    """dwell.Profile with signatures, unless told otherwise."""

    def __init__(
        self,
        timer: Callable[[], float] | None = None,
        timeunit: float = 0.0,
        subcalls: bool = True,
        builtins: bool = True,
        signatures: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(timer, timeunit, subcalls, builtins, signatures, **options)
