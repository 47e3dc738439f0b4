"""Point-wise RL: eight rollouts a prompt, each scored by a point-wise reward model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.errors import ConfigError
from assay.policy.stages.rl import run_rl
from assay.policy.stages.rl_config import RLConfig
from assay.policy.stages.rl_rewards import model_reward
from assay.policy.stages.stage_config import StageResult


@dataclass(frozen=True)
class PointwiseRLConfig(RLConfig):
    """r_i = RM(x, y_i), group-relative advantages.

    Args:
        reward_model: Folder of a point-wise model that this library trained; `reward` in its place
            names any Reward.
        format_weight: Weight of the chat format beside the model's score; 0: the model alone.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367), point-wise RL.
    """

    STAGE: ClassVar[str] = "pointwise_rl"

    domain: str = "chat"
    reward_model: str = ""
    format_weight: float = 0.0

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        needs_reward(self, self.reward_model)


def needs_reward(config: RLConfig, reward_model: str) -> None:
    """Refuse a stage with neither a reward nor a reward model, or with both.

    Raises:
        ConfigError: As said.
    """
    if bool(reward_model) == (config.reward is not None):
        raise ConfigError(
            f"{type(config).__name__} needs reward_model (a folder that `assay train` made) or "
            "reward (FILE.py:attr), and only one of them"
        )


def main(config: PointwiseRLConfig) -> StageResult:
    """Train the policy on the reward model's score."""
    return run_rl(
        config, lambda: model_reward(config.reward_model, format_weight=config.format_weight)
    )
