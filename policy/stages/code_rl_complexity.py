"""Code RL, stage 2: stage 1's reward, and R_time where all tests pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from assay.policy.config_keys import from_table
from assay.policy.stages.rl import bound_criterion, run_rl
from assay.policy.stages.rl_config import RLConfig
from assay.policy.stages.rl_rewards import code_reward, trained_judge
from assay.policy.stages.stage_config import StageResult
from assay.reward import Reward
from assay.sandbox import Limits
from assay.settings import real


@dataclass(frozen=True)
class CodeComplexityConfig(RLConfig):
    """Code RL on the gated time-complexity reward.

    Args:
        time_weight: Weight of R_time; ours, the report gives none.
        gated: Pay R_time only where all tests pass; off for ablations.
        binary: 1 if all tests pass, else 0, in place of the share.
        complexity_judge: Folder of a judge that `assay train complexity-judge` made, asked where
            the static estimator is unsure; empty: the static estimator alone.
        limits: Of each test, where not the sandbox's own (`assay.sandbox.Limits`).

    Source: Nanbeige4.1-3B report (arXiv:2602.13367), code RL stage 2.
    """

    STAGE: ClassVar[str] = "code_rl_complexity"

    domain: str = "code"
    time_weight: float = 0.5
    gated: bool = True
    binary: bool = False
    complexity_judge: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("time_weight", self.time_weight, 0)
        from_table(Limits, self.limits, "[limits]")


def main(config: CodeComplexityConfig) -> StageResult:
    """Train the policy on correctness and, behind its gate, on complexity."""

    def own() -> Reward:
        return code_reward(
            time=True,
            time_weight=config.time_weight,
            gated=config.gated,
            binary=config.binary,
            judge=trained_judge(config.complexity_judge) if config.complexity_judge else None,
            limits=from_table(Limits, config.limits, "[limits]"),
        )

    return run_rl(config, own, criterion=bound_criterion)
