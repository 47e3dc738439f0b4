"""Conversations as a reward model reads them: its own chat template, tools, and honest truncation.

A prompt that does not fit keeps its end, a completion keeps its end, and what was cut is counted. A
completion that hit the length limit is not closed with an end-of-turn token: it must not look
finished.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.errors import DataError
from assay.messages import Message, Sample, as_messages
from assay.rewards.batch_plan import common_prefix


@dataclass(frozen=True)
class Rendered:
    """Token ids of one conversation.

    Attributes:
        ids: What the model reads.
        cut_prompt: Tokens cut from the prompt's start.
        cut_completion: Tokens cut from the completion's start.
        closed: False where the last turn was left open because the completion was truncated.
    """

    ids: tuple[int, ...]
    cut_prompt: int = 0
    cut_completion: int = 0
    closed: bool = True

    @property
    def note(self) -> str:
        """What was done to it, for people; empty where nothing was."""
        parts = [
            f"cut {count} tokens of the {what}'s start"
            for count, what in (
                (self.cut_prompt, "prompt"),
                (self.cut_completion, "completion"),
            )
            if count
        ]
        return "; ".join(parts)


def chat_message(message: Message) -> dict[str, Any]:
    """A message in the form that chat templates read."""
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.reasoning is not None:
        entry["reasoning_content"] = message.reasoning
    if message.tool_calls:
        entry["tool_calls"] = [
            {
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.raw if call.arguments is None else dict(call.arguments),
                },
            }
            | ({"id": call.id} if call.id else {})
            for call in message.tool_calls
        ]
    if message.name is not None:
        entry["name"] = message.name
    if message.tool_call_id is not None:
        entry["tool_call_id"] = message.tool_call_id
    return entry


def chat_prompt(prompt: Any) -> list[dict[str, Any]]:
    """A row's prompt, text or messages, in the form that chat templates read.

    Raises:
        DataError: It is neither.
    """
    return [chat_message(message) for message in as_messages(prompt, role="user")]


def tools_of(columns: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """JSON schemas in the column `tools`: a list, or JSON text of one; None where there are none.

    Raises:
        DataError: Anything else.
    """
    tools = columns.get("tools")
    if isinstance(tools, str):
        try:
            tools = json.loads(tools) if tools.strip() else None
        except ValueError as error:
            raise DataError(f"column 'tools' is not JSON: {error}") from None
    if not tools:
        return None
    if not isinstance(tools, Sequence) or not all(isinstance(tool, Mapping) for tool in tools):
        raise DataError(f"column 'tools' must be a list of JSON schemas, got {tools!r:.80}")
    return list(tools)


def render_sample(
    tokenizer: Any,
    sample: Sample,
    max_length: int,
    template_arguments: Mapping[str, Any] | None = None,
) -> Rendered:
    """Token ids of prompt and completion, at most `max_length` of them.

    A tokenizer without a chat template gets the two texts as a pair, with its own special tokens.

    Where both are too long, each keeps half; otherwise the longer one gives way. A leading
    beginning-of-sequence token stays.
    """
    arguments = dict(template_arguments or {})
    if not getattr(tokenizer, "chat_template", None):
        return _plain(tokenizer, sample, max_length)
    tools = tools_of(sample.columns)
    text = rendered_chat(tokenizer, (*sample.prompt, *sample.completion), tools, arguments)
    closed = True
    if sample.truncated and sample.completion:
        last = sample.completion[-1]
        marked = (*sample.prompt, *sample.completion[:-1], _marked(last))
        tail = rendered_chat(tokenizer, marked, tools, arguments).rpartition(_MARK)[2]
        text, closed = _reopened(text, last, tail, tokenizer)
    ids = tokens_of(tokenizer, text)
    if len(ids) <= max_length:
        return Rendered(tuple(ids), closed=closed)
    prompt = 0
    if sample.prompt:
        lead = rendered_chat(tokenizer, sample.prompt, tools, arguments | _GENERATE)
        lead_ids = tokens_of(tokenizer, lead)
        prompt = min(common_prefix(lead_ids, ids), len(ids) - 1)
    keep_prompt, keep_completion = _shares(prompt, len(ids) - prompt, max_length)
    kept = list(ids[prompt - keep_prompt : prompt])
    bos = getattr(tokenizer, "bos_token_id", None)
    if kept and keep_prompt < prompt and ids[0] == bos:
        kept[0] = bos
    kept += ids[len(ids) - keep_completion :]
    cut = len(ids) - prompt - keep_completion
    return Rendered(tuple(kept), prompt - keep_prompt, cut, closed)


_GENERATE = {"add_generation_prompt": True}


def _shares(prompt: int, completion: int, total: int) -> tuple[int, int]:
    """How many tokens of each stay."""
    keep_completion = min(completion, max(total - prompt, total - total // 2))
    return min(prompt, total - keep_completion), keep_completion


def rendered_chat(
    tokenizer: Any,
    messages: Sequence[Message],
    tools: list[Mapping[str, Any]] | None,
    arguments: Mapping[str, Any],
) -> str:
    """The text that a tokenizer's chat template makes of messages.

    Raises:
        DataError: It refuses them.
    """
    try:
        text = tokenizer.apply_chat_template(
            [chat_message(message) for message in messages],
            tools=tools,
            tokenize=False,
            **arguments,
        )
    except Exception as error:  # a template raises whatever it likes, jinja's errors among them
        roles = [message.role for message in messages]
        raise DataError(
            f"the reward model's chat template cannot render roles {roles}: {error}; map the "
            "messages to roles it knows"
        ) from error
    return str(text)


#: Stands for the words of a last message, to see what a template writes after them.
_MARK = "assay-words-end-here"


def _marked(last: Message) -> Message:
    if not last.content.strip() and last.reasoning:  # cut while it was reasoning
        return replace(last, reasoning=_MARK)
    return replace(last, content=_MARK)


def _reopened(text: str, last: Message, tail: str, tokenizer: Any) -> tuple[str, bool]:
    """The text without `tail`, what the template wrote after the last message's own words."""
    if tail and not last.tool_calls and text.endswith(tail):
        return text[: -len(tail)], False
    trimmed = text.rstrip()
    end = getattr(tokenizer, "eos_token", None)
    if end and trimmed.endswith(end):
        return trimmed[: -len(end)], False
    return text, True


