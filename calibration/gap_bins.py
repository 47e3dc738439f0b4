"""Position bias against how close the two answers are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import vector
from assay.calibration.coded_winners import verdict_codes
from assay.calibration.position import PositionCounts, position_counts
from assay.errors import DataError


def overall_win_rate(wins: float, ties: float, inconsistent: float, n: float) -> float:
    """OWR = (consistent wins + (consistent ties + inconsistent) / 2) / N; NaN for N = 0.

    Source: Shi et al., Judging the Judges, arXiv:2406.07791, section 3.

    Example:
        >>> overall_win_rate(9, 2, 6, 20)
        0.65
    """
    if min(wins, ties, inconsistent) < 0 or wins + ties + inconsistent > n:
        raise DataError(
            f"wins + ties + inconsistent must be at most n, got {wins} + {ties} + {inconsistent} "
            f"of {n}; count each pair once"
        )
    return (wins + (ties + inconsistent) / 2.0) / n if n else math.nan


def quality_gap(win_rate: float) -> float:
    """|OWR - 1/2|: how far apart two models are.

    >>> round(quality_gap(0.65), 2)
    0.15
    """
    return abs(win_rate - 0.5)


@dataclass(frozen=True)
class GapBin:
    """Position counts of the pairs whose quality gap lies in [low, high).

    The last bin includes `high`.
    """

    low: float
    high: float
    pairs: int
    counts: PositionCounts


def bias_by_gap(
    verdicts_ab: Sequence[Any] | NDArray[Any],
    verdicts_ba: Sequence[Any] | NDArray[Any],
    gaps: ArrayLike,
    bins: int = 4,
) -> list[GapBin]:
    """Consistency and fairness per bin of the quality gap, bins of equal mass.

    Args:
        verdicts_ab: Places, as for `position_counts`, shape (n,).
        verdicts_ba: Places in the other order, shape (n,).
        gaps: |s_A - s_B| of an independent reward model or of people, shape (n,), >= 0. The judge's
            own verdict would be circular.
        bins: At most so many; equal gaps are never split, so there may be fewer.

    Example:
        >>> found = bias_by_gap("AAAB", "AABA", [0.1, 0.2, 1.0, 2.0], bins=2)
        >>> [(b.pairs, b.counts.consistency) for b in found]
        [(2, 0.0), (2, 1.0)]
    """
    ab = verdict_codes("verdicts_ab", _listed(verdicts_ab))
    ba = verdict_codes("verdicts_ba", _listed(verdicts_ba))
    gap = vector("gaps", gaps, low=0, size=len(ab))
    if not isinstance(bins, int | np.integer) or bins < 1 or len(ab) != len(ba):
        raise DataError(
            f"need bins >= 1 and both orders of every pair, got {bins} bins, {len(ab)} and "
            f"{len(ba)} verdicts"
        )
    if not len(gap):
        return []
    edges = np.unique(np.quantile(gap, np.linspace(0, 1, bins + 1), method="higher"))
    place = np.clip(np.searchsorted(edges, gap, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = []
    for index in range(max(len(edges) - 1, 1)):
        inside = place == index
        high = edges[min(index + 1, len(edges) - 1)]
        counts = position_counts(ab[inside], ba[inside])
        found.append(GapBin(float(edges[index]), float(high), int(inside.sum()), counts))
    return found


def _listed(verdicts: Sequence[Any] | NDArray[Any]) -> Sequence[Any] | NDArray[Any]:
    """A text such as "ABBA" as a list of its letters."""
    return list(verdicts) if isinstance(verdicts, str) else verdicts
