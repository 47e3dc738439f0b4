"""An audit of verdicts: every number that a judge's file supports, with clustered intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.calibration.bins import bin_codes
from assay.calibration.bootstrap import cluster_totals, clustered_bootstrap
from assay.calibration.boundary import widened
from assay.calibration.coded_winners import FIRST, MISSING, SECOND, TIE
from assay.calibration.gap_bins import GapBin, bias_by_gap
from assay.calibration.intervals import Interval
from assay.calibration.null_calibration import null_ece
from assay.calibration.paired_tests import false_discovery, mcnemar
from assay.calibration.position import PositionCounts, position_indicators, position_statistics
from assay.calibration.position_term import two_order_statistic
from assay.calibration.power import detectable_fairness
from assay.calibration.verdict_table import PairTable, VerdictTable

BINS = 10


@dataclass(frozen=True, eq=False)
class JudgeAudit:
    """What a file says of one judge; a figure that it does not support is not in `figures`.

    Attributes:
        judge: Whose verdicts.
        pairs: Rows: pairs, repeats counted.
        both_orders: Rows with a readable verdict in both orders.
        prompts: Clusters.
        counts: Position counts, None without both orders.
        figures: Name to interval: `consistency`, `flip_rate`, `fairness`, `first_pick_rate`,
            `position_term`, `accuracy`, `both_orders_accuracy`, `repetition_stability`, `ece`,
            `longer_win_rate`.
        null_ece: 5% and 95% points of the ECE of a perfect judge with these forecasts.
        p_value: McNemar's p of primacy against recency, on one row per prompt.
        q_value: The same, corrected for the number of judges in the file.
        detectable: Smallest |fairness| that so many prompts would have found with power .8.
        by_gap: Position counts by quality gap, the closest pairs first.
        flipped: Names of some pairs whose verdict follows the place.
        table: The judge's pairs.
    """

    judge: str
    pairs: int
    both_orders: int
    prompts: int
    counts: PositionCounts | None
    figures: dict[str, Interval]
    null_ece: tuple[float, float] | None
    p_value: float
    q_value: float
    detectable: float
    by_gap: list[GapBin]
    flipped: list[str]
    table: PairTable = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Plain values, for machines."""
        c = self.counts
        return {
            "judge": self.judge,
            "pairs": self.pairs,
            "both_orders": self.both_orders,
            "prompts": self.prompts,
            "unparsed_pairs": None if c is None else c.unparsed,
            "primacy": None if c is None else c.primacy,
            "recency": None if c is None else c.recency,
            "figures": {name: value.as_json() for name, value in self.figures.items()},
            "null_ece": None if self.null_ece is None else list(self.null_ece),
            "p": _plain(self.p_value),
            "q": _plain(self.q_value),
            "detectable_fairness": _plain(self.detectable),
            "by_gap": [
                {"low": b.low, "high": b.high, "pairs": b.pairs} | _rates(b.counts)
                for b in self.by_gap
            ],
            "flipped": self.flipped,
        }


