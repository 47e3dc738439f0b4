"""Search and page reading over HTTP, in the shape of Serper's and Jina's services."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from assay.errors import ConfigError
from assay.policy.environments.search_backends import Hit, Page
from assay.policy.environments.spec import ToolError, ToolUnavailable

_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
#: Largest body that is read.
LARGEST_BODY = 8 << 20


@dataclass(frozen=True)
class Http:
    """How a service is asked: key, time and attempts.

    Args:
        api_key_env: Environment variable with the key; read at each request, kept nowhere. None for
            a service that wants none.
        timeout_s: For one attempt.
        attempts: At most, on connection errors, time-outs, 408, 429 and 5xx.
        pause_s: Before the second attempt; doubled each time.
    """

    api_key_env: str | None = None
    timeout_s: float = 20.0
    attempts: int = 3
    pause_s: float = 0.5

    def key(self) -> str | None:
        """The key.

        Raises:
            ConfigError: The variable is not set.
        """
        if self.api_key_env is None:
            return None
        if not (key := os.environ.get(self.api_key_env)):
            raise ConfigError(
                f"the environment variable {self.api_key_env!r} holds no key; set it, or give "
                "api_key_env=None for a service without keys"
            )
        return key

    def ask(self, send: Callable[[Any], Any]) -> str:
        """The text of a successful reply.

        Raises:
            ToolError: The service has no such page (404, 410, 422).
            ToolUnavailable: Everything else, after all attempts.
        """
        import httpx2

        problem = ""
        for attempt in range(max(1, self.attempts)):
            if attempt:
                time.sleep(self.pause_s * 2 ** (attempt - 1))
            try:
                with httpx2.Client(timeout=self.timeout_s, follow_redirects=True) as client:
                    reply = send(client)
            except httpx2.HTTPError as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if reply.status_code == 200:
                if len(reply.content) > LARGEST_BODY:
                    raise ToolError(f"the page has more than {LARGEST_BODY >> 20} MiB")
                return str(reply.text)
            problem = f"status {reply.status_code}"
            if reply.status_code in (404, 410, 422):
                raise ToolError(f"there is no such page ({problem})")
            if reply.status_code not in _AGAIN:
                break
        raise ToolUnavailable(problem)


@dataclass(frozen=True)
class SerperSearch:
    """A search backend in the shape of Serper: `POST {url}`, `{"q", "num"}` in, `organic` out."""

    url: str = "https://google.serper.dev/search"
    http: Http = field(default_factory=lambda: Http("SERPER_API_KEY"))
    extra: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def search(self, query: str, count: int) -> list[Hit]:
        """The service's organic results."""
        body = {"q": query, "num": count, **self.extra}
        key = self.http.key()
        headers = {} if key is None else {"X-API-KEY": key}
        text = self.http.ask(lambda client: client.post(self.url, json=body, headers=headers))
        try:
            rows = json.loads(text).get("organic", [])
            return [
                Hit(str(row.get("title", "")), str(row["link"]), str(row.get("snippet", "")))
                for row in rows[:count]
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ToolUnavailable(f"the search service's reply cannot be read: {error!r}") from None


@dataclass(frozen=True)
class JinaReader:
    """A visit backend in the shape of Jina's reader: `GET {url}/{address}`, Markdown out."""

    url: str = "https://r.jina.ai"
    http: Http = field(default_factory=lambda: Http("JINA_API_KEY"))

    def visit(self, url: str) -> Page:
        """The page as text; a `Title:` line that the reader puts first becomes the title."""
        key = self.http.key()
        headers = {"Accept": "text/plain"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        address = f"{self.url.rstrip('/')}/{quote(url.strip(), safe=':/?&=%+,;@~-._!*')}"
        text = self.http.ask(lambda client: client.get(address, headers=headers))
        first, _, rest = text.partition("\n")
        if first.startswith("Title:"):
            return Page(url, first.removeprefix("Title:").strip(), rest.strip())
        return Page(url, "", text.strip())
