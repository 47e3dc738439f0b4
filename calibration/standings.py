"""Leaderboards: strengths with intervals that draw whole prompts, and ranks that admit doubt."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.bradley_terry import BradleyTerry, fit_bradley_terry
from assay.calibration.elo import POINTS_PER_LOGIT
from assay.calibration.intervals import Interval
from assay.calibration.logistic import Penalty


@dataclass(frozen=True)
class Standing:
    """One line of a leaderboard.

    Attributes:
        player: Who.
        elo: Rating with interval, mean of all players 1000.
        rank: 1 + number of players that are better beyond doubt (the interval of the difference
            lies above 0).
        games: How many it played.
    """

    player: Hashable
    elo: Interval
    rank: int
    games: int


def leaderboard(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    first_wins: ArrayLike,
    prompts: Sequence[Any] | NDArray[Any],
    *,
    position: bool = True,
    covariates: Mapping[str, ArrayLike] | None = None,
    penalty: Penalty = "none",
    strength: float = 1.0,
    level: float = 0.95,
) -> tuple[list[Standing], BradleyTerry]:
    """Bradley-Terry standings, best first, with errors clustered by prompt.

    Both orders and repeats of a prompt are not independent: with two games a prompt and a
    correlation of .6 the variance is 1.6 times what counting games would give.

    Args:
        first: Player shown first, one per game.
        second: Player shown second.
        first_wins: 1, 0, or .5, shape (n,).
        prompts: Prompt of each game, shape (n,).
        position: Fit a position term.
        covariates: First minus second of features to hold equal (length, style).
        penalty: As for `fit_bradley_terry`.
        strength: Of a ridge.
        level: Coverage.

    Raises:
        DataError: As `fit_bradley_terry`.

    Example:
        >>> first, second = ["x", "y"] * 50, ["y", "x"] * 50
        >>> won = [1, 0] * 35 + [0, 1] * 15
        >>> table, fit = leaderboard(first, second, won, [i // 2 for i in range(100)])
        >>> [(line.player, round(line.elo.estimate), line.rank, line.games) for line in table]
        [('x', 1074, 1, 100), ('y', 926, 2, 100)]
    """
    fit = fit_bradley_terry(
        first,
        second,
        first_wins,
        position=position,
        covariates=covariates,
        clusters=prompts,
        penalty=penalty,
        strength=strength,
    )
    counts: dict[Hashable, int] = {}
    for player in (*first, *second):
        counts[player] = counts.get(player, 0) + 1
    lines = []
    for index in np.argsort(-fit.strengths, kind="stable"):
        player = fit.players[index]
        better = sum(
            fit.difference(other, player, level).low > 0 for other in fit.players if other != player
        )
        elo = _as_elo(fit.interval(player, level))
        lines.append(Standing(player, elo, 1 + better, counts[player]))
    return lines, fit


def _as_elo(logits: Interval) -> Interval:
    low, middle, high = (
        1000.0 + POINTS_PER_LOGIT * v for v in (logits.low, logits.estimate, logits.high)
    )
    return Interval(middle, low, high, logits.level, logits.method, logits.units)
