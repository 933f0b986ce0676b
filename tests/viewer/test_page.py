# SPDX-License-Identifier: MIT
"""The page that the html lens writes, in a real browser and from a file on disk."""

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..browser import Browser, find_chromium

pytestmark = pytest.mark.skipif(not find_chromium(), reason="needs chromium")

MakePage = Callable[..., Path]

NESTED = """
import dwell, threading, time
def work():
    with dwell.region("outer"):
        for i in range(7):
            with dwell.region("inner"):
                time.sleep(0.01)
        with dwell.region("other"):
            pass
work()
thread = threading.Thread(target=work, name="helper")
thread.start()
thread.join()
"""

HOSTILE = """
import contextlib, dwell
names = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "<!--", "\\"'&amp;",
         "two\\nlines\\ttab\\0nul", "half \\udcff\\ud800 pair", "\\u202eturned", "x" * 10000,
         "", "__proto__"]
for name in names:
    with dwell.region(name):
        pass
with contextlib.ExitStack() as stack:
    for level in range(2000):
        stack.enter_context(dwell.region(f"level {level}"))
"""

EIGHTHS = """
import dwell, time
for name, eighths in [("half", 4), ("quarter", 2), ("eighth", 1), ("rest", 1)]:
    with dwell.region(name):
        time.sleep(eighths * 0.05)
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture
def make_page(tmp_path: Path, run_dwell: Callable) -> MakePage:
    """Records a program and exports the page."""

    def make(source: str, lost_bytes: int = 0, probe: str = "--regions") -> Path:
        (tmp_path / "program.py").write_text(source)
        done = run_dwell("run", probe, "-o", "run.dwell", "program.py")
        assert done.returncode == 0, done.stderr
        log = tmp_path / "run.dwell"
        os.truncate(log, log.stat().st_size - lost_bytes)
        done = run_dwell("export", "run.dwell", "--to", "html", "-o", "run.html")
        assert (tmp_path / "run.html").exists(), done.stderr
        return tmp_path / "run.html"

    return make


def rows(browser: Browser) -> list[list[str]]:
    """The cells of the rows in sight."""
    return browser.evaluate(
        "[...document.querySelectorAll('#table .body .row')]"
        ".map(row => [...row.children]"
        ".map(cell => (cell.querySelector('.text') ?? cell).innerText))"
    )


def row_place(browser: Browser, name: str) -> tuple[float, float]:
    return browser.place(
        "[...document.querySelectorAll('#table .body .text')]"
        f".find(text => text.textContent === {json.dumps(name)})"
    )


def box_place(browser: Browser, level: int, levels: int, part: float = 0.02) -> tuple[float, float]:
    """A place in the icicle, at a part of its width; all its levels are in sight."""
    x, y, width, height = browser.evaluate(
        "(b => [b.x, b.y, b.width, b.height])(document.getElementById('canvas')"
        ".getBoundingClientRect())"
    )
    return x + width * part, y + height * (level + 0.5) / levels


def hovered(browser: Browser, x: float, y: float) -> str:
    """What the tip says there, once a zoom under way has ended."""
    shown = "!document.getElementById('tip').hidden"
    for step in range(200):
        browser.move(x + step % 2, y)
        if browser.evaluate(shown):
            return browser.text("#tip")
    raise AssertionError(f"nothing is shown at {x}, {y}")


def trail(browser: Browser) -> list[str]:
    return browser.evaluate(
        "[...document.querySelectorAll('#trail .crumb')].map(crumb => crumb.firstChild.data)"
    )


def search_for(browser: Browser, text: str) -> str:
    browser.evaluate("document.activeElement.blur()")
    browser.key("/")
    browser.type(text)
    return browser.text("#matches")


def percents(text: str) -> float:
    return float(re.findall(r"([\d.]+)%", text)[-1])


def test_modules_say_which_they_are(browser: Browser, make_page: MakePage, run_dwell: Callable):
    page = make_page("import json.tool\n", probe="--calls")
    browser.open(page)
    named = {name for name, *_ in rows(browser) if name.startswith("<module>")}
    assert "<module> (program.py)" in named and "<module>" not in named
    found = search_for(browser, "<module>")
    assert found, browser.errors
    shown = run_dwell("report", "run.dwell", "--format", "tree", "--threshold", "0").stdout
    assert " <module> (json/__init__.py)\n" in shown and " <module> (tool.py)\n" in shown


def test_opens_without_error_and_loads_nothing_else(browser: Browser, make_page: MakePage):
    page = make_page(NESTED)
    browser.open(page)
    assert browser.errors == []
    assert [url for url in browser.requests if not url.startswith("data:")] == [page.as_uri()]
    assert browser.evaluate("document.title") == "program.py – dwell"
    assert browser.text("#program") == "program.py"
    assert browser.text("#command").endswith("program.py")
    facts = browser.text("#facts")
    for label in ("Duration", "Started", "Processes", "Threads", "Host", "Python", "dwell"):
        assert label in facts
    assert browser.evaluate("document.getElementById('warnings').hidden")


def test_table_has_the_regions_and_their_counts(browser: Browser, make_page: MakePage):
    browser.open(make_page(NESTED))
    found = rows(browser)
    assert [row[0] for row in found] == ["<main>", "outer", "inner", "other"]
    assert [row[4] for row in found] == ["1", "2", "14", "2"]
    assert browser.text("#table .head").split() == (
        ["Name", "Total▾", "%", "Self", "Count", "Average", "Min", "Max", "P95"]
    )


def test_of_samples_and_regions_a_page_shows_one(
    browser: Browser, tmp_path: Path, run_dwell: Callable
):
    (tmp_path / "program.py").write_text(
        "def spin():\n    sum(range(20_000_000))\nspin()\n" + NESTED
    )
    run_dwell("run", "-q", "-o", "run.dwell", "program.py")
    for options, names in ((), {"spin"}), (("--by", "region"), {"outer", "inner"}):
        run_dwell("export", "run.dwell", "--to", "html", "-o", "run.html", *options)
        browser.open(tmp_path / "run.html")
        browser.evaluate("document.getElementById('expand').click()")
        assert browser.errors == []
        found = {row[0] for row in rows(browser)}
        assert found & {"spin", "outer", "inner"} == names
        assert ("Samples" in browser.text("#table .head")) == (not options)
        assert ("export --by region" in browser.evaluate("document.body.innerHTML")) == (
            not options
        )


def test_thread_views_show_one_thread(browser: Browser, make_page: MakePage):
    page = make_page(NESTED)
    browser.open(page)
    options = browser.evaluate("[...document.querySelectorAll('#view option')].map(o => o.text)")
    assert options == ["All threads, merged", "MainThread", "helper"]
    browser.open(page, "#view=2&path=outer")
    assert [row[0] for row in rows(browser)] == ["helper", "outer", "inner", "other"]
    assert [row[4] for row in rows(browser)][1:] == ["1", "7", "1"]
    assert trail(browser) == ["helper", "outer"]
    assert browser.errors == []


def test_columns_sort_the_siblings(browser: Browser, make_page: MakePage):
    browser.open(make_page(NESTED))
    by_name = browser.place("document.querySelector('#table .head .name button')")
    browser.click(*by_name)
    assert [row[0] for row in rows(browser)] == ["<main>", "outer", "inner", "other"]
    browser.click(*by_name)
    assert [row[0] for row in rows(browser)] == ["<main>", "outer", "other", "inner"]


def test_clicking_a_box_zooms_and_escape_zooms_out(browser: Browser, make_page: MakePage):
    browser.open(make_page(NESTED))
    place = box_place(browser, 1, 3)
    told = hovered(browser, *place)
    assert told.startswith("outer\n")
    for label in ("total", "self", "count", "average", "min", "max", "p50", "p95", "p99"):
        assert f"\n{label}\n" in told
    assert "of all" in told and "of parent" in told and "suspended" not in told
    browser.click(*place)
    assert browser.evaluate("location.hash") == "#path=outer"
    assert trail(browser) == ["<main>", "outer"]
    assert browser.evaluate(
        "document.querySelector('.row[aria-selected=true] .text').innerText"
    ) == ("outer")
    assert hovered(browser, *box_place(browser, 0, 3)).startswith("outer\n")
    browser.key("Escape")
    assert browser.evaluate("location.hash") == ""
    assert trail(browser) == ["<main>"]
    browser.evaluate("history.back()")
    browser.wait_for("location.hash === '#path=outer'")
    assert trail(browser) == ["<main>", "outer"]
    assert browser.errors == []


def test_clicking_a_row_zooms_the_icicle(browser: Browser, make_page: MakePage):
    browser.open(make_page(NESTED))
    browser.click(*row_place(browser, "inner"))
    assert browser.evaluate("location.hash") == "#path=outer/inner"
    assert trail(browser) == ["<main>", "outer", "inner"]
    assert hovered(browser, *box_place(browser, 0, 3)).startswith("inner\n")


def test_clicking_a_box_opens_its_row(browser: Browser, make_page: MakePage):
    browser.open(make_page(NESTED))
    browser.click(*browser.place("document.getElementById('collapse')"))
    assert [row[0] for row in rows(browser)] == ["<main>", "outer"]
    browser.click(*box_place(browser, 2, 3))
    assert [row[0] for row in rows(browser)] == ["<main>", "outer", "inner", "other"]


def test_a_treemap_shows_the_same_tree(browser: Browser, make_page: MakePage):
    page = make_page(NESTED)
    browser.open(page)
    browser.click(*browser.place("document.getElementById('form-treemap')"))
    assert browser.evaluate("location.hash") == "#form=treemap"
    middle = box_place(browser, 0, 1, 0.4)
    assert hovered(browser, *middle).startswith("inner\n")
    browser.click(*middle)
    assert browser.evaluate("location.hash") == "#form=treemap&path=outer/inner"
    assert trail(browser) == ["<main>", "outer", "inner"]
    browser.key("Escape")
    assert trail(browser) == ["<main>"]
    browser.click(*row_place(browser, "outer"))
    assert browser.evaluate("location.hash") == "#form=treemap&path=outer"
    browser.open(page, "#form=treemap")
    assert browser.text(".forms [aria-pressed=true]") == "Treemap"
    assert browser.evaluate("document.getElementById('canvas').ariaLabel").startswith("Treemap of ")
    browser.click(*browser.place("document.getElementById('form-icicle')"))
    assert hovered(browser, *box_place(browser, 1, 3)).startswith("outer\n")
    assert browser.errors == []


def test_the_boxes_of_a_treemap_are_as_large_as_their_weight(browser: Browser, make_page: MakePage):
    browser.open(make_page(EIGHTHS), "#form=treemap")
    found = browser.evaluate("""(() => {
        const canvas = document.getElementById("canvas");
        const box = canvas.getBoundingClientRect();
        const names = [];
        for (let i = 0; i < 1600; i++) {
            const clientX = box.x + box.width * (i % 40 + 0.5) / 40;
            const clientY = box.y + 20 + (box.height - 22) * (Math.floor(i / 40) + 0.5) / 40;
            canvas.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY }));
            names.push(document.querySelector("#tip strong").textContent);
        }
        return names;
    })()""")
    shares = {name: found.count(name) / len(found) for name in set(found)}
    told = {row[0]: percents(row[2]) / 100 for row in rows(browser)}
    for name in ("half", "quarter", "eighth"):
        assert shares[name] == pytest.approx(told[name], abs=0.04)


def test_rows_fold_by_mouse_and_keyboard(browser: Browser, make_page: MakePage):
    browser.open(make_page(NESTED))
    browser.click(*browser.place("document.querySelectorAll('#table .twist')[1]"))
    assert [row[0] for row in rows(browser)] == ["<main>", "outer"]
    browser.evaluate("document.getElementById('table').focus()")
    browser.key("ArrowRight")
    assert [row[0] for row in rows(browser)] == ["<main>", "outer", "inner", "other"]
    browser.key("ArrowDown")
    browser.key("Enter")
    assert browser.evaluate("location.hash") == "#path=outer/inner"


def test_search_says_the_matched_share(browser: Browser, make_page: MakePage):
    page = make_page(NESTED)
    browser.open(page)
    share = percents(next(row[2] for row in rows(browser) if row[0] == "inner"))
    found = search_for(browser, "INNER")
    assert found.startswith("1 match ·")
    assert percents(found) == share
    assert browser.evaluate("location.hash") == "#search=INNER"
    assert browser.evaluate("document.querySelectorAll('#table .match').length") == 1
    assert search_for(browser, "/^(inner|outer)$/").startswith("2 matches ·")
    assert search_for(browser, "/(/") == "Not a valid pattern"
    assert search_for(browser, "nowhere") == "No match"
    browser.key("Escape")
    assert browser.text("#matches") == ""
    browser.open(page, "#search=%2Fin..r%2F")
    assert browser.text("#matches").startswith("1 match ·")
    assert browser.errors == []


def test_search_colours_the_match(browser: Browser, make_page: MakePage):
    browser.prefer("light")
    browser.open(make_page(NESTED), "#search=inner")
    pixel = (
        "[...document.getElementById('canvas').getContext('2d').getImageData(%d, %d, 1, 1).data]"
    )
    browser.wait_for(pixel % (3, 3) + "[3]")  # something is drawn
    _, height = browser.evaluate("(c => [c.width, c.height])(document.getElementById('canvas'))")
    assert browser.evaluate(pixel % (3, height * 5 / 6)) == [0x16, 0x79, 0x8B, 255]
    assert browser.evaluate(pixel % (3, height / 2))[:3] != [0x16, 0x79, 0x8B]


def test_hostile_names_are_only_text(browser: Browser, make_page: MakePage):
    page = make_page(HOSTILE)
    assert b"</script><script>alert" not in page.read_bytes()
    browser.open(page)
    browser.click(*browser.place("document.getElementById('expand')"))
    assert browser.text("#rows") == "2,011 of 2,011 paths"
    names = set()
    for at in range(0, 2011, 15):
        browser.evaluate(f"document.getElementById('table').scrollTop = {at * 28}")
        browser.settle()
        names |= {row[0] for row in rows(browser)}
    assert {"</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>"} <= names
    assert {"<!--", "\"'&amp;", "two␊lines␉tab␀nul", "(no name)", "level 1999"} <= names
    assert any(name.startswith("half \ufffd") for name in names)
    assert any(len(name) == 601 and name.startswith("xxx") for name in names)
    assert browser.evaluate("document.querySelectorAll('img, script[src]').length") == 0
    assert search_for(browser, "</script>").startswith("1 match ·")
    assert browser.errors == []


def test_deep_paths_zoom_and_scroll(browser: Browser, make_page: MakePage):
    page = make_page(HOSTILE)
    browser.open(page)
    search_for(browser, "level 1500")
    browser.key("Enter")
    browser.click(*row_place(browser, "level 1500"))
    assert re.fullmatch(r"#path=@\d+&search=level%201500", browser.evaluate("location.hash"))
    assert trail(browser)[0] == "<main>" and trail(browser)[-1] == "level 1500"
    assert len(trail(browser)) == 8
    browser.evaluate("document.getElementById('icicle').scrollTop = 1e9")
    browser.settle()
    assert hovered(browser, *box_place(browser, 0, 2, 0.001)).startswith("level 19")
    hash_before = browser.evaluate("location.hash")
    browser.open(page, hash_before)
    assert trail(browser)[-1] == "level 1500"
    assert browser.errors == []


def test_a_torn_log_is_a_warning(browser: Browser, make_page: MakePage):
    browser.open(make_page(NESTED, lost_bytes=3))
    assert "did not close this log" in browser.text("#warnings")
    assert browser.errors == []


def test_an_empty_recording_says_so(browser: Browser, make_page: MakePage):
    browser.open(make_page("pass\n"))
    assert "dwell.region" in browser.text("#empty")
    assert [row[0] for row in rows(browser)] == ["<main>"]
    assert browser.errors == []


def test_suspended_time_is_told_apart(browser: Browser, make_page: MakePage):
    source = """
