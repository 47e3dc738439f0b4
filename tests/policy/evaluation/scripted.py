"""Policies and judges that say what a test tells them to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.judge import Judge, Pair, Verdict
from assay.messages import Message, ToolCall
from assay.policy.evaluation.samplers import Sampler
from assay.policy.rollouts import Decoding


@dataclass
class Scripted(Sampler):
    """Sample j of a row is `say(row, j, decoding)`; `made` counts calls."""

    say: Callable[[Mapping[str, Any], int, Decoding], str]
    name: str = "scripted"
    made: int = 0

    def sample(self, rows: Sequence[Mapping[str, Any]], decoding: Decoding) -> list[dict[str, Any]]:
        self.made += 1
        found = []
        for row in rows:
            for number in range(decoding.n):
                text = self.say(row, number, decoding)
                cut = text[: decoding.max_new_tokens]
                found.append(
                    dict(row)
                    | {
                        "completion": [{"role": "assistant", "content": cut}],
                        "truncated": len(cut) < len(text),
                        "tokens": len(cut),
                    }
                )
        return found

    def mark(self) -> str:
        return self.name


@dataclass
class Playing(Sampler):
    """An agent: `move(messages, seed)` gives the next message."""

    move: Callable[[Sequence[Message], int], Message]

    def sample(self, rows: Sequence[Mapping[str, Any]], decoding: Decoding) -> list[dict[str, Any]]:
        raise AssertionError("an agent writes messages")

    def next_message(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], decoding: Decoding
    ) -> Message:
        return self.move(messages, decoding.seed)

    def mark(self) -> str:
        return "playing"


@dataclass(frozen=True)
class FirstOrShorter(Judge):
    """Prefers the shorter answer; of two equally long ones the first."""

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [
            Verdict("A" if len(p.a[-1].content) <= len(p.b[-1].content) else "B") for p in pairs
        ]

    def fingerprint(self) -> str:
        return "first-or-shorter"


def call(name: str, arguments: Mapping[str, Any]) -> Message:
    """An assistant turn with one call."""
    return Message("assistant", tool_calls=(ToolCall(name, arguments, id="c"),))
