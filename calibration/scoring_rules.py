"""Proper scores of forecasts: Brier with its parts, and log loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector
from assay.calibration.bins import Binning, bin_codes
from assay.errors import DataError


@dataclass(frozen=True)
class BrierParts:
    """brier = reliability - resolution + uncertainty + within_variance - within_covariance.

    Attributes:
        brier: mean (p - y)^2.
        reliability: Mean squared gap of the bins, 0 is best.
        resolution: Variance of the bins' hit rates, more is better; 0 for a constant forecast.
        uncertainty: ybar (1 - ybar), a property of the outcomes alone.
        within_variance: Mean variance of the forecasts inside their bins.
        within_covariance: Twice the mean covariance of forecast and outcome inside the bins.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float


def brier_score(p: ArrayLike, y: ArrayLike) -> float:
    """Mean of (p - y)^2, in [0, 1]; NaN without rows.

    Args:
        p: Forecasts in [0, 1], shape (n,).
        y: Outcomes in [0, 1], shape (n,).

    Source: Brier, Monthly Weather Review 78 (1950), for two classes and one of them counted.

    Example:
        >>> brier_score([0.8, 0.4], [1, 0])
        0.1
    """
    p, y = _pair(p, y)
    return round(float(((p - y) ** 2).mean()), 15) if len(p) else math.nan


def log_loss(p: ArrayLike, y: ArrayLike, clip: float = 1e-15) -> float:
    """-mean (y ln p + (1 - y) ln(1 - p)), in nats; NaN without rows.

    Args:
        p: Forecasts in [0, 1], shape (n,).
        y: Outcomes in [0, 1], shape (n,).
        clip: p is moved into [clip, 1 - clip] first: a sure forecast that is wrong would otherwise
            cost infinitely much.

    Example:
        >>> round(log_loss([0.75] * 4, [1, 1, 1, 0]), 4)
        0.5623
    """
    p, y = _pair(p, y)
    if not 0 < clip < 0.5:
        raise DataError(f"clip must lie in (0, .5), got {clip}; 1e-15 is usual")
    if not len(p):
        return math.nan
    inside = np.clip(p, clip, 1 - clip)
    return float(-(y * np.log(inside) + (1 - y) * np.log1p(-inside)).mean())


def brier_parts(
    p: ArrayLike, y: ArrayLike, bins: int = 10, binning: Binning = "width"
) -> BrierParts:
    """Murphy's decomposition, with the two terms that make it exact for any forecasts.

    Raises:
        DataError: Lengths differ or a value outside [0, 1].

    Source: Murphy, J. Appl. Meteorology 12 (1973); the within-bin terms: Stephenson et al., Weather
    and Forecasting 23 (2008). For soft outcomes `uncertainty` is their variance.

    Example:
        >>> p = [.2] * 5 + [.6] * 5 + [.9] * 10
        >>> y = [1, 0, 0, 0, 0] + [1, 1, 0, 0, 0] + [1] * 9 + [0]
        >>> found = brier_parts(p, y)
        >>> [round(v, 3) for v in (found.reliability, found.resolution, found.uncertainty)]
        [0.01, 0.095, 0.24]
        >>> round(found.brier, 3)
        0.155
    """
    p, y = _pair(p, y)
    if not len(p):
        return BrierParts(*[math.nan] * 6)
    codes = bin_codes(p, bins, binning, (0.0, 1.0))
    count = np.bincount(codes, minlength=bins)
    held = np.maximum(count, 1)
    mean_p = np.bincount(codes, weights=p, minlength=bins) / held
    mean_y = np.bincount(codes, weights=y, minlength=bins) / held
    share, base = count / len(p), float(y.mean())
    inner_p, inner_y = p - mean_p[codes], y - mean_y[codes]
    soft = float((inner_y**2).mean())  # equals the bins' own variance of 0/1 outcomes
    resolution = float(np.sum(share * (mean_y - base) ** 2))
    return BrierParts(
        brier=float(((p - y) ** 2).mean()),
        reliability=float(np.sum(share * (mean_p - mean_y) ** 2)),
        resolution=resolution,
        uncertainty=soft + resolution,
        within_variance=float((inner_p**2).mean()),
        within_covariance=2.0 * float((inner_p * inner_y).mean()),
    )


def resolution(p: ArrayLike, y: ArrayLike, bins: int = 10, binning: Binning = "mass") -> float:
    """Variance of the bins' hit rates: how much the forecasts tell apart; 0 for a constant one.

    Biased upwards like ECE; see `null_calibration.null_resolution` for what no skill reads.

    Example:
        >>> resolution([0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0])
        0.0
    """
    return brier_parts(p, y, bins, binning).resolution


def _pair(p: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    forecasts = vector("p", p, low=0, high=1)
    return forecasts, vector("y", y, low=0, high=1, size=len(forecasts))