import dwell, time
@dwell.func()
def numbers():
    yield 1
    yield 2
for number in numbers():
    time.sleep(0.02)
"""
    browser.open(make_page(source))
    told = hovered(browser, *box_place(browser, 1, 2))
    assert told.startswith("numbers")
    assert re.search(r"\nsuspended\n[\d.]+ ms", told) and "\nactive\n" in told


def test_the_tip_tells_the_place(browser: Browser, make_page: MakePage):
    browser.open(make_page("import dwell, time\nwith dwell.region():\n    time.sleep(0.05)\n"))
    assert hovered(browser, *box_place(browser, 1, 2)).endswith("program.py:2")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ratio", [1, 2])
def test_a_screenshot_is_not_blank(browser: Browser, make_page: MakePage, scheme: str, ratio: int):
    browser.resize(1000, 700, ratio)
    browser.prefer(scheme)
    browser.open(make_page(NESTED))
    width, shown = browser.evaluate(
        "(c => [c.width, c.clientWidth])(document.querySelector('canvas'))"
    )
    assert width == shown * ratio
    image = browser.screenshot()
    browser.resize(1400, 900)
    data, at = b"", 8
    while at < len(image):
        size = int.from_bytes(image[at : at + 4], "big")
        if image[at + 4 : at + 8] == b"IDAT":
            data += image[at + 8 : at + 8 + size]
        at += size + 12
    assert len(set(zlib.decompress(data))) > 100
    colours = browser.evaluate(
        "(c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height)"
        ".data.buffer)).size)(document.getElementById('canvas'))"
    )
    assert colours > 10
