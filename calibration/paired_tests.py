"""Tests of paired verdicts, and the correction for testing many things at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector
from assay.calibration.distributions import binomial_cdf, two_sided_p
from assay.errors import DataError


@dataclass(frozen=True)
class McNemar:
    """Result of McNemar's test.

    Attributes:
        first_only: Pairs in which only the first was a success.
        second_only: Pairs in which only the second was.
        p_exact: Two-sided exact binomial p.
        p_asymptotic: By chi-square without continuity correction.
    """

    first_only: int
    second_only: int
    p_exact: float
    p_asymptotic: float


def mcnemar(first_only: int, second_only: int) -> McNemar:
    """Are the two kinds of discordant pairs equally frequent?

    For position bias: primacy pairs against recency pairs, one pair per prompt. With several pairs
    per prompt use a clustered interval instead.

    Args:
        first_only: Discordant pairs one way, >= 0.
        second_only: Discordant pairs the other way, >= 0.

    Returns:
        p = 1 without discordant pairs: nothing speaks against the null.

    Source: McNemar, Psychometrika 12 (1947).

    Example:
        >>> found = mcnemar(10, 2)
        >>> round(found.p_exact, 4), round(found.p_asymptotic, 4)
        (0.0386, 0.0209)
    """
    if not all(n >= 0 and float(n).is_integer() for n in (first_only, second_only)):
        raise DataError(
            f"discordant counts must be whole and >= 0, got {first_only} and {second_only}; count "
            "again"
        )
    n = first_only + second_only
    if n == 0:
        return McNemar(0, 0, 1.0, 1.0)
    exact = min(1.0, 2.0 * binomial_cdf(min(first_only, second_only), n, 0.5))
    z = (first_only - second_only) / math.sqrt(n)
    return McNemar(first_only, second_only, exact, two_sided_p(z))


def false_discovery(p_values: ArrayLike) -> FloatArray:
    """Values q: the false discovery rate at which each null would just be rejected, shape (n,).

    Source: Benjamini and Hochberg, JRSS B 57 (1995), step-up procedure.

    Example:
        >>> false_discovery([0.01, 0.04, 0.03, 0.5]).round(4).tolist()
        [0.04, 0.0533, 0.0533, 0.5]
    """
    p = vector("p_values", p_values, low=0, high=1)
    order = np.argsort(-p, kind="stable")
    ranks = np.arange(len(p), 0, -1)
    stepped = np.minimum.accumulate(np.minimum(p[order] * len(p) / ranks, 1.0))
    q = np.empty(len(p))
    q[order] = stepped
    return q
