"""Means of a judge's verdicts, corrected by a small set that people labelled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import FloatArray, group_codes, vector
from assay.calibration.distributions import normal_quantile
from assay.calibration.intervals import Interval
from assay.errors import DataError


def prediction_powered_mean(
    judged: ArrayLike,
    judged_labelled: ArrayLike,
    labels: ArrayLike,
    *,
    level: float = 0.95,
    groups: Sequence[Any] | NDArray[Any] | None = None,
    tuned: bool = False,
) -> Interval:
    """PPI: mean of the judge on many rows + mean of (label - judge) on the labelled few.

    Args:
        judged: The judge's values on unlabelled rows, shape (N,).
        judged_labelled: Its values on the labelled rows, shape (n,).
        labels: What people said there, shape (n,).
        level: Coverage of the interval (normal approximation).
        groups: Prompt of each labelled row, for clustered errors.
        tuned: Weigh the judge by the best lambda in [0, 1] instead of 1: never much worse than the
            labels alone.

    Raises:
        DataError: No unlabelled rows or fewer than two labelled ones.

    Source: Angelopoulos et al., Prediction-powered inference, arXiv:2301.09633; tuned: PPI++,
    arXiv:2311.01453, section 6.

    Example:
        >>> judge, people = [1] * 82 + [0] * 18, [1] * 72 + [0] * 28
        >>> found = prediction_powered_mean([1] * 84 + [0] * 16, judge, people)
        >>> round(found.estimate, 4)          # .84 + (.72 - .82)
        0.74
    """
    many = vector("judged", judged)
    few = vector("judged_labelled", judged_labelled)
    truth = vector("labels", labels, size=len(few))
    if not 0 < level < 1:
        raise DataError(f"level must lie in (0, 1), got {level}; 0.95 is usual")
    if not len(many) or len(few) < 2:
        raise DataError(
            f"need unlabelled rows and at least two labelled ones, got {len(many)} and {len(few)}"
        )
    weight = 1.0
    if tuned:
        spread = float(np.var(np.concatenate([few, many])))
        covariance = float(np.mean((few - few.mean()) * (truth - truth.mean())))
        ratio = 1.0 + len(few) / len(many)
        weight = min(1.0, max(0.0, covariance / (ratio * spread))) if spread > 0 else 0.0
    residual = truth - weight * few
    estimate = weight * float(many.mean()) + float(residual.mean())
    variance = weight**2 * float(many.var()) / len(many) + _variance_of_mean(residual, groups)
    half = normal_quantile(0.5 + level / 2.0) * math.sqrt(variance)
    return Interval(estimate, estimate - half, estimate + half, level, "ppi", len(few))


def rogan_gladen(
    observed: float,
    sensitivity: float,
    specificity: float,
    *,
    n: int = 0,
    n_positive: int = 0,
    n_negative: int = 0,
    level: float = 0.95,
) -> Interval:
    """(observed + specificity - 1) / (sensitivity + specificity - 1), clipped to [0, 1].

    Args:
        observed: Share of rows that the judge calls positive.
        sensitivity: Share of truly positive rows that it calls positive.
        specificity: Share of truly negative rows that it calls negative.
        n: Rows behind `observed`; with 0 there is no interval (NaN).
        n_positive: Truly positive labelled rows.
        n_negative: Truly negative labelled rows.
        level: Coverage of the interval (delta method).

    Raises:
        DataError: sensitivity + specificity <= 1: the judge is no better than a coin.

    Source: Rogan and Gladen, American Journal of Epidemiology 107 (1978).

    Example:
        >>> round(rogan_gladen(0.84, 0.95, 0.6).estimate, 4)
        0.8
    """
    for name, value in (("observed", observed), ("sensitivity", sensitivity)):
        if not 0 <= value <= 1:
            raise DataError(f"{name} must lie in [0, 1], got {value}")
    if min(n, n_positive, n_negative) < 0 or not 0 < level < 1:
        raise DataError(
            f"need counts >= 0 and a level in (0, 1), got {n}, {n_positive}, {n_negative}, {level}"
        )
    skill = sensitivity + specificity - 1.0
    if not 0 <= specificity <= 1 or skill <= 0:
        raise DataError(
            f"sensitivity + specificity must exceed 1, got {sensitivity} + {specificity}: the "
            "judge is no better than a coin, and no correction helps"
        )
    raw = (observed + specificity - 1.0) / skill
    estimate = min(1.0, max(0.0, raw))
    if not (n and n_positive and n_negative):
        return Interval(estimate, math.nan, math.nan, level, "rogan-gladen", n)
    variance = (
        observed * (1 - observed) / n
        + raw**2 * sensitivity * (1 - sensitivity) / n_positive
        + (1 - raw) ** 2 * specificity * (1 - specificity) / n_negative
    ) / skill**2
    half = normal_quantile(0.5 + level / 2.0) * math.sqrt(variance)
    low, high = max(0.0, raw - half), min(1.0, raw + half)
    return Interval(estimate, low, high, level, "rogan-gladen", n)


def _variance_of_mean(values: FloatArray, groups: Sequence[Any] | NDArray[Any] | None) -> float:
    codes = group_codes("groups", groups, len(values))
    units = int(codes.max()) + 1
    if units < 2:
        raise DataError("the labelled rows need at least two prompts, got one; label more")
    sums = np.bincount(codes, weights=values - values.mean(), minlength=units)
    return float((sums**2).sum()) / len(values) ** 2 * units / (units - 1)
