"""Keeps a long run inside the context: all but the last tool results are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.errors import ConfigError
from assay.messages import Message

OMITTED = "[result left out to save context]"


def keep_last_results(
    messages: Sequence[Message], keep: int, placeholder: str = OMITTED
) -> list[Message]:
    """The conversation with only its last `keep` tool results; calls and reasoning all stay.

    Args:
        messages: A conversation.
        keep: How many results to keep, >= 0.
        placeholder: What stands for the others.

    Raises:
        ConfigError: `keep` is negative.

    Source: "keep last K" context management, e.g. MiroThinker and WebSailor-type agents; the
    report names no value.

    >>> run = [Message("tool", "old"), Message("assistant", "hm"), Message("tool", "new")]
    >>> [message.content for message in keep_last_results(run, 1)]
    ['[result left out to save context]', 'hm', 'new']
    """
    if keep < 0:
        raise ConfigError(f"keep must be >= 0 results, got {keep}")
    results = [index for index, message in enumerate(messages) if message.role == "tool"]
    old = set(results[: max(0, len(results) - keep)])
    return [
        replace(message, content=placeholder) if index in old else message
        for index, message in enumerate(messages)
    ]
