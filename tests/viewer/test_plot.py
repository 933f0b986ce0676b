# SPDX-License-Identifier: MIT
"""dwell.plot(): the picture of a calls profile, seen in a real browser and in IPython."""

import time

import pytest

import dwell
from dwell._plot import Page

from ..browser import Browser, find_chromium
from ..notebook import outputs_of

PROGRAM = """
from dwell import profiler
import numpy as np

def dot(a, b):
  sum=0
  for i in range(len(a)):
      sum += a[i]*b[i]
  return sum

a = np.arange(16, dtype=np.float32)
b = np.arange(16, dtype=np.float32)

p = profiler.Profile()
p.enable()
dot(a, b)
p.disable()
profiler.plot(p)
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
    page = Page('<!doctype html><p title="x">a & b</p>')
    shown = page._repr_html_()
    assert '<iframe class="dwell" srcdoc="' in shown
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
    assert "<iframe " in html
    assert "&quot;fib&quot;" in html


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
def test_the_picture_is_dark_where_the_notebook_is(tmp_path):
    shown = Page("<!doctype html><meta name=color-scheme content='light dark'>")._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body data-jp-theme-light=true>{shown}")
    is_dark = (
        "document.querySelector('iframe').contentWindow"
        ".matchMedia('(prefers-color-scheme: dark)').matches"
    )
    browser = Browser(tmp_path / "chromium")
    try:
        browser.open(path)
        browser.wait_for(f"{is_dark} === false")
        browser.evaluate("document.body.dataset.jpThemeLight = 'false'")
        browser.wait_for(f"{is_dark} === true")
        browser.evaluate("document.body.dataset.jpThemeLight = 'true'")
        browser.wait_for(f"{is_dark} === false")
    finally:
        browser.close()


def lasted_ns(profile):
    """How long the recording of a profile says that it lasted."""
    return dwell.Snapshot(profile._log()).data["processes"][0]["duration_ns"]


def test_the_picture_lasts_as_long_as_the_profile_did():
    profile = dwell.Profile()
    before = time.perf_counter_ns()
    first = profile.runcall(time.perf_counter_ns)
    time.sleep(0.01)
    last = profile.runcall(time.perf_counter_ns)
    after = time.perf_counter_ns()
    assert last - first <= lasted_ns(profile) <= after - before
    assert lasted_ns(profile) == lasted_ns(profile)
    profile.clear()
    again = time.perf_counter_ns()
    profile.enable()
    profile.clear()
    profile.disable()
    assert lasted_ns(profile) <= time.perf_counter_ns() - again
