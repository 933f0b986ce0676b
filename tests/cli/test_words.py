# SPDX-License-Identifier: MIT
"""A word that is in no list is named, with the one that was meant."""

import os
import subprocess
import sysconfig

import pytest

pytestmark = pytest.mark.any_python

KNOWN = {
    "rnu": "no command 'rnu'; did you mean 'run'?",
    "repotr x.dwell": "no command 'repotr'; did you mean 'report'?",
    "help exprot": "no command 'exprot'; did you mean 'export'?",
    "run --rat 5 x.py": "run has no option '--rat'; did you mean '--rate'?",
    "run --rat=5 x.py": "run has no option '--rat'; did you mean '--rate'?",
    "run --sub x.py": "run has no option '--sub'; did you mean '--subprocesses'?",
    "report --formt csv x.dwell": "no option '--formt'; did you mean '--format'?",
    "report x.dwell --by functon": "no grouping 'functon'; did you mean 'function'?",
    "report x.dwell --by modle": "no grouping 'modle'; did you mean 'module'?",
    "report x.dwell --format jsno": "no format 'jsno'; did you mean 'json'?",
    "report x.dwell --columns name,totl": "no column 'totl'; did you mean 'total'?",
    "report x.dwell --sort cumtme": "cannot sort by 'cumtme'; did you mean 'cumtime'?",
    "report calls.dwell --sort cumtme": "cannot sort by 'cumtme'; did you mean 'cumtime'?",
    "export x.dwell --to speedscop": "no lens 'speedscop'; did you mean 'speedscope'?",
    "export x.dwell --to svg-grap": "no lens 'svg-grap'; did you mean 'svg-graph'?",
    "diff x.dwell x.dwell --by functions": "no grouping 'functions'; did you mean 'function'?",
}

UNKNOWN = {
    "fly": "no command 'fly'; see 'dwell --help'",
    "--fly": "no option '--fly'; see 'dwell --help'",
    "run --fly x.py": "run has no option '--fly'; see 'dwell run --help'",
    "report --fly x.dwell": "no option '--fly'; see 'dwell report --help'",
    "report x.dwell --by weather": "no grouping 'weather'; there are: function, line, ",
    "export x.dwell --to paper": "no lens 'paper'; 'dwell export --to help' lists them",
}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Of samples and of calls: some words are looked at only when the file is known."""
    directory = tmp_path_factory.mktemp("recordings")
    program = os.environ.get("DWELL_PROGRAM", sysconfig.get_path("scripts") + "/dwell")
    for name, option in (("x", "--sample"), ("calls", "--calls")):
        recorded = ["-q", option, "-o", f"{name}.dwell", "-c", "sum(range(3_000_000))"]
        subprocess.run([program, "run", *recorded], cwd=directory, check=True)
    return directory


@pytest.mark.parametrize(("words", "says"), [*KNOWN.items(), *UNKNOWN.items()])
def test_a_word_in_no_list(run_dwell, recordings, words, says):
    done = run_dwell(*words.split(), cwd=recordings)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dwell: {says}")
    assert len(done.stderr.splitlines()) == 1
