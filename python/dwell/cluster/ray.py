# SPDX-License-Identifier: MIT
"""Ray: records every worker process, and tells tasks and methods of actors apart.

    ray.init(runtime_env=recording("profiles"))
    ...
    ray.shutdown()

Then `dwell merge profiles/*.dwell -o run.dwell` and `dwell report run.dwell --by task_prefix,worker`.
"""

import functools
import inspect
import os
import sys
import warnings
from typing import Any

from .._labels import label
from . import _run


def recording(directory: str | os.PathLike[str] = ".") -> dict[str, Any]:
    """A runtime environment for ray.init(), with a folder that all hosts see for the files."""
    return {
        "worker_process_setup_hook": f"{__name__}.record_worker",
        "env_vars": {"DWELL_DIRECTORY": os.path.abspath(directory)},
    }


def record_worker() -> None:
    """In a worker that starts. It goes on without a recording when there is trouble."""
    import cloudpickle

    folder = os.environ.get("DWELL_DIRECTORY", os.getcwd())
    options = cloudpickle.dumps({})
    request = _run.Request(directory=folder, name="", options=options, task_keys=0)
    try:
        _run.join(request, name="ray worker", worker=str(os.getpid()))
        _label_tasks()
    except Exception as error:
        warnings.warn(f"dwell: {error}; nothing is recorded", stacklevel=2)


def _label_tasks() -> None:
    """Where a worker looks up what a task or a method of an actor runs, there is its name."""
    manager = sys.modules["ray._private.worker"].global_worker.function_actor_manager
    find = manager.get_execution_info
    labelled: dict[Any, Any] = {}

    def find_labelled(job: Any, descriptor: Any) -> Any:
        info = find(job, descriptor)
        if info not in labelled:
            names = filter(None, (descriptor.class_name, descriptor.function_name))
            labelled[info] = info._replace(function=_labelled(info.function, ".".join(names)))
        return labelled[info]

    manager.get_execution_info = find_labelled


def _labelled(function: Any, name: str) -> Any:
    named = label(task_prefix=name)
    if not inspect.iscoroutinefunction(getattr(function, "method", None)):
        return named(function)

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        with named:
            return await function(*args, **kwargs)

    return run
