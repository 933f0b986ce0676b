# SPDX-License-Identifier: MIT
"""Starts recording in a program run by `dwell run`, before its first line.

The environment says what to record; it is taken out of the environment at once,
so that the program does not see it and the programs that it starts are not
recorded, unless they are to be. Only the core of dwell is loaded for it, under a
stand-in for the package that is gone afterwards: a program that imports dwell
gets all of it, any other none.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def start() -> None:
    if "dwell._core" in sys.modules:  # the folders of a venv are read twice
        return
    log_file = os.environ.pop("DWELL_RUN")
    stand_in = type(sys)("dwell")
    stand_in.__path__ = [os.path.join(os.path.dirname(__file__), "dwell")]
    sys.modules["dwell"] = stand_in
    try:
        wanted, log_file = log_file.split(" ", 1)
        options = wanted.split(",")
        if "subprocesses" in options:
            log_file = _pass_on(options, log_file)
        _start(options, log_file)
    except OSError as error:
        sys.stderr.write(f"dwell: {log_file}: {error.strerror}; nothing is recorded\n")
    except Exception as error:
        sys.stderr.write(f"dwell: {error}; nothing is recorded\n")
    finally:
        for name in ("dwell", "dwell._process", "dwell._line_targets", __name__):
            sys.modules.pop(name, None)


def _pass_on(options: list[str], log_file: str) -> str:
    """Lets the programs that this one starts be recorded. The file of this one."""
    is_first = "started" not in options
    words = ",".join([*options, "started"] if is_first else options)
    os.environ["DWELL_RUN"] = f"{words} {log_file}"
    return log_file if is_first else _unused_name(log_file)


def _unused_name(log_file: str) -> str:
    """A process that becomes another program, which is Python too, keeps its id."""
    stem = f"{log_file.removesuffix('.dwell')}.{os.getpid()}"
    name, number = f"{stem}.dwell", 1
    while os.path.exists(name):
        number += 1
        name = f"{stem}.{number}.dwell"
    return name


def _start(options: list[str], log_file: str) -> None:
    from dwell import _process

    _process.describe()
    for probe, start_probe in _PROBES.items():
        if probe in options:
            start_probe(options, log_file)  # several have the same file: docs/format.md, streams


def _start_regions(options: list[str], log_file: str) -> None:
    from dwell import _core, _process

    beside = "sample" in options
    _core.start(log_file, "timeline" in options, "cpu" in options, beside)
    _process.stop_at_end(_core.stop, _core.flush_last)


def _start_calls(options: list[str], log_file: str) -> None:
    from dwell import _core, _process

    profile: Any = _core.CallTracer(signatures="signatures" in options)
    profile._record(log_file)
    _process.stop_at_end(profile._finish, profile._flush_last)
    profile._enable(True, True)


def _start_sampling(options: list[str], log_file: str) -> None:
    from dwell import _core, _process

    (period_ns,) = [int(word[7:]) for word in options if word.startswith("period=")]
    native = "native" in options

    def finish() -> None:
        try:
            _core.sampler_stop()
        except OSError:
            pass  # of the file: told when it was met

    _core.sampler_start(log_file, period_ns, native, "wall" in options, "timeline" in options)
    _process.stop_at_end(finish, _core.sampler_flush_last)
    os.register_at_fork(after_in_child=_core.sampler_continue)


def _start_lines(options: list[str], log_file: str) -> None:
    import builtins

    from dwell import _core, _line_targets, _process

    tracer = _core.LineTracer("callees" in options)
    take = os.environ.get if "subprocesses" in options else os.environ.pop
    names = [name for name in take("DWELL_LINES", "").split("\n") if name]
    wanted = _line_targets.Wanted(names, tracer._add)

    first_process = None if "started" in options else os.getpid()

    def finish() -> None:
        tracer._finish()
        for name in wanted.unknown() if os.getpid() == first_process else ():
            sys.stderr.write(f"dwell: -f {name}: no such function came along in this run\n")

    tracer._record(log_file)
    _process.stop_at_end(finish, tracer._flush_last)
    if names:
        _core.on_exec(wanted.see)
    _core.line_recorder = tracer
    builtins.profile = _line_targets.Marker(tracer._add)  # type: ignore[attr-defined]
    tracer.enable_by_count()


_PROBES = {
    "calls": _start_calls,
    "lines": _start_lines,
    "sample": _start_sampling,
    "regions": _start_regions,
}
