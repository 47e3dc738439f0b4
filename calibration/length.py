"""Length bias, and win rates with length taken out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, sigmoid, vector
from assay.calibration.logistic import LogisticFit, fit_logistic
from assay.errors import DataError


@dataclass(frozen=True, eq=False)
class LengthControlled:
    """A win rate at equal length.

    Attributes:
        win_rate: mean sigmoid(theta + psi difficulty), length set to equal.
        raw: mean preference.
        theta: The model's strength in logits.
        phi: Weight of tanh(length difference / sd).
        fit: All coefficients.
    """

    win_rate: float
    raw: float
    theta: float
    phi: float
    fit: LogisticFit


def length_controlled_win_rate(
    preference: ArrayLike,
    length_model: ArrayLike,
    length_baseline: ArrayLike,
    difficulty: ArrayLike | None = None,
    *,
    ridge: float = 0.0,
) -> LengthControlled:
    """Win rate of a model against a baseline, with length taken out.

    q = sigmoid(theta + phi tanh((len_baseline - len_model) / sd) + psi difficulty);
    LC = mean sigmoid(theta + psi difficulty).

    Args:
        preference: P(model preferred) in [0, 1], shape (n,).
        length_model: Lengths of the model's answers, shape (n,).
        length_baseline: Lengths of the baseline's, shape (n,).
        difficulty: Known difficulty of each instruction, shape (n,). Without it this is not the
            published number: on AlpacaEval it is further from that than the raw rate.
        ridge: Penalty on phi and psi.

    Raises:
        DataError: All differences alike (length cannot be told from strength), or separated data.

    Source: Dubois et al., Length-Controlled AlpacaEval, arXiv:2404.04475, section 3. Departures: a
    ridge instead of L1 with cross-validation, one model at a time, no gamed baselines.

    Example:
        >>> short, long = [100.0], [200.0]
        >>> model, base = short * 80 + long * 20, long * 80 + short * 20
        >>> won = [1] * 64 + [0] * 16 + [1] * 8 + [0] * 12        # .8 when shorter, .4 when longer
        >>> found = length_controlled_win_rate(won, model, base)
        >>> round(found.raw, 2), round(found.win_rate, 4), round(found.theta, 4)
        (0.72, 0.6202, 0.4904)
    """
    q = vector("preference", preference, low=0, high=1)
    ours = vector("length_model", length_model, low=0, size=len(q))
    theirs = vector("length_baseline", length_baseline, low=0, size=len(q))
    if not len(q):
        raise DataError("a win rate needs at least one preference, got none; check the input")
    if not 0 <= ridge < math.inf:
        raise DataError(f"ridge must be >= 0 and finite, got {ridge}")
    difference = theirs - ours
    spread = float(difference.std())
    if spread == 0.0:
        raise DataError(
            "all length differences are alike: strength and length cannot be told apart; add pairs "
            "in which the other answer is longer"
        )
    columns = {"theta": np.ones(len(q)), "phi": np.tanh(difference / spread)}
    if difficulty is not None:
        columns["psi"] = vector("difficulty", difficulty, size=len(q))
    fit = fit_logistic(
        np.stack(list(columns.values()), axis=1),
        q,
        names=tuple(columns),
        penalty="ridge" if ridge > 0 else "none",
        strength=ridge or 1.0,
        penalised=[name for name in columns if name != "theta"],
    )
    at_equal = np.full(len(q), fit["theta"])
    if "psi" in columns:
        at_equal += fit["psi"] * columns["psi"]
    rate = float(sigmoid(at_equal).mean())
    return LengthControlled(rate, float(q.mean()), fit["theta"], fit["phi"], fit)


def length_difference(length_first: ArrayLike, length_second: ArrayLike) -> FloatArray:
    """log((1 + first) / (1 + second)), shape (n,): +.69 is twice as long.

    >>> length_difference([199, 99], [99, 99]).round(4).tolist()
    [0.6931, 0.0]
    """
    first = vector("length_first", length_first, low=0)
    return np.log1p(first) - np.log1p(
        vector("length_second", length_second, low=0, size=len(first))
    )


def longer_win_rate(
    wins_a: ArrayLike, length_a: ArrayLike, length_b: ArrayLike
) -> tuple[float, int]:
    """How often the longer answer wins (ties half), and among how many pairs of unequal length.

    >>> longer_win_rate([1, 1, 0, 1], [10, 20, 10, 5], [5, 10, 20, 5])
    (1.0, 3)
    """
    y = vector("wins_a", wins_a, low=0, high=1)
    a = vector("length_a", length_a, low=0, size=len(y))
    b = vector("length_b", length_b, low=0, size=len(y))
    unequal = a != b
    won = np.where(a > b, y, 1 - y)[unequal]
    return (float(won.mean()) if len(won) else math.nan), len(won)
