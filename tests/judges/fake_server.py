"""A real HTTP server that speaks chat completions, well or badly, on 127.0.0.1."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-very-secret-key-0123456789"


class FakeServer(ThreadingHTTPServer):
    """What a request meets is written in its last message: `slow 0.5`, `429 twice`, `reset`, ...

    Anything else is answered with the message itself, reversed. `seen` holds the bodies, `times`
    the moments they came at, `peak` the largest number under way at once.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, refuses_schema: bool = False, wants_key: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.refuses_schema, self.wants_key = refuses_schema, wants_key
        self.seen: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.tries: Counter[str] = Counter()
        self.under_way = self.peak = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        what = body["messages"][-1]["content"]
        with server.lock:
            server.seen.append(body)
            server.times.append(time.monotonic())
            server.tries[what] += 1
            tried = server.tries[what]
            server.under_way += 1
            server.peak = max(server.peak, server.under_way)
        try:
            self._answer(body, what, tried)
        finally:
            with server.lock:
                server.under_way -= 1

    def _answer(self, body: dict[str, Any], what: str, tried: int) -> None:
        if self.path != "/v1/chat/completions":
            return self._error(404, "no such path")
        if self.server.wants_key and self.headers.get("Authorization") != f"Bearer {KEY}":
            return self._error(401, f"Incorrect API key: {self.headers.get('Authorization')}")
        if body["model"] != "judge":
            return self._error(404, f"The model `{body['model']}` does not exist")
        if "response_format" in body and self.server.refuses_schema:
            return self._error(400, "response_format json_schema is not supported")
        if match := re.fullmatch(r"slow ([\d.]+)", what):
            time.sleep(float(match[1]))
        elif match := re.fullmatch(r"(\d{3})(?: x(\d+))?(?: after (\S+))?", what):
            if tried <= int(match[2] or 1_000_000):
                return self._error(int(match[1]), "as you wish", match[3])
        elif (what == "reset once" and tried == 1) or what == "reset":
            return self._reset()
        elif match := re.fullmatch(r"(garbage|truncated|odd|short)( once)?", what):
            if not match[2] or tried == 1:
                return self._broken(match[1])
        elif match := re.fullmatch(r"drip (headers|body) ([\d.]+)", what):
            return self._drip(match[1], float(match[2]))
        elif what == "echo key":
            what = str(self.headers.get("Authorization"))
            return self._ok(what, body)
        return self._ok(what[::-1], body)

    def _ok(self, text: str, body: dict[str, Any]) -> None:
        choice: dict[str, Any] = {
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        if body.get("logprobs"):
            choice["logprobs"] = {
                "content": [
                    {
                        "token": letter,
                        "logprob": -0.1,
                        "top_logprobs": [
                            {"token": letter, "logprob": -0.1},
                            {"token": "B", "logprob": -2.3},
                        ][: body["top_logprobs"]],
                    }
                    for letter in text
                ]
            }
        self._send(
            200,
            {
                "model": "judge-2026-11-30",
                "system_fingerprint": "fp_1",
                "choices": [choice],
                "usage": {
                    "prompt_tokens": 1000,
                    "completion_tokens": 100,
                    "prompt_tokens_details": {"cached_tokens": 400},
                },
            },
        )

    def _error(self, status: int, message: str, retry_after: str | None = None) -> None:
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        self._send(status, {"error": {"message": message}}, headers)

    def _send(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _broken(self, how: str) -> None:
        content = {
            "garbage": b"<html>502 Bad Gateway</html>",
            "truncated": b'{"choices": [{"message": {"content": "hel',
            "odd": b'{"choices": []}',
            "short": b'{"choices": [',
        }[how]
        self.send_response(200)
        promised = len(content) + (100 if how == "short" else 0)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = True

    def _drip(self, what: str, seconds: float) -> None:
        end = time.monotonic() + seconds
        if what == "body":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
        else:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        try:
            while time.monotonic() < end:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass
        self.close_connection = True


@contextmanager
def serving(**settings: bool) -> Iterator[FakeServer]:
    """A server that is up while the block runs."""
    server = FakeServer(**settings)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
