# SPDX-License-Identifier: MIT
"""The page's view of lines, of logs whose numbers are chosen."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..browser import Browser, find_chromium
from ..line_log import LineLog

pytestmark = pytest.mark.skipif(not find_chromium(), reason="needs chromium")

SOURCE = """\
def hot(rows):
    # <img src=x onerror=alert(1)> </script>
    for row in rows:
        if not row:
            raise ValueError
        work(row)


def work(row):
\treturn "\u202e" + row
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


def make_log() -> LineLog:
    log = LineLog()
    log.source("/src/program.py", SOURCE)
    hot = log.function("hot", "/src/program.py", 1)
    work = log.function("work", "/src/program.py", 9)
    gone = log.function("</script><b>gone", "/src/gone.py", 3)
    never = log.function("never", "/src/gone.py", 30)
    log.line(hot, 0, hits=1)
    log.line(hot, 3, hits=11, time=1_000_000)
    log.line(hot, 4, hits=10, time=3_000_000)
    log.line(hot, 5)
    log.line(hot, 6, hits=10, time=6_000_000, self=2_000_000)
    log.line(hot, 6, callee=work, hits=10, time=4_000_000)
    log.line(work, 10, hits=10, time=4_000_000, inclusive=5_000_000, suspended=7_000)
    log.line(gone, 4, hits=3, time=0)
    log.line(never, 31)
    return log


@pytest.fixture
def page(tmp_path: Path, run_dwell: Callable) -> Path:
    make_log().write(tmp_path / "x.dwell")
    done = run_dwell("export", "x.dwell", "--to", "html", "-o", "x.html")
    assert done.returncode == 0, done.stderr
    return tmp_path / "x.html"


def functions(browser: Browser) -> list[str]:
    return browser.evaluate(
        "[...document.querySelectorAll('#functions .text')].map(text => text.innerText)"
    )


def source(browser: Browser) -> list[list[str]]:
    """The cells of all rows, the head's first."""
    return browser.evaluate(
        "[...document.querySelectorAll('#source tr')].map(row => [...row.children]"
        ".map(cell => cell.textContent))"
    )


def background(browser: Browser, row: int) -> list[float]:
    """Red, green and blue of a row's text on paper, 0 to 255."""
    pixel = (
        "(cell => { const c = document.createElement('canvas').getContext('2d');"
        "for (const e of [document.querySelector('.panel.source'), cell]) {"
        "c.fillStyle = getComputedStyle(e).backgroundColor; c.fillRect(0, 0, 1, 1); }"
        "return [...c.getImageData(0, 0, 1, 1).data].slice(0, 3); })"
    )
    rows = "document.querySelectorAll('#source tbody tr')"
    return browser.evaluate(f"{pixel}({rows}[{row}].querySelector('td.text'))")


def click_text(browser: Browser, selector: str, text: str) -> None:
    browser.click(
        *browser.place(
            f"[...document.querySelectorAll({json.dumps(selector)})]"
            f".find(element => element.textContent === {json.dumps(text)})"
        )
    )


