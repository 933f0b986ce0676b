# SPDX-License-Identifier: MIT
"""Which functions are meant: by an object that holds them, or by a name on the command line.

`dwell run --lines` loads this into the program, so it imports no more than it must.
"""

import functools
import os
import sys
from types import CodeType, FunctionType, MethodType

from . import _core

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
    while (inner := _decorated(target)) is not None and id(target) not in seen:
        seen.add(id(target))
        target = inner
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
                yield from _functions_defined_in(target.__module__, member)
    elif isinstance(getattr(type(target), "__call__", None), FunctionType):  # noqa: B004
        yield from functions_of(type(target).__call__)


def _decorated(target: "Any") -> "Any":
    """The function that functools.wraps() says it was made from, or None."""
    try:
        return None if isinstance(target, type) else target.__dict__.get("__wrapped__")
    except Exception:  # a proxy, as flask.request is, may raise here
        return None


def _functions_defined_in(module: str, member: "Any") -> "Iterator[FunctionType]":
    """The functions of a member that its module defines: it may hold others too."""
    for function in functions_of(member):
        if function.__module__ == module:
            yield function


def code_of_functions(code: CodeType) -> "Iterator[CodeType]":
    """The code of all functions and methods that are defined inside, at any depth."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & _FUNCTION and not inner.co_name.startswith("<"):
                yield inner
            yield from code_of_functions(inner)


class Marker(_core.Unseen):
    """`profile` as a builtin of the program: what is marked is profiled all the time."""

    def __init__(self, add: "Callable[[CodeType], Any]") -> None:
        self._add = add

    def _unseen(self, target: "Any") -> "Any":
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


class Wanted(_core.Unseen):
    """Functions by name, as `-f` has them: func, Class or Class.method of the program itself,
    package and module, and module.func, package.module.Class.method of any module."""

    def __init__(self, names: "list[str]", add: "Callable[[CodeType], Any]") -> None:
        self._add = add
        self._names = names
        self.found = dict.fromkeys(names, False)
        for name in names:
            self._add_loaded(name)

    def _add_loaded(self, name: str) -> None:
        """Looks at modules that were imported before we could see them."""
        for loaded, module in list(sys.modules.items()):
            if _is_in(loaded, name):
                for member in list(_namespace(module).values()):
                    for function in _functions_defined_in(module.__name__, member):
                        self._take(name, function.__code__)
            elif _is_in(name, loaded):
                target: Any = module
                for part in name[len(loaded) + 1 :].split("."):
                    target = getattr(target, part, None)
                for function in functions_of(target):
                    self._take(name, function.__code__)

    def _take(self, name: str, code: CodeType) -> None:
        self.found[name] = True
        self._add(code)

    def _unseen(self, module: CodeType) -> None:
        """Called when a module's code is about to run; its functions are in it."""
        if module.co_name != "<module>":
            return
        imported_as = _imported_name(module.co_filename)
        known_as = [imported_as] if imported_as else _ends_of_path(module.co_filename)
        for name in self._names:
            if imported_as.startswith(name + "."):
                self._take_all(name, module, "")
            if _is_program(module):
                self._take_all(name, module, name)
            for known in known_as:
                if _is_in(name, known):
                    self._take_all(name, module, name[len(known) + 1 :])

    def _take_all(self, name: str, code: CodeType, wanted: str) -> None:
        for inner in code.co_consts:
            if not isinstance(inner, CodeType) or inner.co_name.startswith("<"):
                continue
            of_class = inner.co_qualname.startswith(wanted + ".") or not wanted
            if inner.co_flags & _FUNCTION and (inner.co_qualname == wanted or of_class):
                self._take(name, inner)
            elif not inner.co_flags & _FUNCTION:
                self._take_all(name, inner, wanted)


def _is_in(name: str, space: str) -> bool:
    return name == space or name.startswith(space + ".")


def _namespace(module: object) -> "dict[str, Any]":
    """The namespace, without loading a module that loads itself at first use."""
    try:
        space: dict[str, Any] = object.__getattribute__(module, "__dict__")
    except AttributeError:  # anything can be in sys.modules
        return {}
    return space


def _imported_name(file: str) -> str:
    """The name of a module that is about to run, which is the last in sys.modules. The program
    has one when it was started with -m."""
    for name, module in reversed(list(sys.modules.items())):
        space = _namespace(module)
        if space.get("__file__") == file:
            return name if name != "__main__" else getattr(space.get("__spec__"), "name", "")
    return ""


def _ends_of_path(file: str) -> "list[str]":
    """The names by which a program, or code that was not imported, can be asked for."""
    parts = os.path.splitext(file)[0].replace("\\", "/").split("/")
    return [".".join(parts[start:]) for start in range(len(parts))]


def _is_program(module: CodeType) -> bool:
    arguments = sys.orig_argv[1:]
    for index, argument in enumerate(arguments):
        if argument == "-m":
            name = arguments[index + 1]
            return not {name, f"{name}.__main__"}.isdisjoint(_ends_of_path(module.co_filename))
        if argument == "-c":
            return module.co_filename == "<string>"
        if not argument.startswith("-"):
            places = (argument, os.path.join(argument, "__main__.py"))  # of a directory or a zip
            return os.path.abspath(module.co_filename) in map(os.path.abspath, places)
    return False


class Unknown(_core.Unseen):
    """Called at the exit of this process: says which names no code has matched."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._process = os.getpid()

    def _unseen(self) -> None:
        for name, found in self._wanted.found.items():
            if not found and os.getpid() == self._process:
                sys.stderr.write(f"dwell: -f {name}: no such function came along in this run\n")
