"""Readers of the forms that trajectories come in, by name, and which form a row has."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.errors import DataError
from assay.fenced_code import extract_code
from assay.field_readers import listed
from assay.json_object import MalformedJson, parse_object
from assay.messages import ROLES, Message, ToolCall, Trajectory, as_messages
from assay.protocols import canonical

#: Names under which Who&When's execution of code speaks.
TERMINALS = frozenset({"computer_terminal", "computerterminal", "terminal"})
#: The tool that a fenced block becomes where a terminal answers it.
CODE_TOOL = "execute_code"
_REACT = re.compile(r"^[ \t]*Action(?: Input)?[ \t]*(?:\d+[ \t]*)?:", re.MULTILINE)
_TOOLS = re.compile(r"<tools>\s*(.*?)\s*</tools>", re.DOTALL)
_FENCE = re.compile(r"```[ \t]*(\w+)?")
#: Columns that become something else than `info`.
_TAKEN = frozenset(
    {
        *("messages", "prompt", "completion", "completions", "conversations", "traj", "history"),
        *("tools", "id", "outcome", "reward", "budget", "info", "key", "task_id", "trial"),
    }
)


def form_of(row: Mapping[str, Any]) -> str:
    """The form of a row, by its columns.

    Raises:
        DataError: None of them.
    """
    for column, form in (
        ("traj", "tau_bench"),
        ("history", "who_and_when"),
        ("conversations", "toolmind"),
        ("messages", "openai"),
        ("completion", "trl"),
        ("completions", "trl"),
    ):
        if row.get(column) is not None:
            return form
    raise DataError(
        "a row of a trajectory needs one of `messages`, `completion`, `conversations`, `traj` or "
        f"`history`; it has {sorted(map(str, row))[:20]}"
    )


def protocol_of(messages: Iterable[Message]) -> str | None:
    """The text protocol in which assistant turns call tools, or None where none does."""
    for message in messages:
        if message.role != "assistant" or message.tool_calls:
            continue
        text = message.content
        if "<use_mcp_tool>" in text:
            return "miroflow"
        if "<tool_call>" in text:
            return "hermes"
        if _REACT.search(text):
            return "react"
    return None


def read_conversation(
    messages: Iterable[Message], row: Mapping[str, Any], protocol: str | None = None
) -> Trajectory:
    """Canonical messages with what the row says of tools, outcome, budget and origin."""
    told = tuple(messages)
    name = protocol or protocol_of(told)
    found = canonical(told, name) if name else _apart(told)
    tools = _tools(row.get("tools")) or _tools_in_text(found)
    info = dict(row.get("info") or {}) if isinstance(row.get("info"), Mapping) else {}
    info |= {key: value for key, value in row.items() if key not in _TAKEN}
    identity = row.get("id", row.get("key"))
    return Trajectory(
        named_results(found),
        tools,
        _outcome(row),
        "" if identity is None else str(identity),
        _budget(row.get("budget")),
        info,
    )


def named_results(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Tool messages with the name and id of the call they answer, by order where they lack them."""
    found: list[Message] = []
    open_calls: list[ToolCall] = []
    for message in messages:
        if message.role == "assistant":
            open_calls = list(message.tool_calls)
        elif message.role == "tool" and open_calls:
            same = [c for c in open_calls if c.id and c.id == message.tool_call_id]
            call = same[0] if same else open_calls[0]
            open_calls.remove(call)
            message = replace(
                message,
                name=message.name or call.name or None,
                tool_call_id=message.tool_call_id or call.id or None,
            )
        found.append(message)
    return tuple(found)


def _protocol_reader(protocol: str | None) -> Callable[[Mapping[str, Any]], Trajectory]:
    def read(row: Mapping[str, Any]) -> Trajectory:
        for column in ("messages", "conversations", "completion", "completions"):
            if row.get(column) is not None:
                prompt = row.get("prompt") if column.startswith("completion") else None
                before = as_messages(prompt, role="user") if prompt is not None else ()
                after = as_messages(row[column], role="assistant")
                return read_conversation((*before, *after), row, protocol)
        raise DataError(f"the row has neither `messages` nor `completion`, but {sorted(row)[:20]}")

    return read


def _tau_bench(row: Mapping[str, Any]) -> Trajectory:
    messages = as_messages(row["traj"], role="user")
    identity = f"{row.get('task_id', '')}/{row.get('trial', 0)}"
    return read_conversation(messages, {**row, "id": row.get("id", identity)})


