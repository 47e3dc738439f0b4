"""Elo ratings: the Bradley-Terry scale that people know, and the online update."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector
from assay.errors import DataError

#: Elo points of one logit: 400 / ln 10.
POINTS_PER_LOGIT = 400.0 / float(np.log(10.0))


def elo_scale(strengths: ArrayLike, mean: float = 1000.0) -> FloatArray:
    """Strengths in logits as Elo points around a mean: 400 points are odds of 10 to 1.

    >>> elo_scale([0.8341051829, 0.4170525709, 0.0]).round(1).tolist()
    [1072.4, 1000.0, 927.6]
    """
    s = vector("strengths", strengths)
    return mean + POINTS_PER_LOGIT * (s - s.mean()) if len(s) else s


def online_elo(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    first_wins: ArrayLike,
    *,
    k: float = 32.0,
    start: float = 1000.0,
) -> dict[Hashable, float]:
    """Ratings after updating game by game; the result depends on the order of the games.

    R += k (outcome - 1 / (1 + 10^((R_other - R) / 400))). For a leaderboard use
    `fit_bradley_terry`, which does not.

    Args:
        first: One player per game.
        second: The other.
        first_wins: 1, 0 or .5, shape (n,).
        k: Size of a step, > 0.
        start: Rating of a new player.

    Source: Elo, The Rating of Chessplayers (1978).

    Example:
        >>> games = (["A"] * 4, ["B"] * 4)
        >>> round(online_elo(*games, [1, 1, 0, 0])["A"], 2)
        994.67
        >>> round(online_elo(*games, [0, 0, 1, 1])["A"], 2)
        1005.33
    """
    if len(first) != len(second) or not 0 < k < np.inf:
        raise DataError(
            f"need two players per game and k > 0, got {len(first)} and {len(second)} players, "
            f"k={k}"
        )
    y = vector("first_wins", first_wins, low=0, high=1, size=len(first))
    ratings: dict[Hashable, float] = {}
    for a, b, outcome in zip(first, second, y.tolist(), strict=True):
        if a == b:
            raise DataError(f"player {a!r:.60} meets itself; leave such games out")
        ra, rb = ratings.get(a, start), ratings.get(b, start)
        expected = 1.0 / (1.0 + 10.0 ** ((rb - ra) / 400.0))
        ratings[a], ratings[b] = ra + k * (outcome - expected), rb - k * (outcome - expected)
    return ratings
