# SPDX-License-Identifier: MIT
"""Starts recording in a program run by `dwell run`, before its first line.

The environment says what to record, and goes on to the programs that this one
starts, unless they are not to be recorded. Only the core of dwell is loaded for it, under a
stand-in for the package that is gone afterwards: a program that imports dwell
gets all of it, any other none.

Anybody may have set that variable. A program that runs with more rights than who
started it ignores it; one that is told to ignore its environment (-E, -I) obeys
only a `dwell run` among the processes that it comes from.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def start() -> None:
    if "dwell._core" in sys.modules:  # the folders of a venv are read twice
        sys.modules.pop(__name__, None)
        return
    log_file = os.environ["DWELL_RUN"]
    if not _may_obey(log_file) or _is_helper():
        sys.modules.pop(__name__, None)
        return
    del os.environ["DWELL_RUN"]
    stand_in = type(sys)("dwell")
    stand_in.__path__ = [os.path.join(os.path.dirname(__file__), "dwell")]
    sys.modules["dwell"] = stand_in
    try:
        options, log_file = _parse(log_file)
        if "subprocesses" in options:
            log_file = _pass_on(options, log_file)
        _start(options, log_file)
    except OSError as error:
        sys.stderr.write(f"dwell: {log_file}: {error.strerror}; nothing is recorded\n")
    except MemoryError:
        sys.stderr.write("dwell: not enough memory; nothing is recorded\n")
    except Exception as error:
        if _is_main_interpreter():  # it records the process
            sys.stderr.write(f"dwell: {error}; nothing is recorded\n")
    finally:
        own = ("dwell", "dwell._process", "dwell._line_targets", "dwell._memory_pause", __name__)
        heap = [name for name in sys.modules if name.startswith("dwell.heap")]
        for name in (*own, *heap):
            sys.modules.pop(name, None)
        if core := sys.modules.get("dwell._core"):
            core.sampler_own_work(False)


def _is_helper() -> bool:
    """Whether it is multiprocessing's own, which does nothing for the program but wait."""
    return any("resource_tracker import main" in word for word in sys.orig_argv)


def _is_main_interpreter() -> bool:
    """Only one interpreter has the core; new ones come here too."""
    try:
        if sys.version_info >= (3, 13):
            import _interpreters as interpreters
        else:
            import _xxsubinterpreters as interpreters
        return bool(interpreters.get_current() == interpreters.get_main())
    except ImportError:
        return True


def _may_obey(request: str) -> bool:
    if _has_more_rights():
        return False
    words = request.partition(" ")[0].split(",")
    by = "".join(word[3:] for word in words if word.startswith("by="))
    if "started" in words and by.isdigit() and not os.path.exists(f"/proc/{by}"):
        return False  # the run is over
    return not sys.flags.ignore_environment or _comes_from(by)


def _has_more_rights() -> bool:
    """By AT_SECURE, in pairs of numbers. A program that others must not look into cannot even
    read those."""
    try:
        with open("/proc/self/auxv", "rb", 0) as file:
            pairs = file.read()
    except OSError:
        return True
    numbers = [int.from_bytes(pairs[at : at + 8], sys.byteorder) for at in range(0, len(pairs), 8)]
    return dict(zip(numbers[::2], numbers[1::2], strict=False)).get(23) != 0


def _comes_from(wanted: str) -> bool:
    """Whether the process of that number is an ancestor of this one, and is dwell."""
    process = str(os.getppid())
    try:
        while process not in ("0", "1", wanted):
            with open(f"/proc/{process}/stat", "rb", 0) as file:
                process = file.read().rpartition(b")")[2].split()[1].decode()
        program = os.path.basename(os.readlink(f"/proc/{process}/exe"))
    except OSError:
        return False
    return process == wanted and program.removesuffix(" (deleted)") == "dwell"


def _parse(request: str) -> "tuple[list[str], str]":
    """The options and the file."""
    from dwell import _core

    words, _, log_file = request.partition(" ")
    options = words.split(",")
    known = _WORDS.union(_core.plain_probes())
    for word in options:
        name, _, value = word.partition("=")
        is_number = name in _NUMBERS and value.isascii() and value.isdigit()
        is_name = name == "heap_region" and len(value) % 2 == 0 and _HEX.issuperset(value)
        is_number = is_number and _NUMBERS[name] <= int(value[:20]) <= 10**18
        if word not in known and not is_number and not is_name:
            raise ValueError("the environment variable DWELL_RUN is not understood")
    is_sampled = any(word.startswith("period=") for word in options) or "sample" not in options
    is_read = any(word.startswith("interval=") for word in options) or "gauges" not in options
    if not _PROBES.keys() & set(options) or not (is_sampled and is_read) or log_file[:1] != "/":
        raise ValueError("the environment variable DWELL_RUN is not understood")
    return options, log_file


def _pass_on(options: list[str], log_file: str) -> str:
    """Lets the programs that this one starts be recorded. The file of this one."""
    from dwell import _core

    is_first = "started" not in options
    words = ",".join([*options, "started"] if is_first else options)
    os.environ["DWELL_RUN"] = f"{words} {log_file}"
    return log_file if is_first else _core.child_log(log_file)


