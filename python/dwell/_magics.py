# SPDX-License-Identifier: MIT
"""The magics of `%load_ext dwell`: %lprun, %%lprun_all, %dwell, %dtime, %memit and %mprun.

Only load_ipython_extension() imports this, so that dwell does without IPython.
"""
# IPython need not be there when types are checked, and is not fully typed.
# mypy: allow-untyped-decorators, allow-untyped-calls

import ast
import builtins
import contextlib
import functools
import getopt
import importlib
import io
import os
import pstats
import time
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from IPython.core.error import UsageError  # type: ignore[import-not-found,unused-ignore]
from IPython.core.magic import no_var_expand  # type: ignore[import-not-found,unused-ignore]
from IPython.core.page import page  # type: ignore[import-not-found,unused-ignore]
from IPython.display import display  # type: ignore[import-not-found,unused-ignore]
from IPython.utils.process import arg_split  # type: ignore[import-not-found,attr-defined,unused-ignore]

from . import _files
from ._line_targets import code_of_functions, functions_of
from .calls import Profile
from .lines import LineProfiler

_DEFINITIONS = (FunctionType, type, functools._lru_cache_wrapper)


# Frames with a local variable __tracebackhide__ are left out of IPython's tracebacks: an error
# in the user's code is shown as if it had been run without us.


class _Options:
    """The options of a magic, as getopt has them, and the statement after them."""

    def __init__(self, line: str, short: str, *long: str) -> None:
        words = arg_split(line, posix=False, strict=False)
        try:
            found, others = getopt.getopt(words, short, long)
        except getopt.GetoptError as error:
            raise UsageError(f"{error}; the magic's name and a ? print its options") from None
        self._found = [(name.lstrip("-"), _unquoted(value)) for name, value in found]
        for word in words[: len(words) - len(others)]:
            line = line.lstrip()[len(word) :]
        self.statement = line.strip()

    def __contains__(self, name: str) -> bool:
        return any(name == each for each, _ in self._found)

    def all(self, name: str) -> list[str]:
        return [value for each, value in self._found if each == name]

    def last(self, name: str, default: str = "") -> str:
        return (self.all(name) or [default])[-1]

    @property
    def callees(self) -> bool:
        return "c" in self or "callees" in self

    def file(self, name: str) -> str:
        return os.path.expanduser(self.last(name))

    def number(self, name: str, kind: type[int] | type[float], default: float) -> Any:
        try:
            return kind(self.last(name, str(default)))
        except ValueError as error:
            raise UsageError(f"-{name}: {error}") from None


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value


@contextlib.contextmanager
def _as_builtin(profiler: LineProfiler) -> Iterator[None]:
    """Lets @profile name the profiler, as it does in programs written for kernprof."""
    space = vars(builtins)
    before = space.get("profile")
    space["profile"] = profiler
    try:
        yield
    finally:
        del space["profile"]
        if before is not None:
            space["profile"] = before


