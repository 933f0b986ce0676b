# SPDX-License-Identifier: MIT
"""A Dask worker that is recorded, in the worker's process.

Worker.execute() is where a worker runs a task. It hands its context on to the thread or coroutine
that does the work, so a label there is the label of whatever the task does.
"""

import functools
import sys
from typing import Any

from dask.utils import key_split

from .. import _core
from .._labels import label
from . import _run

_CLOSE_S = 0.05


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
        self._execute = worker.execute = self._label_tasks(worker.execute)

    def end(self) -> None:
        if vars(self._worker).get("execute") is self._execute:
            del self._worker.execute  # its class has the method
        _run.leave(self._request)

    def _label_tasks(self, execute: Any) -> Any:
        @functools.wraps(execute)
        async def execute_labelled(key: Any, *args: Any, **kwargs: Any) -> Any:
            with label(**self._labels_of(key)):
                return await execute(key, *args, **kwargs)

        return execute_labelled

    def _labels_of(self, key: Any) -> dict[str, str]:
        """A process has room for so many different sets of labels, hence not for any number of
        keys."""
        self._keys_left -= 1
        task_key = str(key) if self._keys_left >= 0 else "(more tasks)"
        return {"task_prefix": str(key_split(key)), "task_key": task_key, **self._labels}


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
