# SPDX-License-Identifier: MIT
"""All probes of one process in one file, begun and ended while the process goes on."""

import contextlib
import functools
import os
from collections.abc import Iterable
from typing import Any, Literal, TypedDict

from .. import _core, _process, _sampling, _tasks
from .._line_targets import functions_of
from ._sent_code import SentCode

Memory = Literal["sampled", "exact"]
_GAUGES_NS = 100_000_000  # between two readings of RSS and others


class Options(TypedDict, total=False):
    """What is recorded in each process: as dwell.start() and dwell.install() have it."""

    sample: bool
    regions: bool
    lines: Iterable[Any]
    memory: Memory | None
    rate: float
    mode: _sampling.Mode
    native: bool
    timeline: bool
    cpu: bool


class Recording:
    """Samples, regions, lines and memory of this process, while it is started."""

    def __init__(
        self,
        file: str,
        sample: bool = True,
        regions: bool = True,
        lines: Iterable[Any] = (),
        memory: Memory | None = None,
        rate: float = 1000,
        mode: _sampling.Mode = "cpu",
        native: bool = True,
        timeline: bool = False,
        cpu: bool = False,
    ) -> None:
        _sampling._check(rate, mode)
        if memory not in (None, "sampled", "exact"):
            raise ValueError(f"memory is 'sampled' or 'exact', not {memory!r}")
        self.file = file
        self._memory = memory
        self._samples = (round(1e9 / rate), native, mode == "wall", timeline) if sample else None
        self._regions = (timeline, cpu) if regions else None
        self._functions = [function for target in lines for function in functions_of(target)]
        self._lines: _core.LineTracer | None = None
        self._sent: SentCode | None = None

    def start(self) -> None:
        if _core.probes():
            raise RuntimeError("dwell records this process already")
        _sampling._prepare()
        _finish_at_end()
        try:
            self._start()
        except BaseException:
            self.stop()
            with contextlib.suppress(OSError):
                os.unlink(self.file)  # it holds nothing
            raise

    def _start(self) -> None:
        """They have the same file, and so one ledger."""
        wanted = {
            "sample": self._samples,
            "lines": self._functions,
            "regions": self._regions,
            "memory": self._memory,
        }
        probes = [probe for probe, options in wanted.items() if options]
        _core.describe("probes", ",".join(probes))
        if self._memory is not None:
            _core.describe("memory", self._memory)
        if self._samples is not None:
            self._start_samples(*self._samples)
        if self._functions:
            self._start_lines()
        if self._regions is not None:
            _core.start(self.file, *self._regions, beside=len(probes) > 1)
        if self._memory is not None:
            _core.memory_start(self.file, self._memory == "exact")
            _core.gauges_start(self.file, _GAUGES_NS, False)

    def _start_samples(self, period_ns: int, native: bool, wall: bool, timeline: bool) -> None:
        import threading  # noqa: F401  # new threads are noticed there

        _tasks.learn()
        cells = _sampling._runs_cells()
        _core.sampler_start(self.file, period_ns, native, wall, timeline, cells)

    def _start_lines(self) -> None:
        self._lines = _core.LineTracer()
        self._lines._record(self.file)
        self._sent = SentCode(self._functions, self._lines._add)
        self._sent.begin()
        self._lines.enable_by_count()

    def stop(self) -> None:
        """Completes the file. What was not started is left alone."""
        if self._sent is not None:
            self._sent.end()
        if self._lines is not None and self._lines.enable_count:
            self._lines.disable_by_count()
        _core.finish()


@functools.cache
def _finish_at_end() -> None:
    _process.stop_at_end(_core.finish)


def host_name() -> str:
    return os.uname().nodename
