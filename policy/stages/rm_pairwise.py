"""Trains the pair-wise reward model; the stage's face of `assay.policy.reward_models`."""

from __future__ import annotations

from assay.policy.reward_model_config import PairwiseConfig
from assay.policy.stages.reward_model_stage import run_reward_model
from assay.policy.stages.stage_config import StageResult


def main(config: PairwiseConfig) -> StageResult:
    """Train on both orders with the swap term, evaluate, calibrate, save."""
    return run_reward_model(config, "rm_pairwise")
