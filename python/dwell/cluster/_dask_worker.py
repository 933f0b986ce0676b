# SPDX-License-Identifier: MIT
"""A Dask worker that is recorded, in the worker's process.

Worker.execute() is where a worker runs a task. It hands its context on to the thread or coroutine
that does the work, so a label there is the label of whatever the task does.
"""

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from dask.utils import key_split

from .. import _core
from .._labels import label
from . import _dask_activities, _run

_CLOSE_S = 0.05
_TRANSFERS = ("gather_dep", "get_data")


class RecordedWorker:
    def __init__(self, worker: Any, request: _run.Request) -> None:
        name = str(worker.name)
        self._worker = worker
        self._request = request
        self._keys_left = request["task_keys"]
        self._labels = {} if _has_own_process(worker) else {"worker": name}
        if self._labels:
            _run.join(request)
        else:
            _use_clock_of_scheduler(worker)
            _run.join(request, name=f"dask worker {name}", worker=name)
        _dask_activities.begin()
        self._began = time.monotonic(), _dask_activities.seconds_of(worker)
        self._wrapped = {"execute": self._wrap("execute", self._labels_of)}
        transfer = {"activity": "transfer", **self._labels}
        for name in _TRANSFERS:
            self._wrapped[name] = self._wrap(name, lambda *_: transfer)

    def end(self) -> None:
        for name, wrapped in self._wrapped.items():
            if vars(self._worker).get(name) is wrapped:
                delattr(self._worker, name)  # its class has the method
            if self._worker.handlers.get(name) is wrapped:
                self._worker.handlers[name] = getattr(self._worker, name)
        _dask_activities.end()
        if not self._labels:
            self._say_seconds()
        _run.leave(self._request)

    def _wrap(self, name: str, labels_of: Callable[..., dict[str, str]]) -> Any:
        """Has a coroutine of the worker run with the labels that follow from its first argument."""
        plain = getattr(self._worker, name)

        @functools.wraps(plain)
        async def labelled(*args: Any, **kwargs: Any) -> Any:
            with label(**labels_of(*args)):
                return await plain(*args, **kwargs)

        setattr(self._worker, name, labelled)
        if name in self._worker.handlers:
            self._worker.handlers[name] = labelled
        return labelled

    def _say_seconds(self) -> None:
        """As properties of the process, which are keys of reports. A thread is idle while it has no
        task."""
        began, before = self._began
        spent = _dask_activities.seconds_of(self._worker)
        spent.subtract(before)
        for activity in ("transfer", "serialisation", "spill"):
            _core.describe(activity, f"{spent[activity]:.3f} s")
        threads = self._worker.state.nthreads
        available = threads * (time.monotonic() - began)
        idle = max(0.0, 1 - spent["task"] / available) if available else 0.0
        _core.describe("idle", f"{idle:.0%} of {threads} thread{'s' if threads > 1 else ''}")

    def _labels_of(self, key: Any, *_: Any) -> dict[str, str]:
        """A process has room for so many different sets of labels, hence not for any number of
        keys."""
        self._keys_left -= 1
        task_key = str(key) if self._keys_left >= 0 else "(more tasks)"
        prefix = str(key_split(key))
        return {"task_prefix": prefix, "task_key": task_key, "activity": "task", **self._labels}


def _use_clock_of_scheduler(worker: Any) -> None:
    """A message tells the difference with an error of some milliseconds, and clocks that are kept
    by NTP are closer than that."""
    behind_s = worker.scheduler_delay
    if abs(behind_s) > _CLOSE_S:
        _core.shift_clock(round(behind_s * 1e9))
        _core.describe("clock_shift", f"{behind_s:.3f} s")


def _has_own_process(worker: Any) -> bool:
    """Not so in a LocalCluster(processes=False), whose workers share it with the client."""
    return worker.nanny is not None or "distributed.cli.dask_worker" in sys.modules
