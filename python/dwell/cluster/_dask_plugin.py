# SPDX-License-Identifier: MIT
"""What is sent to Dask workers. It travels by value, since a worker may have no dwell: such a
worker must start and work as ever."""

import os
import socket
import tempfile
from typing import Any

from distributed import WorkerPlugin


class Recorder(WorkerPlugin):  # type: ignore[misc, unused-ignore]
    """Records a worker from the time that it has the plugin, or its start, to its end."""

    def __init__(self, name: str, request: Any) -> None:
        self.name = name
        self.problem: str | None = None
        self._request = request
        self._recorded: Any = None

    def setup(self, worker: Any) -> None:
        try:
            from dwell.cluster._dask_worker import RecordedWorker

            self._recorded = RecordedWorker(worker, self._request)
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def teardown(self, worker: Any) -> None:
        if self._recorded is not None:
            self._recorded.end()
            self._recorded = None


def problem_of(name: str, dask_worker: Any) -> str | None:
    plugin = dask_worker.plugins.get(name)
    return "it does not have the plugin" if plugin is None else plugin.problem


def host() -> str:
    return socket.gethostname()


def names_of(request: Any) -> list[str]:
    """Of the files that this host has of the run."""
    folder = _folder(request)
    return os.listdir(folder) if os.path.isdir(folder) else []


def take(request: Any, name: str) -> bytes:
    """The file, which is then no more."""
    folder = _folder(request)
    path = os.path.join(folder, name)
    with open(path, "rb") as file:
        content = file.read()
    os.unlink(path)
    if not os.listdir(folder):
        os.rmdir(folder)
    return content


def _folder(request: Any) -> str:
    return os.path.join(request["directory"] or tempfile.gettempdir(), request["name"])
