# SPDX-License-Identifier: MIT
"""Programs that run coroutines, greenlets, generators and handlers of requests, all to call `leaf`.
They measure how much of their CPU time that takes.

handlers.py PROGRAM: works until standard input ends, and prints its figures, as JSON, when it
begins and at the end. `wsgi` and `fastapi_app` are for servers, and answer /stats with them.
"""

import contextlib
import json
import os
import pathlib
import select
import sys
import time

IN_LOOP = 20  # coroutines at once
spent = {"leaf_ns": 0}
kept = []  # whose threads are there to the end


def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def clock_ns():
    """How long the clock says that nothing takes."""
    pairs = [(time.thread_time_ns(), time.thread_time_ns()) for _ in range(1000)]
    return sorted(end - began for began, end in pairs)[len(pairs) // 2]


CLOCK_NS = clock_ns()


def measured_leaf(n):
    """The clock is read outside of `leaf`, where samples do not count for it either."""
    began = time.thread_time_ns()
    total = leaf(n)
    spent["leaf_ns"] += time.thread_time_ns() - began - CLOCK_NS
    return total


def stats():
    """The CPU time of all threads but dwell's, and of `leaf`."""
    cpu_ns = 0
    for task in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # of threads that have just ended
            if not (task / "comm").read_text().startswith("dwell"):
                cpu_ns += int((task / "schedstat").read_text().split()[0])
    return {"cpu_ns": cpu_ns, "pid": os.getpid(), **spent}


def begin():
    """Says that what is measured from outside begins, and what was used until then."""
    print(json.dumps(stats()), flush=True)


def goes_on():
    return not select.select([sys.stdin], [], [], 0)[0]


def with_asyncio(count=IN_LOOP):
    import asyncio

    async def handler():
        measured_leaf(3000)
        await asyncio.sleep(0)

    async def middle():
        await handler()

    async def main():
        begin()
        while goes_on():
            await asyncio.gather(*(middle() for _ in range(count)))

    asyncio.run(main())


def with_many_coroutines():
    with_asyncio(1000)


def with_uvloop():
    import uvloop

    uvloop.install()
    with_asyncio()


def with_anyio(backend="asyncio"):
    import anyio

    async def handler():
        measured_leaf(3000)
        await anyio.sleep(0)

    async def middle():
        await handler()

    async def main():
        begin()
        while goes_on():
            async with anyio.create_task_group() as group:
                for _ in range(IN_LOOP):
                    group.start_soon(middle)

    anyio.run(main, backend=backend)


def with_trio():
    import trio  # noqa: F401  (anyio loads it)

    with_anyio("trio")


def with_gevent():
    import gevent

    def handler():
        measured_leaf(3000)
        gevent.sleep(0)

    begin()
    while goes_on():
        gevent.joinall([gevent.spawn(handler) for _ in range(IN_LOOP)])


def with_generators():
    def down(depth):
        if depth:
            yield from down(depth - 1)
        yield measured_leaf(1000)

    begin()
    while goes_on():
        sum(down(10))


def with_pool():
    from concurrent.futures import ThreadPoolExecutor

    def one(_):
        return measured_leaf(400)

    def job():
        return sorted(map(one, range(200)))

    pool = ThreadPoolExecutor(1)
    kept.append(pool)
    begin()
    while goes_on():
        pool.submit(job).result()


PROGRAMS = {
    "asyncio": with_asyncio,
    "asyncio, 1000 coroutines": with_many_coroutines,
    "uvloop": with_uvloop,
    "trio": with_trio,
    "anyio": with_anyio,
    "gevent": with_gevent,
    "nested generators": with_generators,
    "a thread of a pool": with_pool,
}


def wsgi(environment, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    if environment["PATH_INFO"] == "/stats":
        return [json.dumps(stats()).encode()]
    return [str(measured_leaf(30_000)).encode()]


def fastapi_app():
    from fastapi import FastAPI

    app = FastAPI()
    app.get("/stats")(stats)

    @app.get("/")
    async def handler():
        return measured_leaf(30_000)

    return app


def main(name):
    PROGRAMS[name]()
    print(json.dumps(stats()))


if __name__ == "__main__":
    main(*sys.argv[1:])
