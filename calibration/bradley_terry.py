"""Bradley-Terry strengths from games, with a position term and covariates."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import FloatArray, IntArray, vector
from assay.calibration.comparison_graph import check_connected, check_strongly_connected
from assay.calibration.distributions import normal_quantile, t_quantile
from assay.calibration.intervals import Interval
from assay.calibration.logistic import Penalty, fit_logistic
from assay.errors import DataError


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Fitted strengths.

    Attributes:
        players: In the order of `strengths`.
        strengths: In logits, mean 0, shape (k,).
        covariance: Of the strengths, shape (k, k); clustered where clusters were given.
        position: The position term in logits, None if it was not fitted.
        weights: Of the covariates, by name.
        clusters: Independent units.
        robust: Whether errors are clustered.
    """

    players: tuple[Hashable, ...]
    strengths: FloatArray
    covariance: FloatArray
    position: Interval | None
    weights: Mapping[str, Interval]
    clusters: int
    robust: bool

    def strength(self, player: Hashable) -> float:
        """Strength of a player in logits."""
        return float(self.strengths[self._at(player)])

    def win_probability(self, a: Hashable, b: Hashable) -> float:
        """P(a beats b) on neutral ground."""
        return 1.0 / (1.0 + math.exp(self.strength(b) - self.strength(a)))

    def difference(self, a: Hashable, b: Hashable, level: float = 0.95) -> Interval:
        """s_a - s_b with its Wald interval."""
        contrast = np.zeros(len(self.players))
        contrast[self._at(a)] += 1.0
        contrast[self._at(b)] -= 1.0
        return self._interval(contrast, level)

    def interval(self, player: Hashable, level: float = 0.95) -> Interval:
        """Strength against the mean of all players, with its Wald interval."""
        contrast = np.zeros(len(self.players))
        contrast[self._at(player)] = 1.0
        return self._interval(contrast, level)

    def _interval(self, contrast: FloatArray, level: float) -> Interval:
        value = float(contrast @ self.strengths)
        upper = 0.5 + level / 2.0
        wide = t_quantile(upper, self.clusters - 1) if self.robust else normal_quantile(upper)
        half = wide * math.sqrt(max(float(contrast @ self.covariance @ contrast), 0.0))
        how = "wald, clustered" if self.robust else "wald"
        return Interval(value, value - half, value + half, level, how, self.clusters)

    def _at(self, player: Hashable) -> int:
        if player not in self.players:
            raise DataError(f"no player {player!r}; there are {list(self.players)[:10]}")
        return self.players.index(player)


def fit_bradley_terry(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    first_wins: ArrayLike,
    *,
    position: bool = True,
    covariates: Mapping[str, ArrayLike] | None = None,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    penalty: Penalty = "none",
    strength: float = 1.0,
    weights: ArrayLike | None = None,
) -> BradleyTerry:
    """Fit logit P(first wins) = s_first - s_second + b + gamma . x by maximum likelihood.

    Args:
        first: Player shown first, one per game.
        second: Player shown second.
        first_wins: 1, 0, or .5 for a tie (half a win for either; `fit_davidson` models ties).
        position: Fit b. Needs both orders: refused where order and player go together.
        covariates: First minus second of other features, each of shape (n,).
        clusters: Prompt of each game: errors are then clustered by it.
        penalty: `none`, `firth`, or `ridge` on the strengths (finite for players that won or lost
            every game).
        strength: Of the ridge.
        weights: How often each game stands, shape (n,).

    Raises:
        DataError: Players fall into groups that never met; without a penalty a group never lost to
            the rest (infinite strengths); the position term or a covariate cannot be told from the
            strengths; a player meets itself.

    Source: Bradley and Terry, Biometrika 39 (1952); position: Davidson and Beaver, Biometrics 33
    (1977); infinite strengths: Ford, American Mathematical Monthly 64 (1957).

    Example:
        >>> first = ["A"] * 100 + ["B"] * 100 + ["A"] * 100
        >>> second = ["B"] * 100 + ["C"] * 100 + ["C"] * 100
        >>> won = [1] * 60 + [0] * 40 + [1] * 60 + [0] * 40 + [1] * 70 + [0] * 30
        >>> fit = fit_bradley_terry(first, second, won, position=False)
        >>> [round(fit.difference(p, "C").estimate, 4) for p in "ABC"]
        [0.8341, 0.4171, 0.0]
    """
    players, a, b = player_codes(first, second)
    y = vector("first_wins", first_wins, low=0, high=1, size=len(a))
    check_connected(players, a, b)
    if penalty == "none":
        check_strongly_connected(players, a, b, y)
    names = [f"strength of {player}" for player in players[:-1]]
    extra: dict[str, FloatArray] = {"position": np.ones(len(y))} if position else {}
    for name, values in (covariates or {}).items():
        if name == "position" or name in names:
            raise DataError(f"covariate {name!r} has the name of a term; give it another one")
        extra[name] = vector(name, values, size=len(y))
    # A ridge must be symmetric in the players: coefficients of an orthonormal basis. Elsewhere the
    # last player is the origin, so that errors can name the players.
    k = len(players)
    basis = _mean_zero_basis(k) if penalty == "ridge" else np.eye(k)[:, :-1]
    design = _design(a, b, k) @ basis
    fit = fit_logistic(
        np.column_stack([design, *extra.values()]),
        y,
        names=[*names, *extra],
        weights=weights,
        clusters=clusters,
        penalty=penalty,
        strength=strength,
        penalised=names,
    )
    turn = (np.eye(k) - 1.0 / k) @ basis
    return BradleyTerry(
        players,
        turn @ fit.coefficients[: k - 1],
        turn @ fit.covariance[: k - 1, : k - 1] @ turn.T,
        fit.interval("position") if position else None,
        {name: fit.interval(name) for name in extra if name != "position"},
        fit.clusters,
        fit.robust,
    )


def player_codes(
    first: Sequence[Hashable], second: Sequence[Hashable]
) -> tuple[tuple[Hashable, ...], IntArray, IntArray]:
    """The players in sorted order and the positions of each game's two.

    Raises:
        DataError: Lengths differ, no games, or a player that meets itself.

    >>> players, a, b = player_codes(["x", "y"], ["y", "z"])
    >>> players, a.tolist(), b.tolist()
    (('x', 'y', 'z'), [0, 1], [1, 2])
    """
    if len(first) != len(second) or not len(first):
        raise DataError(
            f"need a first and a second player per game and at least one game, got {len(first)} "
            f"and {len(second)}"
        )
    try:
        players = tuple(sorted({*first, *second}, key=str))
    except TypeError:
        raise DataError(
            f"players must be words or numbers, got {first[0]!r:.60}; name them"
        ) from None
    at = {player: index for index, player in enumerate(players)}
    a = np.array([at[player] for player in first], dtype=np.int64)
    b = np.array([at[player] for player in second], dtype=np.int64)
    if (a == b).any():
        where = int(np.flatnonzero(a == b)[0])
        raise DataError(
            f"player {players[a[where]]!r} meets itself in game {where}; leave such games out",
            index=where,
        )
    return players, a, b


def _design(a: IntArray, b: IntArray, k: int) -> FloatArray:
    rows = np.arange(len(a))
    design = np.zeros((len(a), k))
    design[rows, a] += 1.0
    design[rows, b] -= 1.0
    return design


def _mean_zero_basis(k: int) -> FloatArray:
    """Orthonormal columns that span the vectors with sum 0, shape (k, k - 1)."""
    full: FloatArray = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, :-1]]))[0]
    return full[:, 1:]
