"""Fine-tuning on trajectories turn by turn: a failing turn stays in context and out of the loss.

Rows are those of ToolMind-Web-QA: `key`, `id`, `conversations` with `role`, `content` and `loss` in
{0, 1}. `labelled` turns such messages into `input_ids` and `labels`, which TRL's SFTTrainer takes
as they are, packed or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judge import TurnCritic, TurnVerdict
from assay.messages import Message, Trajectory
from assay.policy.data.trajectory_rows import WRITERS, message_row

#: The forms that hold a conversation in one list of messages.
FORMS = ("hermes", "miroflow", "react", "openai")
#: The label of a token outside the loss.
IGNORED = -100


@dataclass(frozen=True, slots=True)
class Labelled:
    """Token ids and, in the same positions, labels: the id itself, or -100 outside the loss."""

    input_ids: list[int]
    labels: list[int]

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, list[int]]:
        """A row for `trl.SFTTrainer`."""
        return {"input_ids": self.input_ids, "labels": self.labels}


def loss_flags(verdicts: Sequence[TurnVerdict]) -> tuple[int, ...]:
    """0 for a turn that failed, 1 for every other: an abstention is not held against a turn.

    A turn that corrects an earlier one passes on its own verdict, so it stays trainable.

    >>> loss_flags([TurnVerdict(True, False, True), TurnVerdict(None, None, None)])
    (0, 1)
    """
    return tuple(int(verdict.passed is not False) for verdict in verdicts)


def losses_of_row(row: Mapping[str, Any]) -> tuple[int, ...]:
    """The `loss` of every assistant message of a row; 1 where it does not say.

    Raises:
        DataError: A `loss` that is neither 0 nor 1, or no messages.
    """
    flags = []
    for message in _messages(row):
        if message.get("role") == "assistant":
            flags.append(loss_flag(message))
    return tuple(flags)


def supervised_rows(
    trajectories: Iterable[Trajectory],
    critic: TurnCritic,
    *,
    form: str = "hermes",
    min_outcome: float | None = None,
    batch: int = 32,
) -> Iterator[dict[str, Any]]:
    """Rows for fine-tuning, failing turns with `loss` 0.

    Args:
        trajectories: Any number; reviewed `batch` at a time.
        critic: Its failing verdicts are masked.
        form: `hermes`, `miroflow` or `react` writes calls as text, `openai` keeps `tool_calls`.
        min_outcome: Leave out runs whose outcome is below it, or unknown; None keeps all.
        batch: Trajectories that the critic sees at once.

    Raises:
        ConfigError: No such form, or an empty batch.
    """
    _check_form(form)
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise ConfigError(f"batch must be a whole number >= 1, got {batch!r:.40}")
    waiting: list[Trajectory] = []
    for trajectory in trajectories:
        outcome = trajectory.outcome
        if min_outcome is not None and (outcome is None or outcome < min_outcome):
            continue
        waiting.append(trajectory)
        if len(waiting) == batch:
            yield from _reviewed(waiting, critic, form)
            waiting = []
    yield from _reviewed(waiting, critic, form)


def supervised_row(
    trajectory: Trajectory, flags: Sequence[int], form: str = "hermes"
) -> dict[str, Any]:
    """One row for fine-tuning.

    Args:
        trajectory: Canonical.
        flags: 0 or 1 for every assistant turn.
        form: As in `supervised_rows`.

    Raises:
        ConfigError: No such form.
        DataError: Not one flag per assistant turn, or one that is neither 0 nor 1.
    """
    _check_form(form)
    if not all(flag in (0, 1) for flag in flags):
        raise DataError(f"a loss flag must be 0 or 1, got {list(flags)[:10]}")
    turns = len(trajectory.turns)
    if len(flags) != turns:
        raise DataError(f"{turns} assistant turns need as many loss flags, got {len(flags)}")
    messages = WRITERS[form](trajectory)["messages"]
    left = iter(flags)
    conversation = [
        {**message, "loss": int(next(left)) if message["role"] == "assistant" else 0}
        for message in messages
    ]
    row: dict[str, Any] = {"key": trajectory.id, "id": trajectory.id}
    if trajectory.tools:
        row["tools"] = [dict(tool) for tool in trajectory.tools]
    return {**row, "conversations": conversation}


def labelled(row: Mapping[str, Any], tokenizer: Any, *, max_length: int | None = None) -> Labelled:
    """Tokens and labels of a row under a tokenizer's chat template.

    Args:
        row: With `conversations` (or `messages`) that carry `loss`, and `tools` where there are.
        tokenizer: A fast tokenizer with a chat template. Turns are told by `{% generation %}`
            where the template has it, else by rendering what comes before and after each of them.
        max_length: Keep so many tokens from the start.

    Raises:
        DataError: A `loss` that is neither 0 nor 1, or a template under which the turns cannot be
            told apart (one that rewrites earlier turns and marks none).
    """
    messages = _messages(row)
    plain = [{k: v for k, v in message.items() if k != "loss"} for message in messages]
    flags = losses_of_row(row)
    tools = [dict(tool) for tool in row.get("tools") or ()] or None
    if "{% generation" in str(tokenizer.chat_template) or "{%- generation" in str(
        tokenizer.chat_template
    ):
        ids, turns = _marked(plain, tools, tokenizer)
    else:
        ids, turns = _by_prefix(plain, tools, tokenizer)
    if len(turns) != len(flags):
        raise DataError(
            f"the chat template shows {len(turns)} of {len(flags)} assistant turns; use one that "
            "renders every turn"
        )
    labels = [IGNORED] * len(ids)
    for flag, positions in zip(flags, turns, strict=True):
        for position in positions if flag else ():
            labels[position] = ids[position]
    end = len(ids) if max_length is None else max_length
    return Labelled(ids[:end], labels[:end])


def _marked(messages: list[Any], tools: Any, tokenizer: Any) -> tuple[list[int], list[list[int]]]:
    """Ids, and the positions of every assistant turn, by the template's own marks."""
    done = tokenizer.apply_chat_template(
        messages, tools=tools, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    turns: list[list[int]] = []
    before = 0
    for position, inside in enumerate(done["assistant_masks"]):
        if inside and not before:
            turns.append([])
        if inside:
            turns[-1].append(position)
        before = inside
    return list(done["input_ids"]), turns


def _by_prefix(
    messages: list[Any], tools: Any, tokenizer: Any
) -> tuple[list[int], list[list[int]]]:
    """The same, by rendering what stands before and after each turn."""

    def text(until: int, prompt: bool) -> str:
        return str(
            tokenizer.apply_chat_template(
                messages[:until], tools=tools, tokenize=False, add_generation_prompt=prompt
            )
        )

    whole = text(len(messages), False)
    spans = []
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        start, end = text(index, True), text(index + 1, False)
        if not (whole.startswith(start) and whole.startswith(end) and len(start) <= len(end)):
            raise DataError(
                f"the chat template rewrites what stands before message {index}, so its tokens "
                "cannot be told; use a template with {% generation %} marks"
            )
        spans.append((len(start), len(end.rstrip("\n"))))
    done = tokenizer(whole, add_special_tokens=False, return_offsets_mapping=True)
    turns: list[list[int]] = [[] for _ in spans]
    at = 0
    for position, (begin, end) in enumerate(done["offset_mapping"]):
        while at < len(spans) and begin >= spans[at][1]:
            at += 1
        if at == len(spans):
            break
        if end > spans[at][0]:
            turns[at].append(position)
    return list(done["input_ids"]), turns


def _reviewed(
    trajectories: list[Trajectory], critic: TurnCritic, form: str
) -> Iterator[dict[str, Any]]:
    if trajectories:
        reviews = critic.review(trajectories)
        for trajectory, verdicts in zip(trajectories, reviews, strict=True):
            yield supervised_row(trajectory, loss_flags(verdicts), form)


def _messages(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = row.get("conversations", row.get("messages"))
    if not isinstance(found, Sequence) or isinstance(found, str) or not found:
        raise DataError(
            f"a row for fine-tuning needs `conversations` or `messages`, it has {sorted(row)[:20]}"
        )
    if wrong := [m for m in found if not isinstance(m, dict | Message)]:
        raise DataError(f"a message must be a mapping, got {wrong[0]!r:.60}")
    return [message if isinstance(message, dict) else message_row(message) for message in found]


def _check_form(form: str) -> None:
    if form not in FORMS:
        raise ConfigError(f"form must be one of {', '.join(FORMS)}, got {form!r:.60}")


def loss_flag(message: Mapping[str, Any]) -> int:
    """The `loss` of a message; 1 where it does not say.

    Raises:
        DataError: It is neither 0 nor 1.
    """
    value = message.get("loss", 1)
    value = 1 if value is None else value
    if value not in (0, 1):
        raise DataError(f"`loss` must be 0 or 1, got {value!r:.40}")
    return int(value)
