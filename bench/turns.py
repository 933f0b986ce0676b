# SPDX-License-Identifier: MIT
"""Cases that run in processes of their own and take turns; the best of all turns counts."""

import json
import subprocess
import sys

TURNS = 5


def run(script, *arguments):
    """What the script prints last, as JSON; None when it fails: a tool may not be there."""
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def best_of_turns(script, cases, turns=TURNS):
    """The smallest number of each case that the script, called with the case, ever prints."""
    best = {}
    for _ in range(turns):
        for case in cases:
            took = run(script, *case)
            if took is not None:
                best[case] = min(best.get(case, float("inf")), took)
    return best
