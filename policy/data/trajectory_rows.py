"""Writers of trajectories: one row in each of the forms that `trajectory_forms` reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from assay.errors import DataError
from assay.messages import THINK_CLOSE, THINK_OPEN, Message, ToolCall, Trajectory
from assay.policy.data.trajectory_forms import CODE_TOOL
from assay.protocols import canonical, protocol

#: The server that calls without one are written with in MiroFlow's form.
SERVER = "tools"


def message_row(message: Message) -> dict[str, Any]:
    """A message as servers take it, with `reasoning_content` and `is_error` where it has them."""
    row: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.reasoning is not None:
        row["reasoning_content"] = message.reasoning
    if message.tool_calls:
        row["tool_calls"] = [call.to_json() for call in message.tool_calls]
    more = {
        "name": message.name,
        "tool_call_id": message.tool_call_id,
        "is_error": message.is_error,
    }
    return row | {key: value for key, value in more.items() if value is not None}


def text_messages(trajectory: Trajectory, name: str) -> Iterator[dict[str, str]]:
    """The conversation in a text protocol: calls inside the turns, results in user turns."""
    reader = protocol(name)
    results: list[str] = []
    for message in trajectory.messages:
        if message.role == "tool":
            results.append(reader.render_result(message.content))
            continue
        if results:
            yield {"role": "user", "content": "\n".join(results)}
            results = []
        yield {"role": message.role, "content": _text(message, name)}
    if results:
        yield {"role": "user", "content": "\n".join(results)}


def _text(message: Message, name: str) -> str:
    if message.role != "assistant":
        return message.content
    reader = protocol(name)
    calls = [
        _malformed(call, name) if call.error else reader.render_call(_served(call, name))
        for call in message.tool_calls
    ]
    if name == "react":
        thought = f"Thought: {message.reasoning}" if message.reasoning is not None else ""
        said = message.content
        if said and not calls and thought:
            said = f"Final Answer: {said}"
            return f"{thought}\n{said}"
        return "\n".join(part for part in (said, thought, *calls) if part)
    text = "\n".join(part for part in (message.content, *calls) if part)
    if message.reasoning is None:
        return text
    return f"{THINK_OPEN}\n{message.reasoning}\n{THINK_CLOSE}\n\n{text}"


def _malformed(call: ToolCall, name: str) -> str:
    """A malformed call as it was, or between the marks of the protocol if it was of another one."""
    said = json.dumps(call.name, ensure_ascii=False)
    wrapped = {
        "hermes": f'<tool_call>\n{{"name": {said}, "arguments": {call.raw}}}\n</tool_call>',
        "miroflow": (
            f"<use_mcp_tool>\n<server_name>{call.server or SERVER}</server_name>\n"
            f"<tool_name>{call.name}</tool_name>\n<arguments>\n{call.raw}\n</arguments>\n"
            "</use_mcp_tool>"
        ),
        "react": f"Action: {call.name}\nAction Input: {call.raw}",
    }
    bare = {  # not closed, or without input
        "hermes": f"<tool_call>{call.name} {call.raw}",
        "miroflow": f"<use_mcp_tool>{call.name} {call.raw}",
        "react": f"Action: {call.name}\n(malformed) {call.raw}",
    }
    for text in (call.raw, wrapped[name]):
        found = canonical((Message("assistant", text),), name)[0].tool_calls
        if len(found) == 1 and found[0].error:
            return text
    return bare[name]


def _served(call: ToolCall, name: str) -> ToolCall:
    """MiroFlow's calls name a server."""
    return replace(call, server=SERVER) if name == "miroflow" and not call.server else call


def _about(trajectory: Trajectory) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if trajectory.id:
        row["id"] = trajectory.id
    if trajectory.tools:
        row["tools"] = [dict(tool) for tool in trajectory.tools]
    if trajectory.outcome is not None:
        row["outcome"] = trajectory.outcome
    if trajectory.budget is not None:
        row["budget"] = trajectory.budget
    if trajectory.info:
        row["info"] = dict(trajectory.info)
    return row


def _openai(trajectory: Trajectory) -> dict[str, Any]:
    return {"messages": [message_row(m) for m in trajectory.messages], **_about(trajectory)}


def _trl(trajectory: Trajectory) -> dict[str, Any]:
    messages = [message_row(message) for message in trajectory.messages]
    first = next((i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages))
    return {"prompt": messages[:first], "completion": messages[first:], **_about(trajectory)}


def _text_form(name: str, trajectory: Trajectory) -> dict[str, Any]:
    return {"messages": list(text_messages(trajectory, name)), **_about(trajectory)}


def _tau_bench(trajectory: Trajectory) -> dict[str, Any]:
    task, _, trial = trajectory.id.partition("/")
    row = {"traj": [message_row(m) for m in trajectory.messages], **_about(trajectory)}
    row["reward"] = row.pop("outcome", None)
    whole = int(trial) if trial.isdigit() else 0
    return row | {"task_id": int(task) if task.isdigit() else task, "trial": whole}


def _who_and_when(trajectory: Trajectory) -> dict[str, Any]:
    if any(m.role == "tool" and not m.name for m in trajectory.messages):
        raise DataError(
            "Who&When tells results by the name of the terminal, and a tool message here has no "
            "name; write the form 'openai'"
        )
    if lost := [c.name for m in trajectory.messages for c in m.tool_calls if not _fenced(m, c)]:
        raise DataError(
            f"Who&When knows no calls but code in fences, and here {lost[0]!r:.60} is called; "
            "write the form 'openai'"
        )
    history = [
        {"content": message.content, "role": message.role} | ({"name": message.name}
        if message.name and message.role != "tool" else {})
        | ({"role": "user", "name": "Computer_terminal"} if message.role == "tool" else {})
        for message in trajectory.messages
    ]  # fmt: skip
    info = {k: v for k, v in trajectory.info.items() if k not in ("turn_steps", "steps")}
    row = _about(trajectory)
    row.pop("info", None)
    row.pop("outcome", None)
    if info.get("mistake_step") is not None:
        info["mistake_step"] = str(info["mistake_step"])
    return {"history": history, **row, **info}


def _fenced(message: Message, call: ToolCall) -> bool:
    return call.name == CODE_TOOL and "```" in message.content


WRITERS: dict[str, Callable[[Trajectory], dict[str, Any]]] = {
    "openai": _openai,
    "trl": _trl,
    "hermes": partial(_text_form, "hermes"),
    "miroflow": partial(_text_form, "miroflow"),
    "react": partial(_text_form, "react"),
    "tau_bench": _tau_bench,
    "who_and_when": _who_and_when,
}
