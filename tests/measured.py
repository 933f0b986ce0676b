# SPDX-License-Identifier: MIT
"""Measurements that are compared with the truth.

A busy machine bends what is measured. So `make test` takes the measurements, and asks only for what
no load can change; that they are near the truth is asked by `make accuracy`. A test with nothing
else to ask has the mark `accuracy`, and `make test` leaves it out.
"""

import functools
import os
from collections.abc import Callable, Mapping
from typing import ParamSpec

import pytest

NOTES = os.environ.get("DWELL_ACCURACY")  # where `make accuracy` wants to know how far off they are
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
    """No share may be off by more than so many points; bench/accuracy.py makes a table of these."""
    most = max(abs(found[name] - truth[name]) for name in truth)
    if NOTES:
        with open(NOTES, "a") as file:
            print(os.environ["PYTEST_CURRENT_TEST"].split()[0], most, file=file)
    off_unless(most < within, f"found {dict(found)}, which is {dict(truth)}")


def assert_between(low: float, found: float, high: float) -> None:
    off_unless(low < found < high, f"found {found}, which is between {low} and {high}")


def assert_above(least: float, found: float) -> None:
    """There is some of it on any machine, and at least so much on one that has the time."""
    assert found > 0
    off_unless(found > least, f"found {found}, which is more than {least}")


def off_unless(holds: bool, shown: object) -> None:
    if NOTES and not holds:
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

    return pytest.mark.repeated(run)
