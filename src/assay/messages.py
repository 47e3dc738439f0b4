"""Messages, samples and trajectories: one canonical form for everything that is scored.

Strings, message lists with or without tool calls, `<think>` text and `reasoning_content` all become
the same frozen objects, so that no reward has to know which trainer or chat template it runs under.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import DataError
from assay.fenced_code import extract_code
from assay.field_readers import group_name, listed, text_of_content, token_ids, truth
from assay.tool_calls import ToolCall

__all__ = [
    "ROLES",
    "THINK_CLOSE",
    "THINK_OPEN",
    "Message",
    "Sample",
    "ToolCall",
    "Trajectory",
    "Turn",
    "as_messages",
    "turns_of",
]

THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        role: One of `ROLES`.
        content: Its text.
        reasoning: Set only where the format keeps it apart from the content.
        tool_calls: Calls of an assistant message.
        name: Of the tool, or of the agent that speaks.
        tool_call_id: The call that a tool message answers.
        is_error: Of a tool message: whether the environment says that the call went wrong; None
            where it does not say.
    """

    role: str
    content: str = ""
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    name: str | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, value: Message | Mapping[str, Any]) -> Message:
        """Read a message in OpenAI's or TRL's form.

        Raises:
            DataError: No role, an unknown role, or content that is neither text nor text blocks.
        """
        if isinstance(value, Message):
            return value
        if not isinstance(value, Mapping):
            raise DataError(
                f"a message must be a mapping with 'role' and 'content', got {value!r:.80}"
            )
        role = value.get("role")
        if not isinstance(role, str) or role not in ROLES:
            raise DataError(f"message role must be one of {sorted(ROLES)}, got {role!r}")
        reasoning = value.get("reasoning_content")
        if reasoning is None:
            reasoning = value.get("reasoning")
        if reasoning is not None and not isinstance(reasoning, str):
            raise DataError(f"reasoning_content must be text, got {type(reasoning).__name__}")
        calls = listed(value.get("tool_calls"))
        if isinstance(calls, str | bytes | Mapping) or not hasattr(calls or (), "__iter__"):
            raise DataError(f"tool_calls must be a list of calls, got {calls!r:.80}")
        return cls(
            role=role,
            content=text_of_content(value.get("content")),
            reasoning=reasoning,
            tool_calls=tuple(ToolCall.of(call) for call in calls or ()),
            name=value.get("name"),
            tool_call_id=value.get("tool_call_id"),
            is_error=None if (told := value.get("is_error")) is None else truth("is_error", told),
        )

    @property
    def reasoning_apart(self) -> bool:
        """Whether the reasoning stands in its own field.

        A blank field beside content with think tags was filled by a server that read no reasoning.
        """
        if self.reasoning is None:
            return False
        tagged = THINK_OPEN in self.content or THINK_CLOSE in self.content
        return bool(self.reasoning.strip()) or not tagged

    def split(self, *, prefilled: bool = False) -> tuple[str | None, str]:
        """Reasoning and answer of this message.

        Args:
            prefilled: The chat template already wrote `<think>` before this message, so that its
                text starts inside the reasoning.

        Returns:
            The reasoning (None where there is none) and what follows it. A message whose reasoning
            never ends has an empty answer.
        """
        text = self.content
        if self.reasoning_apart:
            return self.reasoning, text
        end = text.rfind(THINK_CLOSE)
        start = text.find(THINK_OPEN)
        if end >= 0:
            begin = start + len(THINK_OPEN) if 0 <= start < end else 0
            return text[begin:end].strip(), text[end + len(THINK_CLOSE) :].lstrip("\r\n")
        if start >= 0 and not text[:start].strip():
            return text[start + len(THINK_OPEN) :].strip(), ""
        if prefilled:
            return text.strip(), ""
        return None, text


@dataclass(frozen=True, slots=True)
class Turn:
    """One assistant message and what came back before the next one.

    Attributes:
        index: 0 for the first assistant message.
        message: The assistant message.
        results: The tool (or tool-result user) messages that follow it, in order.
    """

    index: int
    message: Message
    results: tuple[Message, ...] = ()

    __hash__ = None  # type: ignore[assignment]


