"""Temperature scaling: one number, no intercept, so that pairs stay mirror images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.calibration.arrays import FloatArray, sigmoid
from assay.calibration.calibrator import Calibrator, checked
from assay.errors import DataError


@dataclass(frozen=True)
class Temperature(Calibrator):
    """p = sigmoid(logit / T), with T fitted by maximum likelihood.

    Attributes:
        temperature: T > 0; > 1 where the judge is too sure of itself.

    Source: Guo et al., On Calibration of Modern Neural Networks, arXiv:1706.04599, section 4.2.

    Example:
        >>> scaling = Temperature(scale="logit").fit([2.0, 2.0, 2.0, 2.0], [1, 1, 1, 0])
        >>> round(scaling.temperature, 4)     # sigmoid(2 / T) = .75, T = 2 / ln 3
        1.8205
        >>> scaling.predict([2.0, -2.0, 0.0]).round(2).tolist()
        [0.75, 0.25, 0.5]
    """

    temperature: float = 1.0

    kind: ClassVar[str] = "temperature"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "temperature", 0.0, above=True)

    def _learn(self, x: FloatArray, y: FloatArray) -> dict[str, Any]:
        return {"temperature": fit_temperature(x, y)}

    def _map(self, x: FloatArray) -> FloatArray:
        return sigmoid(x / self.temperature)


def fit_temperature(logits: FloatArray, labels: FloatArray) -> float:
    """T of least cross-entropy of sigmoid(logit / T).

    For pairs give every row together with its mirror image; the result is the same as without.

    Args:
        logits: Finite, shape (n,).
        labels: In [0, 1], shape (n,).

    Raises:
        DataError: No temperature fits best: all logits are 0 or no better than chance (T goes to
            infinity), or right without exception (T goes to 0).

    >>> round(fit_temperature(np.array([2.0, 2, 2, 2]), np.array([1.0, 1, 1, 0])), 4)
    1.8205
    """
    if np.mean(logits * (labels - 0.5)) <= 0:
        raise DataError(
            "the logits are no better than chance on these labels: no temperature mends that; "
            "check that the labels say whether A won"
        )
    if (logits * (2 * labels - 1) >= np.abs(logits)).all():
        raise DataError(
            "the logits are right on every pair: the best temperature would be 0; fit on more "
            "or harder pairs"
        )
    # The slope of the loss in 1/T rises from a negative value at 0: bisect for its zero.
    low, high = 0.0, 1.0 / float(np.abs(logits).max())
    while _slope(logits, labels, high) < 0:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _slope(logits, labels, middle) < 0 else (low, middle)
    return 2 / (low + high)


def _slope(logits: FloatArray, labels: FloatArray, inverse: float) -> float:
    """d/d(1/T) of mean cross-entropy: mean (sigmoid(x / T) - y) x."""
    return float(np.mean((sigmoid(logits * inverse) - labels) * logits))
