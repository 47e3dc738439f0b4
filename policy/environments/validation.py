"""What every generated or written environment must pass before it is used."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.policy.environments.agents import Oracle, Scripted, do_nothing, lazy_agents
from assay.policy.environments.loop import play
from assay.policy.environments.spec import EnvironmentSpec


@dataclass(frozen=True, slots=True)
class Validation:
    """Why an environment cannot be used; no problems, and it can."""

    id: str
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """No problem was found."""
        return not self.problems


def validate(spec: EnvironmentSpec) -> Validation:
    """Check that a task can be done, only by doing it, and with what the tools say.

    - two starts give the same state, and an episode leaves the next one untouched;
    - the oracle passes, within the budget, without an error;
    - text in the oracle's changing calls was read in the task, in a result, or in a schema: the
      agent can know it;
    - an agent that does nothing fails, and so do lazy ones that do part of the work.

    >>> from assay.policy.environments import environment
    >>> validate(environment("orders", seed=3)).problems
    ()
    """
    found = []
    if not _same(spec.start(), spec.start()):
        found.append("two starts give different states")
    if not spec.oracle:
        return Validation(
            spec.id, (*found, "there is no oracle, so nothing shows that it can be solved")
        )
    before = _dump(spec.start())
    done = play(spec, Oracle(spec))
    if not done.outcome.passed:
        found.append(f"the oracle fails: {done.outcome.note or done.stopped}")
    if errors := [call for call in done.episode.calls if call.error]:
        found.append(f"the oracle's call of {errors[0].name} fails: {errors[0].result}")
    found += _ungrounded(spec, done.episode.calls)
    if play(spec, do_nothing).outcome.passed is not False:
        found.append("an agent that does nothing is not failed")
    if play(spec, Scripted((), spec.answer)).outcome.passed is not False:
        found.append("the oracle's answer alone is enough")
    for name, agent in lazy_agents(spec).items():
        if play(spec, agent).outcome.passed is not False:
            found.append(f"the lazy agent {name!r} is not failed")
    if _dump(spec.start()) != before:
        found.append("an episode changes the start of the next one")
    return Validation(spec.id, tuple(found))


def _ungrounded(spec: EnvironmentSpec, calls: Any) -> list[str]:
    """Texts in changing calls that nothing before them says."""
    known = [spec.task, json.dumps(spec.schemas(), ensure_ascii=False)]
    found = []
    for call in calls:
        tool = spec.tool(call.name)
        if tool is not None and tool.changes:
            read = "\n".join(known)
            for name, value in (call.arguments or {}).items():
                for text in _texts(value):
                    if text not in read:
                        found.append(f"nothing says {name}={text!r} before {call.name} needs it")
        known.append(call.result)
    return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _texts(inner)]
    return []


def _same(one: Any, other: Any) -> bool:
    return one is not other and _dump(one) == _dump(other)


def _dump(state: Any) -> str:
    return json.dumps(state, sort_keys=True, default=lambda value: vars(value))
