# SPDX-License-Identifier: MIT
"""What a snapshot counts, beside what others count of the same heap."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, collections, decimal, json, re

class Node:
    __slots__ = ("listed", "named", "number")  # guppy makes a dictionary where there was none

    def __init__(self, number):
        self.number, self.named, self.listed = number, {"key": number}, [number]

data = [Node(number) for number in range(1000, 301000)]
from guppy import hpy
from dwell import heap
tool = hpy()
snapshot = heap.snapshot()
own = snapshot.objects, snapshot.size
del snapshot
found = tool.heap()
print(json.dumps([own, [found.count, found.size]]))
"""


@pytest.mark.accuracy  # guppy is there for that run
def test_totals_are_within_a_percent_of_those_of_guppy():
    pytest.importorskip("guppy")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    own, other = json.loads(done.stdout)
    assert own == pytest.approx(other, rel=0.01)
