# SPDX-License-Identifier: MIT
"""The loop that times code, in this process or in a fresh interpreter.

Run as a script it takes a request as JSON on standard input and gives the result as JSON on
standard output. It needs the standard library only, on Python 3.8 or later: the interpreter
that is measured need not have dwell.
"""

import gc
import os
import sys
import time
from itertools import repeat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_FILE, _STMT_FILE, _SETUP_FILE = "<timed>", "<statement>", "<setup>"
_SURELY_LONG_NS = 500_000_000
_LOOP = """
def _dwell_loop(_dwell_count, _dwell_clock, _dwell_stmt, _dwell_setup):
    _dwell_setup()
    _dwell_start = _dwell_clock()
    for _dwell_i in _dwell_count:
        _dwell_stmt()
    return _dwell_clock() - _dwell_start
"""


def _nothing() -> None:
    pass


def _body(source: "Any", file: str) -> "list[Any]":
    """The statements of a source or of its tree, refused where a module or a function would refuse
    them."""
    import ast

    tree: Any = ast.parse(source, file) if isinstance(source, str) else source
    compile(tree, file, "exec")
    body = tree.body or ast.parse("pass").body
    alone: Any = ast.parse("def _dwell_body(): pass")
    alone.body[0].body = body
    compile(alone, file, "exec")
    return body


def _compiled(stmt: "Any", setup: "Any") -> "Any":
    """The loop with the sources put in as trees, so that no text has to be indented."""
    import ast

    tree = ast.parse(_LOOP, _FILE)
    function: Any = tree.body[0]
    if not callable(stmt):
        function.body[2].body = _body(stmt, _STMT_FILE)
    if not callable(setup):
        function.body[0:1] = _body(setup, _SETUP_FILE)
    return compile(ast.fix_missing_locations(tree), _FILE, "exec")


