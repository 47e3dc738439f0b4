"""A client of any OpenAI-compatible endpoint: vLLM, SGLang, llama.cpp, Ollama, hosted ones."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from assay._version import __version__
from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.judges.batch_folder import BatchFolder, current_folder
from assay.judges.chat_protocol import (
    MalformedReply,
    error_text,
    message_dict,
    read_reply,
    response_format,
)
from assay.judges.client import Client, Prices, Reply, Request
from assay.judges.dispatch import Dispatch, Limit
from assay.judges.exchange import Exchange, Target
from assay.judges.handle import Handle
from assay.judges.retry import Retry

Structured = Literal["auto", "json_schema", "off"]


@dataclass(frozen=True)
class Endpoint(Client):
    """A model behind `POST {base_url}/chat/completions`.

    Threads do the work: at most `concurrency` requests of one `ask` are under way. The handle
    (connections, rate limits, what the server was found to refuse) opens lazily in each process.

    Args:
        base_url: Up to and with `/v1`. No user, password or key may be in it.
        model: The name that the server knows the model by.
        revision: The model's revision where it is known. It identifies the model in fingerprints;
            without it the base URL is part of the identity, since a name alone says little.
        api_key_env: The environment variable that holds the key; read at each request, kept
            nowhere. None for servers that want no key.
        temperature: 0 for the likeliest reply.
        top_p: Nucleus, or None for the server's default.
        max_tokens: Longest reply.
        max_tokens_field: What the server calls that; newer hosted models want
            `max_completion_tokens`.
        seed: Sent with each request, or None; a server may ignore it.
        top_logprobs: Ask for this many alternatives for each token; 0 for no log-probabilities.
        structured: `auto` sends a request's schema until the server refuses one; `json_schema`
            insists; `off` never sends it.
        extra_body: Further fields of the body, such as `{"chat_template_kwargs": {...}}`.
        concurrency: Requests under way at once.
        requests_per_minute: Limit shared by all threads of a process, or None.
        tokens_per_minute: The same for tokens, prompt and reply together.
        retry: What is tried again and when; connection errors, time-outs, unreadable bodies, 408,
            409, 425, 429 and 5xx only.
        connect_timeout_s: For a connection.
        timeout_s: For one attempt.
        deadline_s: For one request with all its attempts.
        batch_deadline_s: For one `ask`; what is unfinished then has failed. None: no limit but the
            items' own.
        prices: For `Reply.cost`.

    Source: OpenAI API reference, "Create chat completion".
    """

    base_url: str
    model: str
    revision: str = ""
    api_key_env: str | None = None
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed: int | None = 0
    top_logprobs: int = 0
    structured: Structured = "auto"
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    retry: Retry = field(default_factory=Retry)
    connect_timeout_s: float = 10.0
    timeout_s: float = 120.0
    deadline_s: float = 300.0
    batch_deadline_s: float | None = None
    prices: Prices | None = None
    _handle: Handle[Exchange] = field(
        default_factory=Handle, init=False, repr=False, compare=False, hash=False
    )

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _check_url(self.base_url)
        if not self.model:
            raise ConfigError("Endpoint.model must name a model of the server, got ''")
        if self.structured not in ("auto", "json_schema", "off"):
            raise ConfigError(
                "Endpoint.structured must be one of {'auto', 'json_schema', 'off'}, got "
                f"{self.structured!r}"
            )
        if taken := {"model", "messages", "stream", "n"} & set(self.extra_body):
            raise ConfigError(f"Endpoint.extra_body must not set {sorted(taken)}; leave them out")
        for name in ("max_tokens", "concurrency"):
            if getattr(self, name) < 1:
                raise ConfigError(f"Endpoint.{name} must be >= 1, got {getattr(self, name)}")
        for name in ("connect_timeout_s", "timeout_s", "deadline_s"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigError(f"Endpoint.{name} must be > 0 and finite, got {value}")
        if self.batch_deadline_s is not None and not self.batch_deadline_s > 0:
            raise ConfigError(f"Endpoint.batch_deadline_s must be > 0, got {self.batch_deadline_s}")
        for name in ("requests_per_minute", "tokens_per_minute"):
            rate = getattr(self, name)
            if rate is not None and not 0 < rate < math.inf:
                raise ConfigError(f"Endpoint.{name} must be > 0 or None, got {rate}")
        if not 0 <= self.top_logprobs <= 20:
            raise ConfigError(f"Endpoint.top_logprobs must lie in [0, 20], got {self.top_logprobs}")

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, each failed or answered by its deadline."""
        folder = current_folder()
        if folder is not None:
            return [self._from_folder(folder, request) for request in requests]
        key = api_key(self.api_key_env)
        exchange = self._handle.get(self._open)
        bodies = [self.body(request) for request in requests]
        fatal: list[str] = []

        def work(index: int, limit: Limit) -> Reply:
            if fatal:
                return Reply.failed(fatal[0])
            reply, is_fatal = exchange.answer(requests[index], bodies[index], key, limit)
            if is_fatal:
                fatal.append(reply.error)
            return self._priced(reply)

        def late(index: int, reason: str) -> Reply:
            return Reply.failed(f"{self.base_url}: {reason}; raise the deadline or ask for less")

        return Dispatch(
            len(requests),
            work,
            late,
            concurrency=self.concurrency,
            deadline_s=self.deadline_s,
            batch_deadline_s=self.batch_deadline_s,
        ).run()

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request, without its schema."""
        seed = self.seed if request.seed is None else request.seed
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [message_dict(message) for message in request.messages],
            self.max_tokens_field: request.max_tokens or self.max_tokens,
        }
        optional = {"temperature": self.temperature, "top_p": self.top_p, "seed": seed}
        body |= {name: value for name, value in optional.items() if value is not None}
        if request.tools:
            body["tools"] = [dict(tool) for tool in request.tools]
        if self.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        return body | dict(self.extra_body)

    def fingerprint(self) -> str:
        """A hash of the model's identity and of every parameter that changes a reply."""
        return fingerprint_of(
            {
                "client": ("Endpoint", __version__),
                "model": self.model,
                "identity": self.revision or self.base_url.rstrip("/"),
                "temperature": self.temperature,
                "top_p": self.top_p,
                "max_tokens": self.max_tokens,
                "seed": self.seed,
                "top_logprobs": self.top_logprobs,
                "structured": self.structured,
                "extra_body": dict(self.extra_body),
            }
        )

    def close(self) -> None:
        """Close this process's connections; the next `ask` opens new ones."""
        exchange = self._handle.drop()
        if exchange is not None:
            exchange.close()

    def _open(self) -> Exchange:
        return Exchange(
            Target(
                url=self.base_url.rstrip("/") + "/chat/completions",
                model=self.model,
                key_name=self.api_key_env,
                connect_timeout_s=self.connect_timeout_s,
                timeout_s=self.timeout_s,
                structured=self.structured,
                retry=self.retry,
            ),
            self.requests_per_minute,
            self.tokens_per_minute,
        )

    def _from_folder(self, folder: BatchFolder, request: Request) -> Reply:
        """The reply that lies in a batch's folder, or a failed one for the time being."""
        body = self.body(request)
        if request.schema is not None and self.structured != "off":
            body["response_format"] = response_format(request)
        found = folder.ask("/v1/chat/completions", body)
        if found is None:
            return Reply.failed(f"waits for its result in {folder.path}")
        if found.status != 200:
            return Reply.failed(f"the batch says status {found.status}: {error_text(found.body)}")
        try:
            return self._priced(read_reply(found.body))
        except MalformedReply as error:
            return Reply.failed(f"the batch's result is no reply: {error}")

    def _priced(self, reply: Reply) -> Reply:
        cost = self.prices.cost(reply.usage) if self.prices and reply.usage else None
        return replace(reply, cost=cost, revision=self.revision or reply.revision)


def api_key(variable: str | None) -> str | None:
    """The key in an environment variable, or None where none is named.

    Raises:
        ConfigError: The variable is unset, or holds what no header can; its value is not shown.
    """
    if variable is None:
        return None
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ConfigError(
            f"the API key is read from the environment variable {variable}, which is not set; "
            "set it, or give api_key_env=None for a server without keys"
        )
    if not value.isascii() or not value.isprintable():
        raise ConfigError(
            f"the environment variable {variable} holds characters that no key has; check it"
        )
    return value


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"Endpoint.base_url must look like http://127.0.0.1:8000/v1, got {url[:80]!r}"
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(
            "Endpoint.base_url must not hold a user, a password or a query (they would show in "
            "logs); put the key in an environment variable and name it in api_key_env"
        )
