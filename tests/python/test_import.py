# SPDX-License-Identifier: MIT
"""What `import dwell` loads, and that all names are there although it loads so little."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import dwell


def printed(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_import_loads_the_core_alone():
    code = "import sys; before = set(sys.modules); import dwell; print(*set(sys.modules) - before)"
    assert set(printed(code)) == {"dwell", "dwell._core"}


def test_regions_load_nothing_more():
    use = "with dwell.region('r'): dwell.count('n'); list(dwell.iter_proxy([1], 'i'))"
    code = f"import sys, dwell; before = set(sys.modules)\n{use}\nprint(*set(sys.modules) - before)"
    assert printed(code) == []


def test_every_name_comes_when_it_is_asked_for():
    code = "import dwell\nfor name in dwell.__all__: assert getattr(dwell, name) is not None, name"
    printed(code)
    printed("from dwell import *\nassert timeit and Profile and reporters and start")
    printed("import dwell\nassert dwell.calls.Profile is dwell.Profile")
    assert set(dwell.__all__) <= set(dir(dwell))


def test_stub_has_the_names_of_the_package():
    tree = ast.parse(Path(dwell.__file__).with_suffix(".pyi").read_text())
    imported = {
        alias.name: node.module or ""
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {*imported, *functions} == {*dwell.__all__, *dwell._MODULES}
    assert {name: home for name, home in imported.items() if home and home != "_core"} == (
        dwell._HOMES
    )


def test_wrong_name_is_an_attribute_error_with_advice():
    with pytest.raises(
        AttributeError, match="module 'dwell' has no attribute 'snapshoot'"
    ) as wrong:
        dwell.snapshoot
    assert wrong.value.obj is dwell and wrong.value.name == "snapshoot"


def test_pickle_finds_what_it_needs_by_itself():
    timing = dwell.timeit("pass", repeat=2, number=10)
    code = f"import pickle; print(type(pickle.loads({pickle.dumps(timing)!r})).__name__)"
    assert printed(code) == ["Timing"]
