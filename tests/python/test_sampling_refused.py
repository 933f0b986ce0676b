# SPDX-License-Identifier: MIT
"""Systems that refuse the timers of perf_event_open, as those of many containers do."""

import json

from ..compiled import compile_library
from ..measured import assert_between, assert_close, repeated, shares
from ..sampled import Samples
from .test_sampling import SHARES
from .test_sampling_signals import POLL

# A filter of system calls, as container engines install it. The answer is EPERM.
REFUSED = """
import ctypes, struct
_LOAD_NUMBER, _IS, _RETURN = 0x20, 0x15, 0x06
_PERF_EVENT_OPEN, _ERROR, _ALLOW = 298, 0x00050001, 0x7FFF0000
_steps = [
    (_LOAD_NUMBER, 0, 0, 0), (_IS, 0, 1, _PERF_EVENT_OPEN),
    (_RETURN, 0, 0, _ERROR), (_RETURN, 0, 0, _ALLOW),
]
_code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _steps))
_filter = ctypes.create_string_buffer(
    struct.pack("HxxxxxxP", len(_steps), ctypes.addressof(_code)))
_prctl = ctypes.CDLL(None).prctl
assert _prctl(38, 1, 0, 0, 0) == 0  # no new privileges
assert _prctl(22, 2, _filter, 0, 0) == 0
assert ctypes.CDLL(None).syscall(_PERF_EVENT_OPEN, 0, 0, 0, 0, 0) == -1
"""


@repeated
def test_shares(tmp_path, python_program):
    """Clocks are system calls, and busy machines take the CPU away there: few of them."""
    seldom = SHARES.replace("part()\n", "for _ in range(20): part()\n")
    assert seldom != SHARES
    done = python_program(REFUSED + seldom, "4000", "native", "2")
    bare, whole_ns = json.loads(done.stdout or "[0, 0]")
    assert bare, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    assert_close(
        samples.shares(list(bare)), shares(bare), within=5
    )  # a few hundred samples, when it is busy
    assert_between(0.8 * whole_ns, samples.weight_ns, 1.05 * whole_ns)


def test_system_calls_are_hardly_interrupted(tmp_path, python_program):
    compile_library(tmp_path, "poll", POLL)
    done = python_program(f"""
{REFUSED}
import dwell
library = ctypes.CDLL("./poll.so")
library.interrupted.restype = ctypes.c_long
with dwell.sampling("x.dwell", rate=1000):
    print(library.interrupted(500))
""")
    assert int(done.stdout or 1000) < 50, done.stderr  # of a thousand
    assert Samples.of(tmp_path / "x.dwell").inside("interrupted") > 50