def turns_of(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """Assistant turns with the messages that follow each of them, in linear time."""
    turns: list[Turn] = []
    current: Message | None = None
    results: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            if current is not None:
                turns.append(Turn(len(turns), current, tuple(results)))
            current, results = message, []
        elif current is not None:
            results.append(message)
    if current is not None:
        turns.append(Turn(len(turns), current, tuple(results)))
    return tuple(turns)


def as_messages(value: Any, *, role: str) -> tuple[Message, ...]:
    """Canonical messages of a string (one message of `role`), a message, or a list of messages.

    Raises:
        DataError: Anything else.
    """
    if isinstance(value, str):
        return (Message(role, value),)
    if isinstance(value, Message | Mapping):
        return (Message.of(value),)
    value = listed(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return tuple(Message.of(item) for item in value)
    raise DataError(
        f"expected text or a list of messages, got {type(value).__name__}: {value!r:.80}"
    )


def _part(name: str, value: Any, role: str) -> tuple[Message, ...]:
    try:
        return as_messages(value, role=role)
    except DataError as error:
        raise DataError(f"the {name}: {error}") from None


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion to be scored, with its prompt and its dataset row.

    Attributes:
        prompt: Canonical messages.
        completion: Canonical messages, the first assistant turn first.
        columns: The dataset row: tests, reference, optimal_complexity, ...
        group: All rollouts of one prompt share it (dataset column `uid`); None when unknown.
        completion_ids: Token ids as TRL passes them, tool-result tokens included.
        truncated: The completion was cut at the length limit.

    Comparable but not hashable: it holds mappings.
    """

    prompt: tuple[Message, ...]
    completion: tuple[Message, ...]
    columns: Mapping[str, Any] = field(default_factory=dict)
    group: str | None = None
    completion_ids: tuple[int, ...] | None = None
    truncated: bool = False

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(
        cls,
        prompt: object,
        completion: object,
        columns: Mapping[str, Any] | None = None,
        *,
        completion_ids: Sequence[int] | None = None,
        truncated: bool | None = None,
        eos_token_ids: Sequence[int] = (),
    ) -> Sample:
        """Build a sample from whatever a trainer or a file holds.

        Args:
            prompt: Text (one user message) or messages.
            completion: Text (one assistant message) or messages.
            columns: The dataset row; `uid` becomes the group, `truncated` is read from it.
            completion_ids: Token ids of the completion.
            truncated: Overrides the column `truncated`.
            eos_token_ids: Where neither says, a completion whose last id is none of these was cut.
        """
        row = columns if columns is not None else {}
        ids = None if completion_ids is None else token_ids(completion_ids)
        if truncated is None:
            told = row.get("truncated")
            if told is not None:
                truncated = truth("column 'truncated'", told)
            else:
                truncated = bool(eos_token_ids and ids and ids[-1] not in eos_token_ids)
        return cls(
            prompt=_part("prompt", prompt, "user"),
            completion=_part("completion", completion, "assistant"),
            columns=row,
            group=group_name(row.get("uid")),
            completion_ids=ids,
            truncated=truncated,
        )

    @property
    def think_prefilled(self) -> bool:
        """Whether the rendered prompt ends by opening the reasoning."""
        return bool(self.prompt) and self.prompt[-1].content.rstrip().endswith(THINK_OPEN)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Assistant turns with the tool results that follow each."""
        return turns_of(self.completion)

    @property
    def reasoning(self) -> str | None:
        """Reasoning of the last assistant turn, or None."""
        return self._last_split()[0]

    @property
    def answer(self) -> str:
        """What follows the reasoning in the last assistant turn; empty where nothing does."""
        return self._last_split()[1]

    def code(self, language: str, *, bare: bool = False) -> str | None:
        """Code of `language` in the answer (`assay.fenced_code.extract_code`), or None."""
        return extract_code(self.answer, language, bare=bare).code

    def trajectory(self) -> Trajectory:
        """Prompt and completion as one trajectory."""
        return Trajectory((*self.prompt, *self.completion))

    def _last_split(self) -> tuple[str | None, str]:
        for message in reversed(self.completion):
            if message.role == "assistant":
                return message.split(prefilled=self.think_prefilled)
        return None, ""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A whole conversation with tools, as a turn critic reviews it.

    Attributes:
        messages: System, user, assistant and tool messages in order.
        tools: JSON schemas of the tools on offer; empty when unknown.
        outcome: Reward of the whole run where it is known.
        id: Where it comes from.
        budget: Most tool calls that the run was allowed, or None.
        info: What else the row says: the question, the gold answer, evidence, the failing step.
    """

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    outcome: float | None = None
    id: str = ""
    budget: int | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]

    @property
    def calls(self) -> int:
        """Tool calls, malformed ones among them."""
        return sum(len(message.tool_calls) for message in self.messages)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Assistant turns with the results that follow each."""
        return turns_of(self.messages)
