# SPDX-License-Identifier: MIT
"""The report of lines that a notebook shows, seen in a real browser."""

import io

import pytest

import dwell

from ..browser import Browser, find_chromium


def busy(n):
    kept = {
        "<b>": n & 1,
    }
    for i in range(n):
        kept["a" * (i % 7)] = sum(range(i))
    return sorted(kept)


def measured() -> dwell.LineStats:
    profiler = dwell.LineProfiler(busy, callees=True)
    profiler.runcall(busy, 300)
    return profiler.get_stats()


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
def test_the_coloured_report_reads_as_the_plain_one(tmp_path):
    stats = measured()
    out = io.StringIO()
    stats.print(out, callees=True)
    plain = out.getvalue()
    path = tmp_path / "report.html"
    coloured = stats._text(callees=True, heat=True)
    path.write_text(f"<!doctype html><meta charset=utf-8>{coloured}")
    browser = Browser(tmp_path / "chromium")
    try:
        browser.open(path)
        seen = [row.rstrip() for row in browser.text("pre").rstrip().splitlines()]
        assert seen == [row.rstrip() for row in plain.rstrip().splitlines()]
        hot = browser.evaluate("[...document.querySelectorAll('pre span')].map(e => e.innerText)")
        assert any('kept["a" * (i % 7)] = sum(range(i))' in row for row in hot)
        assert not any("def busy" in row for row in hot)
    finally:
        browser.close()


@pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
def test_columns_stand_under_each_other_where_the_page_has_another_font(tmp_path):
    path = tmp_path / "report.html"
    style = "body, pre { font-family: sans-serif }"  # as nbconvert's pages have it
    shown = measured()._text(heat=True)
    path.write_text(f"<!doctype html><style>{style}</style>{shown}")
    browser = Browser(tmp_path / "chromium")
    try:
        browser.open(path)
        widths = browser.evaluate(
            """['Line #', '======'].map(row => {
                const range = document.createRange();
                const text = document.querySelector('pre').firstChild;
                const start = text.data.indexOf(row);
                range.setStart(text, start);
                range.setEnd(text, start + 6);
                return range.getBoundingClientRect().width;
            })"""
        )
        assert widths[0] == widths[1] > 0
    finally:
        browser.close()
