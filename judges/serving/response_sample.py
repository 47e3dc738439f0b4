"""A rollout of the Responses API as a sample, and a score as NeMo-Gym's reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.messages import Sample
from assay.reward import Score


def sample_of(
    params: Mapping[str, Any], response: Mapping[str, Any], row: Mapping[str, Any]
) -> Sample:
    """A sample from the request to the model and what it answered.

    Raises:
        DataError: An item of a kind that cannot be scored.
    """
    given = params.get("input", ())
    prompt: Any = given if isinstance(given, str) else messages_of(given)
    if instructions := params.get("instructions"):
        turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        prompt = [{"role": "system", "content": instructions}, *turns]
    columns = dict(row)
    if tools := params.get("tools"):
        columns.setdefault("tools", tools)
    completion = messages_of(response.get("output", ()))
    cut = response.get("incomplete_details")
    truncated = isinstance(cut, Mapping) and cut.get("reason") == "max_output_tokens"
    return Sample.of(prompt, completion, columns, truncated=truncated or None)


def messages_of(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Items of the Responses API as chat messages: one assistant message a turn."""
    if not isinstance(items, list | tuple):
        raise DataError(f"input and output must be lists of items, got {items!r:.80}")
    messages: list[dict[str, Any]] = []
    for item in items:
        if not isinstance(item, Mapping):
            raise DataError(f"an item of the response must be an object, got {item!r:.80}")
        kind = item.get("type", "message")
        if kind == "message":
            content = item.get("content", "")
            last = messages[-1] if messages else {}
            if last.get("role") == item.get("role") == "assistant" and last["content"] == "":
                last["content"] = content
            else:
                messages.append({"role": item.get("role"), "content": content})
        elif kind == "reasoning":
            text = "\n".join([*_texts(item.get("content")), *_texts(item.get("summary"))])
            _turn(messages, fresh=True)["reasoning_content"] = text
        elif kind == "function_call":
            call = {"name": item.get("name"), "arguments": item.get("arguments")}
            entry = {"id": item.get("call_id"), "type": "function", "function": call}
            _turn(messages).setdefault("tool_calls", []).append(entry)
        elif kind == "function_call_output":
            messages.append(
                {
                    "role": "tool",
                    "content": item.get("output"),
                    "tool_call_id": item.get("call_id"),
                }
            )
        else:
            raise DataError(
                f"an item of type {kind!r} cannot be scored; message, reasoning, function_call and "
                "function_call_output can"
            )
    return messages


def _texts(blocks: Any) -> list[str]:
    """Texts of a reasoning item's blocks."""
    if blocks is None:
        return []
    if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
        raise DataError(f"a reasoning item holds lists of text blocks, got {blocks!r:.80}")
    return [str(block.get("text", "")) for block in blocks]


def _turn(messages: list[dict[str, Any]], *, fresh: bool = False) -> dict[str, Any]:
    """The assistant message under way, or a new one."""
    if fresh or not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": ""})
    return messages[-1]


def verify_reply(value: float, score: Score) -> dict[str, Any]:
    """What a verification adds to its request: reward, its components, the whole score."""
    parts = {name: part.value for name, part in score.parts.items() if part.value is not None}
    return {
        "reward": value,
        **({"reward_components": parts} if parts else {}),
        "assay": score.to_json(),
    }