def _usage() -> "tuple[float, float, int]":
    """User and system seconds of this process, and its largest size in bytes so far."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024


def _collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


class Code:
    """A statement, its tree or a callable to be timed, with what running it has cost so far."""

    cpu = False  # whether CPU time is measured, not the time that passes

    def __init__(
        self, stmt: "Any", setup: "Any" = "pass", namespace: "dict[str, Any] | None" = None
    ) -> None:
        start = time.perf_counter()
        code = _compiled(stmt, setup)
        self.compile_time = time.perf_counter() - start
        space = dict(namespace or {})
        exec(code, space)
        self._loop: Callable[..., int] = space["_dwell_loop"]
        self._stmt = stmt if callable(stmt) else _nothing
        self._setup = setup if callable(setup) else _nothing
        self.user = self.system = 0.0
        self.peak_rss = self.gc_runs = 0

    def run(
        self, loops: int, collect: bool = False, clock: "Callable[[], int] | None" = None
    ) -> int:
        """Nanoseconds of so many loops; with `collect` the garbage collector may run."""
        was_enabled = gc.isenabled()
        (gc.enable if collect else gc.disable)()
        user, system, _ = _usage()
        collections = _collections()
        try:
            clock = clock or (time.process_time_ns if self.cpu else time.perf_counter_ns)
            spent = self._loop(repeat(None, loops), clock, self._stmt, self._setup)
        finally:
            (gc.enable if was_enabled else gc.disable)()
        after = _usage()
        self.user += after[0] - user
        self.system += after[1] - system
        self.peak_rss = after[2]
        self.gc_runs += _collections() - collections
        return spent

    def calibrate(self, enough_ns: int, collect: bool = False) -> "tuple[int, int]":
        """The first of 1, 2, 5, 10, 20, ... loops that take long enough, and how long.

        Twice in a row, unless it is very long: a single run may have been held up.
        """
        unit = 1
        while True:
            for factor in (1, 2, 5):
                spent = self.run(unit * factor, collect)
                if enough_ns <= spent < _SURELY_LONG_NS:
                    spent = min(spent, self.run(unit * factor, collect))
                if spent >= enough_ns:
                    return unit * factor, spent
            unit *= 10

    def first_size(self, loops: int, min_time: float, collect: bool = False) -> "tuple[int, int]":
        """The loops, chosen if they are 0, and the nanoseconds that they took at first."""
        if loops:
            return loops, self.run(loops, collect)
        return self.calibrate(int(min_time * 1e9), collect)

    def start_over(self) -> None:
        """Forgets what it has cost."""
        self.user = self.system = 0.0
        self.gc_runs = 0


class _Peak:
    """A clock for Code: memory is counted between its first call and its second."""

    def __init__(self, tracked: "Any") -> None:
        self._steps = iter([tracked.start, tracked.stop])

    def __call__(self) -> int:
        next(self._steps)()
        return 0


def peak_bytes(code: "Code") -> "int | None":
    """The most that one loop has allocated at a time, without its setup. Nothing is known where
    there is no dwell."""
    try:
        from dwell.memory import track
    except ImportError:
        return None
    code.run(1)  # caches
    tracked = track(mode="exact")
    code.run(1, clock=_Peak(tracked))
    return tracked.totals().get("peak_bytes", 0)


def overhead_ns(loops: int) -> int:
    """Nanoseconds of so many empty loops: the best of a few."""
    empty = Code("pass")
    return min(empty.run(loops) for _ in range(5))


def _unpacked(code: "Any") -> "Any":
    """A statement as it is, a callable out of its pickle."""
    if isinstance(code, str):
        return code
    import base64
    import pickle

    return pickle.loads(base64.b64decode(code["pickle"]))


def _answer(request: "dict[str, Any]") -> "dict[str, Any]":
    code = Code(_unpacked(request["stmt"]), _unpacked(request["setup"]))
    loops, collect = request["loops"], request["collect"]
    if request.get("memory"):
        return {"peak_bytes": peak_bytes(code)}
    if not loops:
        return {"loops": code.calibrate(request["enough_ns"], collect)[0]}
    code.run(loops, collect)  # caches, and specialised bytecode
    code.start_over()
    empty = overhead_ns(loops) if request["subtract_overhead"] else 0
    return {
        "loops": loops,
        "runs_ns": [max(code.run(loops, collect) - empty, 0) for _ in range(request["runs"])],
        "overhead_ns": empty,
        "compile_time": code.compile_time,
        "user": code.user,
        "system": code.system,
        "peak_rss": code.peak_rss,
        "gc_runs": code.gc_runs,
        "python": sys.version.split()[0],
        "implementation": sys.implementation.name,
    }


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip("/") + "/")


def _move_path(root: str, tree: str) -> None:
    """Directories of the repository on sys.path, as an editable installation puts them there,
    become those of the revision, if it has them."""
    for at, entry in enumerate(sys.path):
        real = os.path.realpath(entry)
        moved = os.path.join(tree, os.path.relpath(real, root))
        if entry and (real == root or _is_below(real, root)) and not _is_below(real, tree):
            sys.path[at] = moved if os.path.isdir(moved) else entry


def _stray(root: str, tree: str) -> str:
    """A sentence about a module of the repository that is not the revision's; nothing if there is
    none. An environment inside of the repository belongs to the interpreter."""
    prefixes = {os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)}
    ours = [tree, *(prefix for prefix in prefixes if _is_below(prefix, root))]
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(file, str):
            continue
        real = os.path.realpath(file)
        if _is_below(real, root) and not any(_is_below(real, place) for place in ours):
            return f"module {name} is that of {file}, not of the revision"
    return ""


def _guarded_answer(request: "dict[str, Any]") -> "dict[str, Any]":
    """The answer, or why there is none."""
    moved = request.get("moved")
    try:
        result = _answer(request)
    except SystemExit as error:
        return {"error": f"the code ended the process: SystemExit: {error}"}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    stray = _stray(*moved) if moved else ""
    return {"error": stray} if stray else result


def main() -> None:
    """What the code prints goes to standard error: standard output is for the answer."""
    import json

    request = json.load(sys.stdin)
    if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]
    sys.path[:] = request["path"] or ["", *sys.path]
    if request.get("moved"):
        _move_path(*request["moved"])
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        result = _guarded_answer(request)
    except KeyboardInterrupt:  # our parent got the signal too, and reports it
        os._exit(130)
    json.dump(result, answer)
    answer.close()


if __name__ == "__main__":
    main()
