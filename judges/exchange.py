"""One request and its attempts: rate limit, send, read within the deadline, retry or give up."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError
from assay.judges.chat_protocol import MalformedReply, error_text, read_reply, response_format
from assay.judges.client import Reply, Request
from assay.judges.dispatch import Limit
from assay.judges.rate_limit import Pace
from assay.judges.retry import Retry, may_retry, retry_after_s

if TYPE_CHECKING:
    import httpx2

#: A body larger than this is no chat completion.
LARGEST_BODY = 32 << 20
#: Statuses that every other request of the batch would meet too.
_FATAL = frozenset({401, 404})
_REFUSED = frozenset({400, 422})


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go and how long they may take."""

    url: str
    model: str
    key_name: str | None
    connect_timeout_s: float
    timeout_s: float
    structured: str
    retry: Retry


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What an attempt came to: a reply, or an error that may be final."""

    reply: Reply | None = None
    error: str = ""
    again: bool = False
    status: int = 0
    wait_s: float | None = None


class Exchange:
    """The open end of an Endpoint in one process; safe in many threads."""

    def __init__(
        self, target: Target, requests_per_minute: float | None, tokens_per_minute: float | None
    ) -> None:
        import httpx2

        self.target = target
        self._pace = Pace(requests_per_minute, tokens_per_minute)
        self._rng = random.Random()  # never the trainer's own generator
        self._schema_refused = False
        self._errors = httpx2
        try:
            self._http = httpx2.Client(
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=64)
            )
        except Exception as error:  # a proxy variable that cannot be used, a missing certificate
            raise ConfigError(f"no HTTP client for {target.url}: {error}") from None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def answer(
        self, request: Request, body: dict[str, Any], key: str | None, limit: Limit
    ) -> tuple[Reply, bool]:
        """The reply to one request, and whether its failure would be that of every other."""
        retry = self.target.retry
        estimate = _tokens(body)
        tried = 0
        while True:
            if not limit.sleep(self._pace.reserve(estimate)):
                self._pace.cancel(estimate)
                late = "the rate limit leaves no time before the deadline"
                return self._failed(late, tried, limit), False
            limit.begin()
            tried += 1
            outcome = self._attempt_structured(request, body, key, limit)
            reply = outcome.reply
            if reply is not None:
                if reply.usage is not None:
                    used = reply.usage.prompt_tokens + reply.usage.completion_tokens
                    self._pace.settle(estimate, used)
                seconds = time.monotonic() - (limit.started or 0.0)
                return replace(reply, attempts=tried, seconds=seconds), False
            error = outcome.error if key is None else outcome.error.replace(key, "***")
            if not outcome.again:
                return self._failed(error, tried, limit), outcome.status in _FATAL
            if tried >= retry.attempts:
                return self._failed(f"{error}; gave up after {tried} attempts", tried, limit), False
            wait = retry.wait_s(tried, self._rng, outcome.wait_s)
            if outcome.wait_s is not None and wait < limit.remaining_s():
                self._pace.pause(outcome.wait_s)
            if not limit.sleep(wait):
                return self._failed(
                    f"{error}; the next attempt in {wait:.1f} s would be past the deadline",
                    tried,
                    limit,
                ), False

    def _failed(self, error: str, tried: int, limit: Limit) -> Reply:
        seconds = 0.0 if limit.started is None else time.monotonic() - limit.started
        return Reply.failed(f"{self.target.url}: {error}", attempts=tried, seconds=seconds)

    def _attempt_structured(
        self, request: Request, body: dict[str, Any], key: str | None, limit: Limit
    ) -> _Outcome:
        """One attempt, with the schema where the server takes it."""
        mode = self.target.structured
        if request.schema is None or mode == "off" or (mode == "auto" and self._schema_refused):
            return self._attempt(body, key, limit)
        outcome = self._attempt(body | {"response_format": response_format(request)}, key, limit)
        if outcome.reply is not None:
            return replace(outcome, reply=replace(outcome.reply, schema_enforced=True))
        if outcome.status in _REFUSED and mode == "auto":
            plain = self._attempt(body, key, limit)
            if plain.reply is not None:
                self._schema_refused = True  # it was the schema
            return plain
        return outcome

    def _attempt(self, body: dict[str, Any], key: str | None, limit: Limit) -> _Outcome:
        errors = self._errors
        seconds = min(self.target.timeout_s, limit.remaining_s())
        if seconds <= 0:
            return _Outcome(error="no time left before the deadline")
        try:
            status, headers, content = self._post(body, key, seconds)
        except errors.TimeoutException as error:
            kind = type(error).__name__
            return _Outcome(error=f"no answer within {seconds:.1f} s ({kind})", again=True)
        except (errors.NetworkError, errors.RemoteProtocolError, errors.ProxyError) as error:
            return _Outcome(error=f"{type(error).__name__}: {error}", again=True)
        except errors.DecodingError as error:
            return _Outcome(error=f"the body cannot be decoded: {error}", again=True)
        except (errors.RequestError, errors.InvalidURL, errors.StreamError) as error:
            return _Outcome(error=f"the request cannot be sent: {error}")
        if 200 <= status < 300:
            try:
                return _Outcome(reply=read_reply(content), status=status)
            except MalformedReply as error:
                return _Outcome(error=f"status {status}, but {error}", again=True, status=status)
        return _Outcome(
            error=f"status {status}: {error_text(content)}{self._advice(status)}",
            again=may_retry(status),
            status=status,
            wait_s=retry_after_s(headers.get("retry-after")),
        )

    def _post(
        self, body: dict[str, Any], key: str | None, seconds: float
    ) -> tuple[int, httpx2.Headers, bytes]:
        """Send and read; a server that drips is cut off at the end of the attempt's time."""
        httpx2 = self._errors
        end = time.monotonic() + seconds
        connect = min(self.target.connect_timeout_s, seconds)
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        with self._http.stream(
            "POST",
            self.target.url,
            content=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
            headers=headers,
            timeout=httpx2.Timeout(seconds, connect=connect),
        ) as response:
            parts, size = [], 0
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout("the body came too slowly")
                if size > LARGEST_BODY:
                    raise httpx2.DecodingError(f"more than {LARGEST_BODY} bytes")
            content = b"".join(parts)
            if key is not None:  # some servers quote the key that they refuse
                content = content.replace(key.encode(), b"***")
            return response.status_code, response.headers, content

    def _advice(self, status: int) -> str:
        target = self.target
        if status in (401, 403):
            where = target.key_name
            key = f"check the key in {where}" if where else "name its variable in api_key_env"
            return f"; the server wants another API key: {key}"
        if status == 404:
            return f"; check the model {target.model!r} and that base_url ends as the server wants"
        if status in _REFUSED:
            return "; the server does not take this request: check its parameters and length"
        return ""


def _tokens(body: dict[str, Any]) -> float:
    """About how many tokens a request uses: a third of its characters, and the longest reply."""
    text = sum(len(str(message.get("content", ""))) for message in body["messages"])
    longest = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    return text / 3.0 + float(longest)
