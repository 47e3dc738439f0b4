"""How the endpoints read requests and write answers: bounded bodies, errors, clients that leave."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive

from assay.errors import (
    AssayError,
    ConfigError,
    ContractError,
    DataError,
    JudgeError,
    RewardError,
    SandboxError,
)
from assay.judges.serving.errors import ApiError
from assay.judges.strict_json import encode_line

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
log = logging.getLogger("assay.serve")
#: A request that is answered sooner is not watched for its client's leaving.
WATCH_AFTER_S = 0.05


class ClientLeft(Exception):
    """Nobody waits for the answer any more."""


class JsonResponse(Response):
    """Strict JSON: what JSON cannot say in a reward's evidence is written as in result files."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """As bytes."""
        return encode_line(content)


def error_response(error: ApiError) -> JsonResponse:
    """An error as an answer."""
    return JsonResponse(error.body(), error.status, error.headers())


async def read_body(request: Request, limit: int) -> bytes:
    """The body, at most `limit` bytes of it.

    Raises:
        ApiError: 413.
        ClientLeft: The connection closed midway.
    """
    parts, size = [], 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        if part := message.get("body", b""):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise too_large(limit)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def too_large(limit: int) -> ApiError:
    """413."""
    return ApiError(
        413, "too_large", f"the body is larger than {limit / 2**20:g} MiB; send fewer rows at once"
    )


def parsed(kind: type[M], body: bytes) -> M:
    """A body as a model.

    Raises:
        ApiError: 400 where it is not JSON, 422 where it is not the model.
    """
    try:
        return _read(kind, body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        if first["type"] == "json_invalid":
            raise ApiError(400, "bad_request", f"the body is not JSON: {first['msg']}") from None
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        more = error.error_count() - 1
        also = f" (and {more} more problems)" if more else ""
        raise ApiError(
            422, "bad_request", f"{where}: {first['msg']}, got {first['input']!r:.80}{also}"
        ) from None


def _read(kind: type[M], body: bytes) -> M:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] != "json_invalid" or b"\\u" not in body:
            raise
        try:  # a lone surrogate, which tokenizers do bring about, is JSON to Python's reader only
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise error from None
        return kind.model_validate(values)


def as_api_error(error: Exception, where: str) -> ApiError:
    """What an exception of ours or of a reward means to the client."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, DataError):
        return ApiError(422, "bad_row", str(error), index=error.index)
    if isinstance(error, SandboxError | JudgeError) or (
        isinstance(error, RewardError) and not isinstance(error, ContractError)
    ):
        return ApiError(503, "unavailable", f"{type(error).__name__}: {error}", retry_after_s=1)
    if isinstance(error, ImportError | ConfigError):
        return ApiError(500, "misconfigured", f"{type(error).__name__}: {error}")
    log.error("%s: %s", where, error, exc_info=error)
    text = f"{type(error).__name__}: {error}" if isinstance(error, AssayError) else "see its log"
    return ApiError(500, "internal", f"the server failed on this request: {text}")


async def while_connected(
    receive: Receive, work: Awaitable[T], left_s: float, timeout_s: float
) -> T:
    """The result of `work`; cancelled when the client leaves or time is up.

    Args:
        receive: Tells when the client leaves.
        work: What is waited for.
        left_s: Time for it.
        timeout_s: Time for the whole request, for the message.

    Raises:
        ApiError: 504.
        ClientLeft: The client has gone.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    watch: asyncio.Task[None] | None = None

    async def left() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        task.cancel()

    def begin() -> None:
        nonlocal watch
        watch = loop.create_task(left())

    begins = loop.call_later(WATCH_AFTER_S, begin)
    late = False

    def over() -> None:
        nonlocal late
        late = True
        task.cancel()

    ends = loop.call_later(left_s, over)
    try:
        return await task
    except asyncio.CancelledError:
        if late:
            raise ApiError(
                504, "timeout", f"no answer within {timeout_s:g} s; send less, or try again later"
            ) from None
        if watch is not None and watch.done():
            raise ClientLeft from None
        task.cancel()
        raise
    finally:
        begins.cancel()
        ends.cancel()
        if watch is not None and not watch.done():
            watch.cancel()


Handler = Callable[[Request, Any], Awaitable[Any]]
