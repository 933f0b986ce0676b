# SPDX-License-Identifier: MIT
"""Fits a line to points, as programs that learn do: dwell run train.py --epochs 3."""

import argparse
import json
import random

import dwell


@dwell.func()
def load(count):
    chance = random.Random(1)
    return [(x, 3 * x + 1 + chance.gauss(0, 0.1)) for x in (i / count for i in range(count))]


def step(slope, offset, points, rate):
    slope_gradient = offset_gradient = 0.0
    for x, y in points:
        error = slope * x + offset - y
        slope_gradient += error * x
        offset_gradient += error
    scale = rate / len(points)
    return slope - scale * slope_gradient, offset - scale * offset_gradient


def main(epochs=3):
    points = load(2_000)
    slope = offset = 0.0
    for epoch in range(epochs):
        with dwell.region("epoch"):
            for _ in range(600):
                slope, offset = step(slope, offset, points, 0.5)
        print(json.dumps({"epoch": epoch, "slope": slope, "offset": offset}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    main(parser.parse_args().epochs)
