"""One request to a server of this library: tries, token, limits, errors."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judges.retry import Retry, may_retry, retry_after_s
from assay.judges.strict_json import encode_line

_clients: dict[int, Any] = {}


@dataclass(frozen=True)
class Connection:
    """How to reach a server.

    Args:
        url: Base address, `http://host:8070`.
        token_env: Environment variable that holds the bearer token; it is sent where it is set.
        batch_size: Rows of one request.
        concurrency: Requests at a time.
        timeout_s: Limit of one request, and of a wait that the server asks for.
        retry: Further tries after a network error, a full queue or a server's failure.
    """

    url: str
    token_env: str = field(default="ASSAY_SERVE_TOKEN", metadata={"fingerprint": False})
    batch_size: int = field(default=32, metadata={"fingerprint": False})
    concurrency: int = field(default=16, metadata={"fingerprint": False})
    timeout_s: float = field(default=330.0, metadata={"fingerprint": False})
    retry: Retry = field(default_factory=Retry, metadata={"fingerprint": False})

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"url must start with http:// or https://, got {self.url!r}")
        for name in ("batch_size", "concurrency"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be >= 1, got {getattr(self, name)}")

    def get(self, path: str) -> Any:
        """JSON of a GET."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """JSON of a POST.

        Raises:
            DataError: The server cannot use a row of it, which is named.
            ConnectionError: No answer after all tries, or one that no further try would mend.
        """
        return self._ask("POST", path, encode_line(body))

    def _ask(self, method: str, path: str, content: bytes | None) -> Any:
        rng = random.Random()
        problem, tried = "", 0
        while True:
            tried += 1
            status, headers, data = self._send(method, path, content)
            if status == 200 and data is not None:
                return data
            problem = _problem(status, data)
            if status == 422 and (told := _told(data)) is not None:
                index = told.get("index")
                raise DataError(
                    str(told.get("message", problem)), index if type(index) is int else None
                )
            if not (status in (0, 200) or may_retry(status)):
                raise ConnectionError(f"{self.url}{path}: {problem}{_advice(status, self)}")
            if tried >= self.retry.attempts:
                raise ConnectionError(
                    f"{self.url}{path}: {problem}; gave up after {tried} tries; check that the "
                    "server runs"
                )
            asked_s = retry_after_s(headers.get("retry-after"))
            if asked_s is not None and asked_s > self.timeout_s:
                raise ConnectionError(
                    f"{self.url}{path}: {problem}; it asks to come again in {asked_s:.0f} s, more "
                    f"than timeout_s = {self.timeout_s:g}"
                )
            time.sleep(self.retry.wait_s(tried, rng, asked_s))

    def _send(
        self, method: str, path: str, content: bytes | None
    ) -> tuple[int, Mapping[str, str], Any]:
        """Status, headers and JSON; status 0 and the error where there was no answer."""
        import httpx2

        headers = {"content-type": "application/json"}
        if token := os.environ.get(self.token_env, "").split():
            if not token[0].isascii():
                raise ConfigError(f"{self.token_env} holds a token that is not ASCII; mend it")
            headers["authorization"] = f"Bearer {token[0]}"
        end = time.monotonic() + self.timeout_s
        parts: list[bytes] = []
        try:
            with _client().stream(
                method,
                self.url.rstrip("/") + path,
                content=content,
                headers=headers,
                timeout=self.timeout_s,
            ) as reply:
                for part in reply.iter_bytes():
                    parts.append(part)
                    if time.monotonic() > end:  # httpx2 bounds only the wait for each part
                        return 0, {}, f"no whole answer within {self.timeout_s:g} s"
        except httpx2.HTTPError as error:
            return 0, {}, f"{type(error).__name__}: {error}"
        except httpx2.InvalidURL as error:
            raise ConfigError(f"url {self.url!r} is none: {error}") from None
        data = b"".join(parts)
        try:
            return reply.status_code, reply.headers, json.loads(data)
        except (ValueError, RecursionError):
            found = None if reply.status_code == 200 else data.decode("utf-8", "replace")[:200]
            return reply.status_code, reply.headers, found


def _client() -> Any:
    """This process's connections, kept open and shared by its threads."""
    import httpx2

    process = os.getpid()  # never those of the process forked from
    if (found := _clients.get(process)) is None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=64)
        # No lock, which a fork might leave held: of two that are made at once one is dropped.
        found = _clients.setdefault(process, httpx2.Client(limits=limits))
    return found


def _told(data: Any) -> dict[str, Any] | None:
    """What an answer of this library says is wrong, or None."""
    told = data.get("error") if isinstance(data, dict) else None
    return told if isinstance(told, dict) else None


def _problem(status: int, data: Any) -> str:
    if status == 0:
        return str(data)
    if (told := _told(data)) is not None:
        return f"HTTP {status}: {told.get('message', '')}"
    return f"HTTP {status}: {data!s:.200}" if data is not None else "the answer is not JSON"


def _advice(status: int, connection: Connection) -> str:
    if status in (401, 403):
        return f"; put the server's token into {connection.token_env}"
    if status == 413:
        return "; lower batch_size"
    return ""