def _plain(tokenizer: Any, sample: Sample, max_length: int) -> Rendered:
    texts = [
        "\n".join(message.content for message in messages)
        for messages in (sample.prompt, sample.completion)
    ]
    texts = [whole_characters(text) for text in texts]
    ids = tokenizer(texts[0], texts[1])["input_ids"]
    if len(ids) <= max_length:
        return Rendered(tuple(ids), closed=not sample.truncated)
    counts = [count_tokens(tokenizer, text) for text in texts]
    room = max(max_length - (len(ids) - sum(counts)), 2)
    cuts = [0, 0]
    while len(ids) > max_length and room > 1:  # a cut may change how the text is split
        kept = _shares(counts[0], counts[1], room)
        ends = [keep_end(tokenizer, text, count) for text, count in zip(texts, kept, strict=True)]
        cuts = [count - keep for count, keep in zip(counts, kept, strict=True)]
        ids = tokenizer(ends[0], ends[1])["input_ids"]
        room -= 1
    return Rendered(tuple(ids[-max_length:]), cuts[0], cuts[1], not sample.truncated)


_HALVES = re.compile("[\ud800-\udfff]")


def whole_characters(text: str) -> str:
    r"""A text whose halves of surrogate pairs, which no tokenizer reads, became U+FFFD.

    >>> whole_characters("a\ud800b") == "a\ufffdb"
    True
    """
    return _HALVES.sub("\ufffd", text)


def tokens_of(tokenizer: Any, text: str, *, special: bool = False) -> list[int]:
    """Token ids of a text, with the tokenizer's own special ones where `special` is set."""
    return list(tokenizer(whole_characters(text), add_special_tokens=special)["input_ids"])


def count_tokens(tokenizer: Any, text: str) -> int:
    """Tokens of a text without special ones."""
    return len(tokens_of(tokenizer, text)) if text else 0


def keep_end(tokenizer: Any, text: str, tokens: int) -> str:
    """The end of a text, `tokens` tokens of it, cut between two tokens of the whole text.

    Raises:
        DataError: The tokenizer is a slow one, which cannot tell where its tokens stand.
    """
    if tokens <= 0:
        return ""
    if not getattr(tokenizer, "is_fast", False):
        raise DataError(
            f"{type(tokenizer).__name__} cannot tell where tokens stand in a text, so it cannot be "
            "cut; use a fast tokenizer, or a longer max_length"
        )
    text = whole_characters(text)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    offsets = encoded["offset_mapping"]
    if len(offsets) <= tokens:
        return text
    return text[offsets[len(offsets) - tokens][0] :]
