"""Pair-wise RL: each rollout against the row's reference answer, the whole history in the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.policy.stages.pointwise_rl import needs_reward
from assay.policy.stages.rl import run_rl
from assay.policy.stages.rl_config import RLConfig
from assay.policy.stages.rl_rewards import model_reward
from assay.policy.stages.stage_config import StageResult


@dataclass(frozen=True)
class PairwiseRLConfig(RLConfig):
    """r_i = 1[y_i beats the reference answer], in both orders.

    Args:
        reward_model: Folder of a pair-wise model that this library trained; `reward` in its place
            names any Reward. Rows need a column `reference`.
        format_weight: Weight of the chat format beside it; 0: the comparison alone.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367), pair-wise RL. Its algorithm is not disclosed;
    ours is GRPO.
    """

    STAGE: ClassVar[str] = "pairwise_rl"

    domain: str = "arena"
    reward_model: str = ""
    format_weight: float = 0.0

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        needs_reward(self, self.reward_model)


def main(config: PairwiseRLConfig) -> StageResult:
    """Train the policy to beat the reference answers."""
    return run_rl(
        config, lambda: model_reward(config.reward_model, format_weight=config.format_weight)
    )
