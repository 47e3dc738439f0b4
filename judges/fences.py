"""How a judge is shown what others wrote: between markers that the text cannot contain."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import DataError
from assay.judges.structured import nonce_for
from assay.messages import Message, as_messages

#: Share of a shortened text that its beginning keeps; the end keeps the rest.
_HEAD = 0.5
#: Characters that every message of a conversation should have room for.
_FEWEST = 200
#: What begins a control token of Qwen, Llama, Mistral, Gemma, DeepSeek or Phi.
_TOKEN = re.compile(
    r"<(?=[|\uff5c][^<>\n]{1,64}[|\uff5c]>)"
    r"|<(?=/?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)


@dataclass(frozen=True, slots=True)
class Fence:
    """Markers of one request, with a nonce that occurs in nothing that they surround.

    The nonce is derived from the texts (`nonce_for`), so that requests are reproducible; no author
    of a text can know it, since the text itself decides it.

    >>> print(Fence("5f3a").around("answer", "4"))
    <<5f3a answer>>
    4
    <<5f3a end of answer>>
    """

    nonce: str

    @classmethod
    def for_texts(cls, texts: Sequence[str], salt: str = "") -> Fence:
        """The fence for these texts; `salt` sets repeats apart."""
        return cls(nonce_for(texts, salt))

    @classmethod
    def for_prompt(cls, prompt: Sequence[Message], texts: Sequence[str], salt: str = "") -> Fence:
        """The fence for a conversation and for texts beside it."""
        return cls.for_texts([*map(shown_message, prompt), *texts], salt)

    def around(self, title: str, text: str) -> str:
        """`text` between an opening and a closing marker, its control tokens broken up."""
        return f"<<{self.nonce} {title}>>\n{without_tokens(text)}\n<<{self.nonce} end of {title}>>"

    def conversation(self, title: str, messages: Sequence[Message], longest: int) -> str:
        """Messages between markers, each under a heading that carries the nonce.

        A single user message needs no heading. What is longer than `longest` characters loses the
        middle of its longest messages; where there are so many that little would be left of each,
        the ones between the first and the last go first.
        """
        gone = max(0, len(messages) - max(2, longest // _FEWEST))
        first = (len(messages) - gone + 3) // 4
        kept = [*messages[:first], *messages[first + gone :]]
        shown = fit([shown_message(message) for message in kept], longest, self.nonce)
        if len(messages) == 1 and messages[0].role in ("user", "assistant"):
            return self.around(title, shown[0])
        parts = [
            f"[{self.nonce} {message.role}]\n{text}"
            for message, text in zip(kept, shown, strict=True)
        ]
        if gone:
            parts.insert(first, f"<<{self.nonce} {gone} messages left out>>")
        return self.around(title, "\n\n".join(parts))


def without_tokens(text: str) -> str:
    """`text` in which what chat templates mark turns with is no token any more, only words.

    Servers read `<|im_end|>` inside a message as the token itself, so that an answer could end the
    judge's turn and begin one of its own.

    >>> without_tokens("ok<|im_end|> [INST] if x < y: <b>")
    'ok< |im_end|> [ INST] if x < y: <b>'
    """
    return _TOKEN.sub(r"\g<0> ", text)


def shown_message(message: Message, *, reasoning: bool = False) -> str:
    """A message as text: its answer, and its tool calls as JSON; reasoning only on request."""
    thought, text = message.split()
    parts = [text.strip()]
    if reasoning and thought:
        parts.insert(0, f"(reasoning)\n{thought}")
    for call in message.tool_calls:
        if call.arguments is None:
            parts.append(f"(malformed call of {call.name or 'no tool'}) {call.raw}")
        else:
            arguments = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
            parts.append(f"(call) {call.name} {arguments}")
    return "\n".join(part for part in parts if part)


def answer_text(answer: Sequence[Message], title: str, index: int) -> str:
    """A candidate's messages as text.

    Raises:
        DataError: There is no message.
    """
    if not answer:
        raise DataError(f"answer {title} of item {index} holds no message", index)
    if len(answer) == 1:
        return shown_message(answer[0])
    return "\n\n".join(f"({message.role})\n{shown_message(message)}" for message in answer)


def reference_text(columns: Mapping[str, Any], column: str | None, index: int) -> str:
    """The reference answer of a row as text; empty where no column is named.

    Raises:
        DataError: The column is missing or empty.
    """
    if column is None:
        return ""
    value = columns.get(column)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    text = ""
    if value is not None:
        text = answer_text(as_messages(value, role="assistant"), "reference", index).strip()
    if not text:
        raise DataError(
            f"item {index} has no reference answer in column {column!r}; it has the columns "
            f"{sorted(columns)}",
            index,
        )
    return text


def shorten(text: str, longest: int, nonce: str) -> str:
    r"""The beginning and the end of `text`, at most about `longest` characters of it.

    >>> shorten("abcdefghij", 4, "5f3a")
    'ab\n<<5f3a 6 characters left out>>\nij'
    """
    if len(text) <= longest:
        return text
    head = int(longest * _HEAD)
    tail = longest - head
    gap = f"\n<<{nonce} {len(text) - longest} characters left out>>\n"
    return text[:head] + gap + (text[-tail:] if tail else "")


def fit(texts: Sequence[str], longest: int, nonce: str) -> list[str]:
    """Texts that have at most about `longest` characters together; the longest are cut first.

    Everyone may have the same length, and what shorter texts leave goes to the others, so that two
    candidates are never cut unequally.

    >>> [len(t) for t in fit(["a" * 10, "b" * 500, "c" * 500], 210, "5f3a")]
    [10, 134, 134]
    """
    left, allowed = longest, [0] * len(texts)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for done, i in enumerate(order):
        allowed[i] = min(len(texts[i]), left // (len(texts) - done))
        left -= allowed[i]
    return [shorten(text, most, nonce) for text, most in zip(texts, allowed, strict=True)]
