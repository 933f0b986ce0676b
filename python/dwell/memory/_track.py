# SPDX-License-Identifier: MIT
"""Allocations of a with block, or between start() and stop()."""

import json
import os
from types import TracebackType
from typing import Any, Literal

from .. import _core, _process

Mode = Literal["sampled", "exact"]
Threads = Literal["all", "own"]
_is_prepared = False
_follow = _core.go_on


class track:
    """Records what is allocated, in all threads or in the one that begins, by Python and by malloc.

    Mode "sampled" looks at one allocation for each 512 KiB or so, and tells what these stand for;
    "exact" looks at each. Without a file the recording is kept in memory, for report() and
    rows(). Forked children record into files of their own, unless `follows` is false."""

    def __init__(
        self,
        file: str | os.PathLike[str] | None = None,
        mode: Mode = "sampled",
        threads: Threads = "all",
        *,
        follows: bool = True,
    ) -> None:
        if mode not in ("sampled", "exact"):
            raise ValueError(f"mode is 'sampled' or 'exact', not {mode!r}")
        if threads not in ("all", "own"):
            raise ValueError(f"threads is 'all' or 'own', not {threads!r}")
        self.file = None if file is None else os.path.abspath(os.fsdecode(file))
        self._mode = mode
        self._threads = threads
        self._follows = follows
        self._log = b""
        self._is_on = False

    def start(self) -> None:
        """Begins to record. What was allocated before is not known, and not counted."""
        if _core.memory_is_on():
            raise RuntimeError("dwell records memory already; stop that first")
        _prepare(self._follows)
        _core.describe("memory", self._mode)
        _core.memory_start(self.file, self._mode == "exact", self._threads == "own")
        self._is_on = True

    def stop(self) -> None:
        """Ends the recording; nothing is counted from then on."""
        if not self._is_on:
            raise RuntimeError("nothing is recorded; call start() first")
        self._is_on = False
        self._log = _core.memory_stop()

    def __enter__(self) -> "track":
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def log(self) -> bytes:
        """The recording, as a file has it."""
        if self._is_on or not (self._log or self.file):
            raise RuntimeError("the recording is not complete; call stop() first")
        if self.file is None:
            return self._log
        with open(self.file, "rb") as file:
            return file.read()

    def report(self) -> str:
        """What `dwell report` prints of it."""
        return _core.render_memory(self.log(), ()).decode()

    def rows(self, *keys: str) -> list[dict[str, Any]]:
        """What was measured, told apart by function, line, python (lines of Python with the native
        code that they called), module, thread, region, allocator, mark or other labels. A measure
        is {"self": what the key has itself, "total": with what it called}."""
        rows: list[dict[str, Any]] = self._view(keys or ("python",))["rows"]
        return rows

    def totals(self) -> dict[str, int]:
        """The measures of all together: peak_bytes, live_bytes, live, alloc_bytes, allocations."""
        return {measure["name"]: measure["all"] for measure in self._view(("thread",))["measures"]}

    def _view(self, keys: tuple[str, ...]) -> dict[str, Any]:
        view: dict[str, Any] = json.loads(_core.render_memory(self.log(), keys))
        return view


def mark(name: str | None) -> None:
    """What is allocated from now on, in any thread, has the label mark=NAME; None: it has none.

    What is live at the end of a recording, by mark, is what leaked since that mark."""
    _core.memory_mark(name)


def _prepare(follows: bool) -> None:
    """What is done once in a process, and what forked children do."""
    global _is_prepared, _follow
    _follow = _core.go_on if follows else _core.finish
    if _is_prepared:
        return
    _is_prepared = True
    _process.describe()
    _process.stop_at_end(_core.finish)
    os.register_at_fork(after_in_child=lambda: _follow())
