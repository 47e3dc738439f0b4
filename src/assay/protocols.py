"""Readers of tool calls that models write as text: `hermes`, `miroflow`, `react`, or your own.

A reader takes the text of one turn after its reasoning (`Message.split`). It never fails: what is
malformed becomes a `ToolCall` whose `error` says where and why. Reading is linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from assay.errors import ConfigError
from assay.messages import Message
from assay.protocol_readers import Hermes, MiroFlow, React
from assay.tool_protocol import ParsedTurn, Protocol

__all__ = [
    "PROTOCOLS",
    "Hermes",
    "MiroFlow",
    "ParsedTurn",
    "Protocol",
    "React",
    "canonical",
    "protocol",
]

PROTOCOLS: dict[str, Protocol] = {p.name: p for p in (Hermes(), MiroFlow(), React())}


def protocol(name: str | Protocol) -> Protocol:
    """The protocol of that name; a `Protocol` object is given back.

    Raises:
        ConfigError: No such protocol.

    >>> protocol("hermes").name
    'hermes'
    """
    if isinstance(name, Protocol):
        return name
    found = PROTOCOLS.get(name) if isinstance(name, str) else None
    if found is None:
        known = ", ".join(repr(known) for known in PROTOCOLS)
        raise ConfigError(
            f"protocol must be one of {{{known}}} or a Protocol object, got {name!r:.80}"
        )
    return found


def canonical(messages: Iterable[Message], name: str | Protocol) -> tuple[Message, ...]:
    """The conversation with text calls as `tool_calls`, and their results as `tool` messages.

    The reasoning moves to `Message.reasoning`. A user turn counts as results only after an
    assistant turn that calls.
    """
    reader = protocol(name)
    found: list[Message] = []
    called = False
    for message in messages:
        if message.role == "assistant":
            reasoning, answer = message.split()
            turn = reader.parse(answer)
            if reasoning is None and isinstance(reader, React):
                reasoning = reader.thoughts(answer) or None
            calls = (*message.tool_calls, *turn.calls)
            found.append(replace(message, content=turn.text, reasoning=reasoning, tool_calls=calls))
            called = bool(calls)
        elif message.role == "user" and called and (results := reader.results(message.content)):
            found.extend(Message("tool", result) for result in results)
        else:
            found.append(message)
            called = called and message.role == "tool"
    return tuple(found)
