# SPDX-License-Identifier: MIT
"""Requests of web servers as labels: `endpoint` and `method` of whatever runs for them."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from typing import Any

from ._labels import label

_Environ = dict[str, Any]
_WSGI = Callable[[_Environ, Any], Iterable[bytes]]
_Scope = MutableMapping[str, Any]
_ASGI = Callable[[_Scope, Any, Any], Awaitable[None]]

_HEX = frozenset("0123456789abcdefABCDEF-")
_DIGITS = frozenset("0123456789")
_ID_LENGTH = 8  # letters a to f and digits, as short as this, may be a word


def _is_id(part: str) -> bool:
    """A number, or as long a one of hexadecimal digits as nobody gives to a page."""
    has_digit = not _DIGITS.isdisjoint(part)
    return has_digit and (part.isdigit() or (len(part) >= _ID_LENGTH and _HEX.issuperset(part)))


def endpoint_of(path: str) -> str:
    """The path with {} in the place of numbers and ids, so that there are not too many of them."""
    return "/".join("{}" if _is_id(part) else part for part in path.split("/"))


def wsgi(app: _WSGI, endpoint: Callable[[_Environ], str] | None = None) -> _WSGI:
    """A WSGI application that runs `app` with the labels; `endpoint` names one otherwise."""

    def labelled(environ: _Environ, start_response: Any) -> Iterable[bytes]:
        name = endpoint(environ) if endpoint else endpoint_of(environ.get("PATH_INFO") or "/")
        request = label(endpoint=name, method=environ.get("REQUEST_METHOD", ""))
        with request:
            body = app(environ, start_response)
        is_file = "wsgi.file_wrapper" in environ and _is_made_by(environ, body)
        # What is there already, or is sent by the kernel, stays what servers know.
        return body if is_file or isinstance(body, (list, tuple, bytes)) else _Body(request, body)

    return labelled


def _is_made_by(environ: _Environ, body: Iterable[bytes]) -> bool:
    wrapper = environ["wsgi.file_wrapper"]
    return isinstance(wrapper, type) and isinstance(body, wrapper)


class _Body:
    """What an application still has to make while the server sends it."""

    def __init__(self, request: Any, body: Iterable[bytes]) -> None:
        self._request = request
        self._body = body
        self._rest: Iterator[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        with self._request:
            if self._rest is None:
                self._rest = iter(self._body)
            return next(self._rest)

    def close(self) -> None:
        close = getattr(self._body, "close", None)
        if close is not None:
            with self._request:
                close()


def asgi(app: _ASGI, endpoint: Callable[[_Scope], str] | None = None) -> _ASGI:
    """An ASGI application that runs `app` with the labels; `endpoint` names one otherwise."""

    async def labelled(scope: _Scope, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await app(scope, receive, send)
            return
        name = endpoint(scope) if endpoint else endpoint_of(scope.get("path") or "/")
        with label(endpoint=name, method=scope.get("method", "WEBSOCKET")):
            await app(scope, receive, send)

    return labelled
