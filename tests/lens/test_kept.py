# SPDX-License-Identifier: MIT
"""Recordings of every probe that were made long ago, through every view: what is shown of them is
kept beside them, so that no change of it goes unseen. DWELL_KEEP=1 writes it anew."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

KEPT = Path(__file__).parent.parent / "kept"
RECORDINGS = sorted(KEPT.glob("*.dwell"))
GROUPINGS = ("function", "line", "module", "region", "path", "thread", "process")
FORMATS = ("table", "tree", "csv", "json")
NO_TEXT = ("html", "pprof", "perfetto", "pstats", "svg", "firefox")  # or one of long lines
LENSES = ("lines", "chrome", "speedscope", "collapsed", "callgrind", "dot", *NO_TEXT)
DRAWN = {"svg-graph"}  # by another program, of what the lens dot writes
LONGEST = 3000  # of what is longer the beginning is kept, and a digest of all
COMPARED = {"regions": "forked", "samples": "wall", "calls": "signatures", "lines": "sampled-lines"}


def views(name: str) -> Iterator[list[str]]:
    file = f"{name}.dwell"
    yield ["check", file]
    yield ["report", file]
    for grouping in GROUPINGS:
        for form in FORMATS:
            yield ["report", file, "--by", grouping, "--format", form]
    for lens in LENSES:
        yield ["export", file, "--to", lens, "-o", "-"]
        for grouping in GROUPINGS:
            yield ["export", file, "--to", lens, "--by", grouping, "-o", "-"]
    if name == "series":
        for form in ("table", "csv", "json"):
            yield ["report", file, "--by", "time", "--format", form]
        yield ["plot", file]
        yield ["plot", file, "-o", "-"]
    if name == "heap":
        for key in ("type", "dominator", "size", "defined_in", "type,size"):
            for form in ("table", "csv", "json"):
                yield ["report", file, "--by", key, "--format", form]
        yield ["diff", file, file, "--by", "type"]
    if name in COMPARED:
        for form in ("table", "json"):
            yield ["diff", file, f"{COMPARED[name]}.dwell", "--format", form]


def shown(dwell: str, words: list[str]) -> str:
    done = subprocess.run([dwell, *words], cwd=KEPT, capture_output=True, check=False)
    output = done.stdout or done.stderr
    is_digest = set(words) & set(NO_TEXT) or {"export", "--by"} <= set(words)
    is_text = done.returncode or not is_digest
    most = LONGEST if is_text else 0
    text = output[:most].decode(errors="replace")
    if len(output) > most:
        text += f"... {len(output)} bytes, sha256 {hashlib.sha256(output).hexdigest()}\n"
    return f"$ dwell {' '.join(words)}\n[{done.returncode}]\n{text}\n"


def test_every_lens_is_in_a_view(dwell_program: str) -> None:
    done = subprocess.run(
        [dwell_program, "export", "--to", "help"], capture_output=True, text=True, check=True
    )
    lenses = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert lenses - DRAWN == {*FORMATS, *LENSES}


@pytest.mark.parametrize("name", [file.stem for file in RECORDINGS])
def test_what_kept_recordings_show(name: str, dwell_program: str) -> None:
    found = "".join(shown(dwell_program, words) for words in views(name))
    file = KEPT / f"{name}.txt"
    if os.environ.get("DWELL_KEEP"):
        file.write_text(found)
    assert found == file.read_text()
