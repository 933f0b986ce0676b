# SPDX-License-Identifier: MIT
"""How much memory a process takes, read again and again: memory_profiler's `memory_usage`."""

import contextlib
import gc
import os
import subprocess
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from .. import _core

_MIB = 1048576
_PAGE = os.sysconf("SC_PAGE_SIZE")
_INTERVAL_MIN_NS = 1_000_000
_LINES_TO_FLUSH = 50  # of a stream, so that `tail -f` shows them

_Work = Callable[..., Any]


def memory_usage(
    proc: Any = -1,
    interval: float = 0.1,
    timeout: float | None = None,
    timestamps: bool = False,
    include_children: bool = False,
    multiprocess: bool = False,
    max_usage: bool = False,
    retval: bool = False,
    stream: TextIO | None = None,
    backend: str | None = None,
    max_iterations: int | None = None,
) -> Any:
    """Reads the memory of a process, in MiB, every `interval` seconds.

    `proc` is the number of a process (-1: this one), which is read for `timeout` seconds or once; a
    subprocess.Popen, which is read until it ends; or a function, alone or with its arguments as
    `(f, args, kwargs)`, during which this process is read. The function runs once, however short
    it is, so `max_iterations` has no meaning here; `timeout` does not stop it.

    Returns a list of numbers; of (MiB, time) with `timestamps`; of lists, the process and then its
    children, with `multiprocess`; the largest number alone with `max_usage`; with `retval` that and
    what the function returned. With a `stream` readings are written there as mprof does, and None
    is returned. `include_children` adds the memory of children to that of the process. `backend` is
    psutil or posix (RSS, the default), psutil_pss, psutil_uss or tracemalloc.
    """
    read = _backend(backend)
    target, work = _target(proc)
    readings = _Readings(
        read, target, include_children, multiprocess, timestamps or stream is not None, stream
    )
    if work is not None:
        has_plain_rss = read is _rss and not include_children and not multiprocess
        returned = readings.during(work, interval, has_plain_rss and not _are_gauges_on())
        found = readings.result(max_usage)
        return (found, returned) if retval else found
    readings.until(_is_over(proc, timeout, interval), interval)
    return readings.result(max_usage)


class _Readings:
    """Memory of a process, and perhaps of its children, as it was at several times."""

    def __init__(
        self,
        read: Callable[[int], int],
        pid: int,
        include_children: bool,
        multiprocess: bool,
        timestamps: bool,
        stream: TextIO | None,
    ) -> None:
        self._read = read
        self._pid = pid
        self._include_children = include_children
        self._multiprocess = multiprocess
        self._timestamps = timestamps
        self._stream = stream
        self._found: list[tuple[list[float], float]] = []  # the process and its children, the time
        self._peak = 0.0
        self._lines = 0

    def take(self) -> None:
        now = time.time()
        try:
            own = self._read(self._pid)
        except OSError:  # it has ended
            return
        children = self._read_children()
        total = own + sum(children.values()) if self._include_children else own
        self._add([total / _MIB, *(size / _MIB for size in children.values())], now)
        if self._stream is not None and self._multiprocess:
            for pid, size in children.items():
                self._stream.write(f"CHLD {pid} {size / _MIB:.6f} {now:.4f}\n")

    def _read_children(self) -> dict[int, int]:
        sizes: dict[int, int] = {}
        for pid in _children(self._pid) if self._include_children or self._multiprocess else ():
            with contextlib.suppress(OSError):  # it has ended
                sizes[pid] = self._read(pid)
        return sizes

    def _add(self, sizes: list[float], now: float) -> None:
        self._peak = max(self._peak, sum(sizes) if self._multiprocess else sizes[0])
        if self._stream is None:
            self._found.append((sizes if self._multiprocess else sizes[:1], now))
        else:
            self._stream.write(f"MEM {sizes[0]:.6f} {now:.4f}\n")
            self._lines += 1
            if self._lines % _LINES_TO_FLUSH == 0:
                self._stream.flush()

    def until(self, is_over: Callable[[], bool], interval: float) -> None:
        while True:
            self.take()
            if is_over():
                return
            time.sleep(interval)

    def during(self, work: _Work, interval: float, by_gauges: bool) -> Any:
        with self._by_gauges(interval) if by_gauges else self._by_thread(interval):
            return work()

    @contextlib.contextmanager
    def _by_gauges(self, interval: float) -> Iterator[None]:
        """Readings that need no GIL, which the function may hold for long."""
        _core.gauges_start(None, max(round(interval * 1e9), _INTERVAL_MIN_NS), False)
        try:
            yield
        finally:
            gauges = _core.gauges_series(_core.gauges_stop())
        for now, size in gauges["rss"]:
            self._add([size / _MIB], now)
        first, last = gauges["peak_rss"][0][1], gauges["peak_rss"][-1][1]
        if last > first:  # the highest ever was now, perhaps between two readings
            self._peak = max(self._peak, last / _MIB)

    @contextlib.contextmanager
    def _by_thread(self, interval: float) -> Iterator[None]:
        ends = threading.Event()

        def read_on() -> None:
            while not ends.wait(interval):
                self.take()

        self.take()
        reader = threading.Thread(target=read_on, name="memory_usage", daemon=True)
        reader.start()
        try:
            yield
        finally:
            ends.set()
            reader.join()
            self.take()

    def result(self, max_usage: bool) -> Any:
        if self._stream is not None:
            self._stream.flush()
            return None
        if max_usage:
            return self._peak
        if not self._multiprocess:
            return [(sizes[0], now) if self._timestamps else sizes[0] for sizes, now in self._found]
        if self._timestamps:
            return [[(size, now) for size in sizes] for sizes, now in self._found]
        return [sizes for sizes, _ in self._found]


