# SPDX-License-Identifier: MIT
"""Which functions are meant: by an object that holds them, or by a name on the command line.

`dwell run --lines` loads this into the program, so it imports no more than it must.
"""

import functools
import os
import sys
from types import CodeType, FunctionType, MethodType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_HOLDERS = (functools.partial, functools.partialmethod, functools.cached_property)
_FUNCTION = 0x1  # CO_OPTIMIZED: the code is a function's, not that of a class or module


def functions_of(target: "Any") -> "Iterator[FunctionType]":
    """The Python functions in a function, method, property, partial or class.

    Of a decorated function (functools.wraps) it is the one that was decorated.
    """
    if isinstance(target, (classmethod, staticmethod, MethodType)):
        target = target.__func__
    seen: set[int] = set()
    while "__wrapped__" in getattr(target, "__dict__", ()) and not isinstance(target, type):
        if id(target) in seen:
            break
        seen.add(id(target))
        target = target.__wrapped__
    if isinstance(target, FunctionType):
        yield target
    elif isinstance(target, property):
        for function in (target.fget, target.fset, target.fdel):
            yield from functions_of(function)
    elif isinstance(target, _HOLDERS):
        yield from functions_of(target.func)
    elif isinstance(target, type):
        for member in vars(target).values():
            if not isinstance(member, type):
                yield from functions_of(member)
    elif isinstance(getattr(type(target), "__call__", None), FunctionType):  # noqa: B004
        yield from functions_of(type(target).__call__)


def code_of_functions(code: CodeType) -> "Iterator[CodeType]":
    """The code of all functions and methods that are defined inside, at any depth."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & _FUNCTION and not inner.co_name.startswith("<"):
                yield inner
            yield from code_of_functions(inner)


class Marker:
    """`profile` as a builtin of the program: what is marked is profiled all the time."""

    def __init__(self, add: "Callable[[CodeType], Any]") -> None:
        self._add = add

    def __call__(self, target: "Any") -> "Any":
        for function in functions_of(target):
            self._add(function.__code__)
        return target

    def add_function(self, function: "Any") -> None:
        self(function)

    def add_module(self, module: "Any") -> None:
        for member in vars(module).values():
            if getattr(member, "__module__", None) == module.__name__:
                self(member)

    def __enter__(self) -> "Marker":
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Wanted:
    """Functions by name, as `-f` has them: func, Class or Class.method of the program itself,
    and module, module.func, package.module.Class.method of any module."""

    def __init__(self, names: "list[str]", add: "Callable[[CodeType], Any]") -> None:
        self._add = add
        self._names = names
        self.found = dict.fromkeys(names, False)
        for name in names:
            self._add_loaded(name)

    def unknown(self) -> "list[str]":
        """The names for which nothing came along."""
        return [name for name, found in self.found.items() if not found]

    def _add_loaded(self, name: str) -> None:
        """Modules that were imported before we could see them come in."""
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            target: Any = sys.modules.get(".".join(parts[:end]))
            for part in parts[end:] if target else ():
                target = getattr(target, part, None)
            members = vars(target).values() if end == len(parts) and target else [target]
            for member in members:
                for function in functions_of(member):
                    if end < len(parts) or function.__module__ == name:
                        self._take(name, function.__code__)

    def _take(self, name: str, code: CodeType) -> None:
        self.found[name] = True
        self._add(code)

    def see(self, module: CodeType) -> None:
        """A module's code is about to run; its functions are in it."""
        if module.co_name != "<module>":
            return
        for name in self._names:
            parts = name.split(".")
            start = 0 if _is_program(module) else 1
            for end in range(start, len(parts) + 1):
                if _is_module(module.co_filename, parts[:end]):
                    self._take_all(name, module, ".".join(parts[end:]))

    def _take_all(self, name: str, code: CodeType, wanted: str) -> None:
        for inner in code.co_consts:
            if not isinstance(inner, CodeType) or inner.co_name.startswith("<"):
                continue
            of_class = inner.co_qualname.startswith(wanted + ".") or not wanted
            if inner.co_flags & _FUNCTION and (inner.co_qualname == wanted or of_class):
                self._take(name, inner)
            elif not inner.co_flags & _FUNCTION:
                self._take_all(name, inner, wanted)


def _is_module(file: str, parts: "list[str]") -> bool:
    """Whether a module of that name can be in the file; the program itself has any name."""
    path = os.path.splitext(file)[0].replace("\\", "/").split("/")
    if path[-1] == "__init__":
        path.pop()
    return not parts or path[-len(parts) :] == parts


def _is_program(module: CodeType) -> bool:
    arguments = sys.orig_argv[1:]
    for index, argument in enumerate(arguments):
        if argument == "-m":
            parts = arguments[index + 1].split(".")
            return any(_is_module(module.co_filename, p) for p in (parts, [*parts, "__main__"]))
        if argument == "-c":
            return module.co_filename == "<string>"
        if not argument.startswith("-"):
            places = (argument, os.path.join(argument, "__main__.py"))  # of a directory or a zip
            return os.path.abspath(module.co_filename) in map(os.path.abspath, places)
    return False
