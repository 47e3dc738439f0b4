"""Calibration error and the reliability curve."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector
from assay.calibration.bins import Binning, bin_codes


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Mean forecast and share of hits per non-empty bin; each array has shape (k,)."""

    forecast: FloatArray
    observed: FloatArray
    count: FloatArray

    @property
    def gap(self) -> FloatArray:
        """Observed minus forecast, shape (k,)."""
        return self.observed - self.forecast


def reliability_curve(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 10,
    binning: Binning = "width",
    span: tuple[float, float] = (0.0, 1.0),
) -> ReliabilityCurve:
    """Mean forecast, share of hits and count of each bin that holds a forecast.

    Args:
        p: Forecasts in [0, 1], shape (n,).
        y: Outcomes in [0, 1], shape (n,); .5 for a tie.
        bins: Number of bins.
        binning: `width` or `mass`, see `bins.bin_codes`.
        span: Range divided by `width`: (.5, 1) for confidences.

    Raises:
        DataError: Lengths differ or a value outside [0, 1].

    Example:
        >>> curve = reliability_curve([0.2, 0.2, 0.9], [0, 1, 1], bins=5)
        >>> curve.observed.tolist(), curve.count.tolist()
        ([0.5, 1.0], [2.0, 1.0])
    """
    p, y = _pair(p, y)
    codes = bin_codes(p, bins, binning, span)
    count = np.bincount(codes, minlength=bins).astype(np.float64)
    held = count > 0
    forecast = np.bincount(codes, weights=p, minlength=bins)[held] / count[held]
    observed = np.bincount(codes, weights=y, minlength=bins)[held] / count[held]
    return ReliabilityCurve(forecast, observed, count[held])


def ece(
    p: ArrayLike,
    y: ArrayLike,
    bins: int = 10,
    binning: Binning = "width",
    span: tuple[float, float] = (0.0, 1.0),
) -> float:
    """Expected calibration error: sum over bins of n_b/n |observed - forecast|.

    Biased upwards: a perfect model does not read 0. Compare with `null_calibration.null_of`.

    Args:
        p: Forecasts in [0, 1], shape (n,).
        y: Outcomes in [0, 1], shape (n,).
        bins: Number of bins.
        binning: `width`, or `mass` which never puts equal forecasts into different bins.
        span: Range divided by `width`.

    Returns:
        In [0, 1]; NaN without rows.

    Source: Guo et al., arXiv:1706.04599, equation 3.

    Example:
        >>> p = [.2] * 5 + [.6] * 5 + [.9] * 10
        >>> y = [1, 0, 0, 0, 0] + [1, 1, 0, 0, 0] + [1] * 9 + [0]
        >>> round(ece(p, y, bins=5), 4)
        0.05
    """
    curve = reliability_curve(p, y, bins, binning, span)
    total = curve.count.sum()
    return float(np.sum(curve.count * np.abs(curve.gap)) / total) if total else math.nan


def adaptive_ece(p: ArrayLike, y: ArrayLike, bins: int = 10) -> float:
    """ECE with bins of equal mass that do not split equal forecasts.

    Source: Nixon et al., Measuring Calibration in Deep Learning, arXiv:1904.01685. Departure: equal
    forecasts share a bin, else the value depends on the order of the rows.

    Example:
        >>> round(adaptive_ece([.9] * 10, [1] * 6 + [0] * 4, bins=5), 4)
        0.3
    """
    return ece(p, y, bins, "mass")


def maximum_calibration_error(
    p: ArrayLike, y: ArrayLike, bins: int = 10, binning: Binning = "width"
) -> float:
    """Largest |observed - forecast| over the bins; NaN without rows.

    Source: Guo et al., arXiv:1706.04599, equation 5.

    Example:
        >>> round(maximum_calibration_error([.9] * 10, [1] * 6 + [0] * 4), 4)
        0.3
    """
    curve = reliability_curve(p, y, bins, binning)
    return float(np.abs(curve.gap).max()) if len(curve.gap) else math.nan


def _pair(p: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    forecasts = vector("p", p, low=0, high=1)
    return forecasts, vector("y", y, low=0, high=1, size=len(forecasts))
