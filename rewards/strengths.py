"""Strengths from pair-wise outcomes: win rates and a regularised Bradley-Terry fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

Outcome = tuple[int, int, float]


def win_rates(size: int, outcomes: Sequence[Outcome]) -> list[float | None]:
    """Mean outcome of each entrant over its own meetings; None where it had none.

    Args:
        size: Number of entrants.
        outcomes: (i, j, P(i wins)).

    >>> win_rates(3, [(0, 1, 1.0), (0, 2, 0.5), (1, 2, 0.0)])
    [0.75, 0.0, 0.75]
    """
    points: list[list[float]] = [[] for _ in range(size)]
    for i, j, p in outcomes:
        points[i].append(p)
        points[j].append(1 - p)
    return [math.fsum(p) / len(p) if p else None for p in points]


def bradley_terry(
    size: int, outcomes: Sequence[Outcome], prior: float = 1.0, steps: int = 50
) -> list[float]:
    """Log-strengths s with P(i beats j) = sigmoid(s_i - s_j), sum 0, by Newton's method.

    The penalty prior/2 sum s_i^2 (a normal prior of variance 1/prior) keeps an unbeaten entrant
    finite and decides what meetings leave open.

    Args:
        size: Number of entrants.
        outcomes: (i, j, P(i wins)); soft outcomes and ties (.5) are fractions of a win.
        prior: > 0.
        steps: Largest number of Newton steps.

    Source: Bradley and Terry 1952; the concave log-likelihood with a Gaussian prior.

    >>> [round(s, 3) for s in bradley_terry(2, [(0, 1, 1.0)])]     # s = sigmoid(-2 s)
    [0.337, -0.337]
    """
    import numpy as np

    s = np.zeros(size)
    i = np.array([o[0] for o in outcomes], dtype=int)
    j = np.array([o[1] for o in outcomes], dtype=int)
    y = np.array([o[2] for o in outcomes], dtype=float)
    for _ in range(steps):
        p = 1 / (1 + np.exp(-(s[i] - s[j])))
        gradient = -prior * s
        np.add.at(gradient, i, y - p)
        np.add.at(gradient, j, p - y)
        hessian = prior * np.eye(size)
        weight = p * (1 - p)
        np.add.at(hessian, (i, i), weight)
        np.add.at(hessian, (j, j), weight)
        np.add.at(hessian, (i, j), -weight)
        np.add.at(hessian, (j, i), -weight)
        step = np.linalg.solve(hessian, gradient)
        s = s + step
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
    return [float(x) for x in s - s.mean()] if size else []


def expected_win_rates(strengths: Sequence[float]) -> list[float]:
    """Mean P(i beats j) over all others: log-strengths back on [0, 1].

    >>> [round(p, 3) for p in expected_win_rates([1.0, 0.0, -1.0])]
    [0.806, 0.5, 0.194]
    """
    size = len(strengths)
    return [
        math.fsum(1 / (1 + math.exp(b - a)) for j, b in enumerate(strengths) if j != i) / (size - 1)
        for i, a in enumerate(strengths)
    ]
