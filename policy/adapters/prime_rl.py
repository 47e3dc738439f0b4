"""Per-token advantages for prime-rl, with the library's credit for turns.

    [orchestrator.train.algo]                       # as prime-rl's version names the table
    type = "custom"
    import_path = "assay.policy.adapters.prime_rl.advantages"
    kwargs = { reward = "rewards.py:reward", credit = { mode = "negative", weight = 0.5 } }

Outcomes and turn values come from the rollouts as the environment scored them
(`assay.policy.adapters.verifiers` does), or from a Reward that is named here and then sees the
whole group. prime-rl itself is on no package index; this follows the contract in its sources.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from assay.diagnostics import enforce_error_rate
from assay.errors import DataError
from assay.loading import load_reward
from assay.messages import Sample
from assay.policy.adapters.one_rollout import group_levels, plain
from assay.policy.adapters.verifiers import TURN_REWARDS, trace_sample
from assay.policy.config_keys import from_table
from assay.policy.credit_assignment import Rollout, TurnCredit

_log = logging.getLogger(__name__)

#: Turns of a rollout: how many tokens each adds, and whether the model wrote them.
Pieces = list[tuple[int, bool]]


def advantages(
    inputs: Any,
    *,
    reward: str | None = None,
    credit: Mapping[str, Any] | None = None,
    scale: bool = True,
    eps: float = 1e-4,
) -> list[list[float]]:
    """prime-rl's custom advantage function: one group, one list of numbers a rollout.

    A rollout without an outcome is in no statistic and gets advantage 0 on all tokens; a warning in
    the log says how many there are.

    Args:
        inputs: prime-rl's `AdvantageInputs`: `rollouts`, and `completion_lengths` in tokens.
        reward: `FILE.py:attr` or `package.module:attr` of a Reward that scores the group here;
            None: the rollouts' own rewards and `info["turn_rewards"]`.
        credit: Settings of `TurnCredit`.
        scale: Divide by the group's standard deviation.
        eps: Added to it.

    Raises:
        ConfigError: An unknown setting of `credit`, or a reward that cannot be loaded.
        DataError: Turn values that are not one per turn, tokens that do not add up, or rollouts of
            another form.
        RewardError: The named reward failed on more of the group than its `max_error_rate`.

    Source: prime-rl, `src/prime_rl/orchestrator/algo/advantage.py` (`AdvantageFn`) and `custom.py`.
    """
    rule = from_table(TurnCredit, dict(credit or {}), "credit")
    rollouts = list(inputs.rollouts)
    if len(inputs.completion_lengths) != len(rollouts):
        raise DataError(
            f"{len(rollouts)} rollouts and {len(inputs.completion_lengths)} completion_lengths; "
            "give one a rollout"
        )
    if reward is None:
        outcomes = [_outcome(rollout) for rollout in rollouts]
        turns = [_turns(rollout) for rollout in rollouts]
    else:
        scorer = load_reward(reward).reward
        scores = scorer.evaluate([rollout_sample(rollout, "group") for rollout in rollouts])
        enforce_error_rate(scorer, scores)
        outcomes = [score.value for score in scores]
        turns = [score.turns for score in scores]
    if missing := sum(outcome is None for outcome in outcomes):
        _log.warning(
            "%d of %d rollouts of a group have no outcome: all their advantages are 0",
            missing,
            len(outcomes),
        )
    levels = group_levels(outcomes, scale=scale, eps=eps)
    group = [
        Rollout(level or 0.0, None if level is None else values, outcome=outcome)
        for level, values, outcome in zip(levels, turns, outcomes, strict=True)
    ]
    found = []
    for place, given in enumerate(rule.assign(group)):
        length = int(inputs.completion_lengths[place])
        if given is None:
            found.append([levels[place] or 0.0] * length)
            continue
        pieces = rollout_pieces(rollouts[place], length)
        count = sum(own for _, own in pieces)
        if count != len(given.advantages):
            raise DataError(
                f"rollout {place} has {count} turns and {len(given.advantages)} turn values; give "
                "one per turn"
            )
        values = iter(zip(given.advantages, given.kept, strict=True))
        row: list[float] = []
        for size, own in pieces:
            value, kept = next(values) if own else (0.0, True)
            row += [value if kept else 0.0] * size
        found.append(row)
    return found


def rollout_pieces(rollout: Any, length: int) -> Pieces:
    """The completion's tokens in order: the model's turns, and what lies between them.

    Args:
        rollout: A verifiers trace, or a `RolloutOutput` mapping whose `trajectory` has tokens.
        length: Completion tokens that prime-rl trains on.

    Raises:
        DataError: The turns' tokens do not add up to `length`: the rollout forked, or was cut.
    """
    if not isinstance(rollout, Mapping):
        pieces = _trace_pieces(rollout)
        candidates = [pieces]
    else:
        candidates = _trajectory_pieces(rollout)
    for pieces in candidates:
        if sum(size for size, _ in pieces) == length:
            return pieces
    sums = [sum(size for size, _ in pieces) for pieces in candidates]
    raise DataError(
        f"the turns of a rollout have {sums} tokens, and prime-rl trains on {length}; turn credit "
        "needs rollouts that are one sequence, or one sample a turn"
    )


def rollout_sample(rollout: Any, group: str) -> Sample:
    """A rollout as the library's rewards read it."""
    if not isinstance(rollout, Mapping):
        return trace_sample(rollout, group=group)
    if missing := [name for name in ("prompt", "completion") if name not in rollout]:
        raise DataError(f"a rollout has no {missing[0]!r}; it has {sorted(map(str, rollout))}")
    columns = {
        key: plain(value)
        for key, value in rollout.items()
        if key not in ("prompt", "completion", "trajectory", "reward", "tokens")
    }
    info = rollout.get("info")
    if isinstance(info, Mapping):
        columns = {**plain(info), **columns}
    columns["uid"] = group
    return Sample.of(
        rollout["prompt"],
        rollout["completion"],
        columns,
        truncated=bool(rollout.get("is_truncated", False)),
    )


