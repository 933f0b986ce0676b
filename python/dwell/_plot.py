# SPDX-License-Identifier: MIT
"""dwell.plot(): a profile as an interactive page, inline in a notebook or in a file."""

import html
import os
from typing import TYPE_CHECKING

from . import _core, _files, _process
from ._snapshot import Snapshot

if TYPE_CHECKING:
    from .calls import Profile

_HEIGHT = 640
# A page in a frame is dark or light as its frame is, and that as the notebook says: JupyterLab and
# nbconvert, VS Code, Colab.
_DARK = '[data-jp-theme-light="false"]', ".vscode-dark", '[theme="dark"]'
_LIGHT = '[data-jp-theme-light="true"]', ".vscode-light", '[theme="light"]'


class Page:
    """An interactive page; notebooks show it, str() is its HTML."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<dwell page of {len(self._text)} characters>"

    def _repr_html_(self) -> str:
        """A frame of its own, so that neither page nor notebook disturbs the other."""
        return (
            f"<style>{_scheme('dark', _DARK)}{_scheme('light', _LIGHT)}</style>"
            f'<iframe class="dwell" srcdoc="{html.escape(self._text)}" width="100%" '
            f'height="{_HEIGHT}" frameborder="0" title="dwell profile"></iframe>'
        )

    def save(self, file: str | os.PathLike[str]) -> None:
        with open(file, "w", encoding="utf-8", errors="replace", opener=_files.private) as out:
            out.write(self._text)


def _scheme(name: str, themes: tuple[str, ...]) -> str:
    return f":is({','.join(themes)}) iframe.dwell{{color-scheme:{name}}}"


def plot(profile: "Profile | Snapshot", file: str | os.PathLike[str] | None = None) -> None:
    """Shows a profile or a snapshot as an icicle with a table.

    In a notebook the page appears inline; elsewhere, or with a file name, it is
    written to a file (dwell-profile.html) whose path is printed.
    """
    log = profile._log if isinstance(profile, Snapshot) else profile._log()
    page = Page(_core.render(log, "html").decode("utf-8", "replace"))
    if file is None and _in_notebook():
        _display(page)  # not returned: a notebook would show it twice
        return
    path = os.path.abspath(os.fspath(file or "dwell-profile.html"))
    page.save(path)
    print(path)


def _in_notebook() -> bool:
    return hasattr(_process.ipython_shell(), "kernel")


def _display(page: Page) -> None:
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

    display(page)  # type: ignore[no-untyped-call,unused-ignore]
