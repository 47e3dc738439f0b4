"""Agreement of two raters: percent, Cohen's kappa plain and weighted, Gwet's AC1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import FloatArray
from assay.errors import DataError

Weights = Literal["none", "linear", "quadratic"]


def confusion_table(
    first: Sequence[Any] | NDArray[Any],
    second: Sequence[Any] | NDArray[Any],
    categories: Sequence[Any] | None = None,
) -> FloatArray:
    """How often rater 1 says i and rater 2 says j, shape (k, k).

    Units that a rater did not rate (None or NaN) are left out.

    Args:
        first: Ratings of one rater, shape (n,).
        second: Ratings of the other, shape (n,).
        categories: In their order, which weighted kappa uses; sorted ratings if not given.

    Raises:
        DataError: Lengths differ, or a rating is none of `categories`.

    Example:
        >>> confusion_table(["a", "a", "b"], ["a", "b", "b"]).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    if len(first) != len(second):
        raise DataError(
            f"both raters must rate the same units, got {len(first)} and {len(second)} ratings; "
            "mark a missing one with None"
        )
    pairs = [(_plain(a), _plain(b)) for a, b in zip(first, second, strict=True)]
    pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    try:
        found = {value for pair in pairs for value in pair}
        names = sorted(found) if categories is None else [_plain(c) for c in categories]
    except TypeError:
        raise DataError(
            "ratings must be words or numbers, and of one kind to have an order, got "
            f"{pairs[0]!r:.60} among others; give `categories`"
        ) from None
    if len(set(names)) < len(names):
        raise DataError(f"categories must differ, got {names!r:.120}; name each once")
    if not found <= set(names):
        raise DataError(
            f"ratings must be one of {names}, got {sorted(map(str, found - set(names)))[:5]}; add "
            "them to `categories`"
        )
    at = {name: index for index, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for a, b in pairs:
        table[at[a], at[b]] += 1
    return table


def percent_agreement(table: ArrayLike) -> float:
    """Share of units on the diagonal; NaN for an empty table.

    >>> percent_agreement([[20, 5], [10, 15]])
    0.7
    """
    counts = _table(table)
    return float(np.trace(counts) / counts.sum()) if counts.sum() else math.nan


def cohen_kappa(table: ArrayLike, weights: Weights = "none") -> float:
    """1 - sum w observed / sum w expected, with w the disagreement of two categories.

    Args:
        table: Counts from `confusion_table`, shape (k, k), categories in their order.
        weights: `none` counts every disagreement as 1, `linear` as |i - j|, `quadratic` as its
            square.

    Returns:
        At most 1; NaN for an empty table, or where one category holds everything.

    Source: Cohen, Educational and Psychological Measurement 20 (1960); weighted: Psychological
    Bulletin 70 (1968).

    Example:
        >>> round(cohen_kappa([[20, 5], [10, 15]]), 4), round(cohen_kappa([[45, 5], [3, 2]]), 4)
        (0.4, 0.2542)
    """
    counts = _table(table)
    n = counts.sum()
    if not n:
        return math.nan
    k = np.arange(len(counts))
    distance = np.abs(k[:, None] - k[None, :]).astype(float)
    if weights == "none":
        distance = (distance > 0).astype(float)
    elif weights == "quadratic":
        distance = distance**2
    elif weights != "linear":
        raise DataError(
            f"weights must be one of {{'none', 'linear', 'quadratic'}}, got {weights!r}"
        )
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    chance = float((distance * expected).sum())
    return 1.0 - float((distance * counts).sum()) / chance if chance else math.nan


def gwet_ac1(table: ArrayLike) -> float:
    """(p_o - p_e) / (1 - p_e) with p_e = sum pi (1 - pi) / (k - 1).

    Holds up where nearly all units are in one category and kappa collapses.

    Args:
        table: Counts, shape (k, k), all categories that could have been used.

    Source: Gwet, British Journal of Mathematical and Statistical Psychology 61 (2008), equation 6.

    Example:
        >>> round(gwet_ac1([[45, 5], [3, 2]]), 4)
        0.8195
    """
    counts = _table(table)
    n = counts.sum()
    if not n or len(counts) < 2:
        return math.nan
    share = (counts.sum(axis=0) + counts.sum(axis=1)) / (2 * n)
    chance = float((share * (1 - share)).sum() / (len(counts) - 1))
    return (percent_agreement(counts) - chance) / (1 - chance)


def _table(table: ArrayLike) -> FloatArray:
    try:
        counts = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        counts = np.empty(0)
    square = counts.ndim == 2 and counts.shape[0] == counts.shape[1]
    if not square or not np.isfinite(counts).all() or (counts < 0).any():
        raise DataError(
            f"an agreement table must be counts of shape (k, k), got shape {counts.shape}; use "
            "confusion_table"
        )
    return counts


def _plain(value: Any) -> Any:
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
