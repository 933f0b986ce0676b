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
from collections.abc import Iterator
from pathlib import Path

import pytest

REQUESTS = 20

ASGI = """
import dwell

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError
    with dwell.region("request"):
        sum(range(1000))
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})
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
import dwell

def app(environ, start_response):
    with dwell.region("request"):
        sum(range(1000))
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
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

# What it needs, its source, how it is started, whether a parent kills it outright.
SERVERS = {
    "uvicorn": ("uvicorn", ASGI, ["-m", "uvicorn", "server:app", "--port", "{port}"], False),
    "fastapi": ("fastapi", FASTAPI, ["-m", "uvicorn", "server:app", "--port", "{port}"], False),
    "uvicorn workers": (
        "uvicorn",
        ASGI,
        ["-m", "uvicorn", "server:app", "--port", "{port}", "--workers", "2"],
        False,
    ),
    "gunicorn": (
        "gunicorn",
        WSGI,
        ["-m", "gunicorn", "-b", "127.0.0.1:{port}", "server:app"],
        False,
    ),
    "gunicorn threads": (
        "gunicorn",
        WSGI,
        ["-m", "gunicorn", "-b", "127.0.0.1:{port}", "--threads", "4", "-w", "2", "server:app"],
        False,
    ),
    "gunicorn gevent": (
        "gevent",
        WSGI,
        ["-m", "gunicorn", "-b", "127.0.0.1:{port}", "-k", "gevent", "-w", "2", "server:app"],
        False,
    ),
    "django": ("django", DJANGO, ["server.py", "runserver", "--noreload", "{port}"], False),
    "django reloading": ("django", DJANGO, ["server.py", "runserver", "{port}"], True),
    "flask": ("flask", FLASK, ["-m", "flask", "--app", "server", "run", "-p", "{port}"], False),
    "http.server": ("http.server", HTTP, ["server.py", "{port}"], False),
}


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


def ask(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/", headers={"Connection": "close"})
        assert connection.getresponse().read() is not None
    finally:
        connection.close()


def wait_until_listening(process: "subprocess.Popen[str]", port: int) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise AssertionError(f"it does not listen: {process.poll()}")


def serve(command: list[str], cwd: Path, port: int, number: int) -> int:
    """Lets a server answer some requests and ends it; its exit status."""
    with running(command, cwd) as (process, terminal):
        wait_until_listening(process, port)
        for _ in range(REQUESTS):
            ask(port)
        if number == signal.SIGINT:
            os.write(terminal, b"\x03")  # to all of them, as when somebody presses Ctrl-C
        else:
            process.send_signal(number)
        return process.wait(120)


def requests_of(run_dwell, log: Path) -> int:
    done = run_dwell("report", log, "--by", "region", "--format", "csv")
    rows = csv.DictReader(done.stdout.splitlines())
    return sum(int(row["count"]) for row in rows if row["name"] == "request")


@pytest.mark.accuracy  # servers kill workers that take their time
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
def test_servers(tmp_path, run_dwell, dwell_program, server, number):
    needs, source, words, is_killed = server
    pytest.importorskip(needs)
    pytest.importorskip("gunicorn" if "gunicorn" in words else needs)
    (tmp_path / "server.py").write_text(source)
    statuses = []
    for command in ([sys.executable], [dwell_program, "run", "-q", "-o", "x.dwell"]):
        port = free_port()
        words_now = [word.format(port=port) for word in words]
        statuses.append(serve([*command, *words_now], tmp_path, port, number))
    output = (tmp_path / "output.txt").read_text()
    assert statuses[1] == statuses[0], output
    logs = [tmp_path / "x.dwell", *tmp_path.glob("x.*.dwell")]
    assert "dwell:" not in output
    if number == signal.SIGTERM and is_killed:
        return  # its reloader kills the server outright: what is on disk by then is there
    checks = [run_dwell("check", log) for log in logs]
    assert [check.stdout for check in checks if check.returncode] == []
    assert sum(requests_of(run_dwell, log) for log in logs) == REQUESTS, output


@pytest.mark.accuracy
def test_gunicorn_that_loads_its_program_anew(tmp_path, run_dwell, dwell_program):
    """SIGHUP reaches it through dwell; workers of before and after are in one recording."""
    pytest.importorskip("gunicorn")
    (tmp_path / "server.py").write_text(WSGI)
    port = free_port()
    bind = ["-b", f"127.0.0.1:{port}", "-w", "2"]
    command = [dwell_program, "run", "-q", "-o", "x.dwell", "-m", "gunicorn", *bind, "server:app"]
    with running(command, tmp_path) as (process, _):
        wait_until_listening(process, port)
        for _ in range(REQUESTS):
            ask(port)
        process.send_signal(signal.SIGHUP)
        output = tmp_path / "output.txt"
        while output.read_text().count("Worker exiting") < 2:
            assert process.poll() is None
            time.sleep(0.05)
        for _ in range(REQUESTS):
            ask(port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    assert [path.name for path in tmp_path.glob("*.dwell")] == ["x.dwell"]
    assert requests_of(run_dwell, tmp_path / "x.dwell") == 2 * REQUESTS


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
print(sum(result.get(timeout=100) for result in [tasks.add.delay(i, 1) for i in range(20)]))
"""


@pytest.mark.accuracy
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="not tried")
def test_celery_prefork(tmp_path, run_dwell, dwell_program):
    pytest.importorskip("celery")
    (tmp_path / "tasks.py").write_text(CELERY)
    for folder in ("queue", "control", "results"):
        (tmp_path / folder).mkdir()
    words = ["-A", "tasks", "worker", "-c", "2", "--without-gossip", "--without-mingle"]
    command = [dwell_program, "run", "-q", "-o", "x.dwell", "-m", "celery", *words]
    with running(command, tmp_path) as (process, _):
        asked = subprocess.run(
            [sys.executable, "-c", ASK_CELERY], cwd=tmp_path, capture_output=True, text=True
        )
        assert asked.stdout == "210\n", asked.stderr + (tmp_path / "output.txt").read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    assert requests_of(run_dwell, tmp_path / "x.dwell") == REQUESTS
    shown = run_dwell("report", "x.dwell", "--by", "process", "--measure", "count").stdout
    assert "ForkPoolWorker-" in shown
