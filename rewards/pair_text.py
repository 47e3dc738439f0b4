"""Pairs as a pair-wise reward model reads them: history first, then both answers, fairly cut.

The conversation stands before the answers, so both orders of a pair share it as a prefix. Training
and scoring render pairs through the same function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judge import Pair
from assay.messages import Message
from assay.rewards.chat_text import count_tokens, keep_end, rendered_chat, tokens_of, tools_of

PROMPTS = Path(__file__).parent / "prompts"
_FIELDS = ("{history}", "{first}", "{second}")
_TAGS = re.compile(r"</?(?:conversation|candidate_[ab])>", re.IGNORECASE)
_CUT = "[...] "


@dataclass(frozen=True)
class RenderedPair:
    """Token ids of a pair in one order.

    Attributes:
        ids: What the model reads.
        cut: Tokens cut from the start of history, first and second.
    """

    ids: tuple[int, ...]
    cut: tuple[int, int, int] = (0, 0, 0)

    @property
    def note(self) -> str:
        """What was cut, for people; empty where nothing was."""
        names = ("history", "first answer", "second answer")
        return "; ".join(
            f"cut {n} tokens of the {name}'s start"
            for n, name in zip(self.cut, names, strict=True)
            if n
        )


@dataclass(frozen=True)
class PairText:
    """How pairs become text.

    Attributes:
        template: Text with `{history}`, `{first}` and `{second}`, in this order, each once; the
            name of a file in `assay/rewards/prompts`, a path, or None for `pair_verdict`.
        answer_follows: The model's reply starts after the text (a verdict token); otherwise the
            text ends with its own turn (a classification head).
        show_reasoning: Show the candidates' reasoning too; by default only what follows it.
        template_arguments: Further arguments of the chat template.
    """

    template: str = "pair_verdict"
    answer_follows: bool = True
    show_reasoning: bool = False
    template_arguments: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.parts()

    def text(self) -> str:
        """The template's text; what a fingerprint must hash."""
        return _read(self.template)

    def parts(self) -> list[str]:
        """The template around its fields: four pieces.

        Raises:
            ConfigError: A field is missing, comes twice, or stands in the wrong order.
        """
        text = self.text()
        places = [text.find(name) for name in _FIELDS]
        if -1 in places or places != sorted(places) or any(text.count(f) != 1 for f in _FIELDS):
            raise ConfigError(
                f"a pair template must hold {', '.join(_FIELDS)} once each, in this order (the "
                f"history first, so that both orders share it); {self.template!r:.80} does not"
            )
        return re.split("|".join(re.escape(name) for name in _FIELDS), text)

    def render(self, tokenizer: Any, pair: Pair, max_length: int) -> RenderedPair:
        """Token ids of a pair in the order in which it is given, at most `max_length`.

        Both answers get the same budget: what one does not need, the other may have. The history
        keeps its end and at least a quarter of the room. Swapping the pair cuts the same tokens.
        """
        history = conversation_text(pair.prompt, pair.columns)
        texts = [
            history,
            answer_text(pair.a, show_reasoning=self.show_reasoning),
            answer_text(pair.b, show_reasoning=self.show_reasoning),
        ]
        texts = [_TAGS.sub(lambda m: m.group().replace("<", "<\u200b"), text) for text in texts]
        texts = [_without_special(tokenizer, text) for text in texts]
        ids = self._ids(tokenizer, texts)
        if len(ids) <= max_length:
            return RenderedPair(tuple(ids))
        counts = [count_tokens(tokenizer, text) for text in texts]
        overhead = len(self._ids(tokenizer, ["", "", ""]))
        room = max_length - overhead
        while room >= 4:
            kept = _shares(counts, room)
            cut = [
                text if keep >= count else _CUT + keep_end(tokenizer, text, keep)
                for text, count, keep in zip(texts, counts, kept, strict=True)
            ]
            ids = self._ids(tokenizer, cut)
            if len(ids) <= max_length:
                gone = [max(count - keep, 0) for count, keep in zip(counts, kept, strict=True)]
                return RenderedPair(tuple(ids), (gone[0], gone[1], gone[2]))
            room -= len(ids) - max_length
        raise DataError(
            f"max_length {max_length} leaves no room for a pair: the template alone takes "
            f"{overhead} tokens; raise max_length"
        )

    def verdict_ids(self, tokenizer: Any, labels: Sequence[str]) -> tuple[int, ...]:
        """Ids of the labels as first token of the reply.

        Raises:
            ConfigError: A label is not one token there, or two labels are the same one.
        """
        start = self._text(tokenizer, ["x", "y", "z"])
        plain = tokens_of(tokenizer, start)
        found = []
        for label in labels:
            ids = tokens_of(tokenizer, start + label)
            if ids[: len(plain)] != plain or len(ids) != len(plain) + 1:
                raise ConfigError(
                    f"verdict label {label!r} is not one token after the prompt (it becomes "
                    f"{ids[len(plain) :]}); choose labels that this tokenizer keeps whole"
                )
            found.append(ids[-1])
        if len(set(found)) < len(found):
            raise ConfigError(f"verdict labels {list(labels)} are the same token {found[0]}")
        return tuple(found)

    def _text(self, tokenizer: Any, texts: Sequence[str]) -> str:
        lead, middle, between, tail = self.parts()
        content = f"{lead}{texts[0]}{middle}{texts[1]}{between}{texts[2]}{tail}".rstrip("\n")
        if not getattr(tokenizer, "chat_template", None):
            return content + ("\n" if self.answer_follows else "")
        return rendered_chat(
            tokenizer,
            [Message("user", content)],
            None,
            {"add_generation_prompt": self.answer_follows} | dict(self.template_arguments),
        )

    def _ids(self, tokenizer: Any, texts: Sequence[str]) -> list[int]:
        text = self._text(tokenizer, texts)
        plain = tokens_of(tokenizer, text)
        if getattr(tokenizer, "chat_template", None):  # it writes the special tokens itself
            return plain
        ids = tokens_of(tokenizer, text, special=True)
        if not self.answer_follows:
            return ids
        # A reply continues the text: what the tokenizer puts before it stays, an end does not.
        size = len(plain)
        starts = range(len(ids) - size + 1)
        lead = next((i for i in starts if ids[i : i + size] == plain), 0)
        return ids[: lead + size]


