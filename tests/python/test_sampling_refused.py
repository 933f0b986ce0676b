# SPDX-License-Identifier: MIT
"""Systems that refuse the timers of perf_event_open, as those of many containers do."""

import json

import pytest

from ..compiled import compile_library
from ..measured import assert_above, assert_between, assert_close, repeated, shares
from ..sampled import Samples
from .test_sampling import SHARES
from .test_sampling_signals import POLL

# A filter of system calls, as container engines install it. The answer is EPERM.
REFUSE = """
import ctypes, struct
_LOAD_NUMBER, _IS, _RETURN, _ERROR, _ALLOW = 0x20, 0x15, 0x06, 0x00050001, 0x7FFF0000
_steps = [(_LOAD_NUMBER, 0, 0, 0)]
for _number in {numbers}:
    _steps += [(_IS, 0, 1, _number), (_RETURN, 0, 0, _ERROR)]
_steps.append((_RETURN, 0, 0, _ALLOW))
_code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _steps))
_filter = ctypes.create_string_buffer(
    struct.pack("HxxxxxxP", len(_steps), ctypes.addressof(_code)))
_prctl = ctypes.CDLL(None).prctl
assert _prctl(38, 1, 0, 0, 0) == 0  # no new privileges
assert _prctl(22, 2, _filter, 0, 0) == 0
assert all(ctypes.CDLL(None).syscall(_number, 0, 0, 0, 0, 0) == -1 for _number in {numbers})
"""
_PERF_EVENT_OPEN, _TIMER_CREATE = 298, 222
NO_PERF = REFUSE.format(numbers=[_PERF_EVENT_OPEN])
NO_TIMERS = REFUSE.format(numbers=[_PERF_EVENT_OPEN, _TIMER_CREATE])

refusals = pytest.mark.parametrize("refusal", [NO_PERF, NO_TIMERS], ids=["no_perf", "no_timers"])


@pytest.mark.accuracy
@refusals
@repeated
def test_shares(tmp_path, python_program, refusal):
    """Clocks are system calls, and busy machines take the CPU away there: few of them."""
    seldom = SHARES.replace("part()\n", "for _ in range(20): part()\n")
    assert seldom != SHARES
    done = python_program(refusal + seldom, "4000", "native", "3")
    bare, whole_ns = json.loads(done.stdout or "[0, 0]")
    assert bare, done.stderr
    samples = Samples.of(tmp_path / "x.dwell")
    # A few hundred samples: by ticks, or without timers on a machine that is busy.
    within = 3 if refusal == NO_PERF else 5
    assert_close(samples.shares(list(bare)), shares(bare), within=within)
    assert_between(0.8 * whole_ns, samples.weight_ns, 1.05 * whole_ns)


@refusals
def test_system_calls_are_hardly_interrupted(tmp_path, python_program, refusal):
    compile_library(tmp_path, "poll", POLL)
    done = python_program(f"""
{refusal}
import dwell
library = ctypes.CDLL("./poll.so")
library.interrupted.restype = ctypes.c_long
with dwell.sampling("x.dwell", rate=1000):
    print(library.interrupted(500))
""")
    most = 5 if refusal == NO_PERF else 50  # of a thousand
    assert int(done.stdout or 1000) < most, done.stderr
    assert_above(50, Samples.of(tmp_path / "x.dwell").inside("interrupted"))


@pytest.mark.accuracy
@repeated
def test_threads_each_with_its_time(tmp_path, python_program):
    done = python_program(f"""
{NO_PERF}
import json, threading, time
import dwell
took = dict()
def busy(name, n):
    for _ in range(n):
        sum(range(20_000))
    took[name] = time.thread_time_ns()
with dwell.sampling("x.dwell"):
    threads = [threading.Thread(target=busy, args=(name, n), name=name)
               for name, n in (("short", 500), ("long", 1500))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(json.dumps(took))
""")
    took = json.loads(done.stdout or "null")
    assert took, done.stderr
    Samples.of(tmp_path / "x.dwell").assert_threads(took)


def test_a_signal_of_the_last_recording_comes_late(python_program):
    done = python_program(
        """
import signal, time
import dwell
def spin():
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        sum(range(1000))
with dwell.sampling():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
    spin()
print(signal.SIGURG in signal.sigpending())
"""
        + NO_PERF
        + """
with dwell.sampling():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGURG})
    spin()
print("alive")
"""
    )
    assert done.stdout == "True\nalive\n", (done.returncode, done.stderr)
