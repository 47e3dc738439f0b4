"""When a judge should abstain: a threshold whose error is bounded with high probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import vector
from assay.calibration.distributions import beta_quantile, binomial_cdf
from assay.errors import DataError


@dataclass(frozen=True)
class Step:
    """One threshold that was tested.

    Attributes:
        threshold: Verdicts at least this confident are accepted.
        accepted: How many are.
        errors: How many of them are wrong.
        p_value: P(at most so many errors | error rate = target).
        upper: 95% upper bound of the error rate (Clopper and Pearson).
    """

    threshold: float
    accepted: int
    errors: int
    p_value: float
    upper: float


@dataclass(frozen=True)
class SelectiveRule:
    """Accept verdicts at least as confident as `threshold`; None: abstain on all.

    Attributes:
        threshold: The loosest that passed.
        coverage: Share of the calibration rows accepted.
        steps: Every threshold tested, the strictest first; the last one failed unless all passed.
        target: Error rate among accepted verdicts that must not be exceeded.
        delta: Chance that it is exceeded nevertheless.
    """

    threshold: float | None
    coverage: float
    steps: tuple[Step, ...]
    target: float
    delta: float

    def accepts(self, confidence: ArrayLike) -> NDArray[np.bool_]:
        """Which verdicts to keep, shape (n,)."""
        c = vector("confidence", confidence)
        if self.threshold is None:
            return np.zeros(len(c), dtype=bool)
        return np.asarray(c >= self.threshold)


def fixed_sequence(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    target: float = 0.1,
    delta: float = 0.1,
    thresholds: Sequence[float] | None = None,
) -> SelectiveRule:
    """Test thresholds from the strictest on, at level delta each, and stop at the first failure.

    No correction for the number of tests is due: a later threshold is tested only if all stricter
    ones passed. P(error rate among accepted > target) <= delta for independent rows.

    Args:
        confidence: Higher is surer, shape (n,): |p - 1/2|, or minus `preference_entropy`.
        correct: 1 where the verdict was right, shape (n,).
        target: Error rate to stay below, in (0, 1).
        delta: Level of the tests.
        thresholds: To be tested, fixed beforehand (not chosen by looking at `correct`); ten
            quantiles of the confidences if not given.

    Source: Jung, Brahman and Choi, Trust or Escalate, arXiv:2407.18370, section 2.1.

    Example:
        >>> confidence = [.9] * 40 + [.8] * 40 + [.7] * 40 + [.6] * 40
        >>> correct = [1] * 40 + [0] * 3 + [1] * 37 + [0] * 6 + [1] * 34 + [0] * 9 + [1] * 31
        >>> rule = fixed_sequence(confidence, correct, thresholds=[.9, .8, .7, .6])
        >>> [round(step.p_value, 4) for step in rule.steps]
        [0.0148, 0.0353, 0.2286]
        >>> rule.threshold, rule.coverage
        (0.8, 0.5)
    """
    c = vector("confidence", confidence)
    right = vector("correct", correct, low=0, high=1, size=len(c))
    if not (0 < target < 1 and 0 < delta < 1):
        raise DataError(f"target and delta must lie in (0, 1), got {target} and {delta}")
    if not len(c) or not np.isin(right, (0, 1)).all():
        raise DataError("fixed_sequence needs rows whose `correct` is 0 or 1; leave ties out")
    if thresholds is not None and not len(thresholds):
        raise DataError(
            "thresholds must hold at least one, got none; leave it out for ten quantiles"
        )
    if thresholds is None:
        grid = np.unique(np.quantile(c, np.linspace(0, 0.9, 10), method="lower"))
    else:
        grid = np.unique(vector("thresholds", list(thresholds)))
    steps: list[Step] = []
    chosen: Step | None = None
    for threshold in grid[::-1]:
        kept = c >= threshold
        n, errors = int(kept.sum()), int((1 - right[kept]).sum())
        if n == 0:
            continue
        p = binomial_cdf(errors, n, target)
        upper = 1.0 if errors == n else beta_quantile(0.95, errors + 1, n - errors)
        steps.append(Step(float(threshold), n, errors, p, upper))
        if p > delta:
            break
        chosen = steps[-1]
    return SelectiveRule(
        None if chosen is None else chosen.threshold,
        0.0 if chosen is None else chosen.accepted / len(c),
        tuple(steps),
        target,
        delta,
    )