def _without_special(tokenizer: Any, text: str) -> str:
    """A text in which a special token's name is only text: no answer may end its own turn."""
    added = getattr(tokenizer, "added_tokens_decoder", None) or {}
    names = tuple(str(token) for token in added.values() if getattr(token, "special", False))
    if not any(name in text for name in names):
        return text
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(re.escape(name) for name in longest_first)
    return re.sub(pattern, lambda m: f"{m.group()[0]}\u200b{m.group()[1:]}", text)


def conversation_text(messages: Sequence[Message], columns: Mapping[str, Any]) -> str:
    """A whole history as text, every turn under its role, tools and tool calls as JSON."""
    blocks = []
    if tools := tools_of(columns):
        lines = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
        blocks.append(f"[tools]\n{lines}")
    blocks += [f"[{message.role}]\n{_turn(message)}" for message in messages]
    return "\n\n".join(blocks)


def answer_text(messages: Sequence[Message], *, show_reasoning: bool = False) -> str:
    """A candidate as text: one plain answer alone, several turns under their roles."""
    shown = [
        message
        if show_reasoning or message.role != "assistant"
        else Message(message.role, message.split()[1], tool_calls=message.tool_calls)
        for message in messages
    ]
    if len(shown) == 1:
        return _turn(shown[0])
    return "\n\n".join(f"[{message.role}]\n{_turn(message)}" for message in shown)


def _turn(message: Message) -> str:
    lines = [f"<think>{message.reasoning}</think>"] if message.reasoning else []
    if message.content:
        lines.append(message.content)
    for call in message.tool_calls:
        body = {"name": call.name, "arguments": call.arguments}
        lines.append(
            f"[call] {json.dumps(body, ensure_ascii=False)}" if not call.error else call.raw
        )
    return "\n".join(lines)


def _shares(counts: Sequence[int], room: int) -> tuple[int, int, int]:
    """Tokens that history, first and second keep, marks of cuts included in the room."""
    mark = 4
    history, first, second = counts
    keep_history = min(history, max(room - first - second, room // 4))
    left = room - keep_history
    half = left // 2  # what one does not need, the other may have
    keep_first = min(first, max(half, left - second))
    keep_second = min(second, max(half, left - first))
    kept = (keep_history, keep_first, keep_second)
    return tuple(  # type: ignore[return-value]
        keep if keep >= count else max(keep - mark, 0)
        for keep, count in zip(kept, counts, strict=True)
    )


@cache
def _read(template: str) -> str:
    if "{" in template:
        return template
    named = PROMPTS / f"{template}.txt"
    path = named if named.is_file() else Path(template)
    if not path.is_file():
        known = sorted(p.stem for p in PROMPTS.glob("pair_*.txt"))
        raise ConfigError(
            f"pair template {template!r} is neither one of {known}, nor a file, nor text with "
            "{history}, {first} and {second}"
        )
    return path.read_text(encoding="utf-8")
