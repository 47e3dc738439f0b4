"""Environments written by a language model: as data, validated like the generated ones.

Source: the report (arXiv:2602.13367) trains on 1,827 synthesized environments with tools and
verifiers and does not say how they were written. This way is ours: a model writes a task as JSON,
no code of its own is run, and what does not pass `validate` goes back to it with the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from assay.errors import AssayError, ConfigError, JudgeError
from assay.json_object import MalformedJson, parse_object
from assay.judges.client import Client
from assay.messages import Message
from assay.policy.environments.spec import EnvironmentSpec
from assay.policy.environments.table_task import TableTask
from assay.policy.environments.validation import validate

_FIELDS = ("task", "tables", "tools", "goal", "oracle", "answer")


@dataclass(frozen=True)
class SpecWriter:
    """Asks a model for environments until they pass.

    Args:
        client: Any model behind `assay.judges` (`Endpoint`, `LocalModel`).
        attempts: Replies at most for one environment.
        max_calls: Budget of the environments.
    """

    client: Client
    attempts: int = 3
    max_calls: int = 30

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not self.attempts >= 1:
            raise ConfigError(f"SpecWriter.attempts must be >= 1, got {self.attempts!r}")

    def write(self, topic: str) -> tuple[TableTask | None, list[str]]:
        """A validated task, or None, and what was wrong with each attempt before it.

        Raises:
            JudgeError: The model could not be reached.
        """
        prompt = files(__package__).joinpath("prompts/spec.txt").read_text(encoding="utf-8")
        messages = [Message("user", prompt.replace("{topic}", topic))]
        problems: list[str] = []
        for _ in range(self.attempts):
            reply = self.client.ask([tuple(messages)])[0]
            if reply.status != "ok":
                raise JudgeError(f"the model that writes environments failed: {reply.error}")
            task, problem = read_task(reply.text, self.max_calls)
            if task is not None:
                return task, problems
            problems.append(problem)
            messages += [
                Message("assistant", reply.text),
                Message(
                    "user", f"That cannot be used: {problem}. Reply with the whole object again."
                ),
            ]
        return None, problems

    def environment(self, topic: str) -> EnvironmentSpec | None:
        """A validated environment, or None where no attempt passed."""
        task, _ = self.write(topic)
        return None if task is None else task.environment()


def read_task(text: str, max_calls: int = 30) -> tuple[TableTask | None, str]:
    """The task that a reply holds, if it passes validation; else None and why not."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        fields = parse_object(text[begin : end + 1]) if 0 <= begin < end else None
    except MalformedJson as error:
        return None, f"the reply is not one JSON object: {error}"
    if fields is None:
        return None, "the reply holds no JSON object"
    if problem := _shape(fields):
        return None, problem
    try:
        task = TableTask(
            task=fields["task"],
            tables=fields["tables"],
            tools=tuple(fields["tools"]),
            goal=fields["goal"],
            oracle=tuple((name, arguments) for name, arguments in fields["oracle"]),
            answer=fields["answer"],
            family="written",
            max_calls=max_calls,
        )
        spec = task.environment()
        if not any(tool.changes for tool in spec.tools):
            return None, "no tool changes anything"
        validation = validate(spec)
    except AssayError as error:
        return None, str(error)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        return None, f"the task cannot be run: {error!r:.200}"
    return (task, "") if validation.passed else (None, "; ".join(validation.problems))


def _shape(fields: Mapping[str, Any]) -> str:
    """Why the object has not the fields of a task; empty where it has."""
    if missing := [name for name in _FIELDS if name not in fields]:
        return f"the object lacks {missing}"
    kinds: dict[str, Any] = {
        "task": str,
        "tables": dict,
        "tools": list,
        "goal": dict,
        "oracle": list,
    }
    for name, kind in kinds.items():
        if not isinstance(fields[name], kind) or not fields[name]:
            return f"{name!r} must be a non-empty {kind.__name__}"
    if not isinstance(fields["answer"], str | None):
        return "'answer' must be text or null"
    for name, rows in [*fields["tables"].items(), *fields["goal"].items()]:
        if not isinstance(rows, dict) or not all(isinstance(r, dict | None) for r in rows.values()):
            return f"table {name!r} must hold rows of fields by key"
    if any(row is None for rows in fields["tables"].values() for row in rows.values()):
        return "a row of 'tables' is null"
    for call in fields["oracle"]:
        if not (isinstance(call, list) and len(call) == 2 and isinstance(call[1], dict)):
            return "a call of 'oracle' must be [tool name, {argument: value}]"
    return ""
