"""Puts the reward of an RL stage together from the library's rewards: routes, overlong, async."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from assay.errors import ConfigError
from assay.judges.complexity import ComplexityJudge
from assay.loading import load_reward
from assay.policy.reward_models import trained_model
from assay.policy.stages.rl_config import Replay, RLConfig
from assay.policy.stages.rl_data import DOMAIN
from assay.reward import Reward
from assay.rewards import (
    AsyncReward,
    ChatFormat,
    CodeFormat,
    Overlong,
    PairwiseModel,
    PairwiseReward,
    PassRate,
    PointwiseReward,
    Route,
    Term,
    TimeComplexity,
    WeightedSum,
)
from assay.sandbox import Limits


def code_reward(
    *,
    time: bool = False,
    time_weight: float = 0.5,
    gated: bool = True,
    binary: bool = False,
    judge: ComplexityJudge | None = None,
    limits: Limits | None = None,
) -> WeightedSum:
    """R = R_format + R_correctness [+ R_time where all tests pass].

    Args:
        time: Stage 2's efficiency term.
        time_weight: Its weight, ours: the report gives none. At most .5 keeps every correct program
            above every other one of the same format.
        gated: Pay R_time only where all tests pass; off for ablations.
        binary: 1 for all tests, else 0, in place of the share.
        judge: Estimates complexities; None: the static estimator.
        limits: Time, memory and output of each test; None: the sandbox's own.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367), code RL stages 1 and 2.
    """
    terms = {
        "format": Term(CodeFormat()),
        "tests": Term(PassRate(binary=binary, limits=limits or Limits()), gate="format"),
    }
    if time:
        gate = "tests" if gated else "format"
        terms["time"] = Term(TimeComplexity(judge), time_weight, gate=gate, on_missing="zero")
    return WeightedSum(terms, name="code")


def trained_judge(folder: str) -> ComplexityJudge:
    """The static estimator and, where it is unsure, a model that `complexity_judge` trained."""
    from assay.judges.complexity.llm import LLMComplexity
    from assay.judges.complexity.static import StaticEstimator
    from assay.judges.local_model import LocalModel

    model = LLMComplexity(LocalModel(folder, max_tokens=48), rename=True)
    return ComplexityJudge((StaticEstimator(), model))


def model_reward(folder: str, *, format_weight: float = 0.0) -> Reward:
    """The reward of a trained reward model: its score, or win or loss against `reference`."""
    model = trained_model(folder)
    scored: Reward
    if isinstance(model, PairwiseModel):
        scored = PairwiseReward(model, name="pairwise")
    else:
        scored = PointwiseReward(model, name="pointwise")
    if not format_weight:
        return scored
    return WeightedSum(
        {"format": Term(ChatFormat(), format_weight), "model": Term(scored)}, name="chat"
    )


def stage_reward(
    config: RLConfig, own: Callable[[], Reward], eos_token_ids: Sequence[int]
) -> Reward:
    """The one reward of a stage: its own, those of replayed domains, what truncation costs.

    Args:
        config: The stage.
        own: Makes the reward of the stage's own rows where the configuration names none.
        eos_token_ids: Ids that end a finished completion.
    """
    reward = own() if config.reward is None else load_reward(config.reward).reward
    if config.replay:
        routes = {config.domain: reward} | {r.domain: _replayed(r) for r in config.replay}
        reward = Route(DOMAIN, routes, name="reward")
    ids = tuple(eos_token_ids)
    if config.truncated == "shape":
        limit = config.max_completion_length
        cache = limit // 5 if config.overlong_cache is None else config.overlong_cache
        overlong = Overlong(max_tokens=limit, cache_tokens=cache, eos_token_ids=ids)
        reward = WeightedSum(
            {"task": Term(reward), "overlong": Term(overlong, config.overlong_weight)},
            name="reward",
            eos_token_ids=ids,
        )
    elif not reward.eos_token_ids:
        # An attribute of the class in rewards that have no such field.
        reward = copy.copy(reward)
        object.__setattr__(reward, "eos_token_ids", ids)
    return reward


def reward_functions(config: RLConfig, reward: Reward) -> tuple[list[Any], list[float] | None]:
    """What the trainer gets: the reward, or its parts at the same time, and their weights.

    Raises:
        ConfigError: `asynchronous` for a sum that TRL would add by another rule.
    """
    if not config.asynchronous:
        return [reward], None
    if not isinstance(reward, WeightedSum):
        return [AsyncReward(reward)], None
    if config.trl.get("multi_objective_aggregation") != "normalize_then_sum":
        if any(term.gate is not None for term in reward.terms.values()):
            return [AsyncReward(reward)], None  # a gated sum is one function
        raise ConfigError(
            "asynchronous runs the parts of a sum as several reward functions, and TRL's "
            "sum_then_normalize counts a missing part as 0; set [trl] "
            'multi_objective_aggregation = "normalize_then_sum", or asynchronous = false'
        )
    parts, weights = reward.split()
    return [AsyncReward(part) for part in parts], weights


def _replayed(replayed: Replay) -> Reward:
    if replayed.reward is not None:
        return load_reward(replayed.reward).reward
    return model_reward(str(replayed.reward_model))
