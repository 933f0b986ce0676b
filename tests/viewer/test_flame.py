# SPDX-License-Identifier: MIT
"""The differential flame graph of `dwell diff`, in a real browser."""

import pytest

from ..browser import Browser, find_chromium

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")

PROGRAM = """
def checksum(n):
    x = 0
    for i in range(n):
        x += i

def decode():
    checksum(%d)

def render():
    checksum(200000)
    x = 0
    for i in range(200000):
        x += i

decode()
render()
"""

BOX = '[...document.querySelectorAll(".box")].find(b => b.textContent.split(/\\s/)[0] === "%s")'
WIDTH = f"({BOX}).getBoundingClientRect().width"
IS_SHOWN = f'getComputedStyle({BOX}).display !== "none"'


@pytest.fixture
def picture(tmp_path, run_dwell):
    for name, work in (("old", 20_000), ("new", 4_000_000)):
        (tmp_path / f"{name}.py").write_text(PROGRAM % work)
        run_dwell("run", "-q", "--calls", "-o", f"{name}.dwell", f"{name}.py")
    done = run_dwell("diff", "old.dwell", "new.dwell", "-o", "diff.svg")
    assert done.returncode == 0, done.stderr
    return tmp_path / "diff.svg"


@pytest.fixture
def browser(tmp_path, picture):
    browser = Browser(tmp_path / "chromium")
    browser.open(picture)
    yield browser
    assert browser.errors == []
    assert browser.requests == [picture.as_uri()]
    browser.close()


def test_a_click_zooms_and_escape_zooms_out(browser):
    before = browser.evaluate(WIDTH % "render")
    whole = browser.evaluate(WIDTH % "<main>")
    assert before < whole / 2
    browser.click(*browser.place(BOX % "render"))
    assert browser.evaluate(WIDTH % "render") == pytest.approx(whole, abs=1)
    assert not browser.evaluate(IS_SHOWN % "decode")
    browser.key("Escape")
    assert browser.evaluate(WIDTH % "render") == pytest.approx(before, abs=1)
    assert browser.evaluate(IS_SHOWN % "decode")


def test_a_search_marks_what_it_finds(browser):
    browser.key("/")
    browser.type("checksum")
    assert browser.text("#matches").startswith("2 found, ")
    assert browser.evaluate('document.querySelectorAll(".hit").length') == 2
    browser.type("(")  # no regular expression, but text
    assert browser.text("#matches").startswith("0 found, ")


def test_it_fits_the_window(browser):
    browser.resize(700, 600)
    browser.settle()
    assert browser.evaluate(WIDTH % "<main>") == pytest.approx(680, abs=1)


def test_it_follows_the_colour_scheme(browser):
    paper = 'getComputedStyle(document.querySelector(".paper")).fill'
    browser.prefer("light")
    light = browser.evaluate(paper)
    browser.prefer("dark")
    assert browser.evaluate(paper) != light
