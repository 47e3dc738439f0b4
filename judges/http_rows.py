"""Samples, messages and scores as they travel between client and server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.messages import Message, Sample
from assay.reward import Score


def score_from_json(data: Mapping[str, Any]) -> Score:
    """The score that `Score.to_json` wrote.

    >>> score = Score.of(1.0, passed=True, parts={"a": Score.skip("no")}, turns=[0.5, None])
    >>> score_from_json(score.to_json()) == score
    True
    """
    turns, note, info = data.get("turns"), data.get("note", ""), data.get("info", {})
    if not (isinstance(note, str) and isinstance(info, Mapping)):
        raise ValueError(f"note must be text and info an object, got {note!r:.40}, {info!r:.40}")
    return Score(
        data["value"],
        data["status"],
        data.get("passed"),
        None if turns is None else tuple(turns),
        {name: score_from_json(part) for name, part in data.get("parts", {}).items()},
        note,
        info,
    )


def sample_to_json(sample: Sample) -> dict[str, Any]:
    """A sample as the server reads it."""
    row: dict[str, Any] = {
        "prompt": messages_to_json(sample.prompt),
        "completion": messages_to_json(sample.completion),
        "columns": dict(sample.columns),
        "truncated": sample.truncated,
    }
    if sample.completion_ids is not None:
        row["completion_ids"] = list(sample.completion_ids)
    if sample.group is not None:
        row["columns"].setdefault("uid", sample.group)
    return row


def messages_to_json(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages in OpenAI's form."""
    return [_message_json(message) for message in messages]


def _message_json(message: Message) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    for key in ("name", "tool_call_id"):
        if (value := getattr(message, key)) is not None:
            entry[key] = value
    if message.reasoning is not None:
        entry["reasoning_content"] = message.reasoning
    if message.tool_calls:
        entry["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": dict(call.arguments) if call.arguments is not None else call.raw,
                },
            }
            for call in message.tool_calls
        ]
    return entry
