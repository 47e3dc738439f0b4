"""The format reward for chat and tool use: think tags, special tokens, tool calls, an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.errors import ConfigError
from assay.messages import THINK_CLOSE, THINK_OPEN, Message, Sample, Turn
from assay.protocols import Protocol, canonical, protocol
from assay.reward import Reward, Score
from assay.settings import one_of

#: Control tokens of common chat templates that no answer may contain.
SPECIAL_TOKENS: tuple[str, ...] = (
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|pad|>",
)


@dataclass(frozen=True)
class ChatFormat(Reward):
    r"""R_format: 1 if every assistant turn is well formed and the last one answers, else 0.

    A turn is well formed if

    - it opens `<think>` at most once, at its start, and closes it once; reasoning that came apart
      from the content (`reasoning_content`) needs no tags;
    - something follows the reasoning: an answer, or tool calls;
    - its tool calls, structured ones and those in its text, parse in the protocol;
    - it leaks no special token, neither of the chat template nor of the protocol.

    The completion must not end on a tool's result, which nobody has answered, and must not be
    truncated, however finished it looks. The note says which turn is wrong and why.

    Source: the format reward of the Nanbeige4.1-3B report (arXiv:2602.13367); its rule and scale
    are not disclosed, these are ours.

    Args:
        protocol: `hermes`, `miroflow`, `react`, or a `Protocol` of your own.
        require_think: Every turn must have non-empty reasoning.
        think_prefilled: Whether the chat template writes `<think>` before each turn. None: a turn
            whose text closes a think that it never opened counts as opened. True: every turn starts
            inside the reasoning and must close it. False: every turn opens its own. A prompt that
            ends on `<think>` says True for its row.
        special_tokens: What counts as leaked, beside the protocol's own markers.
        per_turn: Report 1 or 0 for each turn in `Score.turns`. Off by default: in a sum these would
            be added to the credit that a turn critic gives.
        eos_token_ids: Ids that end a finished completion (`Reward.eos_token_ids`).
        name: Metric name.

    Raises:
        ConfigError: Unknown protocol, or an empty special token.

    Example:
        >>> reward = ChatFormat()
        >>> reward(completions=["<think>2+2</think>\n4", "<think>2+2", "4<|im_end|>"])
        [1.0, 0.0, 0.0]
        >>> call = '<tool_call>\n{"name": "find", "arguments": {"q": "tea"}}\n</tool_call>'
        >>> reward(completions=[call, call.replace('"q": ', "")])
        [1.0, 0.0]
    """

    protocol: str | Protocol = "hermes"
    require_think: bool = False
    think_prefilled: bool | None = None
    special_tokens: tuple[str, ...] = SPECIAL_TOKENS
    per_turn: bool = False
    eos_token_ids: tuple[int, ...] = ()
    name: str = "chat_format"
    range = (0.0, 1.0)
    _protocol: Protocol = field(
        init=False, repr=False, compare=False, metadata={"fingerprint": False}
    )

    def __post_init__(self) -> None:
        tokens = self.special_tokens
        object.__setattr__(self, "_protocol", protocol(self.protocol))
        one_of("ChatFormat.think_prefilled", self.think_prefilled, (None, False, True))
        if not isinstance(tokens, tuple | list) or not all(
            isinstance(t, str) and t for t in tokens
        ):
            raise ConfigError(
                f"special_tokens must be a sequence of non-empty texts, got {tokens!r:.80}"
            )
        object.__setattr__(self, "special_tokens", tuple(tokens))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Check every turn of every completion."""
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> Score:
        turns = sample.turns
        if not turns:
            return Score.of(0.0, passed=False, note="the completion has no assistant turn")
        prefilled = True if sample.think_prefilled else self.think_prefilled
        problems = [self._problem(turn.message, prefilled) for turn in turns]
        if sample.truncated:
            problems[-1] = problems[-1] or "truncated: the completion was cut at the length limit"
        elif self._awaits_answer(turns[-1]):
            problems[-1] = problems[-1] or "no final answer: ends on a tool's result"
        wrong = {str(index): problem for index, problem in enumerate(problems) if problem}
        return Score.of(
            float(not wrong),
            passed=not wrong,
            turns=[float(not problem) for problem in problems] if self.per_turn else None,
            note="; ".join(f"turn {index}: {problem}" for index, problem in wrong.items()),
            info={"turns": wrong} if wrong else {},
        )

    def _awaits_answer(self, last: Turn) -> bool:
        """Whether tool results follow the last assistant turn, as `tool` or as user messages."""
        messages = canonical((last.message, *last.results), self._protocol)
        return any(message.role == "tool" for message in messages)

    def _problem(self, message: Message, prefilled: bool | None) -> str:
        """What is wrong with a turn, or empty."""
        think = _think_problem(message, prefilled)
        if think:
            return think
        reasoning, answer = message.split(prefilled=prefilled is True)
        if self.require_think and not (reasoning or "").strip():
            return "no reasoning"
        turn = self._protocol.parse(answer)
        calls = (*message.tool_calls, *turn.calls)
        for index, call in enumerate(calls):
            if call.error:
                return f"tool call {index + 1} of {len(calls)} is malformed: {call.error}"
        for token in (*self.special_tokens, *self._protocol.special_tokens):
            if token in turn.text:
                return f"special token {token} in the answer"
        for token in self.special_tokens:
            if reasoning and token in reasoning:
                return f"special token {token} in the reasoning"
            if any(token in call.raw for call in turn.calls):
                return f"special token {token} in a tool call"
        if not turn.text.strip() and not calls:
            return "nothing follows the reasoning" if reasoning is not None else "empty answer"
        return ""


def _think_problem(message: Message, prefilled: bool | None) -> str:
    """What is wrong with a turn's think tags, or empty."""
    text = message.content
    opened, closed = text.count(THINK_OPEN), text.count(THINK_CLOSE)
    if message.reasoning_apart:
        inside = message.reasoning or ""
        tagged = opened or closed or THINK_OPEN in inside or THINK_CLOSE in inside
        return "a think tag beside reasoning_content" if tagged else ""
    if prefilled is None:
        prefilled = closed > 0 and opened == 0
    if closed > 1:
        return f"{THINK_CLOSE} {closed} times"
    if prefilled and opened:
        return f"{THINK_OPEN} again, the template had opened it"
    if opened > 1:
        return f"{THINK_OPEN} {opened} times"
    if (prefilled or opened) and not closed:
        return f"{THINK_OPEN} is never closed"
    if closed and not (prefilled or opened):
        return f"{THINK_CLOSE} without {THINK_OPEN}"
    if opened and text.find(THINK_CLOSE) < text.find(THINK_OPEN):
        return f"{THINK_CLOSE} before {THINK_OPEN}"
    if opened and text[: text.find(THINK_OPEN)].strip():
        return f"text before {THINK_OPEN}"
    return ""
