# SPDX-License-Identifier: MIT
"""CPython's own tests of cProfile, with dwell.Profile in its place."""

import importlib
import sys
import unittest

import pytest

import dwell.calls


def cprofile_tests():
    """The class with the tests: where it is depends on the version."""
    for module, name in [
        ("test.test_cprofile", "CProfileTest"),
        ("test.test_profiling.test_tracing_profiler", "CProfileTest"),
    ]:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    return None


TESTS = cprofile_tests()

DOES_NOT_APPLY = {
    "test_run_profile_as_module": "python -m cProfile is 'dwell run --calls' here",
    "test_output_file_when_changing_directory": "the same; tests/cli covers a program that does",
    "test_profile_multiprocessing": "the same",
    "test_profile_enable_disable": "asks for the tool's name to be cProfile",
    "test_profile_as_context_manager": "asks for the tool's name to be cProfile",
    "test_bad_counter_during_dealloc": "calls _lsprof itself",
    "test_evil_external_timer": "calls _lsprof itself",
}
if sys.version_info < (3, 13):
    DOES_NOT_APPLY["test_throw"] = "wants a generator's resumption to count as a call, as 3.12 did"


class PlainProfile(dwell.calls.Profile):
    """Without signatures, as cProfile's."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, signatures=False, **kwargs)


def names():
    return [name for name in dir(TESTS) if name.startswith("test")] if TESTS else []


@pytest.mark.skipif(TESTS is None, reason="this Python comes without its test package")
@pytest.mark.parametrize("name", [name for name in names() if name not in DOES_NOT_APPLY])
def test_of_cprofile(name, monkeypatch):
    case = type(
        "DwellTest", (TESTS,), {"profilerclass": PlainProfile, "profilermodule": dwell.calls}
    )
    monkeypatch.setattr(dwell.calls, "Profile", PlainProfile)
    result = unittest.TestResult()
    case(name).run(result)
    problems = [text for _, text in result.failures + result.errors]
    if result.skipped:
        pytest.skip(result.skipped[0][1])
    assert not problems, problems[0]
    assert result.testsRun == 1


def test_the_suite_is_not_empty():
    if TESTS is None:
        pytest.skip("this Python comes without its test package")
    assert len([name for name in names() if name not in DOES_NOT_APPLY]) >= 4, sys.version
