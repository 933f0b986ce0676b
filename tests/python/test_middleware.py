# SPDX-License-Identifier: MIT
"""Requests are labels of what runs for them, and servers see the application as it is."""

import asyncio
import io
import wsgiref.util

import pytest

import dwell
from dwell import middleware

pytestmark = pytest.mark.any_python


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/", "/"),
        ("/items/17/edit", "/items/{}/edit"),
        ("/v2/items", "/v2/items"),
        ("/user/9f8b7c6d-1234-4321-aaaa-0123456789ab", "/user/{}"),
        ("/facade/deadbeef", "/facade/deadbeef"),
    ],
)
def test_endpoints_are_few(path, endpoint):
    assert middleware.endpoint_of(path) == endpoint


def environ(**more):
    made = {"PATH_INFO": "/items/5", "REQUEST_METHOD": "POST", **more}
    wsgiref.util.setup_testing_defaults(made)
    return made


REQUEST = {"endpoint": "/items/{}", "method": "POST"}


def test_wsgi_has_labels():
    seen = []

    def app(environ, start_response):
        seen.append(dwell.labels())
        start_response("200 OK", [])
        return body

    body = [b"x"]
    assert middleware.wsgi(app)(environ(), lambda *_: None) is body  # whose length servers ask for
    assert seen == [REQUEST]
    assert dwell.labels() == {}


def test_wsgi_that_makes_its_answer_bit_by_bit():
    seen = []

    def app(environ, start_response):
        try:
            yield b"a"
            seen.append(dwell.labels())
            yield b"b"
        finally:
            seen.append(("closed", dwell.labels()))

    answer = middleware.wsgi(app)(environ(), lambda *_: None)
    assert next(iter(answer)) == b"a"
    assert dwell.labels() == {}
    assert next(answer) == b"b"
    answer.close()
    assert seen == [REQUEST, ("closed", REQUEST)]


def test_wsgi_files_stay_files():
    wrapper = wsgiref.util.FileWrapper
    made = wrapper(io.BytesIO(b"x"))
    app = middleware.wsgi(lambda environ, start_response: made)
    assert app(environ(**{"wsgi.file_wrapper": wrapper}), None) is made


def test_wsgi_errors_and_names_of_endpoints():
    def app(environ, start_response):
        raise KeyError(dwell.labels()["endpoint"])

    with pytest.raises(KeyError, match="mine"):
        middleware.wsgi(app, endpoint=lambda environ: "mine")(environ(), None)
    assert dwell.labels() == {}


def test_asgi_has_labels():
    seen = []

    async def app(scope, receive, send):
        await asyncio.sleep(0)
        seen.append(dwell.labels())

    async def serve():
        labelled = middleware.asgi(app)
        scopes = [
            {"type": "lifespan"},
            {"type": "http", "path": "/items/5", "method": "POST"},
            {"type": "websocket", "path": "/live"},
        ]
        await asyncio.gather(*(labelled(scope, None, None) for scope in scopes))

    asyncio.run(serve())
    of_socket = {"endpoint": "/live", "method": "WEBSOCKET"}
    assert [*filter(None, seen)] in ([REQUEST, of_socket], [of_socket, REQUEST])
    assert {} in seen
