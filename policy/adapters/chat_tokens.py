"""Turns of a rollout that a trainer holds as token ids only, in a chat format with role headers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError
from assay.messages import Message
from assay.protocols import canonical


@dataclass(frozen=True, slots=True)
class TokenTurn:
    """One message and where its own tokens lie.

    Attributes:
        role: Of the message.
        text: Its words, without header and end.
        first: Index of its first token after the header.
        last: Index past its last one, the closing token among them.
    """

    role: str
    text: str
    first: int
    last: int


def token_turns(
    ids: Sequence[int], tokenizer: Any, opening: str = "<|im_start|>", closing: str = "<|im_end|>"
) -> list[TokenTurn]:
    """Messages of a response that begins inside an assistant turn.

    A message is `opening ROLE newline TEXT closing`, as in ChatML; the first one lacks its header,
    which is the end of the prompt.

    Args:
        ids: Response tokens without padding.
        tokenizer: Has `convert_tokens_to_ids` and `decode`.
        opening: Token that begins a header.
        closing: Token that ends a message.

    Raises:
        ConfigError: The tokenizer has no such tokens.
    """
    start, end = (tokenizer.convert_tokens_to_ids(token) for token in (opening, closing))
    unknown = getattr(tokenizer, "unk_token_id", None)
    if start is None or end is None or unknown in (start, end):
        raise ConfigError(
            f"the tokenizer has no tokens {opening!r} and {closing!r}; name the ones that its chat "
            "template puts around a message"
        )
    begins = [0, *(i for i, token in enumerate(ids) if token == start and i)]
    found = []
    for begin, stop in zip(begins, [*begins[1:], len(ids)], strict=True):
        first, role = begin, "assistant"
        if ids[begin:stop] and ids[begin] == start:
            first, role = _header(ids, begin, stop, tokenizer)
        last = next((i for i in range(first, stop) if ids[i] == end), None)
        text = tokenizer.decode(list(ids[first : stop if last is None else last]))
        found.append(TokenTurn(role, str(text), first, stop if last is None else last + 1))
    return found


def turn_messages(turns: Sequence[TokenTurn], protocol: str = "hermes") -> tuple[Message, ...]:
    """The messages, calls and results of a text protocol read out of them."""
    return canonical([Message(turn.role, turn.text) for turn in turns], protocol)


def _header(ids: Sequence[int], begin: int, stop: int, tokenizer: Any) -> tuple[int, str]:
    """Index past a header, and its role."""
    for place in range(begin + 1, stop):
        text = str(tokenizer.decode(list(ids[begin + 1 : place + 1])))
        if "\n" in text:
            return place + 1, text.split("\n")[0].strip() or "assistant"
    return stop, "assistant"
