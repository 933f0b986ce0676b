# SPDX-License-Identifier: MIT
"""Servers that nobody here wrote end under `dwell run` as they do without, and all their requests
are in the recording."""

import contextlib
import csv
import fcntl
import http.client
import os
import pty
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ..conftest import PATIENCE_S

pytestmark = pytest.mark.any_python
REQUESTS = 20

ASGI = """
import os, dwell

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError
    with dwell.region("request"):
        body = b"%d" % os.getpid()
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})
"""

FASTAPI = """
import dwell, fastapi
app = fastapi.FastAPI()

@app.get("/")
def index():
    with dwell.region("request"):
        return sum(range(1000))
"""

WSGI = """
import os, dwell

def app(environ, start_response):
    with dwell.region("request"):
        body = b"%d" % os.getpid()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""

FLASK = """
import dwell, flask
app = flask.Flask(__name__)

@app.get("/")
def index():
    with dwell.region("request"):
        return str(sum(range(1000)))
"""

DJANGO = """
import sys, dwell, django.conf, django.http, django.urls
from django.core.management import execute_from_command_line

def index(request):
    with dwell.region("request"):
        return django.http.HttpResponse(str(sum(range(1000))))

urlpatterns = [django.urls.path("", index)]
if not django.conf.settings.configured:
    django.conf.settings.configure(DEBUG=True, SECRET_KEY="x", ROOT_URLCONF=__name__,
                                   ALLOWED_HOSTS=["*"])
if __name__ == "__main__":
    execute_from_command_line(sys.argv)
"""

HTTP = """
import dwell, http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with dwell.region("request"):
            sum(range(1000))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

# A busy machine is no reason to give a worker up.
GUNICORN = ["-m", "gunicorn", "-b", "127.0.0.1:{port}", "-w", "2", "--no-control-socket"]
GUNICORN += ["--graceful-timeout", "900", "--timeout", "900", "server:app"]
UVICORN = ["-m", "uvicorn", "server:app", "--port", "{port}"]
UVICORN_WORKERS = [*UVICORN, "--workers", "2", "--timeout-worker-healthcheck", "900"]
RUNSERVER = ["server.py", "runserver", "{port}"]


class Server(NamedTuple):
    needs: str
    source: str
    words: list[str]
    workers: int = 1  # answers have their number
    is_killed: bool = False  # by a parent, outright


SERVERS = {
    "uvicorn": Server("uvicorn", ASGI, UVICORN),
    "uvicorn workers": Server("uvicorn", ASGI, UVICORN_WORKERS, 2),
    "gunicorn": Server("gunicorn", WSGI, GUNICORN, 2),
    "gunicorn threads": Server("gunicorn", WSGI, [*GUNICORN, "--threads", "4"], 2),
    "gunicorn gevent": Server("gevent", WSGI, [*GUNICORN, "-k", "gevent"], 2),
    "fastapi": Server("fastapi", FASTAPI, UVICORN),
    "django": Server("django", DJANGO, [*RUNSERVER, "--noreload"]),
    "django reloading": Server("django", DJANGO, RUNSERVER, is_killed=True),
    "flask": Server("flask", FLASK, ["-m", "flask", "--app", "server", "run", "-p", "{port}"]),
    "http.server": Server("http.server", HTTP, ["server.py", "{port}"]),
}
RELOADING = [name for name, server in SERVERS.items() if server.workers == 2]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextlib.contextmanager
def running(command: list[str], cwd: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """At a terminal of its own, which is the second result."""
    terminal, inside = pty.openpty()
    with open(cwd / "output.txt", "w") as output:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=inside,
            stdout=output,
            stderr=output,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        try:
            yield process, terminal
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(inside)
            os.close(terminal)


def ask(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/", headers={"Connection": "close"})
        return connection.getresponse().read()
    finally:
        connection.close()


def ask_all(port: int, workers: int, but: Collection[bytes] = ()) -> list[bytes]:
    """Asks until so many workers have answered, not counting some, and REQUESTS times at least.

    A signal that comes while a worker of gunicorn starts is lost: it still has the handlers of its
    master then. So nobody may end a server before."""
    answers: list[bytes] = []
    while len(answers) < REQUESTS or len(set(answers).difference(but)) < workers:
        with contextlib.suppress(ConnectionError):  # a worker that ends may close an idle one
            answers.append(ask(port))
    return answers


def wait_until_listening(process: "subprocess.Popen[str]", port: int) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise AssertionError(f"it does not listen: {process.poll()}")


def serve(command: list[str], cwd: Path, port: int, workers: int, number: int) -> tuple[int, int]:
    """Lets a server answer some requests and ends it; its exit status and the requests."""
    with running(command, cwd) as (process, terminal):
        wait_until_listening(process, port)
        answers = ask_all(port, workers)
        if number == signal.SIGINT:
            os.write(terminal, b"\x03")  # to all of them, as when somebody presses Ctrl-C
        else:
            process.send_signal(number)
        return process.wait(PATIENCE_S), len(answers)


def requests_of(run_dwell, log: Path) -> int:
    done = run_dwell("report", log, "--by", "region", "--format", "csv")
    rows = csv.DictReader(done.stdout.splitlines())
    return sum(int(row["count"]) for row in rows if row["name"] == "request")


def written(server: Server, folder: Path) -> Server:
    pytest.importorskip(server.needs)
    pytest.importorskip("gunicorn" if "gunicorn" in server.words else server.needs)
    (folder / "server.py").write_text(server.source)
    return server


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, id="SIGTERM"),
        pytest.param(signal.SIGINT, id="SIGINT", marks=pytest.mark.accuracy),
    ],
)
@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
def test_servers(tmp_path, run_dwell, dwell_program, server, number):
    written(server, tmp_path)
    statuses = []
    for command in ([sys.executable], [dwell_program, "run", "-q", "-o", "x.dwell"]):
        port = free_port()
        words = [word.format(port=port) for word in server.words]
        status, requests = serve([*command, *words], tmp_path, port, server.workers, number)
        statuses.append(status)
    output = (tmp_path / "output.txt").read_text()
    assert statuses[1] == statuses[0], output
    assert "dwell:" not in output
    if number == signal.SIGTERM and server.is_killed:
        return  # its reloader kills the server outright: what is on disk by then is there
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]
    check = run_dwell("check", "x.dwell")
    assert not check.returncode, check.stdout + output
    assert requests_of(run_dwell, tmp_path / "x.dwell") == requests, output


