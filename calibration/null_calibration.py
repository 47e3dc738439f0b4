"""What a perfectly calibrated model would read on the forecasts at hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector
from assay.calibration.bins import Binning, bin_codes
from assay.calibration.scoring_rules import resolution
from assay.errors import DataError

Metric = Callable[[FloatArray, FloatArray], float]
_NORMAL_FROM = 20_000


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """Values of a metric under its null, sorted, shape (draws,)."""

    values: FloatArray

    @property
    def median(self) -> float:
        """Its middle."""
        return float(np.median(self.values)) if len(self.values) else math.nan

    def quantile(self, q: float) -> float:
        """The value that a share q of the draws stays below."""
        return float(np.quantile(self.values, q)) if len(self.values) else math.nan

    def band(self, level: float = 0.9) -> tuple[float, float]:
        """The central interval that holds a share `level` of the draws."""
        return self.quantile(0.5 - level / 2), self.quantile(0.5 + level / 2)

    def p_value(self, observed: float) -> float:
        """Share of draws at least as large, (1 + count) / (1 + draws); NaN for NaN."""
        if math.isnan(observed) or not len(self.values):
            return math.nan
        # A draw equal to the observed value up to rounding counts as equal.
        count = int(np.sum(self.values >= observed - 1e-12))
        return (1 + count) / (1 + len(self.values))


def null_of(metric: Metric, p: ArrayLike, draws: int = 1000, seed: int = 0) -> NullDistribution:
    """Distribution of `metric(p, y)` when y ~ Bernoulli(p): the model is perfectly calibrated.

    Args:
        metric: Takes forecasts and outcomes, such as `ece`, `brier_score`, `log_loss`.
        p: The forecasts at hand, shape (n,); their number and spread decide what is noise.
        draws: Simulated sets of outcomes.
        seed: Makes them repeatable.

    Source: consistency resampling, Broecker and Smith, Weather and Forecasting 22 (2007).

    Example:
        >>> from assay.calibration.scoring_rules import brier_score
        >>> found = null_of(brier_score, [0.5] * 20, draws=10)
        >>> found.median, found.p_value(0.3)       # (p - y)^2 is .25 whatever happens
        (0.25, 0.09090909090909091)
    """
    forecasts = _forecasts(p, draws)
    generator = np.random.default_rng(seed)
    values = [
        metric(forecasts, (generator.random(len(forecasts)) < forecasts).astype(float))
        for _ in range(draws)
    ]
    return NullDistribution(np.sort(np.array(values)))


def null_ece(
    p: ArrayLike,
    bins: int = 10,
    binning: Binning = "width",
    *,
    span: tuple[float, float] = (0.0, 1.0),
    draws: int = 1000,
    seed: int = 0,
) -> NullDistribution:
    """`null_of(ece, p)`, fast: bins are found once and equal forecasts are drawn together.

    Beyond 20,000 forecasts the hits of a bin are drawn as normal.

    Example:
        >>> generator = np.random.default_rng(0)
        >>> found = null_ece(generator.random(400), bins=15)
        >>> 0.05 < found.median < 0.07
        True
    """
    forecasts = _forecasts(p, draws)
    n = len(forecasts)
    if not n:
        return NullDistribution(np.zeros(0))
    values, counts = np.unique(forecasts, return_counts=True)
    # `mass` needs the counts to find its bins, so codes are those of the whole array.
    order = np.argsort(forecasts, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    codes = bin_codes(forecasts, bins, binning, span)[order][starts]
    expected = np.bincount(codes, weights=values * counts, minlength=bins)
    generator = np.random.default_rng(seed)
    if n > _NORMAL_FROM:
        # Sums of so many outcomes are normal for all that an absolute gap can show.
        variance = np.bincount(codes, weights=values * (1 - values) * counts, minlength=bins)
        gaps = generator.normal(size=(draws, bins)) * np.sqrt(variance)
        return NullDistribution(np.sort(np.abs(gaps).sum(axis=1) / n))
    found = np.empty(draws)
    for draw in range(draws):
        hits = generator.binomial(counts, values)
        surplus = np.bincount(codes, weights=hits, minlength=bins) - expected
        found[draw] = np.abs(surplus).sum() / n
    return NullDistribution(np.sort(found))


def null_resolution(
    p: ArrayLike, y: ArrayLike, bins: int = 10, *, draws: int = 1000, seed: int = 0
) -> NullDistribution:
    """Distribution of `resolution` when forecasts and outcomes have nothing to do with each other.

    Outcomes are shuffled against the forecasts.

    Example:
        >>> found = null_resolution([0.1, 0.2, 0.8, 0.9] * 10, [0, 1, 0, 1] * 10, draws=200)
        >>> found.p_value(0.25) < 0.01
        True
    """
    forecasts = _forecasts(p, draws)
    outcomes = vector("y", y, low=0, high=1, size=len(forecasts))
    generator = np.random.default_rng(seed)
    values = [resolution(forecasts, generator.permutation(outcomes), bins) for _ in range(draws)]
    return NullDistribution(np.sort(np.array(values)))


def _forecasts(p: ArrayLike, draws: int) -> FloatArray:
    if draws < 1:
        raise DataError(f"draws must be at least 1, got {draws}; 1000 are usual")
    return vector("p", p, low=0, high=1)
