"""Position bias from verdicts in both orders: consistency, fairness, first-pick rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.calibration.arrays import FloatArray
from assay.calibration.bootstrap import cluster_totals, clustered_bootstrap
from assay.calibration.coded_winners import FIRST, MISSING, SECOND, TIE, CodeArray, verdict_codes
from assay.calibration.intervals import Interval
from assay.errors import DataError


@dataclass(frozen=True)
class PositionCounts:
    """What pairs of verdicts say; labels are places: the first-shown answer, the second, a tie.

    Consistent: (first, second), (second, first), (tie, tie). Primacy: (first, first) or first with
    a tie. Recency: (second, second) or second with a tie.

    Attributes:
        consistent: Pairs whose two verdicts name the same answer.
        primacy: Pairs drawn to the first place.
        recency: Pairs drawn to the second place.
        unparsed: Pairs of which a verdict is missing; never counted as consistent.
        first_picks: Verdicts for the first-shown answer, over both orders of valid pairs.
        ties: Tie verdicts, over both orders of valid pairs.
    """

    consistent: int
    primacy: int
    recency: int
    unparsed: int
    first_picks: int
    ties: int

    @property
    def valid(self) -> int:
        """Pairs with both verdicts."""
        return self.consistent + self.primacy + self.recency

    @property
    def consistency(self) -> float:
        """PC = consistent / valid; NaN without valid pairs."""
        return _over(self.consistent, self.valid)

    @property
    def conflict_rate(self) -> float:
        """1 - PC over win, tie and lose (FairEval, arXiv:2305.17926, section 2)."""
        return 1.0 - self.consistency

    @property
    def fairness(self) -> float:
        """PF = (recency - primacy) / valid, in [-1, 1]; > 0 is recency, 0 favours no place."""
        return _over(self.recency - self.primacy, self.valid)

    @property
    def fairness_raw(self) -> float:
        """R R/(P+R) - P P/(P+R), before it is scaled; equals R - P."""
        moved = self.primacy + self.recency
        return 0.0 if moved == 0 else (self.recency**2 - self.primacy**2) / moved

    @property
    def first_pick_rate(self) -> float:
        """1/2 + (P - R) / 2N: a pair with a tie moves it as much as one without."""
        return 0.5 - self.fairness / 2.0

    @property
    def first_pick_share(self) -> float:
        """Share of verdicts for the first-shown answer, a tie counted as half."""
        return _over(self.first_picks + self.ties / 2.0, 2 * self.valid)


def position_counts(
    verdicts_ab: Sequence[Any] | NDArray[Any], verdicts_ba: Sequence[Any] | NDArray[Any]
) -> PositionCounts:
    """Count what the two orders of each pair say of the place.

    Args:
        verdicts_ab: Verdicts as A is shown first, shape (n,), as places: `A` the first, `B` the
            second, `tie` or `C`, empty for unparsed.
        verdicts_ba: The same pairs as B is shown first, as places too.

    Raises:
        DataError: Lengths differ or a verdict is none of these.

    Source: Shi et al., Judging the Judges, arXiv:2406.07791, section 3. Departure: pairs with an
    unparsed verdict are left out of every count; the paper's code divides fairness by all pairs.

    Example:
        >>> pairs = ["AB", "AB", "BA", "AA", "AA", "BB", "AC", "CC", "AB", "BA"]
        >>> found = position_counts([p[0] for p in pairs], [p[1] for p in pairs])
        >>> found.consistency, found.primacy, found.recency, found.fairness
        (0.6, 3, 1, -0.2)
        >>> found.first_pick_rate, found.first_pick_share
        (0.6, 0.575)
    """
    totals = position_indicators(*_both(verdicts_ab, verdicts_ba)).sum(axis=0)
    return PositionCounts(*(int(value) for value in totals))


def position_indicators(ab: CodeArray, ba: CodeArray) -> FloatArray:
    """Each pair's share in the counts, shape (n, 6), in the order of `PositionCounts`' fields."""
    valid = (ab != MISSING) & (ba != MISSING)
    consistent = valid & (
        ((ab == FIRST) & (ba == SECOND))
        | ((ab == SECOND) & (ba == FIRST))
        | ((ab == TIE) & (ba == TIE))
    )
    primacy = valid & ~consistent & ((ab == FIRST) | (ba == FIRST))
    recency = valid & ~consistent & ~primacy
    firsts = ((ab == FIRST).astype(np.int8) + (ba == FIRST)) * valid
    ties = ((ab == TIE).astype(np.int8) + (ba == TIE)) * valid
    return np.stack([consistent, primacy, recency, ~valid, firsts, ties], axis=1).astype(float)


def position_intervals(
    verdicts_ab: Sequence[Any] | NDArray[Any],
    verdicts_ba: Sequence[Any] | NDArray[Any],
    prompts: Sequence[Any] | NDArray[Any] | None = None,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """Consistency, fairness and first-pick rate with intervals that draw whole prompts.

    Args:
        verdicts_ab: As for `position_counts`.
        verdicts_ba: As for `position_counts`.
        prompts: Shape (n,), pairs of one prompt share a value; each pair its own if not given.
        resamples: Draws.
        level: Coverage.
        seed: Of the draws.

    Returns:
        `consistency`, `fairness`, `first_pick_rate`, `first_pick_share`.

    Example:
        >>> found = position_intervals(["A", "A", "B"] * 40, ["B", "A", "A"] * 40)
        >>> round(found["consistency"].estimate, 3), 0.6 in found["consistency"]
        (0.667, True)
    """
    ab, ba = _both(verdicts_ab, verdicts_ba)
    totals = cluster_totals(position_indicators(ab, ba), prompts)
    found = clustered_bootstrap(
        totals, position_statistics, resamples=resamples, level=level, seed=seed
    )
    names = ("consistency", "fairness", "first_pick_rate", "first_pick_share")
    return dict(zip(names, found, strict=True))


def position_statistics(totals: FloatArray) -> FloatArray:
    """The four statistics of sums of `position_indicators`, shape (resamples, 4)."""
    consistent, primacy, recency, _, firsts, ties = totals[:, :6].T
    valid = consistent + primacy + recency
    fairness = (recency - primacy) / valid
    share = (firsts + ties / 2) / (2 * valid)
    return np.stack([consistent / valid, fairness, 0.5 - fairness / 2, share], axis=1)


def _both(
    verdicts_ab: Sequence[Any] | NDArray[Any], verdicts_ba: Sequence[Any] | NDArray[Any]
) -> tuple[CodeArray, CodeArray]:
    ab, ba = verdict_codes("verdicts_ab", verdicts_ab), verdict_codes("verdicts_ba", verdicts_ba)
    if len(ab) != len(ba):
        raise DataError(
            f"need both orders of every pair, got {len(ab)} and {len(ba)} verdicts; mark a missing "
            "one with ''"
        )
    return ab, ba


def _over(count: float, total: float) -> float:
    return count / total if total else math.nan
