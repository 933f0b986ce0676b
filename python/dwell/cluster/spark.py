# SPDX-License-Identifier: MIT
"""PySpark: records the Python workers of executors, and tells UDFs apart.

    spark = SparkSession.builder.config(map=recording("profiles")).getOrCreate()
    ...
    spark.stop()

Then `dwell merge profiles/*.dwell -o run.dwell`, and `dwell report run.dwell --by task_prefix`.

Executors run this module in the place of pyspark.daemon, which forks a worker for each task at a
time.
"""

import os
import sys
import warnings
from typing import Any

from .. import _process
from .._labels import label
from . import _run


def recording(directory: str | os.PathLike[str] = ".") -> dict[str, str]:
    """A configuration for Spark, with a folder that all hosts see for the files."""
    return {
        "spark.python.daemon.module": __name__,
        "spark.executorEnv.DWELL_DIRECTORY": os.path.abspath(directory),
    }


class _Worker:
    """What a forked worker does, for one task after the other."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain
        self._process_id = 0
        self._names: list[str] = []
        self._label: Any = None

    def __call__(self, *args: Any) -> Any:
        if self._process_id != os.getpid():
            self._process_id = os.getpid()
            self._record()
        try:
            return self._plain(*args)
        finally:
            self._names.clear()
            self._name(None)

    def _record(self) -> None:
        """The worker goes on without a recording when there is trouble."""
        import cloudpickle

        folder = os.environ.get("DWELL_DIRECTORY", os.getcwd())
        options = cloudpickle.dumps({})
        request = _run.Request(directory=folder, name="", options=options, task_keys=0)
        try:
            _process.watch_signals(False)  # that is how idle workers end
            _run.join(request, name="spark worker", worker=str(os.getpid()))
            self._name_tasks()
        except Exception as error:
            warnings.warn(f"dwell: {error}; nothing is recorded", stacklevel=2)

    def _name_tasks(self) -> None:
        """Where a worker unpickles what it runs, there is its name. Several run as one."""
        import pyspark.worker as module

        read = module.read_command

        def read_named(*args: Any) -> Any:
            command = read(*args)
            function = command[0] if isinstance(command, tuple) else command
            self._names.append(getattr(function, "__name__", type(function).__name__))
            self._name(", ".join(self._names))
            return command

        module.read_command = read_named

    def _name(self, name: str | None) -> None:
        if self._label is not None:
            self._label.__exit__(None, None, None)
        self._label = label(task_prefix=name) if name else None
        if self._label is not None:
            self._label.__enter__()


def _run_daemon() -> None:
    from pyspark import daemon

    daemon.worker = _Worker(daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    sys.modules["dwell.cluster.spark"] = sys.modules[__name__]
    _run_daemon()
