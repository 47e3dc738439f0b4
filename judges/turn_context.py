"""A run as a model reads it: all of it within a budget of tokens, the question and plan kept whole.

What is cut, in this order: tool results of older turns, their words and arguments, older turns as a
whole. The turns under review, the system and user messages before the first turn, and the plan (the
first turn that says or thinks something) are the last to be shortened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.messages import Message, Trajectory, Turn

#: Characters of a token where no tokenizer counts them; English and JSON have between 3 and 4.
CHARACTERS = 3.2
#: Limits on older tool results and on older words, in characters, tried one after the other.
_STEPS = ((2000, 4000), (600, 2000), (200, 600), (80, 200), (0, 80))


@dataclass(frozen=True)
class ContextWindow:
    """How much of a run is shown.

    Args:
        max_tokens: Of the record of the run.
        recent: Turns before the reviewed ones that are shortened last.
        count: Counts the tokens of a text; None: characters / 3.2.
    """

    max_tokens: int = 12_000
    recent: int = 3
    count: Callable[[str], int] | None = None

    def size(self, text: str) -> int:
        """Tokens of a text."""
        return int(len(text) / CHARACTERS) + 1 if self.count is None else self.count(text)

    def render(self, trajectory: Trajectory, first: int, last: int) -> str:
        """The record up to turn `last`, the turns from `first` on shown for review."""
        turns = trajectory.turns
        head = _head(trajectory)
        shown = [_turn(turn) for turn in turns[first : last + 1]]
        older = turns[:first]
        plan = next((t.index for t in older if _words(t.message)), None)
        budget = self.max_tokens - self.size(head) - sum(map(self.size, shown))
        for results, words in _STEPS:
            full = [
                _turn(turn)
                if turn.index == plan or turn.index >= first - self.recent
                else _turn(turn, results, words)
                for turn in older
            ]
            if sum(map(self.size, full)) <= budget:
                return "\n".join([head, *full, *shown])
        kept = self._newest(older, plan, budget)
        text = "\n".join([head, *kept, *shown])
        if self.size(text) <= self.max_tokens:
            return text
        return self._squeezed(head, kept, turns[first : last + 1])

    def _newest(self, older: Sequence[Turn], plan: int | None, budget: int) -> list[str]:
        """The plan, and the newest of the older turns in their shortest form."""
        chosen: dict[int, str] = {}
        if plan is not None:
            chosen[plan] = _turn(older[plan], 200, 2000)
            budget -= self.size(chosen[plan])
        for turn in reversed(older):
            text = _turn(turn, *_STEPS[-1])
            budget -= self.size(text)
            if budget < 0:
                break
            chosen.setdefault(turn.index, text)
        lines, before = [], -1
        for index in sorted(chosen):
            if index > before + 1:
                lines.append(_gap(before + 1, index))
            lines.append(chosen[index])
            before = index
        if before < len(older) - 1:
            lines.append(_gap(before + 1, len(older)))
        return lines

    def _squeezed(self, head: str, kept: list[str], reviewed: Sequence[Turn]) -> str:
        """The last resort: the reviewed turns and the head are cut as well."""
        for limit in (8000, 4000, 2000, 1000, 500, 200, 80):
            shown = [_turn(turn, limit, limit) for turn in reviewed]
            text = "\n".join([_cut(head, 4 * limit), *kept, *shown])
            if self.size(text) <= self.max_tokens:
                break
            kept = kept[:2]
        return text


def describe_tools(tools: Iterable[Mapping[str, Any]], limit: int = 6000) -> str:
    """The tools on offer, one JSON schema a line; names alone where that is too long."""
    bodies = [dict(inner if isinstance(inner := t.get("function"), Mapping) else t) for t in tools]
    if not bodies:
        return ""
    lines = "\n".join(json.dumps(body, ensure_ascii=False) for body in bodies)
    if len(lines) > limit:
        lines = ", ".join(str(body.get("name")) for body in bodies)
    return f"[tools on offer]\n{_cut(lines, limit)}\n"


def _head(trajectory: Trajectory) -> str:
    lines = []
    for message in trajectory.messages:
        if message.role == "assistant":
            break
        lines.append(f"[{message.role}] {message.content}")
    return "\n".join(lines)


def _turn(turn: Turn, results: int | None = None, words: int | None = None) -> str:
    message = turn.message
    speaker = f" by {message.name}" if message.name else ""
    lines = [f"[turn {turn.index}{speaker}] {_cut(_words(message), words)}".rstrip()]
    for call in message.tool_calls:
        if call.error:
            lines.append(f"  malformed call ({call.error}): {_cut(call.raw, words)}")
        else:
            arguments = json.dumps(dict(call.arguments or {}), ensure_ascii=False)
            lines.append(f"  calls {call.name}({_cut(arguments, words)})")
    for result in turn.results:
        limit = results if result.role == "tool" else words
        lines.append(f"  [{result.role}] {_cut(result.content, limit)}")
    return "\n".join(lines)


def _words(message: Message) -> str:
    return "\n".join(part for part in (message.reasoning, message.content) if part)


def _cut(text: str, limit: int | None) -> str:
    """Beginning and end of a long text."""
    if limit is None or len(text) <= limit:
        return text
    if limit < 40:
        return "(left out)"
    return f"{text[: limit * 2 // 3]} (shortened) {text[-(limit // 3) :]}"


def _gap(start: int, end: int) -> str:
    return f"(turns {start} to {end - 1} left out)"
