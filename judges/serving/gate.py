"""What every request passes first: Host, token, kind and size of its body; and what is counted."""

from __future__ import annotations

import hmac
import ipaddress
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.judges.serving.config import Server
from assay.judges.serving.errors import ApiError
from assay.judges.serving.wire import error_response, too_large

if TYPE_CHECKING:
    from assay.judges.serving.metrics import Metrics

#: What anybody may see: nothing of it tells what is served or runs anything.
OPEN = frozenset({"/", "/health", "/ready", "/docs", "/openapi.json", "/favicon.ico"})
_LOOPBACK = frozenset({b"localhost", b"localhost.localdomain"})
_HOST = re.compile(rb"(?:\[([0-9a-f:.]+)\]|([^\[\]:@/\s]+))(?::\d*)?")


class Gate:
    """ASGI middleware around the whole app.

    Without tokens the server trusts whoever reaches it. A web page in a browser on the same machine
    reaches it too, so a POST must be `application/json`, which browsers do not send to another site
    unasked, and the Host header must name this machine.

    Args:
        app: What comes after.
        server: Limits and access.
        tokens: Tokens that are accepted; empty: none is asked for.
        metrics: Counts requests.
        path_of: The endpoint's path as it was declared, for the metrics.
    """

    def __init__(
        self,
        app: ASGIApp,
        server: Server,
        tokens: frozenset[str],
        metrics: Metrics,
        path_of: Callable[[Scope], str],
    ) -> None:
        self._app, self._metrics, self._path_of = app, metrics, path_of
        self._tokens = [f"Bearer {token}".encode() for token in sorted(tokens)]
        self._limit = int(server.max_body_mb * 2**20)
        self._hosts = _LOOPBACK | {host.lower().encode() for host in server.allowed_hosts}
        self._check_host = not tokens and server.loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # what balancers ask with; the server leaves the body out
            scope = {**scope, "method": "GET"}
        start = time.perf_counter()
        status = 499  # the client left before there was an answer

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.under_way.inc()
        try:
            refused = self._refused(scope)
            if refused is None:
                await self._app(scope, receive, counted)
            else:
                await error_response(refused)(scope, receive, counted)
        finally:
            self._metrics.under_way.dec()
            if status == 499:
                self._metrics.left.inc()
            self._metrics.answered(self._path_of(scope), status, time.perf_counter() - start)

    def _refused(self, scope: Scope) -> ApiError | None:
        headers = dict(scope["headers"])
        if self._check_host and not self._here(scope):
            return ApiError(
                403,
                "forbidden",
                "the Host header names another machine; without tokens only requests to localhost "
                "are answered: add the name to [server] allowed_hosts, or use a token",
            )
        if self._tokens and scope["path"] not in OPEN:
            given = headers.get(b"authorization", b"")
            # All are compared, so that the time says nothing.
            if not sum(hmac.compare_digest(given, token) for token in self._tokens):
                return ApiError(401, "unauthorized", "send Authorization: Bearer TOKEN")
        if scope["method"] == "POST":
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                return ApiError(
                    415,
                    "bad_request",
                    f"Content-Type must be application/json, got {kind.decode('latin-1')!r:.80}",
                )
            length = headers.get(b"content-length", b"")
            if length.isdigit() and int(length) > self._limit:
                return too_large(self._limit)
        return None

    def _here(self, scope: Scope) -> bool:
        """Whether a request names this machine, in each of its Host headers."""
        hosts = [_host(value) for name, value in scope["headers"] if name == b"host"]
        return bool(hosts) and all(host in self._hosts or _is_loopback(host) for host in hosts)


def _host(header: bytes) -> bytes:
    """The name of a Host header, without its port; empty where it is none.

    >>> _host(b"LocalHost:80"), _host(b"[::1]:80"), _host(b"localhost:80@elsewhere")
    (b'localhost', b'::1', b'')
    """
    found = _HOST.fullmatch(header.lower())
    return b"" if found is None else found[1] or found[2]


def _is_loopback(host: bytes) -> bool:
    try:
        return ipaddress.ip_address(host.decode("latin-1")).is_loopback
    except ValueError:
        return False
