# SPDX-License-Identifier: MIT
"""Shows a task of asyncio to the sampler, so that it can read the names of tasks from memory."""

import sys
from collections.abc import Callable

from . import _core


class _Loop:
    """As much of an event loop as a task needs to exist."""

    step: Callable[..., object] | None = None

    def get_debug(self) -> bool:
        return False

    def call_soon(self, callback: Callable[..., object], *_: object, context: object) -> None:
        self.step = callback

    def call_exception_handler(self, _: object) -> None:
        pass


async def _nothing() -> None:
    pass


def learn() -> None:
    """Called when samples begin, and when an event loop is seen in them. Does not load asyncio."""
    events, tasks = sys.modules.get("asyncio.events"), sys.modules.get("asyncio.tasks")
    if events is None or tasks is None or _core.sampler_knows_tasks():
        return
    loop, name, coroutine = _Loop(), "shown to dwell", _nothing()
    try:
        task = tasks.Task(coroutine, loop=loop, name=name)
        task._log_destroy_pending = False
        _core.sampler_learn_tasks(events.Handle, task, name, coroutine, loop.step)
    except Exception:
        pass  # an asyncio that we do not know: samples have no tasks
    finally:
        coroutine.close()
        loop.step = None
