# SPDX-License-Identifier: MIT
"""The everyday names of objgraph, with the example that its users know."""

import io
import random
import shutil
import subprocess
import sys

import pytest

from dwell import heap


class MyBigFatObject:
    pass


class Chained:
    pass


def computate_something(_cache={}):  # noqa: B006
    _cache[42] = dict(foo=MyBigFatObject(), bar=MyBigFatObject())  # noqa: C408
    # a very explicit and easy-to-find "leak" but oh well
    x = MyBigFatObject()  # this one doesn't leak  # noqa: F841


def test_the_leak_is_shown_and_its_holder_named(capsys):
    heap.show_growth(limit=3)
    assert len(capsys.readouterr().out.splitlines()) <= 3
    computate_something()
    heap.show_growth(limit=None)
    grown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["MyBigFatObject", "2", "+2"] in grown
    way = heap.why(heap.by_type("MyBigFatObject")[0])
    assert way.root == f"module {__name__}"
    assert [step.name for step in way.steps][:4] == [
        ".computate_something",
        ".__defaults__",
        "[0]",
        "[42]",
    ]
    assert "default of _cache" in str(way)


def test_the_chain_leads_from_the_module_to_the_leak(tmp_path, capsys):
    computate_something()
    chain = heap.find_backref_chain(
        random.choice(heap.by_type("MyBigFatObject")), heap.is_proper_module
    )
    types = [type(link).__name__ for link in chain]
    assert types == ["module", "dict", "function", "tuple", "dict", "dict", "MyBigFatObject"]
    heap.show_chain(chain)
    shown = capsys.readouterr().out.splitlines()
    assert shown[2].split() == ["→", "['computate_something']", "function,", "computate_something"]
    heap.show_chain(chain, filename=str(tmp_path / "chain.dot"))
    dot = (tmp_path / "chain.dot").read_text()
    assert dot.count(" -> ") == 6 and '[label=".__defaults__"]' in dot
    if shutil.which("dot"):
        heap.show_chain(chain, filename=str(tmp_path / "chain.svg"))
        assert "computate_something" in (tmp_path / "chain.svg").read_text()


def test_without_dot_the_dot_file_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    heap.show_refs([[1]], filename=str(tmp_path / "refs.png"))
    assert "refs.dot is written" in capsys.readouterr().out
    assert (tmp_path / "refs.dot").read_text().startswith("digraph ObjectGraph {")


def test_a_chain_of_references_forward_and_none():
    start = Chained()
    start.a = [{"b": MyBigFatObject()}]
    chain = heap.find_ref_chain(start, lambda o: isinstance(o, MyBigFatObject))
    assert [type(o).__name__ for o in chain] == ["Chained", "list", "dict", "MyBigFatObject"]
    assert chain[0] is start and chain[-1] is start.a[0]["b"]
    assert heap.find_ref_chain(start, lambda o: o is chain, max_depth=3) == [start]
    assert heap.find_backref_chain(start, lambda o: False, max_depth=1) == [start]


def test_backrefs_and_refs_as_text(capsys):
    target = MyBigFatObject()
    holder = {"key": target, "others": [target]}
    heap.show_backrefs([target], max_depth=2)
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "MyBigFatObject"
    assert "← ['key'] dict, 2 items" in out and "← [0] list, 1 items" in out
    assert "← target test_backrefs_and_refs_as_text(), line" in out
    heap.show_refs([holder], max_depth=2)
    out = capsys.readouterr().out
    assert "  → ['key'] MyBigFatObject" in out and "    → [0] MyBigFatObject" in out
    output = io.StringIO()
    heap.show_backrefs(target, too_many=1, output=output, extra_info=lambda o: "extra")
    assert "more backreferences" in output.getvalue() and "extra" in output.getvalue()


def test_reference_counts_are_without_our_own(capsys):
    target = Chained()
    pair = [target, target]
    holder = {"x": pair}
    expected = ["dict, 1 items, [1]", "→ ['x'] list, 2 items, [2]", "→ [0] Chained, [3]"]
    heap.show_chain([holder, pair, target], refcounts=True)
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == expected
    heap.show_refs([holder], refcounts=True, filter=lambda o: isinstance(o, list | Chained))
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == expected
    heap.show_backrefs([target], 1, refcounts=True, filter=lambda o: o is pair)
    assert "Chained, [3]" in capsys.readouterr().out


def test_counts():
    things = [Chained() for _ in range(7)]
    assert heap.count("Chained", things) == 7 == heap.typestats(things)["Chained"]
    full = f"{__name__}.Chained"
    assert heap.count(full) >= 7 and heap.typestats(shortnames=False)[full] >= 7
    assert heap.by_type("Chained", things) == things == heap.by_type(full, things)
    assert heap.most_common_types(1, [*things, 1]) == [("Chained", 7)]
    assert heap.most_common_types(objects=things, filter=lambda o: o is things[0]) == [
        ("Chained", 1)
    ]
    out = io.StringIO()
    heap.show_most_common_types(objects=[1, *things], file=out)
    assert out.getvalue() == "Chained 7\nint     1\n"
    assert heap.at(id(things[0])) is things[0] and heap.at_addrs([1]) == []


def test_growth_has_peaks_of_its_own():
    peaks: dict[str, int] = {}
    heap.growth(peak_stats=peaks)
    more = [Chained() for _ in range(3)]
    assert ("Chained", peaks.get("Chained", 0) + 3, 3) in heap.growth(None, peaks)
    assert [row for row in heap.growth(None, peaks) if row[0] == "Chained"] == []
    assert more


def test_new_ids():
    heap.get_new_ids(limit=0)
    thing, out = Chained(), io.StringIO()
    new = heap.get_new_ids(file=out, limit=None)
    assert id(thing) in new["Chained"]
    assert heap.get_new_ids(skip_update=True) is new
    row = next(line for line in out.getvalue().splitlines() if line.startswith("Chained"))
    assert row.split()[3:] == ["+1", "+1"]


@pytest.mark.parametrize("draw", [heap.show_refs, heap.show_backrefs])
def test_names_in_a_drawing_are_quoted(draw):
    strange = type('with "quotes"\nand\\', (), {})
    output = io.StringIO()
    draw([strange()], max_depth=1, output=output)
    assert r"with \"quotes\"\nand\\" in output.getvalue()


def test_nothing_grows_by_looking():
    program = """
from dwell import heap
heap.growth(limit=3)
print(heap.growth())
class MyBigFatObject: pass
def computate_something(_cache={}):
    _cache[42] = dict(foo=MyBigFatObject(), bar=MyBigFatObject())
    x = MyBigFatObject()
heap.growth()
computate_something()
heap.show_growth()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    first, *grown = done.stdout.splitlines()
    assert first == "[]", done.stderr
    more = {line.split()[0]: line.split()[2] for line in grown}
    assert more.keys() == {"dict", "MyBigFatObject"} and more["MyBigFatObject"] == "+2"
