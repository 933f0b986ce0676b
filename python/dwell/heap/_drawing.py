# SPDX-License-Identifier: MIT
"""objgraph's pictures of what refers to what: text, DOT, and what `dot` makes of it."""

import types
from collections.abc import Callable, Collection, Iterator
from itertools import pairwise
from typing import Any, TextIO

from .. import _core
from ._chains import is_proper_module

Text = Callable[[Any], str]
Keep = Callable[[Any], bool]


class _Drawing:
    """Objects by id, with what is written in their boxes, and named arrows between them."""

    def __init__(self, shortnames: bool, extra_info: Text | None, is_backwards: bool) -> None:
        self.boxes: dict[int, str] = {}
        self.arrows: dict[tuple[int, int], str] = {}
        self.marked: set[int] = set()
        self.shortnames = shortnames
        self.extra_info = extra_info
        self.is_backwards = is_backwards  # the text shows what holds, not what is held

    def add(self, obj: object) -> int:
        if id(obj) not in self.boxes:
            extra = f"\n{self.extra_info(obj)}" if self.extra_info else ""
            self.boxes[id(obj)] = _describe(obj, self.shortnames) + extra
        return id(obj)

    def connect(self, holder: object, held: object) -> None:
        self.arrows[self.add(holder), self.add(held)] = _core.heap_reference(holder, held)

    def dot(self, attributes: dict[str, str]) -> str:
        style = "".join(f" {key}={_quote(value)}," for key, value in attributes.items())
        lines = ["digraph ObjectGraph {", f"  node[shape=box,{style} style=filled];"]
        for box, text in self.boxes.items():
            colour = "lightpink" if box in self.marked else "white"
            lines.append(f"  o{box}[label={_quote(text)}, fillcolor={colour}];")
        lines += [f"  o{a} -> o{b}[label={_quote(t)}];" for (a, b), t in self.arrows.items()]
        return "\n".join([*lines, "}\n"])

    def text(self, start: int) -> Iterator[str]:
        """A tree; what was shown before is not gone into again."""
        shown: set[int] = set()
        around: dict[int, list[tuple[int, str]]] = {}
        for (holder, held), name in self.arrows.items():
            here, there = (held, holder) if self.is_backwards else (holder, held)
            around.setdefault(here, []).append((there, name))
        arrow = "←" if self.is_backwards else "→"
        stack = [(start, "", 0)]
        while stack:
            box, name, depth = stack.pop()
            again = " (above)" if box in shown and around.get(box) else ""
            text = self.boxes[box].replace("\n", ", ")
            yield "  " * depth + (f"{arrow} {name} " if depth else "") + text + again
            if box not in shown:
                stack += [(to, name, depth + 1) for to, name in reversed(around.get(box, []))]
            shown.add(box)


def show_backrefs(
    objs: Any,
    max_depth: int = 3,
    extra_ignore: Collection[int] = (),
    filter: Keep | None = None,
    too_many: int = 10,
    highlight: Keep | None = None,
    filename: str | None = None,
    extra_info: Text | None = None,
    refcounts: bool = False,
    shortnames: bool = True,
    output: TextIO | None = None,
    extra_node_attrs: dict[str, str] | None = None,
) -> None:
    """What refers to the objects: printed, or drawn into a file."""
    starts = objs if isinstance(objs, list | tuple) else [objs]
    drawing = _Drawing(shortnames, _info(extra_info, refcounts, {id(objs), id(starts)}), True)
    picture = _core.HeapSnapshot()
    nodes = [node for obj in starts if (node := picture.find(id(obj)))]
    seen, level = set(nodes), nodes
    ignored = {id(objs), id(starts), *extra_ignore}
    drawing.marked.update(map(drawing.add, starts))
    for _ in range(max_depth):
        pairs = list(dict.fromkeys(picture.referrers(level)))
        pairs = _some(pairs, too_many, drawing, picture)
        ends = picture.alive([node for pair in pairs for node in pair])
        level = []
        for index, (holder_node, _held) in enumerate(pairs):
            holder, held = ends[2 * index], ends[2 * index + 1]
            if holder is None or held is None or id(holder) in ignored:
                continue
            if filter is not None and not filter(holder):
                continue
            drawing.connect(holder, held)
            if holder_node not in seen and not is_proper_module(holder):
                seen.add(holder_node)
                level.append(holder_node)
    _finish(drawing, starts, highlight, filename, output, extra_node_attrs)


def show_refs(
    objs: Any,
    max_depth: int = 3,
    extra_ignore: Collection[int] = (),
    filter: Keep | None = None,
    too_many: int = 10,
    highlight: Keep | None = None,
    filename: str | None = None,
    extra_info: Text | None = None,
    refcounts: bool = False,
    shortnames: bool = True,
    output: TextIO | None = None,
    extra_node_attrs: dict[str, str] | None = None,
) -> None:
    """What the objects refer to: printed, or drawn into a file."""
    starts = objs if isinstance(objs, list | tuple) else [objs]
    drawing = _Drawing(shortnames, _info(extra_info, refcounts, {id(objs), id(starts)}), False)
    drawing.marked.update(map(drawing.add, starts))
    seen, level = set(map(id, starts)), list(starts)
    for _ in range(max_depth):
        after = []
        for holder in level:
            held_by = {id(o): o for o in _core.heap_referents(holder)}
            kept = [o for o in held_by.values() if id(o) not in extra_ignore]
            kept = [o for o in kept if filter is None or filter(o)]
            for held in kept[:too_many]:
                drawing.connect(holder, held)
                if id(held) not in seen and not isinstance(held, types.ModuleType):
                    seen.add(id(held))
                    after.append(held)
            if len(kept) > too_many:
                drawing.boxes[id(holder)] += f"\n{len(kept) - too_many} more references"
        level = after
    _finish(drawing, starts, highlight, filename, output, extra_node_attrs)


