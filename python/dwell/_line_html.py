# SPDX-License-Identifier: MIT
"""The report of lines in a notebook: the same text, with the lines that take time coloured."""

import html

_SHARE = "% Time"
_SHARE_WIDTH = 8
_FONT = "font-family:var(--jp-code-font-family,monospace)"  # nbconvert has none for <pre>
_STYLE = f"{_FONT};white-space:pre;overflow-x:auto;line-height:1.3"


def with_heat(report: str) -> str:
    """The report as HTML. The colour is laid over the page's own, be it light or dark."""
    rows = report.split("\n")  # a line of source may hold other line ends
    width = max(map(len, rows), default=0)
    coloured = []
    cell = slice(0, 0)  # where the table at hand has the share of the time
    for row in rows:
        if row.lstrip().startswith("Line #"):
            end = row.index(_SHARE) + len(_SHARE)
            cell = slice(end - _SHARE_WIDTH, end)
        elif not row:
            cell = slice(0, 0)
        coloured.append(_row(row, row[cell].strip(), width))
    return f'<pre style="{_STYLE}">' + "\n".join(coloured) + "</pre>"


def _row(text: str, share: str, width: int) -> str:
    heat = float(share) / 100 if share.replace(".", "", 1).isdecimal() else 0.0
    if heat < 0.005:
        return html.escape(text)
    style = f"background:rgba(255,96,0,{heat * 0.55:.2f})"
    return f'<span style="{style}">{html.escape(text.ljust(width))}</span>'