def _who_and_when(row: Mapping[str, Any]) -> Trajectory:
    """One assistant turn per step of an agent; the terminal's steps are results.

    `info["turn_steps"]` holds the index in `history` of every turn, `info["mistake_step"]` the one
    that broke the run.
    """
    steps = listed(row["history"])
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise DataError(f"`history` must be a list of steps, got {type(steps).__name__}")
    messages: list[Message] = []
    turn_steps: list[int] = []
    for index, step in enumerate(steps):
        message = _step(step)
        if message.role == "tool":
            if messages and messages[-1].role == "assistant" and "```" in messages[-1].content:
                messages[-1] = _with_code(messages[-1])
        elif message.role == "assistant":
            turn_steps.append(index)
        messages.append(message)
    told = row.get("mistake_step")
    mistake = None
    if told is not None:
        try:
            mistake = int(told)
        except (TypeError, ValueError):
            raise DataError(f"mistake_step must be a whole number, got {told!r:.40}") from None
    more = {"turn_steps": turn_steps, "mistake_step": mistake, "steps": len(steps)}
    kept = {key: value for key, value in row.items() if key != "mistake_step"}
    if row.get("is_correct") is not None and "outcome" not in row:
        kept["outcome"] = float(bool(row["is_correct"]))
    identity = row.get("id", row.get("question_ID"))
    return read_conversation(messages, {**kept, **more, "id": identity}, None)


def _step(step: Any) -> Message:
    if not isinstance(step, Mapping):
        raise DataError(f"a step of `history` must be a mapping, got {type(step).__name__}")
    role, name = str(step.get("role") or ""), str(step.get("name") or "")
    speaker = name or role
    text = Message.of({"role": "user", "content": step.get("content")}).content
    if speaker.lower() in TERMINALS:
        return Message("tool", text, name=speaker)
    if not name and role.lower() in ("human", "user", "system", "developer"):
        return Message("system" if role.lower() in ("system", "developer") else "user", text)
    if not name and role == "tool":
        return Message("tool", text)
    return Message("assistant", text, name=None if speaker in ROLES else speaker)


def _with_code(message: Message) -> Message:
    """The fenced block that the terminal runs, as a call; the text stays as it is."""
    fence = _FENCE.search(message.content)
    language = (fence[1] if fence and fence[1] else "python").lower()
    code = extract_code(message.content, language).code if language else None
    if code is None:
        return message
    call = ToolCall(CODE_TOOL, {"code": code, "language": language})
    return replace(message, tool_calls=(*message.tool_calls, call))


def _apart(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Reasoning in think tags moves to its own field."""
    found = []
    for message in messages:
        if message.role == "assistant" and message.reasoning is None:
            reasoning, answer = message.split()
            if reasoning is not None:
                message = replace(message, reasoning=reasoning, content=answer)
        found.append(message)
    return tuple(found)


def _tools(value: Any) -> tuple[Mapping[str, Any], ...]:
    value = listed(value)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise DataError(f"`tools` is text but not JSON: {error}") from None
    if value is None:
        return ()
    if not isinstance(value, Sequence) or not all(isinstance(tool, Mapping) for tool in value):
        raise DataError(f"`tools` must be a list of JSON schemas, got {value!r:.80}")
    return tuple(value)


def _tools_in_text(messages: Sequence[Message]) -> tuple[Mapping[str, Any], ...]:
    """Tools that the system message lists, one JSON object a line, between `<tools>` tags."""
    system = next((m.content for m in messages if m.role == "system"), "")
    found: list[Mapping[str, Any]] = []
    for block in _TOOLS.findall(system) if "<tools>" in system else ():
        for line in block.splitlines():
            try:
                found.append(parse_object(line))
            except MalformedJson:
                continue
    return tuple(found)


def _outcome(row: Mapping[str, Any]) -> float | None:
    value = row.get("outcome", row.get("reward"))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        raise DataError(f"the outcome of a run must be a finite number, got {value!r:.40}")
    return float(value)


def _budget(value: Any) -> int | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (0 <= value < math.inf and value == int(value))
    ):
        raise DataError(f"`budget` must be a whole number of calls >= 0, got {value!r:.40}")
    return int(value)


FORMS: dict[str, Callable[[Mapping[str, Any]], Trajectory]] = {
    "openai": _protocol_reader(None),
    "trl": _protocol_reader(None),
    "toolmind": _protocol_reader(None),
    "hermes": _protocol_reader("hermes"),
    "miroflow": _protocol_reader("miroflow"),
    "react": _protocol_reader("react"),
    "tau_bench": _tau_bench,
    "who_and_when": _who_and_when,
}
