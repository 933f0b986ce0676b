# SPDX-License-Identifier: MIT
"""The flame graph of the svg lens, in a real browser."""

import xml.etree.ElementTree

import pytest

from ..browser import Browser, find_chromium

PROGRAM = """
import json
import threading

def pack(rounds):
    for _ in range(rounds):
        json.dumps({"a": [1, 2, 3]})

def spin(n):
    return sum(i for i in range(n))

def work():
    pack(2000)
    spin(200_000)

helper = threading.Thread(target=work, name="helper")
helper.start()
helper.join()
work()
"""

BOX = '[...document.querySelectorAll(".box")].find(b => b.textContent.split(/\\s/)[0] === "%s")'
WIDTH = f"({BOX}).getBoundingClientRect().width"
FILL = f'getComputedStyle(({BOX}).querySelector("rect")).fill'
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def export(tmp_path, run_dwell):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py").returncode == 0

    def to(path, *options):
        done = run_dwell("export", "x.dwell", "--to", "svg", "-o", path, *options)
        assert (done.returncode, done.stderr) == (0, "")
        return tmp_path / path

    return to


@pytest.fixture
def browser(tmp_path, export):
    if find_chromium() is None:
        pytest.skip("Chromium is not installed")
    picture = export("x.svg")
    browser = Browser(tmp_path / "chromium")
    browser.prefer("light")
    browser.open(picture)
    yield browser
    assert browser.errors == []
    assert browser.requests == [picture.as_uri()]
    browser.close()


def boxes_of(tree):
    return [box for box in tree.iter(f"{SVG}svg") if box.get("class", "").startswith("box")]


def looks_of(path):
    """The colour class of each function, by its name and place."""
    boxes = boxes_of(xml.etree.ElementTree.parse(path))
    looks = {box.find(f"{SVG}title").text.split("\n")[0]: box.get("class") for box in boxes}
    return {name: look.split()[1] for name, look in looks.items()}


def test_it_zooms_and_searches(browser):
    before, whole = (browser.evaluate(WIDTH % name) for name in ("pack", "<main>"))
    assert 0 < before < whole
    browser.click(*browser.place(BOX % "pack"))
    assert browser.evaluate(WIDTH % "pack") == pytest.approx(whole, abs=1)
    browser.key("Escape")
    assert browser.evaluate(WIDTH % "pack") == pytest.approx(before, abs=1)
    browser.key("/")
    browser.type("^spin")
    assert browser.text("#matches").startswith("2 found, ")


def test_a_file_has_one_hue_in_either_scheme(browser):
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        fills = {name: browser.evaluate(FILL % name) for name in ("pack", "spin", "<main>")}
        assert fills["pack"] == fills["spin"] != fills["<main>"]


def test_paper_is_white_in_print(browser):
    paper = 'getComputedStyle(document.querySelector(".paper")).fill'
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(paper) == "rgb(255, 255, 255)"


def test_colours_do_not_depend_on_the_directory(tmp_path, export, run_dwell):
    here = looks_of(export("x.svg"))
    ours = {look for name, look in here.items() if " program.py:" in name}
    assert len(ours) == 1
    assert ours.pop().startswith("hue")
    elsewhere = tmp_path / "a" / tmp_path.name
    elsewhere.mkdir(parents=True)
    (elsewhere / "program.py").write_text(PROGRAM)
    run_dwell("run", "-q", "--calls", "-o", "x.dwell", "program.py", cwd=elsewhere)
    run_dwell("export", "x.dwell", "--to", "svg", "-o", "x.svg", cwd=elsewhere)
    there = looks_of(elsewhere / "x.svg")
    shared = here.keys() & there.keys()
    assert "pack  program.py:5" in shared
    assert {name: here[name] for name in shared} == {name: there[name] for name in shared}


def test_it_is_xml_whatever_the_names(tmp_path, run_dwell):
    region = "</svg>&\"'\x01\n\ufffe\udcff]]>"
    source = f"import dwell\nwith dwell.region({region!r}):\n    sum(range(2_000_000))\n"
    (tmp_path / "x.py").write_text(source)
    run_dwell("run", "--regions", "-q", "-o", "x.dwell", "x.py")
    run_dwell("export", "x.dwell", "--to", "svg", "-o", "x.svg")
    boxes = boxes_of(xml.etree.ElementTree.parse(tmp_path / "x.svg"))
    titles = [box.findtext(f"{SVG}title") for box in boxes]
    assert any(title.startswith("</svg>&\"'\\x01\\n") for title in titles)


def test_a_tree_for_each_thread(export):
    tree = xml.etree.ElementTree.parse(export("x.svg", "--by", "thread"))
    trees = [each for each in tree.iter(f"{SVG}svg") if each.get("class") == "tree"]
    roots = [boxes_of(each)[0].find(f"{SVG}title").text.split("\n")[0] for each in trees]
    assert roots == ["MainThread", "helper"]
