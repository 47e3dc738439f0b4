"""Cross-fitting: every row is predicted by a calibrator that has not seen its prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import FloatArray, group_codes, sigmoid, vector
from assay.calibration.calibrator import Calibrator
from assay.calibration.null_calibration import null_ece
from assay.calibration.reliability import ece
from assay.calibration.scoring_rules import brier_score, log_loss
from assay.errors import DataError


@dataclass(frozen=True)
class Quality:
    """How good forecasts are: `null_low` to `null_high` is what a perfect model's ECE would read.

    Attributes:
        ece: Expected calibration error, equal width.
        null_low: 5% point of the ECE of a perfect model with these forecasts.
        null_high: Its 95% point.
        log_loss: In nats.
        brier: Mean squared error.
        accuracy: Share on the right side of 1/2; a forecast of 1/2 counts half.
    """

    ece: float
    null_low: float
    null_high: float
    log_loss: float
    brier: float
    accuracy: float

    @property
    def inside_null(self) -> bool:
        """Whether the ECE is no larger than chance explains (5% level)."""
        return self.ece <= self.null_high


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Out-of-fold forecasts of a calibrator, beside the raw ones.

    Attributes:
        raw: Quality of the forecasts as they are.
        calibrated: Quality of the out-of-fold forecasts.
        forecasts: Out-of-fold, shape (n,).
        calibrator: Fitted on all rows: the one to keep.
    """

    raw: Quality
    calibrated: Quality
    forecasts: FloatArray
    calibrator: Calibrator


def cross_fit(
    calibrator: Calibrator,
    p: ArrayLike,
    y: ArrayLike,
    groups: Sequence[Any] | NDArray[Any] | None = None,
    *,
    folds: int = 5,
    bins: int = 10,
    seed: int = 0,
) -> CrossFit:
    """Evaluate a calibrator on rows that it was not fitted on, and fit it on all.

    Args:
        calibrator: Its settings; not changed.
        p: Probabilities or logits, by the calibrator's scale, shape (n,).
        y: What happened, in [0, 1], shape (n,).
        groups: Prompt of each row: a prompt is never on both sides.
        folds: Number of parts, from 2 to the number of prompts.
        bins: Of the ECE.
        seed: Of the split.

    Raises:
        DataError: Fewer prompts than folds, or a part that cannot be fitted.

    Example:
        >>> from assay.calibration.temperature import Temperature
        >>> generator = np.random.default_rng(0)
        >>> x = generator.normal(size=600) * 4
        >>> y = generator.random(600) < sigmoid(x / 4)             # four times too sure
        >>> found = cross_fit(Temperature(scale="logit"), x, y)
        >>> found.raw.ece > 0.1, found.calibrated.inside_null
        (True, True)
        >>> found.raw.accuracy == found.calibrated.accuracy
        True
    """
    forecasts = vector("p", p)
    labels = vector("y", y, low=0, high=1, size=len(forecasts))
    codes = group_codes("groups", groups, len(forecasts))
    units = int(codes.max()) + 1 if len(codes) else 0
    if not isinstance(folds, int) or not 2 <= folds <= units:
        raise DataError(
            f"folds must lie between 2 and the number of prompts, got {folds} for {units} prompts; "
            "use fewer folds or more prompts"
        )
    part = np.random.default_rng(seed).permutation(units)[codes] % folds
    out = np.empty(len(forecasts))
    for fold in range(folds):
        inside = part == fold
        fitted = calibrator.fit(forecasts[~inside], labels[~inside])
        out[inside] = fitted.predict(forecasts[inside])
    raw = sigmoid(forecasts) if calibrator.scale == "logit" else forecasts
    return CrossFit(
        quality(raw, labels, bins, seed=seed),
        quality(out, labels, bins, seed=seed),
        out,
        calibrator.fit(forecasts, labels),
    )


def quality(p: ArrayLike, y: ArrayLike, bins: int = 10, *, seed: int = 0) -> Quality:
    """ECE with its null band, log loss, Brier score and accuracy of forecasts.

    >>> round(quality([0.9, 0.2], [1, 0]).brier, 3)
    0.025
    """
    forecasts = vector("p", p, low=0, high=1)
    labels = vector("y", y, low=0, high=1, size=len(forecasts))
    low, high = null_ece(forecasts, bins, seed=seed).band(0.9)
    side = np.where(forecasts > 0.5, labels, np.where(forecasts < 0.5, 1 - labels, 0.5))
    return Quality(
        ece(forecasts, labels, bins),
        low,
        high,
        log_loss(forecasts, labels),
        brier_score(forecasts, labels),
        float(side.mean()) if len(side) else float("nan"),
    )
