"""Trains the point-wise reward model; the stage's face of `assay.policy.reward_models`."""

from __future__ import annotations

from assay.policy.reward_model_config import PointwiseConfig
from assay.policy.stages.reward_model_stage import run_reward_model
from assay.policy.stages.stage_config import StageResult


def main(config: PointwiseConfig) -> StageResult:
    """Train, evaluate on held-out pairs, calibrate, save."""
    return run_reward_model(config, "rm_pointwise")
