# SPDX-License-Identifier: MIT
"""The report of lines in a notebook: the same text, with the lines that take time coloured."""

import html

_SHARE = "% Time"
_STYLE = "white-space:pre;overflow-x:auto;line-height:1.35"


def with_heat(report: str) -> str:
    """The report as HTML. The colour is laid over the page's own, be it light or dark."""
    rows = []
    cell = slice(0, 0)  # where the table at hand has the share of the time
    for row in report.splitlines():
        if row.lstrip().startswith("Line #"):
            end = row.index(_SHARE) + len(_SHARE)
            cell = slice(end - 8, end)
        elif not row:
            cell = slice(0, 0)
        rows.append(_row(row, row[cell].strip()))
    return f'<pre style="{_STYLE}">{"".join(rows)}</pre>'


def _row(text: str, share: str) -> str:
    heat = float(share) / 100 if share[:1].isdigit() else 0.0
    escaped = html.escape(text) + "\n"
    if heat < 0.005:
        return escaped
    style = f"display:inline-block;min-width:100%;background:rgba(255,96,0,{heat * 0.55:.2f})"
    return f'<span style="{style}">{escaped}</span>'
