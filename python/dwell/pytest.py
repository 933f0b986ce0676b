# SPDX-License-Identifier: MIT
"""A plugin of pytest: `pytest -p dwell.pytest`, or `pytest_plugins = ["dwell.pytest"]`.

    @pytest.mark.dwell_limit("24 MB")   the test fails if it has more at its peak
    @pytest.mark.dwell_leaks("1 KB")    it runs several times, and fails if each run leaves more

docs/memory.md has what they take. Every allocation is counted: nothing depends on chance."""

from collections.abc import Generator
from typing import Any

import pytest

from . import _core
from .memory import LimitExceeded, leaks, limit
from .memory._paths import parse_size, size_text

_LIMIT = "dwell_limit"
_LEAKS = "dwell_leaks"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dwell", "memory, by dwell")
    group.addoption("--dwell-limit", metavar="SIZE",
                    help="the limit of tests without a mark dwell_limit of their own")  # fmt: skip
    group.addoption("--dwell-suppressions", metavar="FILE",
                    help="functions whose memory counts for no limit and no leak")  # fmt: skip
    parser.addini("dwell_limit", "the same as --dwell-limit")
    parser.addini("dwell_suppressions", "the same as --dwell-suppressions, from the root directory")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_LIMIT}(size, threads='all', paths=(), suppressions=None): fail above so much memory",
    )
    config.addinivalue_line(
        "markers",
        f"{_LEAKS}(size=0, runs=3, warmups=1, paths=(), suppressions=None): run several times, "
        "fail when each run leaves more",
    )


def _suppressions(config: pytest.Config) -> Any:
    given = config.getoption("dwell_suppressions")
    named = config.getini("dwell_suppressions")
    return given or (config.rootpath / named if named else None)


def _arguments(item: pytest.Item, mark: pytest.Mark) -> dict[str, Any]:
    return {"suppressions": _suppressions(item.config), **mark.kwargs}


def _limit_of(item: pytest.Item) -> limit | None:
    mark = item.get_closest_marker(_LIMIT)
    if mark:
        return limit(*mark.args, **_arguments(item, mark))
    size = item.config.getoption("dwell_limit") or item.config.getini("dwell_limit")
    return limit(size, suppressions=_suppressions(item.config)) if size else None


def _check_leaks(item: pytest.Item, mark: pytest.Mark) -> None:
    size, *rest = mark.args or (mark.kwargs.get("size", 0),)
    named = {key: value for key, value in _arguments(item, mark).items() if key != "size"}
    left = leaks(item.runtest, *rest, **named)
    if left.bytes > parse_size(size):
        pytest.fail(f"{left}\n{size_text(parse_size(size))} are allowed", pytrace=False)


@pytest.hookimpl(wrapper=True, trylast=True)  # type: ignore[untyped-decorator,unused-ignore]
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The innermost of all that wraps a test, so that work of other plugins is not measured."""
    mark, limited = item.get_closest_marker(_LEAKS), _limit_of(item)
    if (mark or limited) and _core.memory_is_on():
        item.warn(pytest.PytestWarning("dwell records memory already: no limit is checked"))
        return (yield)
    if mark:
        _check_leaks(item, mark)
    if not limited:
        return (yield)
    try:
        with limited:
            return (yield)
    except LimitExceeded as exceeded:
        message = str(exceeded)
    pytest.fail(message, pytrace=False)
