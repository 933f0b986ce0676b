# SPDX-License-Identifier: MIT
"""dwell.plot(): the picture of a calls profile, seen in a real browser and in IPython."""

import pytest

from ..browser import Browser, find_chromium
from ..notebook import outputs_of

PROGRAM = """
import dwell
import numpy as np

def dot(a, b):
  sum=0
  for i in range(len(a)):
      sum += a[i]*b[i]
  return sum

a = np.arange(16, dtype=np.float32)
b = np.arange(16, dtype=np.float32)

p = dwell.Profile()
p.enable()
dot(a, b)
p.disable()
dwell.plot(p)
"""


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
def test_the_picture_shows_in_a_browser(python_program, tmp_path):
    pytest.importorskip("numpy")
    done = python_program(PROGRAM)
    path = tmp_path / "dwell-profile.html"
    assert done.stdout == f"{path}\n", done.stderr
    browser = Browser(tmp_path / "chromium")
    try:
        browser.open(path)
        text = browser.wait_for("document.body.innerText")
        assert "dot(a:ndarray(dtype=float32, shape=(16,)), b:ndarray" in text
        assert "<built-in method builtins.len>" in text
        assert browser.errors == []
    finally:
        browser.close()


def test_a_notebook_shows_it_inline():
    import dwell

    profile = dwell.Profile()
    profile.runcall(sorted, [3, 1, 2])
    from dwell._plot import Page

    page = Page('<!doctype html><p title="x">a & b</p>')
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "&lt;p title=&quot;x&quot;&gt;a &amp; b&lt;/p&gt;" in shown


def test_a_real_kernel_shows_it(tmp_path):
    code = """
import dwell
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
p = dwell.Profile()
with p:
    fib(8)
dwell.plot(p)
"""
    (outputs,) = outputs_of(tmp_path, code)
    (html,) = [output["data"]["text/html"] for output in outputs if "data" in output]
    assert html.startswith("<iframe srcdoc=")
    assert "fib(n:int)" in html
