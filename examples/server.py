# SPDX-License-Identifier: MIT
"""A server with clients of its own, for some seconds: dwell run --mode wall server.py SECONDS."""

import asyncio
import hashlib
import sys


async def answer(reader, writer):
    while request := await reader.readline():
        digest = hashlib.sha256(request * 2_000).hexdigest()
        await asyncio.sleep(0.01)  # a database, say
        writer.write(f"{digest}\n".encode())
    writer.close()


async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        writer.write(b"where does the time go?\n")
        await reader.readline()


async def main(seconds):
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    clients = [asyncio.create_task(ask(port), name=f"client {i}") for i in range(4)]
    print(f"serving on port {port} for {seconds} s", flush=True)
    await asyncio.wait(clients, timeout=seconds)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if sys.argv[1:] else 3))
