"""Bradley-Terry with ties as an outcome of their own (Davidson)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.calibration.arrays import FloatArray, group_codes
from assay.calibration.bradley_terry import player_codes
from assay.calibration.coded_winners import FIRST, MISSING, SECOND, TIE, verdict_codes
from assay.calibration.comparison_graph import check_connected, check_strongly_connected
from assay.calibration.distributions import t_quantile
from assay.calibration.intervals import Interval
from assay.errors import DataError

_LARGEST = 25.0  # a logit beyond it means that the maximum lies at infinity


@dataclass(frozen=True, eq=False)
class Davidson:
    """Fitted strengths and tie parameter.

    Attributes:
        players: In the order of `strengths`.
        strengths: In logits, mean 0, shape (k,).
        tie: ln nu: at equal strength and without a position term P(tie) = nu / (2 + nu).
        position: The position term in logits, 0 if it was not fitted.
        parameters: Free parameters (strengths but the last, ln nu, then position), shape (q,).
        covariance: Of the parameters, shape (q, q), clustered where clusters were given.
        clusters: Independent units.
    """

    players: tuple[Hashable, ...]
    strengths: FloatArray
    tie: float
    position: float
    parameters: FloatArray
    covariance: FloatArray
    clusters: int

    def probabilities(self, first: Hashable, second: Hashable) -> tuple[float, float, float]:
        """P(first wins), P(second wins), P(tie)."""
        for player in (first, second):
            if player not in self.players:
                raise DataError(f"no player {player!r}; there are {list(self.players)[:10]}")
        d = float(
            self.strengths[self.players.index(first)] - self.strengths[self.players.index(second)]
        )
        utilities = np.array([(d + self.position) / 2, -(d + self.position) / 2, self.tie])
        weights = np.exp(utilities - utilities.max())
        first_p, second_p, tie_p = (weights / weights.sum()).tolist()
        return first_p, second_p, tie_p

    def position_interval(self, level: float = 0.95) -> Interval:
        """The position term with its Wald interval by t."""
        if len(self.parameters) == len(self.players):
            raise DataError("no position term was fitted; call fit_davidson with position=True")
        half = t_quantile(0.5 + level / 2, self.clusters - 1) * math.sqrt(self.covariance[-1, -1])
        b = self.position
        return Interval(b, b - half, b + half, level, "wald", self.clusters)


def fit_davidson(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    outcomes: Sequence[Any] | NDArray[Any],
    *,
    position: bool = True,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
) -> Davidson:
    """Fit P(first) : P(second) : P(tie) = gamma pi_i : pi_j : nu sqrt(gamma pi_i pi_j).

    s = ln pi and b = ln gamma. With the root of gamma in the tie a liking for the first place
    takes as much from losses as it gives to wins.

    Args:
        first: Player shown first, one per game.
        second: Player shown second.
        outcomes: `A` the first won, `B` the second, `tie`; unparsed games are left out.
        position: Fit b.
        clusters: Prompt of each game, for clustered errors.

    Raises:
        DataError: As for `fit_bradley_terry`, or no game was a tie, or all were.

    Source: Davidson, JASA 65 (1970); with order effects: Davidson and Beaver, Biometrics 33 (1977).

    Example:
        >>> games = [("x", "y")] * 10 + [("y", "x")] * 10
        >>> outcomes = ["A"] * 4 + ["B"] * 2 + ["tie"] * 4 + ["B"] * 4 + ["A"] * 2 + ["tie"] * 4
        >>> fit = fit_davidson([g[0] for g in games], [g[1] for g in games], outcomes)
        >>> [round(p, 3) for p in fit.probabilities("x", "y")], abs(round(fit.position, 6))
        ([0.4, 0.2, 0.4], 0.0)
    """
    codes = verdict_codes("outcomes", outcomes)
    if not len(codes) == len(first) == len(second):
        raise DataError(
            f"need two players and an outcome per game, got {len(first)}, {len(second)} and "
            f"{len(codes)}"
        )
    all_groups = group_codes("clusters", clusters, len(codes))
    kept = np.flatnonzero(codes != MISSING)
    players, a, b = player_codes(
        [first[i] for i in kept.tolist()], [second[i] for i in kept.tolist()]
    )
    codes = codes[kept]
    ties = int((codes == TIE).sum())
    if ties in (0, len(codes)):
        raise DataError(
            f"the tie parameter is not identified: {ties} of {len(codes)} games are ties; use "
            "fit_bradley_terry"
        )
    check_connected(players, a, b)
    share = np.where(codes == FIRST, 1.0, np.where(codes == SECOND, 0.0, 0.5))
    check_strongly_connected(players, a, b, share)
    k = len(players)
    features = _features(a, b, k, position)
    _check_identified(features)
    groups = np.unique(all_groups[kept], return_inverse=True)[1].astype(np.int64)
    if clusters is not None and int(groups.max()) < 1:
        raise DataError("clustered errors need at least 2 clusters, got 1; add prompts")
    theta, covariance = _fit(features, codes.astype(np.int64), groups)
    strengths = np.concatenate([theta[: k - 1], [0.0]])
    b_term = float(theta[k]) if position else 0.0
    units = int(groups.max()) + 1
    return Davidson(
        players,
        strengths - strengths.mean(),
        float(theta[k - 1]),
        b_term,
        theta,
        covariance,
        units,
    )


def _features(a: NDArray[np.int64], b: NDArray[np.int64], k: int, position: bool) -> FloatArray:
    """Features of the three outcomes, shape (n, 3, q): half the difference, minus it, the tie."""
    n = len(a)
    difference = np.zeros((n, k))
    difference[np.arange(n), a] += 1.0
    difference[np.arange(n), b] -= 1.0
    x = np.zeros((n, 3, k + int(position)))
    x[:, 0, : k - 1] = difference[:, :-1] / 2
    x[:, 1, : k - 1] = -difference[:, :-1] / 2
    x[:, 2, k - 1] = 1.0
    if position:
        x[:, 0, k], x[:, 1, k] = 0.5, -0.5
    return x


def _check_identified(features: FloatArray) -> None:
    centred = features - features.mean(axis=1, keepdims=True)
    flat = centred.reshape(-1, features.shape[2])
    if np.linalg.matrix_rank(flat) < features.shape[2]:
        raise DataError(
            "the position term is not identified: the same players always stand first; judge the "
            "pairs in the other order too, or use position=False"
        )


def _infinite() -> DataError:
    return DataError(
        "the fit runs away to infinity: some outcome never happens where it should; add games, or "
        "use fit_bradley_terry with penalty='firth'"
    )


def _fit(
    x: FloatArray, chosen: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    n, _, q = x.shape
    theta = np.zeros(q)
    rows = np.arange(n)
    for _ in range(200):
        utility = x @ theta
        p = np.exp(utility - utility.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = np.einsum("nc,ncq->nq", p, x)
        scores = x[rows, chosen] - mean
        centred = (x - mean[:, None, :]) * np.sqrt(p)[:, :, None]
        flat = centred.reshape(-1, q)
        information = flat.T @ flat
        try:
            step = np.linalg.solve(information, scores.sum(axis=0))
        except np.linalg.LinAlgError:
            raise _infinite() from None
        largest = float(np.abs(step).max())
        if largest > 2.0:
            step *= 2.0 / largest
        theta = theta + step
        if largest < 1e-10:
            break
        if float(np.abs(theta).max()) > _LARGEST:
            raise _infinite()
    else:
        raise _infinite()
    bread = np.linalg.inv(information)
    units = int(groups.max()) + 1
    sums = np.stack([np.bincount(groups, weights=c, minlength=units) for c in scores.T], axis=1)
    factor = units / (units - 1) if units > 1 else math.nan
    return theta, bread @ (sums.T @ sums) @ bread * factor
