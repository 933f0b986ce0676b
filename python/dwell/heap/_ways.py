# SPDX-License-Identifier: MIT
"""A way from a root to an object, in words. It holds no object of the program."""

import types
from typing import NamedTuple

from .. import _core


class Step(NamedTuple):
    """One reference on the way, and what it leads to."""

    name: str  # ".attribute", "[0]", "['key']"; "" when it has no name
    type: str
    note: str = ""


class Way:
    """What keeps an object alive: a root, and the references that lead from there to it."""

    def __init__(self, target: str, root: str, steps: list[Step], notes: list[str]) -> None:
        self.target = target  # what it is about
        self.root = root  # "module x", "f() at x.py:3", "C code: dict"; "" when nothing holds it
        self.steps = steps
        self.notes = notes

    @property
    def expression(self) -> str:
        """The way as one would write it, where it has names."""
        kind, _, name = self.root.partition(" ")
        start = name if kind == "module" else f"{self.root}: "
        return start + "".join(step.name or "→" for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        lines = [self.target]
        if self.root:
            lines.append(f"  held by {self.root}")
        shown = [(step.name or "(a reference in C)", step) for step in self.steps]
        width = max((len(name) for name, _ in shown), default=0)
        for name, step in shown:
            note = f"  {step.note}" if step.note else ""
            lines.append(f"    {name:<{width}}  {step.type}{note}")
        return "\n".join(lines + [f"  {note}" for note in self.notes])

    __repr__ = __str__


def steps_of(objects: list[object], kinds: list[str], first: str | None) -> list[Step]:
    """The steps between objects, None for those that are gone; `first` leads to the first one."""
    steps = [] if first is None else [Step(first, kinds[0])]
    for index in range(1, len(objects)):
        holder, held = objects[index - 1], objects[index]
        name = _core.heap_reference(holder, held) if held is not None and holder is not None else ""
        before = objects[index - 2] if index > 1 else None
        steps.append(Step(name, kinds[index], _note(before, holder, held)))
    return joined(steps)


def _note(function: object, holder: object, held: object) -> str:
    """Of the defaults and the closure of a function: which variable it is."""
    if not isinstance(function, types.FunctionType) or not isinstance(holder, tuple):
        return ""
    code = function.__code__
    index = next((i for i, item in enumerate(holder) if item is held), 0)
    if holder is function.__defaults__:
        return f"default of {code.co_varnames[code.co_argcount - len(holder) + index]}"
    if holder is function.__closure__:
        return f"variable {code.co_freevars[index]}"
    return ""


def joined(steps: list[Step]) -> list[Step]:
    """With x.__dict__['name'] written as x.name."""
    shown: list[Step] = []
    for step in steps:
        if shown and shown[-1].name == ".__dict__" and step.name.startswith("['"):
            shown[-1] = Step(f".{step.name[2:-2]}", step.type, step.note)
        else:
            shown.append(step)
    return shown