def _start(options: list[str], log_file: str) -> None:
    from dwell import _core, _process

    _core.redact(",".join(word[3:] for word in options if word in ("no-argv", "no-sources")))
    _process.describe()
    _process.watch_signals(not _NEED_GIL.isdisjoint(options))
    _process.stop_at_end(_core.finish)
    _process.name_children()
    follows = "subprocesses" in options
    os.register_at_fork(after_in_child=_core.go_on if follows else _core.finish)
    plain = [probe for probe in _core.plain_probes() if probe in options]
    probes = [probe for probe in _PROBES if probe in options]
    _core.describe("probes", ",".join(plain + probes))
    if "memory" in probes:
        _core.describe("memory", "exact" if "exact-memory" in options else "sampled")
    for probe in plain:  # they have the same file, and so one ledger
        _core.start_probe(probe, log_file)
    for probe in probes:
        _PROBES[probe](options, log_file)
    if "started" not in options:
        _start_pause(options)


def _start_regions(options: list[str], log_file: str) -> None:
    from dwell import _core

    beside = len(_PROBES.keys() & set(options)) > 1
    _core.start(log_file, "timeline" in options, "cpu" in options, beside)


def _start_calls(options: list[str], log_file: str) -> None:
    from dwell import _core

    profile: Any = _core.CallTracer(signatures="signatures" in options)
    profile._record(log_file)
    _core.call_recorder = profile
    profile._enable(True, True)


def _start_sampling(options: list[str], log_file: str) -> None:
    from dwell import _core

    period_ns = next(int(word[7:]) for word in options if word.startswith("period="))
    native = "native" in options
    _core.sampler_own_work(True)  # until start() is done
    _core.sampler_start(log_file, period_ns, native, "wall" in options, "timeline" in options)


def _start_lines(options: list[str], log_file: str) -> None:
    import atexit
    import builtins

    from dwell import _core, _line_targets

    tracer = _core.LineTracer("callees" in options, "memory" in options)
    take = os.environ.get if "subprocesses" in options else os.environ.pop
    names = [name for name in take("DWELL_LINES", "").split("\n") if name]
    wanted = _line_targets.Wanted(names, tracer._add)

    tracer._record(log_file)
    if names:
        _core.on_exec(wanted)
        if "started" not in options:
            atexit.register(_line_targets.Unknown(wanted))
    _core.line_recorder = tracer
    builtins.profile = _line_targets.Marker(tracer._add)  # type: ignore[attr-defined]
    tracer.enable_by_count()


def _start_memory(options: list[str], log_file: str) -> None:
    from dwell import _core

    if "lines" not in options:
        import builtins

        builtins.profile = _region_of  # type: ignore[attr-defined]
    _core.memory_start(log_file, "exact-memory" in options)


def _region_of(function: "Any") -> "Any":
    """`profile` as a builtin of the program, as mprof has it: calls are brackets in a plot."""
    from sys import modules

    is_plain = callable(function) and not isinstance(function, type)
    core: Any = modules["dwell._core"]
    core.sampler_own_work(True)  # what is imported is not the program's
    try:
        import dwell

        return dwell.func()(function) if is_plain else function
    finally:
        core.sampler_own_work(False)


def _start_gauges(options: list[str], log_file: str) -> None:
    from dwell import _core

    interval_ns = next(int(word[9:]) for word in options if word.startswith("interval="))
    _core.gauges_start(log_file, interval_ns, "pss" in options)


def _start_pause(options: list[str]) -> None:
    for word in options:
        if word.startswith("pdb="):
            from dwell import _memory_pause

            if "lines" in options and sys.version_info < (3, 12):
                raise ValueError("--pdb-above beside --lines needs Python 3.12 or newer")
            _memory_pause.Pause(int(word[4:])).start()


def _start_heap(options: list[str], log_file: str) -> None:
    from dwell import heap_run

    numbers = dict(word.split("=") for word in options if "=" in word)
    if "leaks" in options:
        heap_run.watch_leaks(int(numbers.get("heap_every", 10**9)) / 1e9)
    else:
        snapshots = heap_run.Snapshots(log_file)
        if "heap_every" in numbers:
            snapshots.take_every(int(numbers["heap_every"]) / 1e9)
        if "heap_signal" in numbers:
            snapshots.take_at(int(numbers["heap_signal"]))
        for word in options:
            if word.startswith("heap_region="):
                name = bytes.fromhex(word.partition("=")[2])
                snapshots.take_around(name.decode("utf-8", "surrogateescape"))


_PROBES = {  # calls come last, since they would see how the others begin
    "sample": _start_sampling,
    "regions": _start_regions,
    "lines": _start_lines,
    "memory": _start_memory,
    "gauges": _start_gauges,
    "heap": _start_heap,
    "calls": _start_calls,
}
_NEED_GIL = {"calls", "lines", "heap"}
_HEX = frozenset("0123456789abcdef")
_WORDS = {
    *_PROBES,
    *("signatures", "callees", "timeline", "cpu", "wall", "native", "subprocesses", "started"),
    *("no-argv", "no-sources", "exact-memory", "pss", "leaks"),
}
_NUMBERS = {  # the least of each
    **{"period": 10_000, "interval": 1_000_000, "by": 1, "pdb": 1},
    **{"heap_every": 1_000_000, "heap_signal": 1},
}
