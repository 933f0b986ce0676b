# SPDX-License-Identifier: MIT
"""LiberTEM: profiles UDFs on whatever runs them, all workers together.

with profile_libertem(ctx, lines=[MyUDF.process_frame, MyUDF.get_task_data]) as run:
    ctx.run_udf(dataset=dataset, udf=MyUDF(), progress=True)
run.print_lines()
"""

import functools
import os
import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Unpack

from .._line_stats import load_stats
from . import _run
from ._recording import Options


class profile_libertem:
    """Records the workers of a Context's executor and this process while the block runs.

    The options are those of dwell.cluster.dask.profile_cluster().
    """

    def __init__(
        self,
        ctx: Any,
        out: str | os.PathLike[str] = "libertem.dwell",
        *,
        directory: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.out = os.path.abspath(os.fspath(out))
        executor = ctx.executor
        client = getattr(executor, "client", None)
        distributed = sys.modules.get("distributed")
        self._end = ExitStack()
        self._recording: Any
        if distributed is not None and isinstance(client, distributed.Client):
            from .dask import profile_cluster

            self._recording = profile_cluster(
                client, out, directory=directory, include_client=True, **options
            )
        else:
            self._recording = _EachWorker(executor, _run.Run(out, directory, options))

    def __enter__(self) -> "profile_libertem":
        self._end.enter_context(self._recording)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end.__exit__(kind, error, traceback)

    def print_lines(self) -> None:
        """The table of the lines, of all workers together."""
        load_stats(self.out).print(stripzeros=True)


class _EachWorker:
    """By the executor's own means: LiberTEM's threads and processes of this host."""

    def __init__(self, executor: Any, run: _run.Run) -> None:
        self._executor = executor
        self._run = run

    def __enter__(self) -> None:
        self._run.begin(and_here=True)
        try:
            results = self._each(_join)
        except BaseException:
            self._run.abandon()
            raise
        self._run.problems = {str(worker): why for worker, why in results.items() if why}
        self._run.warn(len(results))

    def __exit__(self, *_: object) -> None:
        self._each(_leave)
        self._run.finish()

    def _each(self, function: Any) -> Any:
        """Without arguments: not every executor passes them on."""
        return self._executor.run_each_worker(functools.partial(function, self._run.request))


def _join(request: _run.Request) -> str | None:
    try:
        _run.join(request)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _leave(request: _run.Request) -> None:
    _run.leave(request)
