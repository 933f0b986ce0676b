# SPDX-License-Identifier: MIT
"""Work in processes of its own: dwell run --subprocesses pool.py."""

import multiprocessing


def primes_below(limit):
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, limit))


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(primes_below, [60_000] * 4))
        pool.close()
        pool.join()
