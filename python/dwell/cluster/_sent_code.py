# SPDX-License-Identifier: MIT
"""Finds the code of functions that were sent here by value, to profile their lines.

A function of a script's main module or of a notebook cell travels as a pickle of its code. Each
unpickling makes a new function, so the one that was named is never the one that runs. Functions
that are equal to it get its code instead of their own: then there is one to watch, however many
tasks bring the function along.
"""

import functools
import gc
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any


class SentCode:
    def __init__(
        self, functions: Iterable[FunctionType], add: Callable[[CodeType], object]
    ) -> None:
        self._codes = {_place(function.__code__): function.__code__ for function in functions}
        self._add = add
        self._make: Any = None

    def begin(self) -> None:
        for code in self._codes.values():
            self._add(code)
        for thing in gc.get_objects():
            if type(thing) is FunctionType and _place(thing.__code__) in self._codes:
                self._add(thing.__code__)  # it came before us
        if hasattr(_pickling(), "_make_function"):
            self._make = _pickling()._make_function
            _pickling()._make_function = self._making()

    def end(self) -> None:
        if self._make is not None:
            _pickling()._make_function = self._make
            self._make = None

    def _making(self) -> Any:
        """Pickle looks the function up by its name, in both directions."""
        make = self._make

        @functools.wraps(make)
        def make_function(code: CodeType, *rest: Any) -> Any:
            return make(self._watched(code), *rest)

        return make_function

    def _watched(self, code: CodeType) -> CodeType:
        known = self._codes.get(_place(code))
        if known is None or known == code:
            return known or code
        self._add(code)  # the function was changed since
        return code


def _pickling() -> Any:
    return sys.modules.get("cloudpickle.cloudpickle")


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno
