"""A shop that sorts its orders: small enough to keep recordings of it."""

import os
import sys

import dwell


def prices(count):
    for number in range(count):
        yield number * 7919 % 1009


@dwell.func()
def load(count):
    with dwell.region("read"):
        found = [price for price in dwell.iter_proxy(prices(count), "next")]  # noqa: C416
    dwell.count("orders", len(found))
    return found


def rank(orders):
    ranked = sorted(orders, key=lambda price: (price % 10, price))
    return sum(ranked[: len(ranked) // 2])


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@dwell.func()
def work(rounds, count=60):
    total = 0
    for _ in range(rounds):
        with dwell.region("round"):
            total += rank(load(count)) + fib(9)
    dwell.instant("done")
    return total


async def visit(asyncio, number):
    with dwell.region("visit"):
        await asyncio.sleep(0.001)
        return rank(range(number))


async def visits(asyncio):
    await asyncio.gather(*(visit(asyncio, number) for number in range(40, 44)))


def main(rounds, *what):
    import threading

    helper = threading.Thread(target=work, args=(rounds,), name="helper")
    helper.start()
    work(rounds)
    helper.join()
    if "async" in what:
        import asyncio

        asyncio.run(visits(asyncio))
    if "fork" in what:
        child = os.fork()
        if not child:
            work(rounds)
            sys.exit()
        os.waitpid(child, 0)


main(int(sys.argv[1]), *sys.argv[2:])
