"""Code RL, stage 1: R = R_format + R_correctness, in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from assay.policy.config_keys import from_table
from assay.policy.stages.rl import run_rl
from assay.policy.stages.rl_config import RLConfig
from assay.policy.stages.rl_rewards import code_reward
from assay.policy.stages.stage_config import StageResult
from assay.sandbox import Limits


@dataclass(frozen=True)
class CodeCorrectnessConfig(RLConfig):
    """Code RL on the share of tests passed.

    Args:
        binary: 1 if all tests pass, else 0, in place of the share.
        limits: Of each test, where not the sandbox's own (`assay.sandbox.Limits`).

    Source: Nanbeige4.1-3B report (arXiv:2602.13367), code RL stage 1.
    """

    STAGE: ClassVar[str] = "code_rl_correctness"

    domain: str = "code"
    binary: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        from_table(Limits, self.limits, "[limits]")


def main(config: CodeCorrectnessConfig) -> StageResult:
    """Train the policy on tests passed."""
    limits = from_table(Limits, config.limits, "[limits]")
    return run_rl(config, lambda: code_reward(binary=config.binary, limits=limits))
