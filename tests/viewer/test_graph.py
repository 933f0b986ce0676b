# SPDX-License-Identifier: MIT
"""The call graph that Graphviz draws, in a real browser."""

import shutil

import pytest

from ..browser import Browser, find_chromium

pytestmark = pytest.mark.skipif(
    not (find_chromium() and shutil.which("dot")), reason="needs chromium and Graphviz"
)

# More functions side by side than any window shows, each long enough that one which is interrupted
# does not make the others too small to be drawn.
PROGRAM = """
def make(name):
    exec(f"def {name}():\\n    return sum(range(300000))", globals())
    return globals()[name]

for i in range(60):
    make(f"a_function_that_is_one_of_many_{i}")()
"""

SIZE = "(at => [at.width, at.height])(document.documentElement.getBoundingClientRect())"


def test_graph_has_the_width_of_the_window(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py").returncode == 0
    done = run_dwell("export", "x.dwell", "--to", "svg-graph", "-o", "x.svg")
    assert done.returncode == 0, done.stderr
    browser = Browser(tmp_path / "chromium", 1000, 700)
    try:
        browser.open(tmp_path / "x.svg")
        _, _, natural_width, natural_height = map(
            float, browser.evaluate("document.documentElement.getAttribute('viewBox')").split()
        )
        width, height = browser.evaluate(SIZE)
        assert width == 1000 < natural_width
        assert height == pytest.approx(width * natural_height / natural_width, abs=1)
        browser.click(500, 1)
        assert browser.evaluate(SIZE)[0] == pytest.approx(natural_width * 4 / 3, abs=1)
        assert browser.evaluate("scrollX") > 0
        browser.click(500, 1)
        assert browser.evaluate(SIZE)[0] == 1000
        assert browser.errors == []
    finally:
        browser.close()
