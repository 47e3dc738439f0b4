"""What a trained reward model gets right on held-out pairs, and its temperature there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.policy.data.preferences import Preference
from assay.policy.model_card import Calibration
from assay.policy.order_metrics import cross_entropy, pairwise_metrics
from assay.policy.reward_model_data import answer_length
from assay.rewards.temperature import TemperatureScaling


def evaluate_held_out(
    trainer: Any, held_out: Sequence[Preference], *, pairwise: bool
) -> tuple[dict[str, float], Calibration | None]:
    """Metrics on held-out pairs, and the temperature fitted there.

    Args:
        trainer: A trained RewardTrainer whose evaluation set is `held_out`, rendered, and whose
            predictions are made by `side_by_side`.
        held_out: In the order of the evaluation set; empty gives no metrics.
        pairwise: Predictions are slot logits of both orders, not scores of two answers.

    Raises:
        DataError: The model's scores are not finite.
    """
    if not held_out:
        return {}, None
    scores = np.asarray(trainer.predict(trainer.eval_dataset).predictions, dtype=np.float64)
    if not np.isfinite(scores).all():
        raise DataError(
            f"{int((~np.isfinite(scores)).any(axis=1).sum())} of {len(scores)} held-out pairs have "
            "scores that are not finite: the training diverged; lower the learning rate, or train "
            "in float32"
        )
    if pairwise:
        label = np.array([preference.label for preference in held_out])
        metrics = pairwise_metrics(scores[:, 0], scores[:, 1], label).to_json()
        logits = (scores[:, 0] - scores[:, 1]) / 2
    else:
        logits = scores[:, 0] - scores[:, 1]
        label = np.array([max(p.label, 1 - p.label) for p in held_out])
        metrics = pointwise_metrics(scores, held_out)
    return metrics, _calibration(logits, label)


def pointwise_metrics(
    scores: NDArray[np.float64], held_out: Sequence[Preference]
) -> dict[str, float]:
    """Accuracy, margin, and how much of it is length: a reward of length alone is beside it."""
    margin = scores[:, 0] - scores[:, 1]
    right = np.where(margin == 0, 0.5, margin > 0)
    longer = np.array(
        [np.sign(answer_length(p.chosen) - answer_length(p.rejected)) for p in held_out]
    )
    found = {
        "accuracy": float(right.mean()),
        "margin": float(margin.mean()),
        "score_mean": float(scores.mean()),
        "score_std": float(scores.std()),
        "accuracy_of_the_longer_answer": float(np.where(longer == 0, 0.5, longer > 0).mean()),
    }
    for name, side in (("longer", longer > 0), ("shorter", longer < 0)):
        if side.any():
            found[f"accuracy_preferred_{name}"] = float(right[side].mean())
    return found


def _calibration(logits: NDArray[np.float64], label: NDArray[np.float64]) -> Calibration:
    before = cross_entropy(logits, label)
    try:
        temperature = TemperatureScaling().fit(logits, label).temperature
    except DataError as error:
        return Calibration(1.0, len(label), before, before, problem=str(error))
    return Calibration(temperature, len(label), before, cross_entropy(logits / temperature, label))


def side_by_side(logits: Any, labels: Any = None) -> Any:
    """(2B, 1) scores of a batch as (B, 2), so that batches can be joined."""
    import torch

    return torch.stack(torch.chunk(logits.squeeze(-1), 2), dim=1)
