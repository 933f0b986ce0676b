# SPDX-License-Identifier: MIT
"""Fibonacci numbers, for `dwell time` to compare."""


def by_adding(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def by_doubling(n):
    a, b = 0, 1
    for bit in f"{n:b}":
        a, b = a * (2 * b - a), a * a + b * b
        if bit == "1":
            a, b = b, a + b
    return a
