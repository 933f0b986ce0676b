# SPDX-License-Identifier: MIT
"""`dwell time`: times statements, and compares them, interpreters or revisions."""

import argparse
import io
import json
import math
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, NoReturn

from . import _files, _history, _machine
from ._time_process import RUNS, Alternative, TimingError, time_in_processes
from ._time_worker import Code, peak_bytes
from ._worktree import Checkout, WorktreeError, checkouts
from .comparison import Comparison, Difference, compare, letters
from .memory._paths import size_text
from .timing import CONFIDENCE, Timing, format_time, name_of, save, timeit

_PROCESSES = 10
_PROCESS_SECONDS = 0.02
_FAILED, _TROUBLE = 1, 2

_EPILOG = """\
Two or more statements, interpreters or revisions are compared, each with the first. They are
run in turns, in an order that chance decides, so that a machine that slows down slows all of
them. The ratio has a confidence interval; when it includes 1, no difference could be seen.

--fail-if 'slower 5%' (or 'slower 1.05x') makes the exit status 1 only when the whole interval
lies beyond, so noise alone does not fail a build: code that is just that much slower fails in
one of 40 comparisons with --confidence 95, in one of 200 with 99, and equal code more rarely.
--fail-if 'larger 5%' is about the peak of memory, which is counted exactly.

Exit status: 0, 1 when --fail-if says so, 2 for trouble, as when the code cannot be run or
--fail-if cannot be decided.

examples:
  dwell time -r 20 '"-".join(str(n) for n in range(100))'
  dwell time -s 'x = list(range(1000))' 'sorted(x)' 'x.sort()'
  dwell time --python python3.12 --python venv/bin/python 'sum(range(1000))'
  dwell time --rev main --rev . -s 'from mypackage import f' 'f()' --fail-if 'slower 5%'
  dwell time --save parse -s 'import json' 'json.loads("[1, 2]")'
  dwell time --history parse --svg parse.svg
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(_TROUBLE, f"dwell: time: {message}; see 'dwell time --help'\n")


class Limit(NamedTuple):
    """What --fail-if asks for: the ratio of the times must not be wholly beyond, or, with larger,
    that of the memory."""

    text: str
    word: str
    factor: float

    def is_beyond(self, interval: tuple[float, float]) -> bool:
        return interval[1] < 1 / self.factor if self.word == "faster" else interval[0] > self.factor


def _limit(text: str) -> Limit:
    found = re.fullmatch(r"\s*(slower|faster|larger)\s+(\d+(?:\.\d+)?)\s*(%|x)\s*", text)
    if not found:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not like 'slower 5%', 'slower 1.05x' or 'larger 5%'"
        )
    number = float(found[2])
    factor = number if found[3] == "x" else 1 + number / 100
    if factor < 1:
        raise argparse.ArgumentTypeError(f"'{text}': the factor must be at least 1")
    return Limit(text.strip(), found[1], factor)


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return seconds


def _percent(text: str) -> float:
    try:
        share = float(text) / 100
    except ValueError:
        share = 0.0
    if not 0.5 <= share < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not from 50 to below 100")
    return share


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="dwell time",
        usage="dwell time [options] STMT [STMT2...]",
        description="Times Python statements, and says how far the figures can be trusted.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("statements", nargs="*", metavar="STMT", help=argparse.SUPPRESS)
    add("-s", "--setup", action="append", default=[], help="run before each run, not timed")
    add("-r", "--repeat", type=_count, metavar="N", help="runs (default: 7; 40 of each to compare)")
    add("-n", "--number", type=_count, default=0, metavar="N", help="loops in a run")
    add("--min-time", type=_seconds, metavar="SECONDS", help="how long a run lasts, without -n")
    add("--gc", action="store_true", help="leave the garbage collector on")
    add("--subtract-overhead", action="store_true", help="take out the time of the empty loop")
    add("--processes", type=_count, metavar="N", help="run in N fresh interpreters, -r times each")
    add("--python", action="append", default=[], metavar="PATH", help="an interpreter to time in")
    add("--rev", action="append", default=[], help="a git revision; . is the working tree")
    add("--confidence", type=_percent, default=CONFIDENCE, metavar="PERCENT", help="(95)")
    add(
        "--memory", action="store_true", help="the peak of what one loop allocates, beside its time"
    )
    add("--fail-if", type=_limit, metavar="LIMIT", help="exit with 1 if surely beyond, see below")
    add("--json", action="store_true", help="print everything as JSON")
    add("-o", "--output", metavar="FILE", help="keep the runs in a log, for 'dwell report'")
    add("--save", metavar="NAME", help="keep them in the history, of fresh processes")
    add("--history", metavar="NAME", help="show the history of that name")
    add("--svg", metavar="FILE", help="draw the history into a file")
    add("--history-file", metavar="FILE", help=f"(default: {_history.FILE_NAME} of the repository)")
    return parser


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    count = len(options.statements) * max(len(options.python), 1) * max(len(options.rev), 1)
    if options.history and options.statements:
        parser.error("--history takes no statement; --save does")
    if options.svg and not options.history:
        parser.error("--svg goes with --history")
    if not options.history and not options.statements:
        parser.error("there is no statement to time")
    if options.fail_if and count < 2:
        parser.error("--fail-if needs two things to compare")
    if options.fail_if and options.fail_if.word == "larger":
        options.memory = True


def _found(python: str) -> str:
    """The interpreter's absolute path; links are kept, or a venv's would not be its own."""
    path = shutil.which(python)
    return os.path.abspath(path) if path else python


def _alternatives(options: argparse.Namespace, trees: list[Checkout]) -> list[Alternative]:
    """Every statement in every revision in every interpreter, named by what sets it apart."""
    places: list[Checkout | None] = [*trees] or [None]
    made = []
    for stmt in options.statements:
        for python in options.python or [sys.executable]:
            for place in places:
                words = [name_of(stmt)] if len(options.statements) > 1 else []
                words += [python] if len(options.python) > 1 else []
                words += [place.revision] if place and len(places) > 1 else []
                made.append(
                    Alternative(
                        stmt,
                        "\n".join(options.setup) or "pass",
                        " · ".join(words) or name_of(stmt),
                        options.number,
                        _found(python),
                        place.directory if place else None,
                        place.environment if place else None,
                        place.commit if place else "",
                        place.moved if place else None,
                    )
                )
    return made


def _time_apart(options: argparse.Namespace) -> list[Timing]:
    """Times them in fresh interpreters."""
    with ExitStack() as stack:
        trees = stack.enter_context(checkouts(options.rev)) if options.rev else []
        return time_in_processes(
            _alternatives(options, trees),
            options.processes or _PROCESSES,
            options.repeat or RUNS,
            options.min_time or _PROCESS_SECONDS,
            options.gc,
            options.subtract_overhead,
            options.confidence,
            options.memory,
        )


def _time_here(options: argparse.Namespace) -> list[Timing]:
    """Times them in this process, with the modules of this directory."""
    sys.path.insert(0, "")
    setup = "\n".join(options.setup) or "pass"
    common: dict[str, Any] = {
        "number": options.number,
        "gc": options.gc,
        "subtract_overhead": options.subtract_overhead,
        "confidence": options.confidence,
        "globals": {"__name__": "__timed__"},
    }
    if options.min_time:
        common["min_time"] = options.min_time
    if len(options.statements) > 1:
        timings = compare(*options.statements, setup=setup, repeat=options.repeat, **common).timings
    else:
        timings = [timeit(options.statements[0], setup, repeat=options.repeat or 7, **common)]
    for stmt, timing in zip(options.statements, timings if options.memory else (), strict=False):
        timing.note_peak(peak_bytes(Code(stmt, setup, common["globals"])))
    return timings


def _is_apart(options: argparse.Namespace) -> bool:
    """Whether to use fresh processes: what is kept must compare with processes of other days."""
    return bool(options.processes or options.python or options.rev or options.save)


def _history_file(options: argparse.Namespace) -> str:
    return str(options.history_file or _history.default_file())


def _check_writable(file: str) -> None:
    """Raises OSError now rather than when everything is measured."""
    is_new = not os.path.lexists(file)
    if not is_new and not os.path.isfile(file) and not os.path.isdir(file):
        return  # a pipe would take the first close for the end
    with open(file, "ab", opener=_files.private):
        pass
    if is_new:
        os.unlink(file)


def _check_outputs(options: argparse.Namespace) -> None:
    if options.output:
        _check_writable(options.output)
    if options.save:
        _check_writable(_history_file(options))
        _history.check(_history_file(options))


def _keep(options: argparse.Namespace, timings: list[Timing]) -> None:
    """Writes them to the log and to the history."""
    if options.output:
        save(timings, options.output)
    if not options.save:
        return
    file = _history_file(options)
    machine = _machine.describe()
    several = len(timings) > max(len(options.rev), 1)
    for timing in timings:
        name = f"{options.save}: {timing.name}" if several else options.save
        revision = timing.properties.get("rev", "")[:12] or machine.get("git", "")
        _history.add(file, name, timing, revision, machine)


def _timing_json(timing: Timing) -> dict[str, Any]:
    kept = {key: value for key, value in vars(timing).items() if key not in ("all_runs", "timings")}
    return {**kept, "peak_bytes": timing.peak_bytes, "ci_of": "median", "text": str(timing)}


def _known(interval: tuple[float, float]) -> tuple[float, float] | None:
    """JSON has no infinity."""
    return interval if math.isfinite(interval[1]) else None


def _difference_json(index: int, difference: Difference) -> dict[str, Any]:
    return {
        "first": 0,
        "second": index,
        **difference._asdict(),
        "ratio": difference.ratio if math.isfinite(difference.ratio) else None,
        "ci": _known(difference.ci),
        "bootstrap_ci": _known(difference.bootstrap_ci),
    }


def _print_json(timings: list[Timing], comparison: Comparison | None) -> None:
    differences = comparison.differences if comparison else []
    document = {
        "timings": [_timing_json(timing) for timing in timings],
        "comparisons": [
            _difference_json(index, difference) for index, difference in enumerate(differences, 1)
        ],
        "machine": _machine.describe(),
    }
    print(json.dumps(document, ensure_ascii=False, indent=2))


def _median_text(timing: Timing) -> str:
    """One run has a median, but no interval."""
    text = f"median {format_time(timing.median)}"
    if not timing.ci_confidence:
        return text
    low, high = (format_time(end) for end in timing.ci)
    return f"{text}, {timing.ci_confidence * 100:.3g} % CI {low} to {high}"


def _peaks_text(timings: list[Timing]) -> str:
    peaks = [
        f"{letters(index) + ' ' if len(timings) > 1 else ''}"
        f"{'unknown' if timing.peak_bytes is None else size_text(timing.peak_bytes)}"
        for index, timing in enumerate(timings)
    ]
    return f"peak memory of a loop: {', '.join(peaks)}"


def _print_text(timings: list[Timing], comparison: Comparison | None) -> None:
    if comparison:
        print(comparison)
        warnings = comparison.warnings
    else:
        print(timings[0])
        print(_median_text(timings[0]))
        warnings = timings[0].warnings
    if any(timing.peak_bytes is not None for timing in timings):
        print(_peaks_text(timings))
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _judge(limit: Limit, comparison: Comparison) -> int:
    """The exit status; what cannot be decided must not look like a pass."""
    status = 0
    if limit.word == "larger":
        return _judge_peaks(limit, comparison)
    for index, difference in enumerate(comparison.differences, 1):
        if limit.is_beyond(difference.ci):
            print(f"dwell: {letters(index)} fails: {limit.text}", file=sys.stderr)
            status = _FAILED
    undecided = [each for each in comparison.differences if each.outcome == "unknown"]
    for difference in undecided:
        _complain(f"--fail-if cannot be decided: {difference.verdict}")
    return _TROUBLE if undecided and not status else status


def _judge_peaks(limit: Limit, comparison: Comparison) -> int:
    first, *others = (timing.peak_bytes for timing in comparison.timings)
    if first is None or None in others:
        return _complain("--fail-if cannot be decided: an interpreter has no dwell to count memory")
    failed = [index for index, peak in enumerate(others, 1) if (peak or 0) > first * limit.factor]
    for index in failed:
        print(f"dwell: {letters(index)} fails: {limit.text}", file=sys.stderr)
    return _FAILED if failed else 0


@contextmanager
def _quiet_pipe() -> Iterator[None]:
    """A reader may close our output; what is kept and the exit status do not depend on it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _time(options: argparse.Namespace) -> int:
    _check_outputs(options)
    timings = _time_apart(options) if _is_apart(options) else _time_here(options)
    comparison = Comparison(timings, options.confidence) if len(timings) > 1 else None
    _keep(options, timings)
    with _quiet_pipe():
        (_print_json if options.json else _print_text)(timings, comparison)
    return _judge(options.fail_if, comparison) if options.fail_if and comparison else 0


def _show_history(options: argparse.Namespace) -> int:
    found = _history.entries(_history_file(options), options.history)
    if options.svg:
        with open(options.svg, "w", encoding="utf-8", opener=_files.private) as out:
            out.write(_history.svg(options.history, found))
    with _quiet_pipe():
        print(_history.plot(found, shutil.get_terminal_size((100, 24)).columns))
    return 0


class _Stopped(BaseException):
    """A signal that ends the command, once everything is put back."""


def _stop(number: int, frame: Any) -> None:
    raise _Stopped(number)


def _end_by(number: int) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)


def _complain(sentence: str) -> int:
    print(f"dwell: {sentence}", file=sys.stderr)
    return _TROUBLE


def _described(error: Exception) -> str:
    """The error in one line, with its notes."""
    return "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    _check(parser, options)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)
    try:
        return _show_history(options) if options.history else _time(options)
    except (TimingError, WorktreeError, _history.HistoryError) as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        _end_by(signal.SIGINT)
    except _Stopped as stopped:
        _end_by(stopped.args[0])
    except SystemExit as error:  # of the statement, as the next
        return _complain(f"the code ended the process: SystemExit: {error}")
    except Exception as error:
        return _complain(_described(error))


if __name__ == "__main__":
    sys.exit(main())
