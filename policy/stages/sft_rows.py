"""Conversations as token ids and labels: what is trained on is what the model writes when asked.

Prompt and answer are tokenised apart, as they are in generation. A template that drops earlier
reasoning renders an assistant turn differently once the conversation has gone on; such a turn gets
a row of its own, cut where it ended, so that its reasoning is trained and nothing is trained that
the model would never see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import DataError
from assay.messages import as_messages
from assay.policy.chat import with_system
from assay.policy.data.supervised import loss_flag
from assay.rewards.chat_text import chat_message, tools_of

#: Label of a token that is not trained on.
IGNORED = -100


@dataclass
class TokenAccount:
    """Rows and tokens of one source.

    Attributes:
        rows: Rows written.
        tokens: Tokens in them.
        trained: Tokens that have a loss.
        too_long: Conversations left out or cut for their length.
    """

    rows: int = 0
    tokens: int = 0
    trained: int = 0
    too_long: int = 0

    def add(self, row: Mapping[str, Sequence[int]]) -> None:
        """Count one row."""
        self.rows += 1
        self.tokens += len(row["input_ids"])
        self.trained += sum(label != IGNORED for label in row["labels"])


@dataclass(frozen=True)
class SftRenderer:
    """Turns conversation rows into rows of ids and labels.

    A row holds `messages` (or `conversations`), or `prompt` and `completion`; an assistant message
    with `"loss": 0` is not trained on, such as a turn that a critic failed. `tools` go to the
    template.

    Args:
        tokenizer: With a chat template.
        max_length: Longest row, in tokens.
        too_long: `drop` a longer conversation, or `cut` its end off.
        system_prompt: For conversations without one.

    Source: the `loss` field of the released ToolMind-Web-QA rows.
    """

    tokenizer: Any
    max_length: int
    too_long: str = "drop"
    system_prompt: str = ""
    account: TokenAccount = field(default_factory=TokenAccount)

    def __call__(self, row: Mapping[str, Any], number: int = 0) -> list[dict[str, list[int]]]:
        """Rows `input_ids`, `labels`; none where nothing is left to train on.

        Raises:
            DataError: A row without a conversation.
        """
        try:
            messages, trained = _conversation(row, number)
        except DataError as error:
            if number and f"row {number} " not in str(error):
                raise DataError(f"row {number}: {error}", number - 1) from error
            raise
        shift = len(messages)
        messages = with_system(messages, self.system_prompt)
        shift = len(messages) - shift
        wanted = [index + shift for index in trained]
        found = []
        for pieces in self._pieces(messages, wanted, tools_of(row)):
            ids: list[int] = []
            labels: list[int] = []
            for text, counts in pieces:
                part = self.tokenizer(text, add_special_tokens=False)["input_ids"]
                ids += part
                labels += part if counts else [IGNORED] * len(part)
            if len(ids) > self.max_length:
                self.account.too_long += 1
                if self.too_long == "drop":
                    continue
                ids, labels = ids[: self.max_length], labels[: self.max_length]
            if any(label != IGNORED for label in labels):
                found.append({"input_ids": ids, "labels": labels})
                self.account.add(found[-1])
        return found

    def _pieces(
        self, messages: list[dict[str, Any]], wanted: Sequence[int], tools: Any
    ) -> Iterator[list[tuple[str, bool]]]:
        """Texts of one row each, in pieces that are trained on or not."""
        spans = {i: self._span(messages, i, tools) for i in wanted}
        left = list(wanted)
        rows = []
        while left:
            last = left[-1]
            prompt, answer = spans[last]
            whole = prompt + answer
            inside = [i for i in left if whole.startswith("".join(spans[i]))]
            pieces: list[tuple[str, bool]] = []
            position = 0
            for i in inside:
                before, text = spans[i]
                pieces.append((whole[position : len(before)], False))
                pieces.append((text, True))
                position = len(before) + len(text)
            rows.append(pieces)
            left = [i for i in left if i not in inside]
        yield from reversed(rows)

    def _span(self, messages: list[dict[str, Any]], index: int, tools: Any) -> tuple[str, str]:
        """What stands before the assistant turn `index`, and the turn up to its last token."""
        before = self._render(messages[:index], tools, True)
        whole = self._render(messages[: index + 1], tools, False)
        if not whole.startswith(before):
            raise DataError(
                f"the chat template writes turn {index} otherwise than its generation prompt "
                f"begins it: {before[-40:]!r}"
            )
        answer = whole[len(before) :]
        end = self.tokenizer.eos_token
        if end and end in answer:
            answer = answer[: answer.rindex(end) + len(end)]
        return before, answer

    def _render(self, messages: list[dict[str, Any]], tools: Any, prompt: bool) -> str:
        return str(
            self.tokenizer.apply_chat_template(
                messages, tools=tools or None, tokenize=False, add_generation_prompt=prompt
            )
        )


def render_all(
    rows: Iterable[Mapping[str, Any]], renderer: SftRenderer
) -> Iterator[dict[str, list[int]]]:
    """All rows of all conversations."""
    for number, row in enumerate(rows, start=1):
        yield from renderer(row, number)


def _conversation(row: Mapping[str, Any], number: int) -> tuple[list[dict[str, Any]], list[int]]:
    """Messages as templates read them, and the indices of those to train on."""
    given = row.get("messages") or row.get("conversations")
    if given is None:
        if "prompt" not in row or "completion" not in row:
            raise DataError(
                f"row {number} has neither messages nor prompt and completion, only {sorted(row)}"
            )
        prompt = as_messages(row["prompt"], role="user")
        answer = as_messages(row["completion"], role="assistant")
        given = [chat_message(message) for message in (*prompt, *answer)]
        first = len(prompt)
    else:
        first = 0
    messages, trained = [], []
    for index, item in enumerate(given):
        message = chat_message(as_messages(item, role="user")[0])
        messages.append(message)
        counts = loss_flag(item) if isinstance(item, Mapping) else 1
        if message["role"] == "assistant" and index >= first and counts:
            trained.append(index)
    return messages, trained
