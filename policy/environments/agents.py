"""Scripted agents that environments are validated with: one that can, and some that will not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.messages import Message, ToolCall
from assay.policy.environments.spec import EnvironmentSpec


class Scripted:
    """Makes the given calls one by one, then gives the answer; it reads nothing."""

    def __init__(self, calls: Sequence[tuple[str, Mapping[str, Any]]], answer: str) -> None:
        self._calls = list(calls)
        self._answer = answer
        self._made = 0

    def __call__(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
        """The next call, or the answer."""
        if self._made == len(self._calls):
            return Message("assistant", self._answer)
        name, arguments = self._calls[self._made]
        self._made += 1
        return Message("assistant", tool_calls=(ToolCall(name, arguments, id=f"c{self._made}"),))


class Oracle(Scripted):
    """Follows the environment's own solution."""

    def __init__(self, spec: EnvironmentSpec) -> None:
        super().__init__(spec.oracle, spec.answer)


def do_nothing(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Message:
    """An agent that says it is done and did nothing."""
    return Message("assistant", "Done.")


def lazy_agents(spec: EnvironmentSpec) -> dict[str, Scripted]:
    """Agents that do part of the work and say that all is done, with the right final answer.

    `looks_only` makes the oracle's reading calls; `first_change` stops after the first call that
    changes something; `all_but_last` leaves the last such call out. Of a task that changes nothing
    (the answer is what counts) all but the last call is made, and the answer is a shrug.
    """
    changing = [
        index
        for index, (name, _) in enumerate(spec.oracle)
        if (tool := spec.tool(name)) is not None and tool.changes
    ]
    if not changing:
        return {"all_but_last": Scripted(spec.oracle[:-1], "Done.")}
    looks = [call for index, call in enumerate(spec.oracle) if index not in changing]
    last = changing[-1]
    agents = {
        "looks_only": Scripted(looks, spec.answer),
        "all_but_last": Scripted((*spec.oracle[:last], *spec.oracle[last + 1 :]), spec.answer),
    }
    if len(changing) > 1:
        agents["first_change"] = Scripted(spec.oracle[: changing[0] + 1], spec.answer)
    return agents
