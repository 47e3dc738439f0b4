"""Conformal risk control of an abstaining judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import vector
from assay.errors import DataError


@dataclass(frozen=True)
class ConformalRule:
    """Accept verdicts at least as confident as `threshold`; None: abstain on all.

    Attributes:
        threshold: The loosest that passed.
        coverage: Share of the calibration rows accepted.
        errors: Errors among them.
        target: Error rate among accepted verdicts aimed at.
    """

    threshold: float | None
    coverage: float
    errors: int
    target: float


def passes(accepted: int, errors: int, target: float) -> bool:
    """Whether sum (error - target) over accepted rows + (1 - target) <= 0.

    >>> [passes(*row, 0.1) for row in [(60, 3), (80, 7), (90, 8), (95, 9)]]
    [True, True, True, False]
    """
    return errors - target * accepted + (1.0 - target) <= 1e-12


def conformal_threshold(
    confidence: ArrayLike, correct: ArrayLike, *, target: float = 0.1
) -> ConformalRule:
    """The loosest threshold whose linearised loss passes.

    The loss 1[accept] (error - target) is bounded by 1 - target; conformal risk control asks for
    n/(n+1) mean loss + (1 - target)/(n+1) <= 0. The loss is not monotone in the threshold, so its
    guarantee does not follow strictly: stricter thresholds may fail while a looser one passes. For
    a bound that holds use `fixed_sequence`.

    Args:
        confidence: Higher is surer, shape (n,).
        correct: 1 where the verdict was right, shape (n,).
        target: Error rate among accepted, in (0, 1).

    Source: Angelopoulos et al., Conformal Risk Control, arXiv:2208.02814, equation 4; the linear
    loss: SCOPE, arXiv:2602.13110.

    Example:
        >>> rule = conformal_threshold([.9] * 60 + [.8] * 40, [1] * 57 + [0] * 3 + [0] * 40)
        >>> rule.threshold, rule.coverage
        (0.9, 0.6)
    """
    c = vector("confidence", confidence)
    right = vector("correct", correct, low=0, high=1, size=len(c))
    if not len(c) or not 0 < target < 1:
        raise DataError(f"need rows and a target in (0, 1), got {len(c)} rows and {target}")
    order = np.argsort(-c, kind="stable")
    errors = np.cumsum(1 - right[order])
    last = np.append(np.diff(c[order]) != 0, True)  # equally confident rows go together
    for index in np.flatnonzero(last)[::-1]:
        if passes(int(index) + 1, round(float(errors[index])), target):
            coverage = (int(index) + 1) / len(c)
            threshold = float(c[order[index]])
            return ConformalRule(threshold, coverage, round(float(errors[index])), target)
    return ConformalRule(None, 0.0, 0, target)