def show_chain(
    *chains: list[Any],
    backrefs: bool = True,
    highlight: Keep | None = None,
    filename: str | None = None,
    extra_info: Text | None = None,
    refcounts: bool = False,
    shortnames: bool = True,
    output: TextIO | None = None,
    extra_node_attrs: dict[str, str] | None = None,
) -> None:
    """Chains of find_backref_chain or find_ref_chain: printed, or drawn into a file."""
    drawing = _Drawing(shortnames, _info(extra_info, refcounts, set(map(id, chains))), False)
    for chain in chains:
        for obj in chain:
            drawing.add(obj)
        for holder, held in pairwise(chain):
            drawing.connect(holder, held)
        drawing.marked.add(id(chain[-1 if backrefs else 0]))
    starts = [chain[0] for chain in chains]
    _finish(drawing, starts, highlight, filename, output, extra_node_attrs)


def _some(
    pairs: list[tuple[int, int]], most: int, drawing: _Drawing, picture: _core.HeapSnapshot
) -> list[tuple[int, int]]:
    """At most so many holders of each object; its box says how many are left out."""
    by_held: dict[int, list[tuple[int, int]]] = {}
    for pair in pairs:
        frame = picture.frame(pair[0])
        if frame is None or not frame[4]:
            by_held.setdefault(pair[1], []).append(pair)
    for held, its in by_held.items():
        box = picture.node(held)[0]
        if len(its) > most and box in drawing.boxes:
            drawing.boxes[box] += f"\n{len(its) - most} more backreferences"
        for holder, _ in its[:most]:
            if (frame := picture.frame(holder)) and box in drawing.boxes:
                drawing.boxes[holder] = f"{frame[0]}()\nline {frame[2]}"
                drawing.arrows[holder, box] = picture.variable(holder, held) or ""
    return [pair for its in by_held.values() for pair in its[:most]]


def _finish(
    drawing: _Drawing,
    starts: Any,
    highlight: Keep | None,
    filename: str | None,
    output: TextIO | None,
    attributes: dict[str, str] | None,
) -> None:
    if highlight:
        for obj in starts:
            if highlight(obj):
                drawing.marked.add(id(obj))
    if output is not None:
        output.write(drawing.dot(attributes or {}))
    elif filename is not None:
        _write(drawing.dot(attributes or {}), filename)
    else:
        for start in dict.fromkeys(map(id, starts)):
            print("\n".join(drawing.text(start)))


def _write(dot: str, filename: str) -> None:
    import shutil
    import subprocess

    stem, _, kind = filename.rpartition(".")
    program = shutil.which("dot")
    if kind != "dot" and not program:
        print(f"dwell: {filename}: `dot` of Graphviz is not installed; {stem}.dot is written")
        filename, kind = f"{stem}.dot", "dot"
    if kind != "dot" and program:
        subprocess.run([program, f"-T{kind}", "-o", filename], input=dot, text=True, check=True)
        return
    with open(filename, "w", encoding="utf-8") as out:
        out.write(dot)


def _info(extra_info: Text | None, refcounts: bool, lists: Collection[int]) -> Text | None:
    """What is written below a name; references from the lists that were passed do not count."""
    if not refcounts:
        return extra_info
    picture = _core.HeapSnapshot()

    def text(obj: Any) -> str:
        return (f"{extra_info(obj)}\n" if extra_info else "") + f"[{_count(picture, obj, lists)}]"

    return text


def _count(picture: _core.HeapSnapshot, obj: object, lists: Collection[int]) -> str:
    node = picture.find(id(obj))
    outside = picture.node(node)[6]
    if not node or outside < 0:
        return "immortal" if node else "?"
    frames = [picture.frame(holder) for holder, _ in picture.referrers([node])]
    own = sum(frame is not None and frame[4] for frame in frames)
    listed = sum(picture.node(h)[0] in lists for h, _ in picture.referrers([node]))
    return str(outside + len(frames) - own - listed)


def _describe(obj: object, shortnames: bool) -> str:
    """The type, and a name or a number of items: no values."""
    cls = type(obj)
    kind = cls.__name__ if shortnames else f"{cls.__module__}.{cls.__qualname__}"
    if isinstance(obj, type | types.ModuleType | types.FunctionType | types.BuiltinFunctionType):
        return f"{kind}\n{_own_name(obj)}"
    if isinstance(obj, dict | list | tuple | set | frozenset):
        return f"{kind}\n{len(obj)} items"
    return kind


def _own_name(obj: Any) -> str:
    if isinstance(obj, type):
        return str(type.__getattribute__(obj, "__name__"))
    return (
        str(vars(obj).get("__name__", "?")) if isinstance(obj, types.ModuleType) else obj.__name__
    )


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