def _outcome(rollout: Any) -> float | None:
    value = rollout.get("reward") if isinstance(rollout, Mapping) else rollout.reward
    error = rollout.get("error") if isinstance(rollout, Mapping) else rollout.has_error
    if error or value is None:
        return None
    number = _number("reward", value)
    return number if math.isfinite(number) else None


def _number(what: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise DataError(f"the {what} of a rollout must be a number, got {value!r:.80}") from problem


def _turns(rollout: Any) -> tuple[float | None, ...] | None:
    info = rollout.get("info") if isinstance(rollout, Mapping) else rollout.info
    values = (info or {}).get(TURN_REWARDS) if isinstance(info, Mapping) else None
    if values is None:
        return None
    return tuple(None if v is None else _number("turn value", v) for v in plain(values))


def _trace_pieces(trace: Any) -> Pieces:
    """Of a trace: each node's tokens; those before the first model token are the prompt."""
    branches = trace.branches
    flags: list[tuple[bool, int]] = []
    for place, node in enumerate(branches[-1].nodes if branches else []):
        flags += [(bool(own), place) for own in node.mask]
    first = next((i for i, (own, _) in enumerate(flags) if own), len(flags))
    pieces: Pieces = []
    before: tuple[bool, int] | None = None
    for own, place in flags[first:]:
        here = (own, place if own else -1)
        if here == before:
            pieces[-1] = (pieces[-1][0] + 1, own)
        else:
            pieces.append((1, own))
        before = here
    return pieces


def _trajectory_pieces(rollout: Mapping[str, Any]) -> list[Pieces]:
    """Of a `RolloutOutput`: as one interleaved sequence, and as one sample a step."""
    apart: Pieces = []
    joined: Pieces = []
    seen = 0
    whole = True
    for step in rollout.get("trajectory") or ():
        tokens = step.get("tokens")
        if not tokens:
            raise DataError("a step of the trajectory has no tokens, so its turn cannot be found")
        prompt, own = len(tokens["prompt_ids"]), len(tokens["completion_ids"])
        if joined:
            whole = whole and prompt >= seen
            joined.append((prompt - seen, False))
        joined.append((own, True))
        apart.append((own, True))
        seen = prompt + own
    return [joined, apart] if whole else [apart]
