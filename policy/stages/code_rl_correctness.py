"""Code RL, stage 1: R = R_format + R_correctness, in the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.policy.stages.rl import run_rl
from assay.policy.stages.rl_config import RLConfig
from assay.policy.stages.rl_rewards import code_reward
from assay.policy.stages.stage_config import StageResult


@dataclass(frozen=True)
class CodeCorrectnessConfig(RLConfig):
    """Code RL on the share of tests passed.

    Args:
        binary: 1 if all tests pass, else 0, in place of the share.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367), code RL stage 1.
    """

    STAGE: ClassVar[str] = "code_rl_correctness"

    domain: str = "code"
    binary: bool = False

    __hash__ = None


def main(config: CodeCorrectnessConfig) -> StageResult:
    """Train the policy on tests passed."""
    return run_rl(config, lambda: code_reward(binary=config.binary))
