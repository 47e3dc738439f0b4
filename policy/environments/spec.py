"""The small description that every environment is made from: tools, state, task, verifier."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.errors import AssayError, ConfigError
from assay.judges.json_schema import check_schema, problem

#: Most tool calls of any episode; the evaluation framework of the report stops there too.
MOST_CALLS = 600
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = frozenset({"reset", "get_reward"})


class ToolError(AssayError):
    """The call cannot be done as asked: the agent reads why and may try another."""


class ToolUnavailable(AssayError):
    """The environment's own fault (a search service is down), never held against the agent."""


@dataclass(frozen=True)
class Tool:
    """One tool of an environment.

    Args:
        name: Lower case, as a Python method may be called.
        description: For the agent.
        parameters: JSON schema of the arguments, an object (`assay.judges.json_schema` says which
            keywords are checked).
        run: `run(state, **arguments)`; what it returns is shown to the agent, text as it is and
            anything else as JSON. It raises ToolError for calls that cannot be done.
        changes: Whether a call can change the state. Reading tools say False.

    Raises:
        ConfigError: A name, schema or function that is none.

    Example:
        >>> tool = Tool("add", "Add to the total.",
        ...             {"type": "object", "properties": {"n": {"type": "integer"}},
        ...              "required": ["n"], "additionalProperties": False},
        ...             lambda state, n: state.append(n), changes=True)
        >>> tool.fault({"n": "3"})
        "the arguments.n must be integer, got '3'"
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., Any]
    changes: bool = False

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ConfigError(f"a tool's name must match {_NAME.pattern!r}, got {self.name!r:.80}")
        if self.name in _RESERVED:
            raise ConfigError(f"trainers use the name {self.name!r} themselves; rename the tool")
        if not callable(self.run):
            raise ConfigError(f"tool {self.name!r}: run must be callable, got {self.run!r:.80}")
        check_schema(self.parameters, f"parameters of tool {self.name!r}")
        if self.parameters.get("type") != "object":
            raise ConfigError(f"parameters of tool {self.name!r} must be of type 'object'")

    def fault(self, arguments: Any) -> str:
        """Why `arguments` break the schema; empty where they do not."""
        return problem(arguments, self.parameters, "the arguments")

    def schema(self) -> dict[str, Any]:
        """The tool as chat templates and OpenAI-compatible servers take it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """What a verifier says of a final state.

    Attributes:
        passed: The task is done.
        value: Reward in [0, 1]; 1 where passed, 0 otherwise, unless partial credit is given.
        note: What is missing or wrong, for people.
    """

    passed: bool
    value: float
    note: str = ""

    @classmethod
    def of(cls, passed: bool, note: str = "") -> Finding:
        """All or nothing."""
        return cls(passed, float(passed), note)


@dataclass(frozen=True)
class EnvironmentSpec:
    """An environment: everything an episode needs.

    Args:
        id: Unique name.
        task: What the agent is asked, one user message.
        tools: Tools on offer.
        start: Makes a fresh state; two calls give equal, unconnected ones.
        verify: `verify(state, answer)` looks at the final state and the agent's last words (None
            where it said none).
        max_calls: Budget of tool calls, at most 600.
        family: What it is one of.
        oracle: Calls that solve the task in order, `(tool name, arguments)`, with the answer at the
            end; for validation only.
        answer: What the oracle says at the end.

    Raises:
        ConfigError: No tools, two of one name, or a budget outside 1 to 600.
    """

    id: str
    task: str
    tools: tuple[Tool, ...]
    start: Callable[[], Any]
    verify: Callable[[Any, str | None], Finding]
    max_calls: int = 50
    family: str = ""
    oracle: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    answer: str = "Done."

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.tools]
        if not names or len(set(names)) < len(names):
            raise ConfigError(
                f"environment {self.id!r} needs tools of different names, got {names}"
            )
        calls = self.max_calls
        if isinstance(calls, bool) or not isinstance(calls, int) or not 1 <= calls <= MOST_CALLS:
            raise ConfigError(
                f"EnvironmentSpec.max_calls must be a whole number from 1 to {MOST_CALLS}, got "
                f"{calls!r:.80}"
            )

    def schemas(self) -> tuple[dict[str, Any], ...]:
        """Schemas of all tools."""
        return tuple(tool.schema() for tool in self.tools)

    def tool(self, name: str) -> Tool | None:
        """The tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)
