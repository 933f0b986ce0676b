# SPDX-License-Identifier: MIT
"""Measurements that are compared with the truth, on machines that do other things too."""

import functools
import os
from collections.abc import Callable, Mapping
from typing import ParamSpec

ATTEMPTS = 3

_Arguments = ParamSpec("_Arguments")


class Off(AssertionError):
    """What was measured is not what it should be: by chance, or always."""


class Near:
    """Equal to what is near it. What is not is Off."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, truth: float, within: float = 0.05) -> None:
        self.truth, self.within = truth, within

    def __eq__(self, found: object) -> bool:
        assert isinstance(found, int | float)
        assert_between(self.truth * (1 - self.within), found, self.truth * (1 + self.within))
        return True


def assert_close(found: Mapping[str, float], truth: Mapping[str, float], within: float) -> None:
    if off_by(found, truth) >= within:
        raise Off(f"found {dict(found)}, which is {dict(truth)}")


def off_by(found: Mapping[str, float], truth: Mapping[str, float]) -> float:
    """By how much the worst one is off; bench/accuracy.py makes a table of these."""
    most = max(abs(found[name] - truth[name]) for name in truth)
    if "DWELL_ACCURACY" in os.environ:
        with open(os.environ["DWELL_ACCURACY"], "a") as file:
            print(os.environ["PYTEST_CURRENT_TEST"].split()[0], most, file=file)
    return most


def assert_between(low: float, found: float, high: float) -> None:
    if not low < found < high:
        raise Off(f"found {found}, which is between {low} and {high}")


def off_unless(holds: bool, shown: object) -> None:
    """For what is not a number between two others."""
    if not holds:
        raise Off(shown)


def shares(parts: Mapping[str, float]) -> dict[str, float]:
    """Each part of the whole, in percent."""
    whole = sum(parts.values())
    return {name: 100 * part / whole for name, part in parts.items()}


def repeated(test: Callable[_Arguments, None]) -> Callable[_Arguments, None]:
    """Measures again, as a whole, when it was Off. Chance passes in one of the attempts; what is
    always wrong fails in all. No other failure is tried again."""

    @functools.wraps(test)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> None:
        for _ in range(ATTEMPTS - 1):
            try:
                return test(*args, **kwargs)
            except Off:
                pass
        return test(*args, **kwargs)

    return run
