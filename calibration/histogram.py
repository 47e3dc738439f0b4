"""Histogram binning: the share of hits in each bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.calibration.calibrator import Calibrator, checked, unit
from assay.errors import ConfigError


@dataclass(frozen=True)
class Histogram(Calibrator):
    """The share of hits in the forecast's bin; bins of equal width.

    Accuracy can change: two forecasts in a bin become equal, and the shares need not rise.

    Attributes:
        bins: Number of bins over [0, 1].
        prior: Rows that each bin is thought to hold at its own middle before the data; empty bins
            predict that.
        shares: Of the bins, after `fit`.

    Source: Zadrozny and Elkan, ICML 2001. Departure: the prior.

    Example:
        >>> fitted = Histogram(bins=2, prior=0).fit([.9, .8, .7, .6], [1, 1, 1, 0])
        >>> fitted.predict([.95, .05]).tolist()
        [0.75, 0.25]
    """

    bins: int = 10
    prior: float = 1.0
    shares: tuple[float, ...] = ()

    kind: ClassVar[str] = "histogram"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(self, "prior", 0.0)
        checked(self, "shares", 0.0, 1.0)
        if not isinstance(self.bins, int) or isinstance(self.bins, bool) or self.bins < 1:
            raise ConfigError(f"Histogram.bins must be a whole number >= 1, got {self.bins!r:.40}")
        if self.n and len(self.shares) != self.bins:
            raise ConfigError(
                f"Histogram needs a share for each of {self.bins} bins, got {len(self.shares)}"
            )

    def _learn(self, x: FloatArray, y: FloatArray) -> dict[str, Any]:
        codes = self._codes(x)
        # For pairs every row stands twice: half a weight each.
        weight = 0.5 if self.pairs else 1.0
        counts = np.bincount(codes, minlength=self.bins) * weight
        hits = np.bincount(codes, weights=y, minlength=self.bins) * weight
        middles = (np.arange(self.bins) + 0.5) / self.bins
        total = counts + self.prior
        shares = np.divide(hits + self.prior * middles, total, out=middles.copy(), where=total > 0)
        return {"shares": tuple(shares.tolist())}

    def _map(self, x: FloatArray) -> FloatArray:
        found: FloatArray = np.array(self.shares)[self._codes(x)]
        return found

    def _codes(self, x: FloatArray) -> Any:
        # From the upper half and mirrored, so that p and 1 - p always fall into mirrored bins.
        high = np.floor(unit(np.abs(x)) * self.bins + 1e-9).astype(np.int64)
        high = np.minimum(high, self.bins - 1)
        return np.where(x >= 0, high, self.bins - 1 - high)
