# SPDX-License-Identifier: MIT
"""Pages of bytes, in a real browser: of the heap, and of allocations."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..browser import Browser, find_chromium
from .test_page import hovered, row_place, rows, search_for, trail

pytestmark = pytest.mark.skipif(not find_chromium(), reason="needs chromium")

PROGRAM = """
class Session:
    def __init__(self):
        self.data = bytearray(1000)

SESSIONS = [Session() for _ in range(4000)]
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture
def make_page(tmp_path: Path, run_dwell: Callable) -> Callable[..., Path]:
    def make(probe: str, *options: str) -> Path:
        (tmp_path / "program.py").write_text(PROGRAM)
        run_dwell("run", "-q", probe, "-o", "run.dwell", "program.py")
        done = run_dwell("export", "run.dwell", "-o", "run.html", *options)
        assert done.returncode == 0, done.stderr
        return tmp_path / "run.html"

    return make


def heads(browser: Browser) -> list[str]:
    return browser.text("#table .head").replace("▾", "").split("\n")


def find(browser: Browser, name: str) -> None:
    """Brings the first row of the name into sight."""
    search_for(browser, f"/^{name}$/")
    browser.key("Enter")


def test_a_page_of_the_heap_tells_bytes_and_objects(browser: Browser, make_page: Callable):
    browser.open(make_page("--heap"))
    assert [head for head in heads(browser) if head] == (
        ["Type or object", "Retained", "%", "Own bytes", "Objects"]
    )
    assert rows(browser)[0][0] == "the heap"
    facts = browser.text("#facts")
    assert "the heap" in facts and "Threads" not in facts and "Samples" not in facts
    find(browser, "__main__.Session")
    session = next(row for row in rows(browser) if row[0] == "__main__.Session")
    assert session[4] == "8,000"  # with what they hold
    assert session[1].endswith(" MiB") and session[3].endswith(" KiB")
    find(browser, "bytearray")
    data = next(row for row in rows(browser) if row[0] == "bytearray")
    assert 3000 < int(data[4].replace(",", "")) <= 4000  # the largest have rows of their own
    assert browser.errors == []


@pytest.mark.parametrize(
    ("measure", "counted"),
    [("peak_bytes", ""), ("live_bytes", "Blocks"), ("alloc_bytes", "Allocations")],
)
def test_a_page_of_memory_tells_bytes(
    browser: Browser, make_page: Callable, measure: str, counted: str
):
    browser.open(make_page("--memory", "--measure", measure))
    assert [head for head in heads(browser) if head] == (
        ["Name", "Bytes", "%", "Own bytes", *([counted] if counted else [])]
    )
    facts = browser.text("#facts")
    assert "Samples" not in facts and "memory" in facts
    assert browser.errors == []


def test_a_box_of_the_heap_says_what_holds_it(browser: Browser, make_page: Callable):
    browser.open(make_page("--heap"), "#form=treemap")
    find(browser, "bytearray")
    browser.click(*row_place(browser, "bytearray"))
    x, y = browser.place("document.getElementById('canvas')")
    told = hovered(browser, x, y).split("\n")
    assert told[0] == "bytearray"
    assert told[1].startswith("held by __main__.Session ‹ list ‹ __main__.SESSIONS")
    assert "retained" in told and "objects" in told and "total" not in told
    assert len(trail(browser)) == 8 and trail(browser)[0] == "the heap"
    browser.click(*browser.place("document.querySelectorAll('#trail .crumb')[2]"))
    assert trail(browser)[-4:] == ["__main__.SESSIONS", "list", "__main__.Session", "bytearray"]
    assert "__main__" in trail(browser) and len(trail(browser)) > 8
    assert browser.errors == []


GROWS = """
import dwell

class Session:
    def __init__(self):
        self.data = bytearray(1000)

SESSIONS = []
SHRINKS = [bytearray(100_000) for _ in range(10)]
for _ in range(9):
    with dwell.region("step"):
        SESSIONS.extend(Session() for _ in range(100))
        if len(SHRINKS) > 2: SHRINKS.pop()
"""


@pytest.fixture
def grown(tmp_path: Path, run_dwell: Callable) -> Path:
    (tmp_path / "program.py").write_text(GROWS)
    run_dwell("run", "-q", "--heap=region:step", "-o", "run.dwell", "program.py")
    done = run_dwell("export", "run.dwell", "--measure", "object_bytes", "-o", "run.html")
    assert done.returncode == 0, done.stderr
    return tmp_path / "run.html"


def options(browser: Browser, name: str) -> list[str]:
    return browser.evaluate(f"[...document.getElementById('{name}').options].map(o => o.text)")


def test_growth_between_two_snapshots_is_told_by_object(browser: Browser, grown: Path):
    browser.open(grown)
    shown = options(browser, "view")
    assert len(shown) == 8 and shown[0].startswith("#18 exit, ")
    assert shown[-1].startswith("#0 region step begins, ")
    assert options(browser, "since")[1:] == shown
    assert rows(browser)[0][0] == shown[0]
    browser.evaluate(
        "document.getElementById('since').value = '7';"
        "document.getElementById('since').dispatchEvent(new Event('change'))"
    )
    assert browser.evaluate("location.hash") == "#since=7"
    assert rows(browser)[0][0] == f"{shown[0]} – {shown[-1]}"
    found = {row[0]: row for row in rows(browser)}
    assert found["__main__.Session"][4] == "+1,800"  # with what they hold, though some have names
    assert found["__main__.SESSIONS"][1].startswith("+9")
    find(browser, "__main__.SHRINKS")
    shrunken = next(row for row in rows(browser) if row[0] == "__main__.SHRINKS")
    assert shrunken[1].startswith("−781.") and shrunken[4] == "−8"
    browser.open(grown, "#view=7&since=7")
    assert rows(browser)[0][0] == shown[-1]
    assert browser.errors == []


def test_a_page_of_one_snapshot_compares_nothing(browser: Browser, make_page: Callable):
    browser.open(make_page("--heap"))
    assert browser.evaluate("document.getElementById('since-field').hidden")
    assert browser.errors == []
