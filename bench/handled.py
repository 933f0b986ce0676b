# SPDX-License-Identifier: MIT
"""Programs of handlers.py, in which one function has most of the time at the end of a long stack:
by how many points its share is off in the process and from outside, beside py-spy.

Prints JSON: {program: {tool: points}}. A program whose library is not there is left out.
"""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from handlers import PROGRAMS
from shares import share_of

HERE = pathlib.Path(__file__).parent
BIN = pathlib.Path(sys.executable).parent
SECONDS = 3
SERVERS = {
    "gunicorn gthread": ("gunicorn", "-k", "gthread", "--threads", "2", "handlers:wsgi"),
    "gunicorn gevent": ("gunicorn", "-k", "gevent", "handlers:wsgi"),
    "FastAPI under uvicorn": ("uvicorn", "--factory", "handlers:fastapi_app"),
}


def collapsed(*files):
    export = [BIN / "dwell", "export", *files, "--to", "collapsed"]
    return subprocess.check_output(export, text=True, stderr=subprocess.DEVNULL)


def attach(pid, folder, *options):
    file = f"{folder}/attached.dwell"
    words = [str(pid), "--mode", "cpu", "--rate", "1000", "--duration", str(SECONDS), "-o", file]
    subprocess.run([BIN / "dwell", "attach", *words, *options], capture_output=True, check=True)
    return share_of("leaf", collapsed(file))


def attach_native(pid, folder):
    return attach(pid, folder, "--native")


def py_spy(pid, folder):
    file = f"{folder}/py-spy"
    options = ["-f", "raw", "-r", "100", "-d", str(SECONDS), "-o", file]
    subprocess.run([BIN / "py-spy", "record", "-p", str(pid), *options], capture_output=True)
    return share_of("leaf", pathlib.Path(file).read_text())


WATCHERS = {
    "py-spy": py_spy,
    "dwell attach": attach,
    "dwell attach --native": attach_native,
}


class Script:
    """A program that works by itself."""

    def __init__(self, name):
        self.words = [HERE / "handlers.py", name]

    @contextlib.contextmanager
    def running(self, command):
        pipe = subprocess.PIPE
        process = subprocess.Popen([*command, *self.words], stdin=pipe, stdout=pipe, text=True)
        self.first = json.loads(process.stdout.readline() or "{}")
        yield self.first.get("pid")
        self.last = json.loads(process.communicate("")[0])


class Server:
    """One that answers requests, which come one after the other as long as it runs."""

    def __init__(self, name):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        module, *options = SERVERS[name]
        place = ["--port", str(self.port), "--log-level", "warning"]
        if module == "gunicorn":
            place = ["--bind", f"127.0.0.1:{self.port}", "--log-level", "error"]
        self.words = ["-m", module, *place, *options]

    def ask(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())

    def ask_until_it_answers(self):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                return self.ask("/stats")
            time.sleep(0.05)
        raise TimeoutError(f"no answer from {self.words}")

    def keep_asking(self, enough):
        while not enough.is_set():
            self.ask("/")

    @contextlib.contextmanager
    def running(self, command):
        process = subprocess.Popen([*command, *self.words], cwd=HERE, stderr=subprocess.DEVNULL)
        enough = threading.Event()
        try:
            self.first = self.ask_until_it_answers()
            clients = [threading.Thread(target=self.keep_asking, args=(enough,)) for _ in range(2)]
            for client in clients:
                client.start()
            yield self.first["pid"]
            enough.set()
            for client in clients:
                client.join()
            self.last = self.ask("/stats")
        finally:
            enough.set()
            process.send_signal(signal.SIGTERM)
            process.wait()


def error_from_outside(program, watcher):
    with tempfile.TemporaryDirectory() as folder, program.running([sys.executable]) as pid:
        found = watcher(pid, folder)
    leaf, whole = (program.last[key] - program.first[key] for key in ("leaf_ns", "cpu_ns"))
    return abs(found - 100 * leaf / whole)


def start_ns():
    """The CPU time of an interpreter before it runs anything, which no sample can have."""
    command = [sys.executable, "-c", "import time; print(time.process_time_ns())"]
    return min(int(subprocess.check_output(command)) for _ in range(5))


def error_in_process(program):
    """From the start of the interpreter on; a worker that was forked has a file of its own, from
    the fork on, which has none of the time of the process that forked it."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/run.dwell"
        with program.running([BIN / "dwell", "run", "-q", "--keep", "-o", file]) as pid:
            time.sleep(SECONDS)
        own = pathlib.Path(folder, f"run.{pid}.dwell")
        unseen_ns = 0 if own.exists() else start_ns()
        found = share_of("leaf", collapsed(own if own.exists() else file))
    return abs(found - 100 * program.last["leaf_ns"] / (program.last["cpu_ns"] - unseen_ns))


def errors_of(program):
    found = {}
    trouble = (OSError, ArithmeticError, ValueError, subprocess.SubprocessError)
    with contextlib.suppress(*trouble):
        found["dwell run"] = error_in_process(program)
    for tool, watcher in WATCHERS.items():
        with contextlib.suppress(*trouble):
            found[tool] = error_from_outside(program, watcher)
    return found


def main():
    programs = {name: Script(name) for name in PROGRAMS} | {name: Server(name) for name in SERVERS}
    found = {}
    for name, program in programs.items():
        print(name, file=sys.stderr)
        found[name] = errors_of(program)
    print(json.dumps({name: tools for name, tools in found.items() if tools}))


if __name__ == "__main__":
    main()
