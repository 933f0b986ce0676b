# SPDX-License-Identifier: MIT
"""Samples of C++ under Python: main.py FILE, which may be a .dwell or a .prof for pprof."""

import sys

import scatter

import dwell

dwell.start(sys.argv[1])
for _ in range(700):
    scatter.scatter(200_000)
    scatter.gather(100_000)
dwell.stop()
