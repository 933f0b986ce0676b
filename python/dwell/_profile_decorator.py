# SPDX-License-Identifier: MIT
"""dwell.profile: a decorator that can stay in the program, because it does nothing until
somebody asks."""

import atexit
import datetime
import os
import sys
from typing import Any, TypeVar

from . import _core, _files
from ._line_targets import functions_of
from .lines import LineProfiler

_T = TypeVar("_T")
_FIRST = "DWELL_LINE_PROFILE"  # in the environment: the process that was asked first


class GlobalProfiler:
    """Marks functions whose lines can be profiled.

    They are profiled under `dwell run --lines`, with the environment variable LINE_PROFILE=1,
    with --line-profile on the program's command line, or after enable(). In the last three
    cases the reports are written and printed when the program ends.
    """

    def __init__(self) -> None:
        self.enabled: bool | None = None  # None: nobody has asked yet
        self.output_prefix = "profile_output"
        self.setup_config: dict[str, list[str]] = {
            "environ_flags": ["LINE_PROFILE"],
            "cli_flags": ["--line-profile", "--line_profile"],
        }
        self.write_config = {"lprof": True, "text": True, "timestamped_text": True, "stdout": True}
        self.show_config = {
            "sort": True,
            "stripzeros": True,
            "rich": False,
            "details": False,
            "summarize": True,
        }
        self._marked: list[Any] = []
        self._profiler: LineProfiler | None = None
        self._owner = os.getpid()
        self._is_child = False

    def __call__(self, target: _T) -> _T:
        """The same function, method, property or class: it is only noted."""
        if self.enabled is None:
            self._decide()
        self._marked.append(target)
        self._add(target)
        return target

    def _add(self, target: Any) -> None:
        if _core.line_recorder is not None:
            for function in functions_of(target):
                _core.line_recorder._add(function.__code__)
        if self._profiler is not None:
            self._profiler.add_callable(target)

    def _decide(self) -> None:
        values = [os.environ.get(name, "") for name in self.setup_config["environ_flags"]]
        asked = any(value.lower() not in ("", "0", "off", "false", "no") for value in values)
        if asked or any(flag in sys.argv for flag in self.setup_config["cli_flags"]):
            self.enable()
        else:
            self.enabled = False

    def enable(self, output_prefix: str | None = None) -> None:
        """Profiles what was marked, and what will be, until the end or disable()."""
        self.output_prefix = output_prefix or self.output_prefix
        self._tell_children()
        self.enabled = True
        if self._profiler is None:
            self._profiler = LineProfiler()
            self._owner = os.getpid()
            for target in self._marked:
                self._add(target)
            atexit.register(self.show)
        if not self._profiler.enable_count:
            self._profiler.enable()

    def _tell_children(self) -> None:
        """The programs that this one starts are asked too, and have files of their own."""
        first = os.environ.setdefault(_FIRST, str(os.getpid()))
        self._is_child = first != str(os.getpid())

    def disable(self) -> None:
        """Stops; what was collected so far will still be shown."""
        self.enabled = False
        if self._profiler is not None:
            self._profiler.disable()

    def show(self) -> None:
        """Writes and prints the reports that write_config asks for."""
        if self._profiler is None or os.getpid() != self._owner:
            return
        stats = self._profiler.get_stats()
        files = []
        prefix = f"{self.output_prefix}.{os.getpid()}" if self._is_child else self.output_prefix
        if self.write_config["text"]:
            files.append(f"{prefix}.txt")
        if self.write_config["timestamped_text"]:
            now = datetime.datetime.now().strftime("%Y-%m-%dT%H%M%S")
            files.append(f"{prefix}_{now}.txt")
        for name in files:
            with open(name, "w", encoding="utf-8", opener=_files.private_unlinked) as out:
                stats.print(out, **{**self.show_config, "details": True})
        if self.write_config["lprof"]:
            files.append(f"{prefix}.dwell")
            stats.to_file(files[-1])
        if self.write_config["stdout"]:
            stats.print(sys.stdout, **self.show_config)
            for name in files:
                print(f"dwell: wrote {name}")


profile = GlobalProfiler()
