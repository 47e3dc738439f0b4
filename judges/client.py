"""The interface of language models that judge: requests in, replies out, failures per item."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError
from assay.messages import Message, ToolCall, as_messages


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request; `cached_tokens` are those of the prompt that the server had cached."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """What tokens cost, in any one currency per million tokens.

    >>> Prices(prompt=2.0, completion=8.0).cost(Usage(500_000, 250_000))
    3.0
    """

    prompt: float
    completion: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for name in ("prompt", "completion", "cached"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ConfigError(f"Prices.{name} must be >= 0 per million tokens, got {value}")

    def cost(self, usage: Usage) -> float:
        """Cost of `usage`; cached prompt tokens at their own price where there is one."""
        cached = 0 if self.cached is None else usage.cached_tokens
        total = (usage.prompt_tokens - cached) * self.prompt
        total += usage.completion_tokens * self.completion + cached * (self.cached or 0.0)
        return total / 1e6


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of the reply, its log-probability, and those of the likeliest ones in its place."""

    token: str
    logprob: float
    top: Mapping[str, float] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Attributes:
        messages: The conversation so far.
        schema: JSON schema of the answer (`assay.judges.json_schema` says which), or None for text.
        schema_name: What the server is told the schema is called.
        seed: Overrides the client's seed.
        max_tokens: Overrides the client's.
        tools: Tools on offer, as JSON schemas of functions; the reply then may hold calls.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    schema_name: str = "verdict"
    seed: int | None = None
    max_tokens: int | None = None
    tools: tuple[Mapping[str, Any], ...] = ()

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, value: Request | str | Sequence[Any], **settings: Any) -> Request:
        """A request from text (one user message), messages, or a request itself."""
        if isinstance(value, Request):
            return value
        return cls(as_messages(value, role="user"), **settings)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back for one request.

    Attributes:
        text: The model's words, without separately reported reasoning; empty when it failed.
        finish_reason: `stop`, `length`, ... as the server says.
        usage: Tokens, or None where the server does not count.
        cost: By the client's prices, or None without prices or usage.
        logprobs: Of the tokens of `text`, or None where not asked for or not offered.
        status: `ok` or `failed`.
        error: Why it failed, and what to do.
        model: The model's name as the server reports it.
        revision: The server's fingerprint of model and settings, or the revision asked for.
        schema_enforced: The server was given the schema and did not refuse it.
        attempts: Requests sent.
        seconds: From the first attempt to the end.
        tool_calls: Calls that the server read out of the reply; malformed ones keep their text.
    """

    text: str
    finish_reason: str = ""
    usage: Usage | None = None
    cost: float | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    status: Literal["ok", "failed"] = "ok"
    error: str = ""
    model: str = ""
    revision: str = ""
    schema_enforced: bool = False
    attempts: int = 1
    seconds: float = 0.0
    tool_calls: tuple[ToolCall, ...] = ()

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def failed(cls, error: str, *, attempts: int = 0, seconds: float = 0.0) -> Reply:
        """A reply that never came."""
        return cls("", status="failed", error=error, attempts=attempts, seconds=seconds)


class Client(ABC):
    """A language model: same order, same length, one reply per request.

    What goes wrong with a request is a reply whose status is `failed`; only a configuration that
    can answer nothing at all raises.
    """

    def ask(self, requests: Sequence[Request | str | Sequence[Any]]) -> list[Reply]:
        """One reply per request.

        Args:
            requests: Requests, or texts or messages to be made requests.

        Raises:
            ConfigError: No request could ever be answered: a missing key, a broken URL.
        """
        asked = [Request.of(request) for request in requests]
        return self.answer(asked) if asked else []

    @abstractmethod
    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """What `ask` does, for at least one request; authors of clients write this."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of model, revision and every parameter that changes a reply."""


def check_client(what: str, client: object) -> None:
    """Check that something is a client.

    Raises:
        ConfigError: It is none; `what` names the setting.
    """
    if not isinstance(client, Client):
        raise ConfigError(
            f"{what} must be an assay.judges.client.Client, got {type(client).__name__}"
        )
