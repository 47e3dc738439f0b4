"""Connections whose request heads never end, or hold too much."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import httpx2
import pytest

pytest.importorskip("fastapi")

from assay.judges.serving.connections import bounded_protocol
from tests.judges.serving.running import running, served

HEAD_S = 0.5
REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
REFUSED = b"POST /v1 HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    http = bounded_protocol(head_s=HEAD_S, head_bytes=10_000)
    with running({"rewards": served(patient="patient")}, http=http) as address:
        yield address


def connected(url: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))
    made.settimeout(10)
    return made


def hung_up(connection: socket.socket) -> bool:
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True  # else the socket's own limit raises


@pytest.mark.parametrize("before", [b"", REQUEST, REFUSED])
@pytest.mark.parametrize("begin", [b"", b"GET /health HTTP/1.1\r\nHost: local"])
def test_a_head_that_never_ends(url: str, before: bytes, begin: bytes) -> None:
    with connected(url) as connection:
        connection.sendall(before)
        if before:
            assert connection.recv(65536).startswith(b"HTTP/1.1 ")
        if before and not begin:
            return  # between requests uvicorn's own limit holds
        connection.sendall(begin)
        started = time.monotonic()
        assert hung_up(connection) and time.monotonic() - started < 5


@pytest.mark.parametrize("before", [b"", REFUSED])
def test_a_head_without_bound(url: str, before: bytes) -> None:
    with connected(url) as connection, pytest.raises(ConnectionError):
        connection.sendall(before + b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        for index in range(2000):  # 2 MB
            connection.sendall(b"X-%04d: " % index + b"a" * 1000 + b"\r\n")
        connection.sendall(b"\r\n")
        for _ in range(2):
            if not connection.recv(65536):
                raise ConnectionError


def test_slow_bodies_and_answers_are_no_heads(url: str) -> None:
    body = b'{"samples": [{"completion": "' + b"a" * 50_000 + b' b"}]}'

    def slowly() -> Iterator[bytes]:
        yield body[:30_000]
        time.sleep(2 * HEAD_S)
        yield body[30_000:]

    headers = {"content-type": "application/json"}
    with httpx2.Client() as client:
        for _ in range(2):  # over one connection
            path = f"{url}/v1/rewards/patient/score"
            found = client.post(path, content=slowly(), headers=headers, timeout=20)
            assert found.json()["scores"][0]["value"] == 2.0