@pytest.mark.parametrize("name", RELOADING)
def test_servers_that_load_their_program_anew(tmp_path, run_dwell, dwell_program, name):
    """SIGHUP reaches them through dwell; workers of before and after are in one recording."""
    server = written(SERVERS[name], tmp_path)
    port = free_port()
    words = [word.format(port=port) for word in server.words]
    with running([dwell_program, "run", "-q", "-o", "x.dwell", *words], tmp_path) as (process, _):
        wait_until_listening(process, port)
        before = ask_all(port, server.workers)
        process.send_signal(signal.SIGHUP)
        after = ask_all(port, server.workers, but=set(before))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0, (tmp_path / "output.txt").read_text()
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]
    assert not run_dwell("check", "x.dwell").returncode
    assert requests_of(run_dwell, tmp_path / "x.dwell") == len(before + after)


CELERY = """
import celery, dwell
app = celery.Celery("tasks", broker="filesystem://", backend="file://results")
app.conf.broker_transport_options = {
    "data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control"}

@app.task
def add(a, b):
    with dwell.region("request"):
        return a + b
"""
ASK_CELERY = """
import tasks
print(*[tasks.add.delay(i, 1).id for i in range(20)])
"""
GET_FROM_CELERY = """
import sys, tasks
print(sum(tasks.app.AsyncResult(name).get(timeout=900) for name in sys.argv[1:]))
"""


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="not tried")
def test_celery_prefork(tmp_path, run_dwell, dwell_program):
    pytest.importorskip("celery")
    (tmp_path / "tasks.py").write_text(CELERY)
    for folder in ("queue", "control", "results"):
        (tmp_path / folder).mkdir()
    words = ["-A", "tasks", "worker", "-c", "2", "--without-gossip", "--without-mingle"]
    command = [dwell_program, "run", "-q", "-o", "x.dwell", "-m", "celery", *words]

    def run(program: str, *arguments: str) -> str:
        made = [sys.executable, "-c", program, *arguments]
        return subprocess.run(made, cwd=tmp_path, capture_output=True, text=True).stdout

    names = run(ASK_CELERY).split()  # first: a worker may read a file of the queue half written
    with running(command, tmp_path) as (process, _):
        total = run(GET_FROM_CELERY, *names)
        assert total == "210\n", (tmp_path / "output.txt").read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    assert requests_of(run_dwell, tmp_path / "x.dwell") == REQUESTS
    shown = run_dwell("report", "x.dwell", "--by", "process", "--measure", "count").stdout
    assert "ForkPoolWorker-" in shown