def test_recording_of_lines_opens_with_its_hottest_function(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert functions(browser) == ["hot", "work", "</script><b>gone", "never"]
    assert browser.evaluate("getComputedStyle(document.getElementById('tabs')).display") == "none"
    assert "10.00 ms" in browser.text("#function-title")
    assert "1 call" in browser.text("#function-title")
    assert "100.0% of the longest function" in browser.text("#function-title")
    shares = "[...document.querySelectorAll('#functions .share')].map(cell => cell.innerText)"
    assert browser.evaluate(shares) == ["100.0%", "40.0%", "0.0%", ""]
    head, *rows = source(browser)
    assert head == ["Line", "Hits", "Time", "Per Hit", "% Time", "Self", "Source"]
    assert rows[0] == ["1", "", "", "", "", "", "def hot(rows):"]
    assert rows[1][-1] == "    # <img src=x onerror=alert(1)> </script>"
    assert rows[3] == [
        "4",
        "10",
        "3.000 ms",
        "300.0 µs",
        "30.0%",
        "3.000 ms",
        "        if not row:",
    ]
    assert rows[4][:5] == ["5", "0", "never ran", "", ""]
    assert browser.errors == []
    assert browser.requests == [page.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hot_lines_are_coloured_and_stay_readable(
    browser: Browser, page: Path, scheme: str
) -> None:
    browser.prefer(scheme)
    browser.open(page)
    ink = browser.evaluate(
        "(text => text.match(/[0-9.]+/g).map(Number))(getComputedStyle("
        "document.querySelector('.measured td.text')).color)"
    )[:3]
    paper, *lines = (background(browser, row) for row in (1, 2, 3, 5))
    distances = [sum(abs(a - b) for a, b in zip(paper, line, strict=True)) for line in lines]
    assert 0 < distances[0] < distances[1] < distances[2]  # 10, 30 and 60 percents
    assert min(contrast(ink, line) for line in lines) > 4.5
    browser.prefer("light")


def contrast(one: list[float], other: list[float]) -> float:
    """By WCAG 2."""

    weights = (0.2126, 0.7152, 0.0722)

    def luminance(colour: list[float]) -> float:
        parts = [c / 255 for c in colour]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(c * weight for c, weight in zip(linear, weights, strict=True))

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_line_opens_to_what_it_called(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert len(source(browser)) == 7
    click_text(browser, "#source td.text", "        work(row)")
    rows = source(browser)
    assert rows[7][1:5] == ["10", "4.000 ms", "400.0 µs", "40.0%"]
    assert "→ work" in rows[7][-1]
    click_text(browser, "#source .link", "work")
    assert browser.text("#function-title h2") == "work"
    assert browser.evaluate("location.hash") == "#function=work%3A9"
    assert source(browser)[2][-1] == '\treturn "\ufffd" + row'
    assert source(browser)[0][5:7] == ["Inclusive", "Suspended"]
    browser.evaluate("history.back()")
    browser.wait_for("document.querySelector('#function-title h2').textContent === 'hot'")


def test_keyboard_reaches_functions_and_lines(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate("document.getElementById('functions').focus()")
    browser.key("ArrowDown")
    assert browser.text("#function-title h2") == "work"
    browser.evaluate("document.getElementById('functions').focus()")
    browser.key("ArrowUp")
    browser.evaluate("document.getElementById('source').focus()")
    for _ in range(5):
        browser.key("ArrowDown")
    browser.key("Enter")
    assert len(source(browser)) == 8
    browser.key("ArrowLeft")
    assert len(source(browser)) == 7
    browser.key("ArrowRight")
    browser.key("ArrowDown")
    browser.key("Enter")
    assert browser.text("#function-title h2") == "work"


def test_search_filters_functions(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.key("/")
    browser.type("gone.py")
    assert functions(browser) == ["</script><b>gone", "never"]
    assert browser.text("#matches") == "2 functions"
    browser.key("Enter")
    assert browser.text("#function-title h2") == "</script><b>gone"
    assert "does not have the text" in browser.text("#function-title")
    browser.key("Escape")
    assert len(functions(browser)) == 4


# It takes longer than the lines of the other file.
PROGRAM = "import time, dwell\nwith dwell.region('outer'): time.sleep(0.02)\n"


def test_lines_beside_regions(browser: Browser, tmp_path: Path, run_dwell: Callable) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run_dwell("run", "--regions", "-o", "r.dwell", "program.py").returncode == 0
    make_log().write(tmp_path / "x.dwell")
    assert run_dwell("merge", "r.dwell", "x.dwell", "-o", "m.dwell").returncode == 0
    run_dwell("export", "m.dwell", "--to", "html", "-o", "m.html")
    browser.open(tmp_path / "m.html")
    shown = "document.getElementById('{}').offsetParent !== null"
    assert browser.evaluate(shown.format("icicle"))
    assert not browser.evaluate(shown.format("source"))
    browser.click(*browser.place("document.getElementById('tab-lines')"))
    assert browser.evaluate(shown.format("source"))
    assert not browser.evaluate(shown.format("icicle"))
    browser.open(tmp_path / "m.html", "#tab=lines&function=work%3A9")
    assert browser.text("#function-title h2") == "work"
    assert "% of the run" in browser.text("#function-title")
    browser.click(*browser.place("document.getElementById('tab-paths')"))
    assert browser.evaluate("document.getElementById('canvas').width") > 0
    assert "outer" in browser.text("#table")
    assert browser.errors == []


# It sleeps longer than it works, so that its CPU time is another one than that of the run.
SLEEPY = """\
import time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))

burn(0.1)
time.sleep(0.5)
burn(0.1)
"""


def test_a_function_has_one_share(browser: Browser, tmp_path: Path, run_dwell: Callable) -> None:
    (tmp_path / "program.py").write_text(SLEEPY)
    assert run_dwell("run", "-q", "-o", "s.dwell", "program.py").returncode == 0
    assert run_dwell("export", "s.dwell", "-o", "s.html").returncode == 0
    cells = "[...({}).querySelectorAll('.share')].map(cell => cell.innerText.trim())[0]"
    named = "[...document.querySelectorAll('{}')].find(row => row.innerText.includes('burn'))"
    browser.open(tmp_path / "s.html")
    in_paths = browser.evaluate(cells.format(named.format("#table .body .row")))
    assert "the CPU time of " in browser.text("#facts")
    browser.open(tmp_path / "s.html", "#tab=lines&function=burn%3A3")
    in_lines = browser.evaluate(cells.format(named.format("#functions .function")))
    assert in_paths == in_lines and in_paths.endswith("%")
    assert f"{in_lines} of the CPU time of " in browser.text("#function-title")
    assert browser.errors == []


def test_narrow_window_shows_source(browser: Browser, page: Path) -> None:
    browser.resize(420, 800)
    browser.open(page)
    left = browser.evaluate(
        "document.querySelector('#source td.text').getBoundingClientRect().left"
    )
    wide = browser.evaluate("document.documentElement.scrollWidth")
    browser.resize(1400, 900)
    assert left < 300
    assert wide <= 420
