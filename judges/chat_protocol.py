"""The wire format of chat completions: request bodies, replies, error texts.

Source: OpenAI API reference, "Create chat completion", as vLLM, SGLang, llama.cpp and Ollama serve
it. Fields that a server leaves out are None or empty, never made up.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.judges.client import Reply, Request, TokenLogprob, Usage
from assay.messages import Message, ToolCall


class MalformedReply(ValueError):
    """The body of a successful response is no chat completion."""


def message_dict(message: Message) -> dict[str, Any]:
    """A message as servers and chat templates take it."""
    content: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        content["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.raw
                    or json.dumps(dict(call.arguments or {}), ensure_ascii=False),
                },
            }
            for call in message.tool_calls
        ]
    for key, value in (("name", message.name), ("tool_call_id", message.tool_call_id)):
        if value is not None:
            content[key] = value
    return content


def response_format(request: Request) -> dict[str, Any]:
    """`response_format` for a request with a schema."""
    return {
        "type": "json_schema",
        "json_schema": {
            "name": request.schema_name,
            "schema": dict(request.schema or {}),
            "strict": True,
        },
    }


def read_reply(body: bytes) -> Reply:
    """The reply in the body of a successful response.

    Raises:
        MalformedReply: Not JSON, or not a chat completion.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedReply(f"the body is not JSON ({error}): {_excerpt(body)}") from None
    if not isinstance(data, Mapping):
        raise MalformedReply(f"the body is no object: {_excerpt(body)}")
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise MalformedReply(f"the body has no choices[0].message: {_excerpt(body)}")
    text = message.get("content")
    if text is None:
        text = ""  # reasoning only, a refusal, or cut before the first word
    if not isinstance(text, str):
        raise MalformedReply(f"message.content is no text: {_excerpt(body)}")
    return Reply(
        text=text,
        finish_reason=str(choice.get("finish_reason") or ""),
        usage=_usage(data.get("usage")),
        logprobs=_logprobs(choice.get("logprobs")),
        model=str(data.get("model") or ""),
        revision=str(data.get("system_fingerprint") or ""),
        tool_calls=_tool_calls(message.get("tool_calls")),
    )


def error_text(body: bytes) -> str:
    """What the body of a refusal says, in one short line."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return _excerpt(body)
    for key in ("error", "detail", "message"):
        if isinstance(data, Mapping) and data.get(key):
            data = data[key]
    return " ".join(str(data).split())[:300]


def _tool_calls(value: Any) -> tuple[ToolCall, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return tuple(ToolCall.of(call) for call in value if isinstance(call, Mapping))


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, Mapping):
        return None
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return Usage(
        _count(value.get("prompt_tokens")), _count(value.get("completion_tokens")), _count(cached)
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _logprobs(value: Any) -> tuple[TokenLogprob, ...] | None:
    content = value.get("content") if isinstance(value, Mapping) else None
    if not isinstance(content, Sequence) or isinstance(content, str):
        return None
    found = []
    for token in content:
        if not isinstance(token, Mapping) or not isinstance(token.get("token"), str):
            return None
        others = token.get("top_logprobs") or ()
        top: dict[str, float] = {}
        for other in others if isinstance(others, Sequence) else ():
            if isinstance(other, Mapping) and isinstance(other.get("token"), str):
                top.setdefault(other["token"], _log(other.get("logprob")))
        found.append(TokenLogprob(token["token"], _log(token.get("logprob")), top))
    return tuple(found)


def _log(value: Any) -> float:
    """A log-probability; some servers write -9999 or null for minus infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return -math.inf
    return float(min(value, 0.0))


def _excerpt(body: bytes) -> str:
    text = " ".join(body[:400].decode("utf-8", "replace").split())
    return repr(text[:160])
