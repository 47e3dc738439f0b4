"""Reward-model training as a stage: its log and its `stage.json`."""

from __future__ import annotations

import time

from assay.groups import world
from assay.policy import reward_models
from assay.policy.reward_model_config import PairwiseConfig, PointwiseConfig
from assay.policy.stages.progress_log import stage_callbacks
from assay.policy.stages.stage_config import StageResult


def run_reward_model(config: PointwiseConfig | PairwiseConfig, stage: str) -> StageResult:
    """Train the reward model that `config` describes."""
    start = time.monotonic()
    trained = reward_models.main(config, callbacks=stage_callbacks(config.output_dir))
    metrics = {name: float(value) for name, value in trained.metrics.items()}
    metrics |= {"train_rows": float(trained.train_rows)}
    if trained.temperature is not None:
        metrics["temperature"] = trained.temperature
    result = StageResult(
        trained.folder,
        stage,
        metrics,
        trained.steps,
        time.monotonic() - start,
        trained.resumed_from,
    )
    if world()[0] == 0:
        result.save()
    return result
