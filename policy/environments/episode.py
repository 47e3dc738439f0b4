"""One run of an environment: calls are checked, counted, done and recorded; the end is verified."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.messages import ToolCall
from assay.policy.environments.spec import EnvironmentSpec, Finding, ToolError, ToolUnavailable

#: Longest error text that an agent is shown.
_LONGEST_ERROR = 500


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an episode and what came of it.

    Attributes:
        name: Of the tool.
        arguments: As given; None where they could not be read.
        result: What the agent was shown.
        error: Whose fault a failed call is, `agent` or `environment`; else empty.
    """

    name: str
    arguments: Mapping[str, Any] | None
    result: str
    error: str = ""

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended.

    Attributes:
        value: In [0, 1], or None where the environment failed so that nothing is known.
        passed: Whether the task is done; None where that is not known.
        calls: Tool calls made, refused ones among them.
        note: Why.
    """

    value: float | None
    passed: bool | None
    calls: int
    note: str = ""


@dataclass
class Episode:
    """A running environment.

    Example:
        >>> from assay.policy.environments import depth_environment
        >>> episode = Episode(depth_environment(10, seed=0))
        >>> episode.call("open_door", {"door": "none"}).startswith('{"error"')
        True
        >>> episode.outcome("I give up").passed
        False
    """

    spec: EnvironmentSpec
    state: Any = None
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = self.spec.start()

    @property
    def left(self) -> int:
        """Calls left in the budget."""
        return max(0, self.spec.max_calls - len(self.calls))

    def call(self, name: str, arguments: Mapping[str, Any] | None, fault: str = "") -> str:
        """Do a call and return what the agent is shown; faults are shown as `{"error": ...}`.

        Args:
            name: Of the tool.
            arguments: Parsed arguments.
            fault: Why the call could not even be read.
        """
        result, error = self._done(name, arguments, fault)
        self.calls.append(Call(name, arguments, result, error))
        return result

    def call_of(self, call: ToolCall) -> str:
        """`call` of an agent's message."""
        return self.call(call.name, call.arguments, call.error)

    def outcome(self, answer: str | None) -> Outcome:
        """Verify the final state.

        A run that did not pass while the environment was at fault says nothing about the agent: its
        value is None. So is that of a run whose verifier cannot be reached.
        """
        count = len(self.calls)
        try:
            finding: Finding = self.spec.verify(self.state, answer)
        except ToolUnavailable as error:
            return Outcome(None, None, count, f"the verifier could not run: {error}")
        faults = [call for call in self.calls if call.error == "environment"]
        if faults and not finding.passed:
            return Outcome(None, None, count, f"{len(faults)} calls failed: {faults[0].result}")
        return Outcome(finding.value, finding.passed, count, finding.note)

    def _done(self, name: str, arguments: Mapping[str, Any] | None, fault: str) -> tuple[str, str]:
        if not self.left:
            return _error(
                f"the budget of {self.spec.max_calls} calls is used up; answer now"
            ), "agent"
        if fault:
            return _error(f"the call cannot be read: {fault}"), "agent"
        tool = self.spec.tool(name)
        if tool is None:
            known = ", ".join(tool.name for tool in self.spec.tools)
            return _error(f"there is no tool {name!r:.80}; the tools are: {known}"), "agent"
        if fault := tool.fault(arguments):
            return _error(f"{name}: {fault}"), "agent"
        try:
            return _shown(tool.run(self.state, **dict(arguments or {}))), ""
        except ToolError as error:
            return _error(f"{name}: {error}"), "agent"
        except ToolUnavailable as error:
            return _error(f"environment error, not your fault: {name}: {error}"), "environment"


def _shown(result: Any) -> str:
    if isinstance(result, str):
        return result
    return json.dumps(result, ensure_ascii=False, sort_keys=False)


def _error(text: str) -> str:
    return json.dumps({"error": text[:_LONGEST_ERROR]}, ensure_ascii=False)