class MemitResult:
    """What %memit found: the peaks of several runs, and what the process had before."""

    def __init__(
        self,
        mem_usage: list[float],
        baseline: float,
        repeat: int,
        timeout: float | None,
        interval: float,
        include_children: bool,
    ) -> None:
        self.mem_usage = mem_usage
        self.baseline = baseline
        self.repeat = repeat
        self.timeout = timeout
        self.interval = interval
        self.include_children = include_children

    @classmethod
    def measure(
        cls,
        work: _Work,
        repeat: int = 1,
        timeout: float | None = None,
        interval: float = 0.1,
        include_children: bool = False,
    ) -> "MemitResult":
        gc.collect()
        baseline = memory_usage()[0]
        peaks = [
            memory_usage(work, interval=interval, max_usage=True, include_children=include_children)
            for _ in range(max(repeat, 1))
        ]
        return cls(peaks, baseline, repeat, timeout, interval, include_children)

    def __str__(self) -> str:
        peak = max(self.mem_usage)
        return f"peak memory: {peak:.02f} MiB, increment: {peak - self.baseline:.02f} MiB"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"<MemitResult : {self}>")


def _target(proc: Any) -> tuple[int, _Work | None]:
    """The process that is read, and the function that is called meanwhile."""
    if callable(proc):
        return os.getpid(), proc
    if isinstance(proc, (list, tuple)):
        return os.getpid(), _call_of(*proc)
    if isinstance(proc, subprocess.Popen):
        return proc.pid, None
    pid = int(proc)
    return (os.getpid() if pid == -1 else pid), None


def _call_of(
    function: _Work, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> _Work:
    return lambda: function(*args, **(kwargs or {}))


def _is_over(proc: Any, timeout: float | None, interval: float) -> Callable[[], bool]:
    most = int(timeout / interval) if timeout is not None else None
    is_popen = isinstance(proc, subprocess.Popen)
    taken = 0

    def is_over() -> bool:
        nonlocal taken
        taken += 1
        if is_popen and proc.poll() is not None:
            return True
        return taken >= most if most is not None else not is_popen

    return is_over


def _are_gauges_on() -> bool:
    return "gauges" in _core.probes()


def _children(pid: int) -> list[int]:
    """The children of a process, and theirs."""
    parents: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            parent = int(file.read().rpartition(b")")[2].split()[1])
            parents.setdefault(parent, []).append(int(name))
    found = list(parents.get(pid, []))
    for child in found:  # which grows meanwhile
        found.extend(parents.get(child, []))
    return found


def _rss(pid: int) -> int:
    with open(f"/proc/{pid}/statm", "rb", 0) as file:
        return int(file.read().split()[1]) * _PAGE


def _rollup(pid: int, *names: str) -> int:
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file if ":" in line[:20])
    return sum(int(lines[name].split()[0]) for name in names) * 1024


def _pss(pid: int) -> int:
    return _rollup(pid, "Pss")


def _uss(pid: int) -> int:
    return _rollup(pid, "Private_Clean", "Private_Dirty")


def _traced(pid: int) -> int:
    if pid != os.getpid():
        raise ValueError("the backend tracemalloc knows of this process only")
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    return tracemalloc.get_traced_memory()[0]


_BACKENDS = {
    "psutil": _rss,
    "posix": _rss,
    "psutil_pss": _pss,
    "psutil_uss": _uss,
    "tracemalloc": _traced,
}


def _backend(name: str | None) -> Callable[[int], int]:
    try:
        return _BACKENDS[name or "psutil"]
    except KeyError:
        raise ValueError(f"no backend {name!r}; there are: {', '.join(_BACKENDS)}") from None