def audit_verdicts(
    table: VerdictTable, *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> list[JudgeAudit]:
    """Audit every judge of a table.

    Args:
        table: From `read_verdicts`.
        resamples: Draws of whole prompts behind every interval.
        level: Coverage.
        seed: Of the draws.

    Raises:
        DataError: The table is empty.

    Example:
        >>> table = VerdictTable()
        >>> for i in range(60):
        ...     table.add("judge", i, i, swapped=False, verdict=0, label=0)
        ...     table.add("judge", i, i, swapped=True, verdict=i % 3 > 0, label=0)
        >>> (found,) = audit_verdicts(table)
        >>> round(found.figures["consistency"].estimate, 3), found.counts.primacy
        (0.667, 20)
    """
    audits = [_audit(pairs, resamples, level, seed) for pairs in table.by_judge()]
    tested = [a for a in audits if not math.isnan(a.p_value)]
    q = iter(false_discovery([a.p_value for a in tested]).tolist())
    return [a if math.isnan(a.p_value) else replace(a, q_value=next(q)) for a in audits]


def _audit(pairs: PairTable, resamples: int, level: float, seed: int) -> JudgeAudit:
    columns, statistics = _columns(pairs)
    totals = cluster_totals(np.column_stack(columns), pairs.prompts)

    def all_at_once(sums: FloatArray) -> FloatArray:
        return np.column_stack([statistic(sums) for statistic in statistics.values()])

    found = clustered_bootstrap(totals, all_at_once, resamples=resamples, level=level, seed=seed)
    figures = {
        name: value
        for name, value in zip(statistics, found, strict=True)
        if not math.isnan(value.estimate)
    }
    if "consistency" in figures:
        c = figures["consistency"]
        figures["flip_rate"] = Interval(
            1 - c.estimate, 1 - c.high, 1 - c.low, c.level, c.method, c.units
        )
    figures = widened(figures)
    both = (pairs.ab != MISSING) & (pairs.ba != MISSING)
    counts = None
    p_value = detectable = math.nan
    if both.any() and pairs.ordered:
        indicators = position_indicators(pairs.ab, pairs.ba)
        counts = PositionCounts(*(int(v) for v in indicators.sum(axis=0)))
        # One row a prompt, so that the test's rows are independent.
        rows = np.flatnonzero(both)
        rows = rows[np.unique(pairs.prompts[rows], return_index=True)[1]]
        primacy, recency = (int(v) for v in indicators[rows, 1:3].sum(axis=0))
        p_value = mcnemar(primacy, recency).p_exact
        share = (primacy + recency) / len(rows)
        detectable = detectable_fairness(len(rows), share) if share else math.nan
    gaps: list[GapBin] = []
    judged = both & ~np.isnan(pairs.gap)
    if judged.any() and pairs.ordered:
        gaps = bias_by_gap(pairs.ab[judged], pairs.ba[judged], pairs.gap[judged])
    flips = np.flatnonzero(both & (pairs.ab == pairs.ba) & (pairs.ab != TIE))
    p = _forecasts(pairs)
    return JudgeAudit(
        judge=pairs.judge,
        pairs=len(pairs),
        both_orders=int(both.sum()),
        prompts=len(totals),
        counts=counts,
        figures=figures,
        null_ece=null_ece(p, BINS, seed=seed, draws=200).band(0.9) if len(p) else None,
        p_value=p_value,
        q_value=math.nan,
        detectable=detectable,
        by_gap=gaps,
        flipped=_names(pairs, flips) if pairs.ordered else [],
        table=pairs,
    )


def _columns(
    pairs: PairTable,
) -> tuple[list[FloatArray], dict[str, Callable[[FloatArray], FloatArray]]]:
    """Columns whose sums per prompt hold everything, and the statistics of those sums."""
    columns: list[FloatArray] = []
    statistics: dict[str, Callable[[FloatArray], FloatArray]] = {}

    def put(*arrays: FloatArray) -> int:
        columns.extend(np.asarray(a, dtype=np.float64) for a in arrays)
        return len(columns) - len(arrays)

    ab, ba, label = pairs.ab, pairs.ba, pairs.label
    if pairs.ordered and (ba != MISSING).any():
        at = put(*position_indicators(ab, ba).T)
        for index, name in enumerate(("consistency", "fairness", "first_pick_rate")):
            statistics[name] = _place(at, index)
        # The same pairs as above: those with a readable verdict in both orders.
        valid = (ab != MISSING) & (ba != MISSING)
        term = put(_wins(ab) * valid, valid, _wins(ba) * valid, valid)
        statistics["position_term"] = _term(term)
    known = (label == FIRST) | (label == SECOND)
    if known.any():
        # +1 right, -1 wrong, 0 tie, in either order; B shown first wins where the place says 0.
        right_ab, right_ba = _right(ab, label), _right(1 - ba, label, ba)
        spoken = (ab != MISSING).astype(float) + (ba != MISSING)
        score = (right_ab + right_ba + spoken) / 2 * known
        at = put(score, spoken * known)
        statistics["accuracy"] = _ratio(at)
        if (ba != MISSING).any():
            at = put((right_ab + right_ba > 0) & known, known)
            statistics["both_orders_accuracy"] = _ratio(at)
    stable, counted = _stability(pairs)
    if counted.any():
        at = put(stable, counted)
        statistics["repetition_stability"] = _ratio(at)
    p_a = pairs.p_a
    use = known & ~np.isnan(p_a)
    if use.any():
        codes = bin_codes(np.where(use, p_a, 0.0), BINS, "width", (0.0, 1.0))
        gap = np.where(use, (label == FIRST) - np.where(use, p_a, 0.0), 0.0)
        at = put(*[gap * (codes == b) for b in range(BINS)], use)
        statistics["ece"] = _bin_gaps(at)
    longer = ~np.isnan(pairs.length_a) & ~np.isnan(pairs.length_b)
    longer &= pairs.length_a != pairs.length_b
    if longer.any():
        wins_a = np.where(ab != MISSING, _wins(ab), 1 - _wins(ba))
        usable = longer & ((ab != MISSING) | (ba != MISSING))
        won = np.where(pairs.length_a > pairs.length_b, wins_a, 1 - wins_a)
        at = put(np.where(usable, won, 0.0), usable)
        statistics["longer_win_rate"] = _ratio(at)
    if not statistics:
        at = put(ab == MISSING, np.ones(len(ab)))
        statistics["unparsed"] = _ratio(at)
    return columns, statistics


def _stability(pairs: PairTable) -> tuple[FloatArray, FloatArray]:
    """Majority share of the repeats of each item and order, in the item's first row, and counts."""
    _, first, code = np.unique(pairs.items, return_index=True, return_inverse=True)
    total, counted = np.zeros(len(pairs)), np.zeros(len(pairs))
    for side in (pairs.ab, pairs.ba):
        spoken = side != MISSING
        cells = np.bincount(code[spoken] * 3 + side[spoken], minlength=3 * len(first))
        cells = cells.reshape(-1, 3)
        repeats = cells.sum(axis=1)
        several = repeats > 1
        total[first[several]] += cells[several].max(axis=1) / repeats[several]
        counted[first[several]] += 1.0
    return total, counted


def _ratio(at: int) -> Callable[[FloatArray], FloatArray]:
    """Column `at` over the next one."""

    def statistic(sums: FloatArray) -> FloatArray:
        found: FloatArray = sums[:, at] / sums[:, at + 1]
        return found

    return statistic


def _place(at: int, index: int) -> Callable[[FloatArray], FloatArray]:
    def statistic(sums: FloatArray) -> FloatArray:
        return position_statistics(sums[:, at:])[:, index]

    return statistic


def _term(at: int) -> Callable[[FloatArray], FloatArray]:
    def statistic(sums: FloatArray) -> FloatArray:
        return two_order_statistic(sums[:, at:])

    return statistic


def _bin_gaps(at: int) -> Callable[[FloatArray], FloatArray]:
    def statistic(sums: FloatArray) -> FloatArray:
        total: FloatArray = np.abs(sums[:, at : at + BINS]).sum(axis=1) / sums[:, at + BINS]
        return total

    return statistic


def _wins(codes: Any) -> FloatArray:
    """1 where the first-shown won, .5 for a tie, else 0."""
    found: FloatArray = (codes == FIRST) + 0.5 * (codes == TIE)
    return found


def _right(answer: Any, label: Any, place: Any = None) -> FloatArray:
    """+1 where the verdict names the better answer, -1 where the other, 0 for ties and none."""
    codes = answer if place is None else np.where((place == FIRST) | (place == SECOND), answer, TIE)
    spoken = (codes == FIRST) | (codes == SECOND)
    found: FloatArray = np.where(spoken, np.where(codes == label, 1.0, -1.0), 0.0)
    return found


def _forecasts(pairs: PairTable) -> FloatArray:
    """P(A) of the rows that have it and a label."""
    p = pairs.p_a
    found: FloatArray = p[((pairs.label == FIRST) | (pairs.label == SECOND)) & ~np.isnan(p)]
    return found


def _names(pairs: PairTable, rows: Any) -> list[str]:
    """Some items, each once whatever its repeats."""
    return [pairs.item_names[i] for i in dict.fromkeys(pairs.items[rows].tolist())][:20]


def _rates(counts: PositionCounts) -> dict[str, float | None]:
    return {"consistency": _plain(counts.consistency), "fairness": _plain(counts.fairness)}


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
