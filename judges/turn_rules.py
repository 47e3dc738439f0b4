"""The turn critic that needs no model: what rules can see, and an abstention elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.judge import TurnCritic, TurnVerdict
from assay.judges.tool_schemas import Toolbox
from assay.judges.turn_walk import TurnFacts, Walk
from assay.messages import Trajectory

Criterion = Literal["logical_soundness", "tool_call_accuracy", "informational_gain"]

#: The criterion that a finding fails; None: it is told and fails nothing.
FINDINGS: dict[str, Criterion | None] = {
    "malformed_call": "tool_call_accuracy",
    "unknown_tool": "tool_call_accuracy",
    "bad_arguments": "tool_call_accuracy",
    "unfounded_argument": "tool_call_accuracy",
    "refused_call": "tool_call_accuracy",
    "repeated_call": "informational_gain",
    "nothing_new": "informational_gain",
    "loop": "logical_soundness",
    "repeated_words": "logical_soundness",
    "ignored_error": "logical_soundness",
    "unsupported_answer": "logical_soundness",
    "empty_turn": "logical_soundness",
    "unconfirmed_action": None,
    "unnamed_value": None,
    "failed_action": None,
    "over_budget": None,
    "environment_error": None,
    "tool_error": None,
}

#: What is suspicious rather than wrong fails this criterion if the critic is strict.
STRICT: dict[str, Criterion] = dict.fromkeys(
    ("unconfirmed_action", "unnamed_value", "failed_action"), "logical_soundness"
)


@dataclass(frozen=True)
class RuleCritic(TurnCritic):
    """Verdicts by rules; each has its finding and its reason.

    Tool-call accuracy: the call is well formed, names a tool on offer, its arguments fit the JSON
    schema, identifiers in them were seen before, and the tool does not refuse them. Informational
    gain: no repetition of a call that brings the same again, something in the results is new (where
    a row's `evidence` is known, StepSearch's gain). Logical soundness: no loop, no error passed
    over, no answer that nothing seen supports. An error of the environment fails nothing.

    Yes is said only where it was checked: calls that fit a known schema are accurate, results with
    something new are a gain. Soundness is never vouched for by rules: it fails or is left open.

    Args:
        tools: Schemas for trajectories that carry none (`assay.judges.tool_schemas.inferred_tools`
            reads them off a data set).
        strict: Also fail turns that change something without the user's yes or with values that
            nobody has spoken of, and such calls that did not work: suspicious rather than wrong.
            Finds more of the runs that fail and flags more turns of those that do not.
        ignore: Findings that shall fail nothing; they are still told.
        extra_arguments: Let calls have arguments that a schema does not list.

    Source: the criteria are those of the Nanbeige4.1-3B report (arXiv:2602.13367), which does not
    disclose how it decides them.

    >>> from assay.messages import Message, ToolCall
    >>> tool = {"name": "find", "parameters": {"type": "object", "required": ["q"],
    ...         "properties": {"q": {"type": "string"}}}}
    >>> run = Trajectory((Message("assistant", tool_calls=(ToolCall("find", {"q": 3}),)),), (tool,))
    >>> RuleCritic().review([run])[0][0].reason
    "find: q: 3 is not of type 'string'"
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    strict: bool = False
    ignore: frozenset[str] = frozenset()
    extra_arguments: bool = False
    _boxes: dict[str, Toolbox] = field(
        default_factory=dict, init=False, repr=False, compare=False, metadata={"fingerprint": False}
    )

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "ignore", frozenset(self.ignore))
        if unknown := sorted(self.ignore - FINDINGS.keys()):
            raise ConfigError(
                f"RuleCritic.ignore must name findings among {sorted(FINDINGS)}, got {unknown}"
            )
        if self.tools:
            Toolbox(self.tools, extra_arguments=self.extra_arguments)

    def review(self, trajectories: Sequence[Trajectory]) -> list[list[TurnVerdict]]:
        """One verdict per assistant turn."""
        return [self._review(trajectory) for trajectory in trajectories]

    def fingerprint(self) -> str:
        """A hash of the settings and of this version of the rules."""
        settings = (self.tools, self.strict, sorted(self.ignore), self.extra_arguments)
        return fingerprint_of(("RuleCritic", self._version, settings))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_boxes": {}}

    @cached_property
    def _version(self) -> str:
        from assay._version import __version__

        return __version__

    def _review(self, trajectory: Trajectory) -> list[TurnVerdict]:
        walk = Walk(trajectory, self._toolbox(trajectory.tools or self.tools))
        return [self._verdict(walk.turn(turn)) for turn in trajectory.turns]

    def _toolbox(self, tools: tuple[Mapping[str, Any], ...]) -> Toolbox | None:
        if not tools:
            return None
        key = "" if tools is self.tools else json.dumps(tools, sort_keys=True, default=str)
        box = self._boxes.get(key)
        if box is None:
            if len(self._boxes) >= 64:  # environments with tools of their own come by thousands
                self._boxes.clear()
            box = self._boxes[key] = Toolbox(tools, extra_arguments=self.extra_arguments)
        return box

    def _verdict(self, facts: TurnFacts) -> TurnVerdict:
        failed: dict[str | None, list[str]] = {}
        for name, reason in facts.findings:
            criterion = FINDINGS[name] or (STRICT.get(name) if self.strict else None)
            if criterion is not None and name not in self.ignore:
                failed.setdefault(criterion, []).append(reason)
        names = tuple(dict.fromkeys(name for name, _ in facts.findings))
        unclear = {"environment_error", "tool_error"} & set(names)
        accurate = True if facts.checked and "tool_error" not in unclear else None
        gained = True if facts.novelty else None
        reasons = [reason for reasons in failed.values() for reason in reasons]
        if not reasons:
            reasons = [reason for _, reason in facts.findings]
        return TurnVerdict(
            logical_soundness=False if "logical_soundness" in failed else None,
            tool_call_accuracy=False if "tool_call_accuracy" in failed else accurate,
            informational_gain=False if "informational_gain" in failed else gained,
            reason="; ".join(reasons),
            findings=names,
        )
