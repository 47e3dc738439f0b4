"""Platt scaling: slope and intercept on the logit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.calibration.arrays import FloatArray, sigmoid
from assay.calibration.calibrator import Calibrator, checked
from assay.calibration.logistic import fit_logistic
from assay.errors import DataError


@dataclass(frozen=True)
class Platt(Calibrator):
    """p = sigmoid(slope logit + intercept), fitted by Firth's penalised likelihood.

    For `pairs` the intercept is 0: f(p) + f(1 - p) = 1 allows no other, and what is left is
    temperature scaling with T = 1 / slope, but finite also on data without errors. With
    `pairs=False` (point-wise grades, "is this answer right?") both are fitted.

    Attributes:
        slope: > 0.
        intercept: In logits.

    Source: Platt, Probabilistic outputs for support vector machines (1999). Departure: Firth's
    penalty instead of smoothed targets.

    Example:
        >>> y = [1, 0] * 25 + [1, 0, 0, 0, 0] * 10
        >>> grades = Platt(pairs=False).fit([.9] * 50 + [.4] * 50, y)
        >>> grades.predict([.9, .4]).round(1).tolist()
        [0.5, 0.2]
    """

    slope: float = 1.0
    intercept: float = 0.0

    kind: ClassVar[str] = "platt"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "slope", 0.0, above=True)
        checked(self, "intercept")

    def _learn(self, x: FloatArray, y: FloatArray) -> dict[str, Any]:
        if self.pairs:
            # Every row stands twice, as itself and mirrored: half a weight each.
            fit = fit_logistic(x[:, None], y, names=["slope"], weights=np.full(len(x), 0.5))
            intercept = 0.0
        else:
            fit = fit_logistic(np.column_stack([x, np.ones(len(x))]), y, names=["slope", "1"])
            intercept = fit["1"]
        if fit["slope"] <= 0:
            raise DataError(
                f"the fitted slope is {fit['slope']:.3g}: the forecasts are no better than chance "
                "on these labels; check that the labels say whether A won"
            )
        return {"slope": fit["slope"], "intercept": intercept}

    def _map(self, x: FloatArray) -> FloatArray:
        return sigmoid(self.slope * x + self.intercept)
