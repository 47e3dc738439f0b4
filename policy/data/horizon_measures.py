"""Areas under the ROC curve with intervals, and differences of two of them on the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.calibration.bootstrap import percentile_intervals
from assay.calibration.intervals import Interval

#: Draws of the bootstrap.
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure by name."""

    name: str
    value: Interval

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {"name": self.name, **self.value.as_json()}


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """P(a positive has the higher score) + P(equal) / 2; NaN where one kind is missing.

    >>> auc([3, 2, 1], [True, False, False]), auc([1, 1], [True, False])
    (1.0, 0.5)
    """
    values = np.asarray(scores, dtype=float)
    kinds = np.asarray(positive, dtype=bool)
    return float(_aucs(values[None, :], kinds[None, :])[0])


def auc_interval(
    scores: Sequence[float],
    positive: Sequence[bool],
    *,
    against: Sequence[float] | None = None,
    groups: Sequence[Any] | None = None,
    seed: int = 0,
) -> Interval:
    """An area under the ROC curve, or how much larger it is than that of `against`.

    The interval is a percentile bootstrap over runs, or over groups of runs (the trials of one
    task are not independent).

    Args:
        scores: Higher for what is more likely positive, shape (n,).
        positive: Shape (n,).
        against: Scores to compare with on the same draws, shape (n,).
        groups: Cluster of each run, shape (n,); None: each run its own.
        seed: Of the draws.
    """
    values = np.asarray(scores, dtype=float)
    other = None if against is None else np.asarray(against, dtype=float)
    kinds = np.asarray(positive, dtype=bool)
    members = _members(len(values), groups)
    generator = np.random.default_rng(seed)
    draws = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        picked = generator.integers(0, len(members), len(members))
        rows = np.concatenate([members[j] for j in picked])
        draws[i] = _difference(values, other, kinds, rows)
    whole = _difference(values, other, kinds, np.arange(len(values)))
    return percentile_intervals(np.array([whole]), draws[:, None], 0.95, len(members))[0]


def _difference(
    values: NDArray[Any], other: NDArray[Any] | None, kinds: NDArray[Any], rows: NDArray[Any]
) -> float:
    first = _aucs(values[rows][None, :], kinds[rows][None, :])[0]
    if other is None:
        return float(first)
    return float(first - _aucs(other[rows][None, :], kinds[rows][None, :])[0])


def _members(count: int, groups: Sequence[Any] | None) -> list[NDArray[Any]]:
    if groups is None:
        return [np.array([i]) for i in range(count)]
    found: dict[Any, list[int]] = {}
    for index, group in enumerate(groups):
        found.setdefault(group, []).append(index)
    return [np.array(rows) for rows in found.values()]


def _aucs(values: NDArray[Any], kinds: NDArray[Any]) -> NDArray[Any]:
    """One area a row, by mid-ranks."""
    found = np.empty(len(values))
    for row, (scores, positive) in enumerate(zip(values, kinds, strict=True)):
        _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
        n, m = int(positive.sum()), int((~positive).sum())
        if not n or not m:
            found[row] = np.nan
        else:
            found[row] = (ranks[positive].sum() - n * (n + 1) / 2.0) / (n * m)
    return found
