"""Isotonic calibration: any rising step function, by pooling adjacent violators."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector
from assay.calibration.calibrator import Calibrator, checked, unit
from assay.errors import ConfigError, DataError


@dataclass(frozen=True)
class Isotonic(Calibrator):
    """Monotone steps, linear between them; needs some hundred rows, else use `Temperature`.

    For `pairs` the data are fitted with their mirror images: for n pairs that fits 2n points, and
    f(p) + f(1 - p) = 1 holds by construction.

    Attributes:
        knots: Forecasts at the ends of the steps, rising.
        values: Calibrated values there, rising.

    Source: Zadrozny and Elkan, KDD 2002; Barlow et al. (1972) for the algorithm.

    Example:
        >>> fitted = Isotonic().fit([.6] * 4 + [.9] * 4, [1, 0, 1, 0] + [1, 1, 1, 0])
        >>> fitted.predict([.6, .9, .1, .75]).round(6).tolist()
        [0.5, 0.75, 0.25, 0.625]
    """

    knots: tuple[float, ...] = ()
    values: tuple[float, ...] = ()

    kind: ClassVar[str] = "isotonic"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "knots", 0.0, 1.0)
        checked(self, "values", 0.0, 1.0)
        rising = all(a < b for a, b in pairwise(self.knots))
        rising = rising and all(a <= b for a, b in pairwise(self.values))
        if len(self.knots) != len(self.values) or not rising or (self.n and not self.knots):
            raise ConfigError(
                f"Isotonic needs rising knots and as many rising values, got {len(self.knots)} and "
                f"{len(self.values)}"
            )

    def _learn(self, x: FloatArray, y: FloatArray) -> dict[str, Any]:
        p = np.round(
            unit(x), 12
        )  # a forecast and the mirror image of another may differ by rounding
        values, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
        means = np.bincount(inverse, weights=y) / counts
        fitted = pool_adjacent_violators(means, counts.astype(np.float64))
        # Inside a step only its ends matter.
        kept = np.ones(len(values), dtype=bool)
        kept[1:-1] = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
        return {"knots": tuple(values[kept].tolist()), "values": tuple(fitted[kept].tolist())}

    def _map(self, x: FloatArray) -> FloatArray:
        found: FloatArray = np.interp(unit(x), self.knots, self.values)
        return found


def pool_adjacent_violators(values: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """The non-decreasing sequence closest to `values` in weighted squares, shape (n,).

    Args:
        values: Shape (n,), in the order of the forecasts.
        weights: Shape (n,), > 0; 1 if not given.

    Source: Barlow et al., Statistical Inference under Order Restrictions (1972), section 1.2.

    Example:
        >>> pool_adjacent_violators([0, 1, 0, 1, 1, 1]).tolist()
        [0.0, 0.5, 0.5, 1.0, 1.0, 1.0]
    """
    v = vector("values", values)
    w = np.ones(len(v)) if weights is None else vector("weights", weights, low=0, size=len(v))
    if (w <= 0).any():
        raise DataError(f"weights must be > 0, got {w.min():g}; leave such rows out")
    means: list[float] = []
    masses: list[float] = []
    counts: list[int] = []
    for value, mass in zip(v.tolist(), w.tolist(), strict=True):
        count = 1
        while means and means[-1] >= value:
            previous, heavy = means.pop(), masses.pop()
            value = (value * mass + previous * heavy) / (mass + heavy)
            mass += heavy
            count += counts.pop()
        means.append(value)
        masses.append(mass)
        counts.append(count)
    return np.repeat(np.array(means, dtype=np.float64), counts)
