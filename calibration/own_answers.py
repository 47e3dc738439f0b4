"""Self-preference: does a judge favour its own answers beyond their worth?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import vector
from assay.calibration.bootstrap import cluster_totals, clustered_bootstrap
from assay.calibration.intervals import Interval
from assay.errors import DataError


def self_preference(picks_self: ArrayLike, truth_self: ArrayLike) -> float:
    """P(picks self | people prefer self) - P(picks other | people prefer other).

    Args:
        picks_self: 1 where the judge chose its own answer, .5 for a tie, shape (n,).
        truth_self: 1 where people preferred it, 0 where they preferred the other, shape (n,);
            pairs that people called a tie (.5) are left out.

    Returns:
        In [-1, 1], 0 without bias; NaN where people never preferred one of the two.

    Source: Wataoka et al., Self-Preference Bias in LLM-as-a-Judge, arXiv:2410.21819, equation 1.

    Example:
        >>> picks = [1] * 80 + [0] * 20 + [1] * 35 + [0] * 65
        >>> round(self_preference(picks, [1] * 100 + [0] * 100), 2)
        0.15
    """
    picks = vector("picks_self", picks_self, low=0, high=1)
    truth = vector("truth_self", truth_self, low=0, high=1, size=len(picks))
    own, other = picks[truth == 1], picks[truth == 0]
    if not len(own) or not len(other):
        return math.nan
    return float(own.mean() - (1 - other).mean())


def self_preference_from_errors(
    wrong_for_self: int, other_better: int, wrong_for_other: int, self_better: int
) -> float:
    """The same from errors: wrong_for_self / other_better - wrong_for_other / self_better.

    Args:
        wrong_for_self: Pairs in which the judge chose itself and people the other.
        other_better: Pairs in which people preferred the other.
        wrong_for_other: Pairs in which the judge chose the other and people itself.
        self_better: Pairs in which people preferred itself.

    Example:
        >>> round(self_preference_from_errors(30, 60, 10, 50), 2)
        0.3
    """
    if not (0 <= wrong_for_self <= other_better and 0 <= wrong_for_other <= self_better):
        raise DataError(
            "errors cannot exceed the pairs in which they can happen, got "
            f"{wrong_for_self} of {other_better} and {wrong_for_other} of {self_better}"
        )
    if not other_better or not self_better:
        return math.nan
    return wrong_for_self / other_better - wrong_for_other / self_better


def self_preference_interval(
    picks_self: ArrayLike,
    truth_self: ArrayLike,
    prompts: Sequence[Any] | NDArray[Any] | None = None,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """`self_preference` with an interval that draws whole prompts.

    Example:
        >>> picks = [1] * 80 + [0] * 20 + [1] * 35 + [0] * 65
        >>> found = self_preference_interval(picks, [1] * 100 + [0] * 100)
        >>> 0.15 in found, found.low > 0
        (True, True)
    """
    picks = vector("picks_self", picks_self, low=0, high=1)
    truth = vector("truth_self", truth_self, low=0, high=1, size=len(picks))
    own, other = truth == 1, truth == 0
    rows = np.stack([picks * own, own, (1 - picks) * other, other], axis=1)
    (found,) = clustered_bootstrap(
        cluster_totals(rows, prompts),
        lambda s: s[:, 0] / s[:, 1] - s[:, 2] / s[:, 3],
        resamples=resamples,
        level=level,
        seed=seed,
    )
    return found
