"""Take a judge's liking for a place out of its probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, logit, sigmoid, vector
from assay.errors import DataError

_CLIP = 1e-6


@dataclass(frozen=True, eq=False)
class Debiased:
    """Pairs judged in both orders.

    Attributes:
        p_a: P(A preferred) without the place, shape (n,).
        d: Its logit.
        b: Each pair's own position term in logits, shape (n,).
    """

    p_a: FloatArray
    d: FloatArray
    b: FloatArray


def debias_pairs(p_ab: ArrayLike, p_ba: ArrayLike) -> Debiased:
    """Find d = (logit p_AB - logit p_BA) / 2 and b = (logit p_AB + logit p_BA) / 2, pair by pair.

    Args:
        p_ab: P(the first-shown wins) as A is first, shape (n,); moved into [1e-6, 1 - 1e-6].
        p_ba: P(the first-shown wins) as B is first, shape (n,).

    Returns:
        Swapping A and B turns p_a into 1 - p_a exactly.

    Source: Davidson and Beaver, Biometrics 33 (1977), for a single pair.

    Example:
        >>> found = debias_pairs([0.8], [0.4])
        >>> found.p_a.round(4).tolist(), found.b.round(4).tolist()
        ([0.7101], [0.4904])
    """
    ab = vector("p_ab", p_ab, low=0, high=1)
    ba = vector("p_ba", p_ba, low=0, high=1, size=len(ab))
    x, y = logit(ab, _CLIP), logit(ba, _CLIP)
    d = (x - y) / 2.0
    return Debiased(_mirrored(d), d, (x + y) / 2.0)


def debias_one_order(p_first: ArrayLike, b: float) -> FloatArray:
    """The value sigmoid(logit p - b): P(first-shown wins) without the place, shape (n,).

    Args:
        p_first: P(the first-shown wins), in one order only, shape (n,).
        b: Position term in logits from an audit of the same judge, prompt version and task, e.g.
            `two_order_term(...).b`.

    Raises:
        DataError: b is not finite.

    Example:
        >>> debias_one_order([0.8, 0.6201], b=0.4904).round(2).tolist()
        [0.71, 0.5]
    """
    p = vector("p_first", p_first, low=0, high=1)
    if not isinstance(b, int | float | np.number) or not np.isfinite(b):
        raise DataError(f"b must be finite, got {b}; audit the judge in both orders first")
    return _mirrored(logit(p, _CLIP) - b)


def _mirrored(d: FloatArray) -> FloatArray:
    """The value sigmoid(d), with p(d) + p(-d) = 1 exactly."""
    upper = sigmoid(np.abs(d))
    found: FloatArray = np.where(d >= 0, upper, 1.0 - upper)
    return found
