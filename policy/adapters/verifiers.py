"""A Reward as a task's `@vf.reward` method, and a group's reward for an environment's `finalize`.

    import verifiers.v1 as vf
    from assay.policy.adapters.verifiers import score_group, task_reward

    class MyTask(vf.Task):
        quality = task_reward(my_reward)

verifiers and assay's training extras pin other versions of openai; assay alone (its rewards of text
and code) installs beside verifiers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from assay.errors import ConfigError, DataError
from assay.messages import Sample
from assay.policy.adapters.one_rollout import (
    OnMissing,
    check_on_missing,
    number_of,
    require_alone,
    score_one,
)
from assay.reward import Reward, Score

#: Where prime-rl's turn credit looks for the values of a trace's turns.
TURN_REWARDS = "turn_rewards"


def task_reward(
    reward: Reward,
    *,
    name: str | None = None,
    weight: float = 1.0,
    priority: int = 0,
    on_missing: OnMissing = "raise",
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A method for the body of a `vf.Task`, marked with `@vf.reward`.

    A row that the reward skips or gates gets no reward of this name. A score that is missing
    otherwise raises, which verifiers records as the rollout's error: no number is made up for it.
    Values of turns go to `trace.info["turn_rewards"]`, where prime-rl's turn credit reads them.

    Args:
        reward: What scores; the row's columns are the fields of the task's data.
        name: Name of the reward on the trace; None: the Reward's own.
        weight: Its weight in the trace's reward.
        priority: Order among the task's rewards.
        on_missing: A number to count an abstained or failed score as, in place of raising.

    Raises:
        ConfigError: A reward that compares rollouts.
        ImportError: verifiers is not installed.

    Source: verifiers 0.4.0, `verifiers/v1/task.py` and `utils/decorators.py`.
    """
    require_alone(reward, "task_reward")
    check_on_missing(on_missing)
    mark = _marker()

    async def method(self: Any, trace: Any) -> float | Mapping[str, float]:
        score = await asyncio.to_thread(score_one, reward, trace_sample(trace))
        note_turns(trace, score)
        if score.status in ("skipped", "gated"):
            return {}
        return number_of(score, reward, on_missing)

    method.__name__ = method.__qualname__ = name or reward.name
    method.__doc__ = f"Score of {reward!r}."
    marked: Callable[..., Coroutine[Any, Any, Any]] = mark(method, weight=weight, priority=priority)
    return marked


async def score_group(
    reward: Reward,
    traces: Sequence[Any],
    *,
    name: str | None = None,
    weight: float = 1.0,
    on_missing: OnMissing = "raise",
) -> list[Score]:
    """Score sibling traces together and record the values; for `Env.finalize(task, episode)`.

    Works for rewards that compare rollouts, such as tournaments, and for all others.

    Args:
        reward: What scores.
        traces: Rollouts of one task, such as `episode.traces`.
        name: Name of the reward on the traces; None: the Reward's own.
        weight: Its weight in a trace's reward.
        on_missing: As `task_reward`; a skipped or gated score records nothing.

    Raises:
        ConfigError: Something that is no Reward.
        RewardError: A missing score, by `on_missing`; no trace then has a reward.
    """
    check_on_missing(on_missing)
    if not isinstance(reward, Reward):
        raise ConfigError(f"score_group needs an assay Reward, got {type(reward).__name__}")
    samples = [trace_sample(trace, group="episode") for trace in traces]
    scores = await asyncio.to_thread(reward.evaluate, samples)
    # All numbers first: where one is missing, no trace of the group has a reward.
    values = [
        None if s.status in ("skipped", "gated") else number_of(s, reward, on_missing)
        for s in scores
    ]
    for trace, score, value in zip(traces, scores, values, strict=True):
        note_turns(trace, score)
        if value is not None:
            trace.record_reward(name or reward.name, value, weight)
    return scores


def trace_sample(trace: Any, group: str | None = None) -> Sample:
    """The trace's final branch: what was given before the first sampled turn, and the rest.

    Args:
        trace: A `verifiers.v1.Trace`.
        group: What its siblings share.

    Raises:
        DataError: The trace holds no sampled turn.
    """
    branches = trace.branches
    nodes = branches[-1].nodes if branches else []
    first = next((i for i, node in enumerate(nodes) if node.sampled), None)
    if first is None:
        raise DataError("the trace holds no turn of the model, so there is nothing to score")
    messages = [_message(node.message) for node in nodes]
    data = trace.task.data.model_dump()
    columns = {key: value for key, value in data.items() if key not in ("prompt", "system_prompt")}
    if group is not None:
        columns["uid"] = group
    elif "uid" not in columns and trace.task.key:
        columns["uid"] = trace.task.key
    if branches[-1].tools:
        columns.setdefault("tools", [tool.model_dump() for tool in branches[-1].tools])
    return Sample.of(
        messages[:first], messages[first:], columns, truncated=bool(trace.is_truncated)
    )


def note_turns(trace: Any, score: Score) -> None:
    """Write the values of a score's turns where prime-rl's turn credit reads them.

    Raises:
        DataError: As many values as the trace has sampled turns are needed.
    """
    if score.turns is None:
        return
    if len(score.turns) != trace.num_turns:
        raise DataError(
            f"the reward gave {len(score.turns)} turn values, and the trace has {trace.num_turns} "
            "sampled turns; traces that fork (compaction, sub-agents) have turns outside the final "
            "branch, which this reward cannot judge"
        )
    trace.info[TURN_REWARDS] = list(score.turns)


def _message(message: Any) -> dict[str, Any]:
    row: dict[str, Any] = message.model_dump(exclude_none=True)
    row.setdefault("content", "")
    calls = row.get("tool_calls")
    if calls:
        row["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": _function(call)} for call in calls
        ]
    return row


def _function(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": call["name"], "arguments": call["arguments"]}


def _marker() -> Any:
    try:
        from verifiers.v1 import reward
    except ImportError as error:
        raise ImportError(
            "task_reward needs verifiers >= 0.4; install it with: pip install verifiers"
        ) from error
    return reward