def _limit(text: str) -> int | float | str:
    """What pstats restricts a table by: a number of rows, a share of them, or a pattern."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _table(profile: Profile, sort: list[str], limits: list[str]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        stats: Any = pstats.Stats(profile)  # type: ignore[arg-type]
        stats.strip_dirs().sort_stats(*sort).print_stats(*map(_limit, limits))
        profile._print_overhead()
    return out.getvalue()


class Magics:
    """The magics of one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def register(self) -> None:
        self._shell.register_magic_function(self.lprun, "line_cell")
        self._shell.register_magic_function(self.lprun_all, "cell")
        self._shell.register_magic_function(self.dwell, "line_cell")
        self._shell.register_magic_function(self.dtime, "line_cell")
        self._shell.register_magic_function(self.memit, "line_cell")
        self._shell.register_magic_function(self.mprun, "line_cell")

    @no_var_expand
    def lprun(self, line: str, cell: str | None = None) -> LineProfiler | None:
        """Times the lines of functions while a statement or a cell runs.

        Usage:
            %lprun [options] statement
            %%lprun [options]
            cell

        -f FUNCTION  a function, method, class or property whose lines are timed: any expression,
                     in quotes if it has spaces; can be repeated
        -m MODULE    all functions and methods of a module; can be repeated
        -c, --callees  split each line up by what it calls
        -u UNIT      unit of the times, in seconds (1e-6)
        -z, -s       leave out functions that did not run
        -r           return the LineProfiler
        -D FILE      write a recording, for `dwell report` and dwell.load_stats()
        -T FILE      write the report

        Without -f and -m these are the functions that you defined in the session, as far
        as they run.
        """
        __tracebackhide__ = True
        options = _Options(line, "f:m:cu:zsrD:T:", "callees")
        code = self._compiled(options, cell)
        profiler = LineProfiler(callees=options.callees)
        chosen = self._add_chosen(profiler, options)
        if not chosen:
            self._add_own(profiler, code)
        return self._run_lines(profiler, code, options, strip=not chosen)

    @no_var_expand
    def lprun_all(self, line: str, cell: str) -> LineProfiler | None:
        """Times every line of a cell, and of the functions that are defined in it.

        Usage:
            %%lprun_all [options]
            cell

        -p  only the lines of the cell itself, not those of functions
        -t  put the seconds that the cell took into the variable _total_time_taken

        -c, -u, -z, -s, -r, -D and -T are as for %lprun.
        """
        __tracebackhide__ = True
        options = _Options(line, "ptcu:zsrD:T:", "callees")
        code = self._compiled(options, cell)
        profiler = LineProfiler(callees=options.callees)
        profiler.add_code(code)
        for inner in () if "p" in options else code_of_functions(code):
            profiler.add_code(inner)
        return self._run_lines(profiler, code, options)

    @no_var_expand
    def dwell(self, line: str, cell: str | None = None) -> Profile | None:
        """Times every call while a statement or a cell runs, as %prun does.

        Usage:
            %dwell [options] statement
            %%dwell [options]
            cell

        -s KEY         sort by it (time), as pstats has them: cumulative, ncalls, ...; can be
                       repeated
        -l LIMIT       a number of rows, a share (0.1), or a pattern of names; can be repeated
        -q             print no table
        -r             return the Profile, for dwell.plot()
        -D FILE        write a file for pstats
        -T FILE        write the table
        --all-threads  count the calls of all threads, those of the kernel itself among them, and
                       not only what the thread of the cell calls
        --signatures   tell functions apart by the types of their arguments
        """
        __tracebackhide__ = True
        options = _Options(line, "s:l:qrD:T:", "all-threads", "signatures")
        code = self._compiled(options, cell)
        profile = Profile(signatures="signatures" in options, all_threads="all-threads" in options)
        end = ""
        try:
            end = self._run(code, profile)
        finally:
            text = _table(profile, options.all("s") or ["time"], options.all("l"))
            if "q" not in options:
                self._show(text)
            _write_files(profile, text, options, end)
        return profile if "r" in options else None

    @no_var_expand
    def dtime(self, line: str, cell: str | None = None) -> Any:
        """Times a statement or a cell many times over, as %timeit does, with dwell.timeit().

        Usage:
            %dtime [options] statement
            %%dtime [options] setup
            cell

        -n N      loops in a run; as many as take 0.2 s if not given
        -r N      runs (7)
        -s SETUP  a statement that is run before each run and not timed, in quotes
        -t        measure the time that passes, which is the default
        -c        measure CPU time
        -p N      digits of the figures (3)
        -q        print nothing
        -o        return the Timing
        -v NAME   put the Timing into a variable
        """
        from .timing import name_of, timeit

        options = _Options(line, "n:r:s:tcp:qov:")
        digits = options.number("p", int, 3)
        stmt = options.statement if cell is None else cell
        setup = options.last("s")
        if cell is not None:
            setup = f"{setup}\n{options.statement}"
        timing = timeit(
            self._tree(self._shell.transform_cell(stmt)),
            self._tree(self._shell.transform_cell(setup)),
            globals=self._shell.user_ns,
            number=options.number("n", int, 0),
            repeat=options.number("r", int, 7),
            cpu="c" in options,
            name=name_of(stmt),
        )
        if "q" not in options:
            print(timing.line(digits), *timing.warnings, sep="\n")
        if name := options.last("v"):
            self._shell.user_ns[name] = timing
        return timing if "o" in options else None

    @no_var_expand
    def memit(self, line: str, cell: str | None = None) -> Any:
        """Measures how much memory a statement or a cell takes at its peak.

        Usage:
            %memit [options] statement
            %%memit [options] setup
            cell

        -r R  run it R times, and take the largest peak (1)
        -t T  accepted as memory_profiler has it; the statement runs once in any case
        -i I  read memory every I seconds (0.1)
        -c    with the child processes
        -o    return the result
        -q    print nothing

        Peaks between two readings count too, when they are the highest of the whole process.
        """
        __tracebackhide__ = True
        from .memory._usage import MemitResult

        options = _Options(line, "r:t:i:coq")
        setup = options.statement if cell is not None else ""
        stmt = options.statement if cell is None else cell
        spaces = self._shell.user_global_ns, self._shell.user_ns
        exec(
            self._shell.compile(self._tree(self._shell.transform_cell(setup)), "<setup>", "exec"),
            *spaces,
        )
        code = self._shell.compile(self._tree(self._shell.transform_cell(stmt)), "<memit>", "exec")
        result = MemitResult.measure(
            lambda: exec(code, *spaces),
            repeat=options.number("r", int, 1),
            timeout=options.number("t", int, 0) or None,
            interval=options.number("i", float, 0.1),
            include_children="c" in options,
        )
        if "q" not in options:
            print(result)
        return result if "o" in options else None

    @no_var_expand
    def mprun(self, line: str, cell: str | None = None) -> LineProfiler | None:
        """Shows what the lines of functions do to memory while a statement or a cell runs.

        Usage:
            %mprun [options] statement
            %%mprun [options]
            cell

        -f FUNCTION  a function, method, class or property; can be repeated
        -m MODULE    all functions and methods of a module; can be repeated
        -r           return the LineProfiler
        -T FILE      write the report
        -c           accepted as memory_profiler has it; children are not counted

        Without -f and -m these are the functions that you defined in the session.
        """
        __tracebackhide__ = True
        from .memory._profile import show_results

        options = _Options(line, "f:m:rT:c")
        code = self._compiled(options, cell)
        profiler = LineProfiler(memory=True)
        if not self._add_chosen(profiler, options):
            self._add_own(profiler, code)
        with _as_builtin(profiler):
            end = self._run(code, profiler)
        report = io.StringIO()
        show_results(profiler, report)
        self._show(report.getvalue())
        _write_files(profiler, report.getvalue(), options, end)
        return profiler if "r" in options else None

    def _tree(self, source: str, file: str = "<unknown>") -> ast.Module:
        """The tree that the shell would run, with its own transformers applied."""
        tree: ast.Module = self._shell.compile.ast_parse(source, file)
        tree = self._shell.transform_ast(tree)
        return tree

    def _compiled(self, options: _Options, cell: str | None) -> CodeType:
        """The code of the statement or cell, whose source tracebacks and reports can find."""
        if cell is not None and options.statement:
            raise UsageError(f"only options can be in the first line, not: {options.statement}")
        raw = options.statement if cell is None else cell
        source = self._shell.transform_cell(raw)
        number = len(self._shell.history_manager.input_hist_parsed) - 1  # of the cell that runs
        file = self._shell.compile.cache(source, number, raw_code=raw)
        code: CodeType = self._shell.compile(self._tree(source, file), file, "exec")
        return code

    def _add_chosen(self, profiler: LineProfiler, options: _Options) -> bool:
        """The functions of -f and -m; whether there are such options."""
        spaces = self._shell.user_global_ns, self._shell.user_ns
        for expression in options.all("f"):
            try:
                function = eval(expression, *spaces)
            except Exception as error:
                raise UsageError(f"-f {expression}: {type(error).__name__}: {error}") from None
            profiler.add_function(function)
        for name in options.all("m"):
            try:
                module = importlib.import_module(name)
            except Exception as error:
                raise UsageError(f"-m {name}: {type(error).__name__}: {error}") from None
            profiler.add_module(module)
        return "f" in options or "m" in options

    def _add_own(self, profiler: LineProfiler, code: CodeType) -> None:
        """What the user has defined so far, and what the code itself defines."""
        space = self._shell.user_ns
        for value in list(space.values()):
            for function in functions_of(value) if isinstance(value, _DEFINITIONS) else ():
                if function.__module__ == space["__name__"]:
                    profiler.add_function(function)
        for inner in code_of_functions(code):
            profiler.add_code(inner)

    def _run(self, code: CodeType, profiler: LineProfiler | Profile) -> str:
        """Runs the code; returns how it ended, if it did so in a way that is not an error."""
        __tracebackhide__ = True
        spaces = self._shell.user_global_ns, self._shell.user_ns
        profiler.enable()
        try:
            exec(code, *spaces)
        except (KeyboardInterrupt, SystemExit) as end:
            return f"*** The profiled code ended with {end!r}."
        finally:
            profiler.disable()
        return ""

    def _run_lines(
        self, profiler: LineProfiler, code: CodeType, options: _Options, strip: bool = False
    ) -> LineProfiler | None:
        __tracebackhide__ = True
        unit = options.number("u", float, 1e-6)
        strip = strip or "z" in options or "s" in options
        end = ""
        start = time.perf_counter()
        try:
            with _as_builtin(profiler):
                end = self._run(code, profiler)
        finally:
            if "t" in options:
                self._shell.user_ns["_total_time_taken"] = time.perf_counter() - start
            stats = profiler.get_stats()
            text = stats._text(unit, strip, callees=options.callees)
            self._show(text, stats._text(unit, strip, callees=options.callees, heat=True))
            _write_files(profiler, text, options, end)
        return profiler if "r" in options else None

    def _show(self, text: str, html: str | None = None) -> None:
        """Shows it in the pager of a terminal, or below the cell of a notebook."""
        if hasattr(self._shell, "kernel"):
            forms = {"text/plain": text, "text/html": html}
            display({kind: form for kind, form in forms.items() if form}, raw=True)
        else:
            page(text)


def _write_files(profiler: LineProfiler | Profile, text: str, options: _Options, end: str) -> None:
    """Writes the files of -D and -T, and says so."""
    if dump := options.file("D"):
        profiler.dump_stats(dump)
        print(f"*** The profile is in {dump}")
    if report := options.file("T"):
        with open(report, "w", encoding="utf-8", opener=_files.private) as out:
            out.write(text)
        print(f"*** The report is in {report}")
    if end:
        print(end)
