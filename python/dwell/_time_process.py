# SPDX-License-Identifier: MIT
"""Timing in fresh interpreters, which take turns: each has its own memory layout and hashes."""

import base64
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from .comparison import agreed, new_session, schedule
from .timing import Timed, Timing, with_progress

RUNS = 5
_WORKER = os.path.join(os.path.dirname(__file__), "_time_worker.py")


class TimingError(RuntimeError):
    """The code could not be timed in another process."""


class Alternative(NamedTuple):
    """What is timed, and where."""

    stmt: Timed
    setup: Timed
    name: str
    number: int  # of loops; 0: to be chosen
    python: str = sys.executable
    directory: str | None = None  # to run in, and first on sys.path
    environment: dict[str, str] | None = None
    revision: str = ""
    moved: tuple[str, str] | None = None  # see Checkout


def _packed(code: Timed, name: str) -> str | dict[str, str]:
    """A statement as it is, a callable as a pickle that names it."""
    if isinstance(code, str):
        return code
    try:
        pickled = pickle.dumps(code, protocol=4)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"{name} cannot be sent to a fresh process ({error}): "
            "use a statement, or a function at the top level of a module"
        ) from None
    if b"__main__" in pickled:
        raise TypeError(
            f"{name} cannot be sent to a fresh process, because it is defined in __main__: "
            "put it into a module, or use a statement with a setup that defines it"
        )
    return {"pickle": base64.b64encode(pickled).decode("ascii")}


def _request(alternative: Alternative, **others: Any) -> dict[str, Any]:
    is_ours = isinstance(alternative.stmt, str) and isinstance(alternative.setup, str)
    return {
        "stmt": _packed(alternative.stmt, alternative.name),
        "setup": _packed(alternative.setup, "setup"),
        "path": None if is_ours or alternative.directory else sys.path,
        "moved": alternative.moved,
        **others,
    }


def _ask(alternative: Alternative, request: dict[str, Any]) -> dict[str, Any]:
    """The answer of a fresh interpreter."""
    try:
        done = subprocess.run(
            [alternative.python, _WORKER],
            input=json.dumps(request),
            stdout=subprocess.PIPE,
            text=True,
            cwd=alternative.directory,
            env=alternative.environment,
        )
    except OSError as error:
        raise TimingError(f"{alternative.python}: {error.strerror}") from None
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise TimingError(
            f"{alternative.name}: {alternative.python} ended with status {done.returncode}"
        ) from None
    if "error" in answer:
        raise TimingError(f"{alternative.name}: {answer['error']}")
    return answer


def time_in_processes(
    alternatives: list[Alternative],
    processes: int,
    runs: int,
    min_time: float,
    gc: bool,
    subtract_overhead: bool,
    confidence: float,
    memory: bool = False,
) -> list[Timing]:
    """`processes` fresh interpreters for each alternative, in turns, with `runs` runs in each."""
    common: dict[str, Any] = {
        "enough_ns": int(min_time * 1e9),
        "runs": runs,
        "collect": gc,
        "subtract_overhead": subtract_overhead,
    }
    requests = []
    for alternative in alternatives:
        request = _request(alternative, loops=alternative.number, **common)
        request["loops"] = request["loops"] or _ask(alternative, request)["loops"]
        requests.append(request)
    for request, loops in zip(requests, agreed([each["loops"] for each in requests]), strict=True):
        request["loops"] = loops
    answers: list[list[dict[str, Any]]] = [[] for _ in alternatives]
    seconds = processes * len(alternatives) * (runs + 1) * min_time
    session = new_session()
    for at in with_progress(schedule(len(alternatives), processes, session), seconds):
        answers[at].append(_ask(alternatives[at], requests[at]))
    timings = [
        _timing(alternative, answer, runs, confidence, session)
        for alternative, answer in zip(alternatives, answers, strict=True)
    ]
    for at, timing in enumerate(timings if memory else ()):
        timing.note_peak(_ask(alternatives[at], {**requests[at], "memory": True})["peak_bytes"])
    return timings


def _timing(
    alternative: Alternative,
    answers: list[dict[str, Any]],
    runs: int,
    confidence: float,
    session: str,
) -> Timing:
    first = answers[0]

    def total(key: str, add: Callable[[Any], Any] = sum) -> Any:
        return add(answer[key] for answer in answers)

    return Timing(
        alternative.name,
        first["loops"],
        [ns for answer in answers for ns in answer["runs_ns"]],
        compile_time=first["compile_time"],
        user=total("user"),
        system=total("system"),
        peak_rss=total("peak_rss", max),
        gc_runs=total("gc_runs"),
        overhead=first["overhead_ns"] * 1e-9 / first["loops"],
        group=runs,
        confidence=confidence,
        properties={
            **({"rev": alternative.revision} if alternative.revision else {}),
            "session": session,
            "group": str(runs),
            "python": first["python"],
            "implementation": first["implementation"],
        },
    )
