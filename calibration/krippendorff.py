"""Krippendorff's alpha: agreement of any number of raters, with missing ratings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.errors import DataError

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def krippendorff_alpha(ratings: Sequence[Sequence[Any]], level: Level = "nominal") -> float:
    """1 - observed over expected disagreement.

    Args:
        ratings: One row per rater, one column per unit; None or NaN for missing. Units with a
            single rating are left out: they say nothing of agreement.
        level: How far two values are apart. `nominal`: different or not. `ordinal`: by the ratings
            between them. `interval`: squared difference. `ratio`: squared difference over sum.

    Returns:
        1 for perfect agreement, 0 for chance, below for worse; NaN where no unit has two ratings
        or all ratings are alike (nothing could have disagreed).

    Raises:
        DataError: Rows of different lengths, values that are not numbers where the level needs
            them, or negative values with `ratio`.

    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), sections C and D.

    Example:
        >>> rows = ["*****34121133*3", "1*213343*******", "**21344*21133*4"]
        >>> ratings = [[None if c == "*" else int(c) for c in row] for row in rows]
        >>> round(krippendorff_alpha(ratings), 4), round(krippendorff_alpha(ratings, "interval"), 4)
        (0.6914, 0.8108)
    """
    if level not in ("nominal", "ordinal", "interval", "ratio"):
        raise DataError(
            f"level must be one of {{'nominal', 'ordinal', 'interval', 'ratio'}}, got {level!r}"
        )
    if len({len(row) for row in ratings}) > 1:
        raise DataError(
            f"every rater needs one entry per unit, got rows of {[len(row) for row in ratings]}; "
            "mark missing ratings with None"
        )
    number = _order(level)
    units = [
        [v if level == "nominal" else number(v) for v in column if _present(v)]
        for column in zip(*ratings, strict=True)
    ]
    units = [unit for unit in units if len(unit) >= 2]
    values = sorted({value for unit in units for value in unit}, key=number)
    coincidences = np.zeros((len(values), len(values)))
    at = {value: index for index, value in enumerate(values)}
    for unit in units:
        counts = np.zeros(len(values))
        for value in unit:
            counts[at[value]] += 1
        pairs = np.outer(counts, counts) - np.diag(counts)
        coincidences += pairs / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    n = totals.sum()
    if len(values) < 2:
        return math.nan
    distance = _distances(values, totals, level)
    observed = float((coincidences * distance).sum())
    expected = float((np.outer(totals, totals) * distance).sum() / (n - 1))
    return 1.0 - observed / expected if expected else math.nan


def _distances(values: list[Any], totals: FloatArray, level: Level) -> FloatArray:
    k = len(values)
    if level == "nominal":
        return 1.0 - np.eye(k)
    if level == "ordinal":
        # Ratings between i and j, those at either end counted half.
        upto = np.cumsum(totals) - totals / 2.0
        ordinal: FloatArray = (upto[:, None] - upto[None, :]) ** 2
        return ordinal
    x = np.array(values, dtype=np.float64)
    difference: FloatArray = (x[:, None] - x[None, :]) ** 2
    if level == "interval":
        return difference
    if (x < 0).any():
        raise DataError(f"ratio needs values >= 0, got {x.min():g}; use level='interval'")
    total = (x[:, None] + x[None, :]) ** 2
    return np.divide(difference, total, out=np.zeros_like(difference), where=total > 0)


def _order(level: Level) -> Any:
    def key(value: Any) -> Any:
        if level == "nominal":
            return str(value)
        try:
            if math.isfinite(number := float(value)):
                return number
            raise ValueError
        except (TypeError, ValueError):
            raise DataError(
                f"level {level!r} needs numbers, got {value!r:.60}; code the ratings as numbers or "
                "use level='nominal'"
            ) from None

    return key


def _present(value: Any) -> bool:
    return value is not None and not (isinstance(value, float | np.floating) and math.isnan(value))
