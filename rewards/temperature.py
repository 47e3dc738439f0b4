"""Temperature scaling: one number that makes a pair-wise model's probabilities honest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from assay.errors import ConfigError, DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class TemperatureScaling:
    """p = sigmoid(d / T), with T fitted by maximum likelihood.

    No intercept: a pair's probability must satisfy f(p) = 1 - f(1 - p). Use it as
    `Calibrated(reward, TemperatureScaling().fit(d, y))` or `assay.judges.Calibrated(judge, ...)`,
    or give its temperature to `PairwiseModel(temperature=...)`.

    Args:
        temperature: T > 0; 1 leaves the probabilities as they are.

    Source: Guo et al., On Calibration of Modern Neural Networks, arXiv:1706.04599, section 4.2.

    Example:
        >>> scaling = TemperatureScaling().fit([2.0, 2.0, 2.0, 2.0], [1, 1, 1, 0])
        >>> round(scaling.temperature, 4)     # sigmoid(2 / T) = .75, T = 2 / log 3
        1.8205
        >>> [round(float(p), 2) for p in scaling.predict([2.0, -2.0, 0.0])]
        [0.75, 0.25, 0.5]
    """

    temperature: float = 1.0

    range = (0.0, 1.0)
    scale = "logit"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ConfigError(
                f"TemperatureScaling.temperature must be finite and > 0, got {self.temperature}"
            )

    def fit(self, logits: Sequence[float] | NDArray[Any], labels: Sequence[float] | Any) -> Self:
        """A new object with the temperature of least cross-entropy.

        Args:
            logits: d = logit that A wins, shape (n,).
            labels: Whether A won, in [0, 1], shape (n,); votes are soft labels.

        Raises:
            DataError: Lengths differ, a label outside [0, 1], or no temperature fits best: all
                logits are 0, they are right without exception (T goes to 0), or no better than
                chance (T goes to infinity).
        """
        import numpy as np

        from assay.calibration.temperature import fit_temperature

        d = np.asarray(logits, dtype=float)
        y = np.asarray(labels, dtype=float)
        if d.ndim != 1 or d.shape != y.shape or not d.size:
            raise DataError(f"need as many labels as logits, got {y.shape} and {d.shape}")
        if not np.isfinite(d).all() or not ((y >= 0) & (y <= 1)).all():
            raise DataError("logits must be finite and labels lie in [0, 1]")
        return type(self)(fit_temperature(np.concatenate([d, -d]), np.concatenate([y, 1 - y])))

    def predict(self, logits: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]:
        """sigmoid(d / T), shape (n,)."""
        import numpy as np

        d = np.asarray(logits, dtype=float) / self.temperature
        power = np.exp(-np.abs(d))
        found: NDArray[np.float64] = np.where(d >= 0, 1 / (1 + power), power / (1 + power))
        return found
