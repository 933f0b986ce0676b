# SPDX-License-Identifier: MIT
"""Samples: where the time of all threads goes, in Python and in native code."""

import os
import sys
from collections.abc import Iterable
from types import CodeType, TracebackType
from typing import Literal

from . import _children, _core, _process, _tasks
from ._snapshot import Snapshot

Mode = Literal["cpu", "wall"]
_File = str | os.PathLike[str]

_PPROF = (".prof", ".pprof", ".pb.gz")
_MAX_RATE = 100_000
_pprof_file: str | None = None  # what the log becomes when it is complete
_followed_file: str | None = None  # whose children are recorded, too
_is_prepared = False


def start(
    file: _File | None = None,
    rate: float = 1000,
    native: bool = True,
    mode: Mode = "cpu",
    timeline: bool = False,
    redact: Iterable[str] = (),
    follow: bool = False,
) -> None:
    """Starts taking samples of all threads, rate times for each second that a thread runs.

    file is the recording; a name that ends in .prof, .pprof or .pb.gz becomes a profile that
    pprof reads, when stop() is called. Without a name stop() returns what was recorded.
    native=False leaves out the frames of C, C++ and Rust code. In mode "wall" threads that
    wait are seen too. A timeline keeps every sample with its time, not only sums. redact names what
    is left out of all recordings of this process from now on: "argv", "sources" or both.
    follow=True records the Python programs that this one starts, too, and stop() makes the
    recordings of all children part of the file; without it forked children have files beside it.

    In IPython and notebooks stacks begin with the cell, without what runs it."""
    global _pprof_file, _followed_file
    if follow and _children.are_followed_already() and _core.sampler_is_on():
        return
    if _core.sampler_is_on():
        raise RuntimeError("dwell takes samples already; call dwell.stop() first")
    _check(rate, mode)
    name = None if file is None else os.path.abspath(os.fsdecode(file))
    if follow and name is None:
        raise ValueError("follow=True needs a file: children write theirs beside it")
    is_pprof = name is not None and name.endswith(_PPROF)
    _core.redact(redact if isinstance(redact, str) else ",".join(redact))
    import threading  # noqa: F401  # new threads are noticed there

    _prepare()
    _tasks.learn()
    _core.describe("probes", ",".join(["sample", *_core.probes()]))
    log_file = f"{name}.{os.getpid()}.dwell" if is_pprof else name
    period_ns = round(1e9 / rate)
    _core.sampler_start(log_file, period_ns, native, mode == "wall", timeline, _runs_cells())
    _pprof_file = name if is_pprof else None
    if follow:
        words = ["sample", f"period={period_ns}", *["native"] * native, *["timeline"] * timeline]
        _children.follow(log_file, [*words, *["wall"] * (mode == "wall")])
        _followed_file = log_file


def _check(rate: float, mode: Mode) -> None:
    if not 0 < rate <= _MAX_RATE:
        raise ValueError(f"rate is a number of samples for each second, up to {_MAX_RATE}")
    if mode not in ("cpu", "wall"):
        raise ValueError(f"mode is 'cpu' or 'wall', not {mode!r}")


def _runs_cells() -> CodeType | None:
    """The code of the function in which IPython runs what the user writes."""
    function = getattr(_process.ipython_shell(), "run_code", None)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def stop() -> Snapshot | None:
    """Ends the recording. Returns it when start() was given no file."""
    global _pprof_file
    if not _core.sampler_is_on():
        raise RuntimeError("dwell takes no samples; call dwell.start() first")
    pprof_file, _pprof_file = _pprof_file, None
    log = _core.sampler_stop()
    _children.gather(_followed_file)
    if pprof_file is not None:
        _export(f"{pprof_file}.{os.getpid()}.dwell", pprof_file)
    return Snapshot(log, "function") if log else None


def _export(log_file: str, pprof_file: str) -> None:
    """The lens knows source lines and readable names of native code; the core does not."""
    import subprocess  # takes long to load

    command = [sys.executable, "-m", "dwell", "export", log_file, "--to", "pprof"]
    done = subprocess.run([*command, "-o", pprof_file], capture_output=True, text=True)
    if done.returncode:
        message = done.stderr.strip().removeprefix("dwell: ")
        raise OSError(f"{message}; the recording is in {log_file}")
    os.unlink(log_file)


def _prepare() -> None:
    """What is done once in a process."""
    global _is_prepared
    if _is_prepared:
        return
    _is_prepared = True
    _process.describe()
    _process.stop_at_end(_stop_at_exit)
    os.register_at_fork(after_in_child=_go_on_in_child)


def _stop_at_exit() -> None:
    if _core.sampler_is_on():
        try:
            stop()
        except OSError as error:
            print(f"dwell: {error}", file=sys.stderr)


def _go_on_in_child() -> None:
    """The profile is the parent's; a child writes a log beside it."""
    global _pprof_file
    _pprof_file = None
    _core.go_on()


class sampling:
    """Takes samples of a with block: start() at its begin and stop() at its end."""

    def __init__(
        self,
        file: _File | None = None,
        rate: float = 1000,
        native: bool = True,
        mode: Mode = "cpu",
        timeline: bool = False,
        redact: Iterable[str] = (),
        follow: bool = False,
    ) -> None:
        self._options = (file, rate, native, mode, timeline, redact, follow)
        self.result: Snapshot | None = None  # after the block, when there is no file

    def __enter__(self) -> "sampling":
        start(*self._options)
        self._process = os.getpid()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        is_child = os.getpid() != self._process  # it has no samples when there is no file
        if _core.sampler_is_on() or not (kind or is_child):
            self.result = stop()
