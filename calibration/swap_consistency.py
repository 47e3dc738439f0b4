"""Swap consistency of probabilities, and what a swap penalty does to the squared error."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector


@dataclass(frozen=True)
class SwapDecomposition:
    """Squared error of both orders, taken apart.

    With a = p_AB, b = 1 - p_BA, m = (a + b) / 2, delta = (a - b) / 2:
    mean of ((a - y)^2 + (b - y)^2) / 2 = mean (m - y)^2 + mean delta^2.

    Attributes:
        error: Left side: mean squared error over both orders.
        quality: mean (m - y)^2, what no swap penalty changes.
        order: mean delta^2, the part due to the order.
        penalty: mean (2 delta)^2 = SC.
        resolution: Variance of m: 0 for a judge that always says .5, whose penalty is 0 too.
    """

    error: float
    quality: float
    order: float
    penalty: float
    resolution: float

    def trained_on(self, weight: float) -> float:
        """Loss quality + (1 + 4 weight) order, the one with `weight` times the swap penalty."""
        return self.quality + (1.0 + 4.0 * weight) * self.order


def swap_gap(p_ab: ArrayLike, p_ba: ArrayLike) -> FloatArray:
    """p_AB + p_BA - 1 per pair, > 0 where the first place is favoured; shape (n,).

    >>> swap_gap([0.8, 0.6], [0.3, 0.4]).round(2).tolist()
    [0.1, 0.0]
    """
    ab = vector("p_ab", p_ab, low=0, high=1)
    return ab + vector("p_ba", p_ba, low=0, high=1, size=len(ab)) - 1.0


def swap_inconsistency(p_ab: ArrayLike, p_ba: ArrayLike) -> float:
    """SC = mean (p_AB + p_BA - 1)^2; 0 is consistent, NaN without pairs.

    Args:
        p_ab: P(the first-shown wins) as A is first, shape (n,).
        p_ba: P(the first-shown wins) as B is first, shape (n,).

    Source: the swap-consistency term of the Nanbeige4.1-3B report, arXiv:2602.13367.

    Example:
        >>> round(swap_inconsistency([.8, .6, .55], [.3, .4, .55]), 6)
        0.006667
    """
    gap = swap_gap(p_ab, p_ba)
    return float((gap**2).mean()) if len(gap) else math.nan


def score_swap_inconsistency(d_ab: ArrayLike, d_ba: ArrayLike) -> float:
    """Mean of (d_AB + d_BA)^2 for score differences first minus second; NaN without pairs.

    >>> score_swap_inconsistency([2.0, -1.0], [-1.0, 1.0])
    0.5
    """
    ab = vector("d_ab", d_ab)
    total = ab + vector("d_ba", d_ba, size=len(ab))
    return float((total**2).mean()) if len(total) else math.nan


def swap_decomposition(p_ab: ArrayLike, p_ba: ArrayLike, labels: ArrayLike) -> SwapDecomposition:
    """Take the squared error of both orders apart into quality and order.

    Args:
        p_ab: P(the first-shown wins) as A is first, shape (n,).
        p_ba: P(the first-shown wins) as B is first, shape (n,).
        labels: 1 where A is better, 0 where B is, .5 for a tie, shape (n,).

    Source: completing the square; the penalty is that of arXiv:2602.13367.

    Example:
        >>> found = swap_decomposition([0.8], [0.4], [1])
        >>> [round(v, 3) for v in (found.error, found.quality, found.order, found.penalty)]
        [0.1, 0.09, 0.01, 0.04]
    """
    delta = swap_gap(p_ab, p_ba) / 2.0
    y = vector("labels", labels, low=0, high=1, size=len(delta))
    if not len(y):
        return SwapDecomposition(math.nan, math.nan, math.nan, math.nan, math.nan)
    m = vector("p_ab", p_ab) - delta
    quality, order = float(((m - y) ** 2).mean()), float((delta**2).mean())
    return SwapDecomposition(quality + order, quality, order, 4.0 * order, float(m.var()))
