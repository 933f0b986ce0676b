# SPDX-License-Identifier: MIT
"""Dask: profiles all workers of a cluster, and tells tasks apart.

    with profile_cluster(client, out="run.dwell"):
        result = array.sum().compute()

Then `dwell report run.dwell --by task_prefix,worker`. Or without a client, one file for each worker
in the folder that the environment variable DWELL_DIRECTORY names, else in the current one:

    dask worker SCHEDULER --preload dwell.cluster.dask
"""

import os
import secrets
import tempfile
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Unpack

import cloudpickle

from .. import _files
from . import _dask_plugin, _run
from ._dask_worker import RecordedWorker
from ._merging import in_groups, merge_files
from ._recording import Options

cloudpickle.register_pickle_by_value(_dask_plugin)


class profile_cluster:
    """Records all workers while the block runs, those that start meanwhile too.

    directory is a folder that all hosts and the client see; without it the workers of each host
    write to its folder for temporary files, and the client fetches the files. include_client
    records the process of the client as well. The options say what is recorded: sample, rate,
    mode, native, regions, cpu, timeline, and lines, a list of functions.
    """

    def __init__(
        self,
        client: Any,
        out: str | os.PathLike[str] = "dask.dwell",
        *,
        directory: str | None = None,
        include_client: bool = False,
        **options: Unpack[Options],
    ) -> None:
        if client.asynchronous:
            raise TypeError("profile_cluster needs a client that is not asynchronous")
        self._client = client
        self._run = _run.Run(out, directory, options)
        self._name = f"dwell-{secrets.token_hex(4)}"
        self._includes_client = include_client

    def __enter__(self) -> "profile_cluster":
        self._run.begin(self._includes_client)
        plugin = _dask_plugin.Recorder(self._name, self._run.request)
        try:
            self._client.register_plugin(plugin, name=self._name)
            self._warn()
        except BaseException:
            self._run.abandon()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._finish()
        except Exception as trouble:
            if error is None:
                raise
            warnings.warn(f"dwell: {trouble}", stacklevel=2)

    def _finish(self) -> None:
        self._warn()
        self._client.unregister_worker_plugin(self._name)
        self._fetch()
        self._run.finish()

    def _warn(self) -> None:
        found = self._client.run(_dask_plugin.problem_of, self._name)
        known = set(self._run.problems)
        self._run.problems = {worker: problem for worker, problem in found.items() if problem}
        if not known >= set(self._run.problems):
            self._run.warn(len(found))

    def _fetch(self) -> None:
        """From one worker of each host: the files of those that died are there too."""
        request, folder = self._run.request, self._run.folder
        hosts = self._client.run(_dask_plugin.host)
        for worker in {host: worker for worker, host in hosts.items()}.values():
            for name in self._ask(worker, _dask_plugin.names_of, request):
                file = os.path.join(folder, os.path.basename(name))
                if not os.path.exists(file):
                    content = self._ask(worker, _dask_plugin.take, request, name)
                    with open(file, "wb", opener=_files.private) as copy:
                        copy.write(content)

    def _ask(self, worker: str, function: Callable[..., Any], *args: Any) -> Any:
        return self._client.run(function, *args, workers=[worker])[worker]


def merge(client: Any, files: Sequence[str], out: str, *, at_once: int = 32) -> None:
    """Merges on the workers, `at_once` files in a task. They must see the files."""
    parts: Sequence[Any] = [os.path.abspath(file) for file in files]
    while len(parts) > 1 or not hasattr(parts[0], "result"):
        parts = [
            client.submit(_merged, list(group), key=f"dwell-merge-{secrets.token_hex(8)}")
            for group in in_groups(parts, at_once)
        ]
    content = parts[0].result()
    with open(out, "wb", opener=_files.private) as file:
        file.write(content)


def _merged(parts: list[str | bytes]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="dwell-") as folder:
        files = []
        for number, part in enumerate(parts):
            files.append(part if isinstance(part, str) else f"{folder}/{number}.dwell")
            if isinstance(part, bytes):
                with open(files[-1], "wb") as file:
                    file.write(part)
        merge_files(files, f"{folder}/merged.dwell")
        with open(f"{folder}/merged.dwell", "rb") as file:
            return file.read()


_preloaded: dict[Any, RecordedWorker] = {}


def dask_setup(worker: Any) -> None:
    """For --preload. A worker goes on without a recording when there is trouble."""
    folder = os.path.abspath(os.environ.get("DWELL_DIRECTORY", "."))
    options = cloudpickle.dumps({})
    request = _run.Request(directory=folder, name="", options=options, task_keys=10_000)
    try:
        _preloaded[worker] = RecordedWorker(worker, request)
    except Exception as error:
        warnings.warn(f"dwell: {error}; nothing is recorded", stacklevel=2)


def dask_teardown(worker: Any) -> None:
    recorded = _preloaded.pop(worker, None)
    if recorded is not None:
        recorded.end()
