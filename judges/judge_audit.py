"""A judge under audit: both orders, repeats and probes, through the cache."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.calibration.calibrator import Calibrator
from assay.calibration.coded_winners import FIRST, MISSING, SECOND, TIE
from assay.calibration.correction import (
    PositionCorrection,
    suggested_max_order_gap,
    suggested_swap_weight,
)
from assay.calibration.cross_fitting import CrossFit, cross_fit
from assay.calibration.debias import debias_one_order
from assay.calibration.probe import Probe
from assay.calibration.probe_requests import Ask, ProbeItem, Versions, both_orders, text_of
from assay.calibration.probes import ProbeRun, run_probes, standard_probes
from assay.calibration.temperature import Temperature
from assay.calibration.verdict_audit import JudgeAudit, audit_verdicts
from assay.calibration.verdict_table import VerdictTable
from assay.errors import DataError
from assay.fingerprint import fingerprint_of
from assay.judge import Grade, Item, Judge, Pair, Verdict, total_cost
from assay.judges.cached import Cached

_CODES = {"A": FIRST, "B": SECOND, "tie": TIE, None: MISSING}
_LEAST_TO_CALIBRATE = 50


@dataclass(frozen=True)
class Repeated(Judge):
    """A judge's k-th repeat: the same opinion of it, drawn again, with a fingerprint of its own.

    A dataclass with a field `seed` gets another seed; another judge is asked as it is, and a cache
    keeps its repeats apart.

    Args:
        judge: Any.
        repeat: 1, 2, ...
    """

    judge: Judge
    repeat: int
    _asked: Judge = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_asked", _reseeded(self.judge, self.repeat))

    @property
    def columns(self) -> frozenset[str] | None:
        """What the judge reads."""
        return self.judge.columns

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """As the judge compares."""
        return self._asked.compare(pairs)

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """As the judge grades."""
        return self._asked.grade(items)

    def fingerprint(self) -> str:
        """Another one for every repeat."""
        return fingerprint_of(("repeat", self.judge.fingerprint(), self.repeat))


@dataclass(frozen=True, eq=False)
class JudgeReport:
    """An audit of a judge, and what it hands on.

    Attributes:
        audit: Verdicts in both orders.
        run: The probes, and what was asked.
        correction: Position term; None where it was not found (its interval holds 0).
        calibration: Out-of-fold quality of a temperature on P(A) of both orders, with the
            calibrator for `BothOrders(judge)`; None where labels are too few.
        one_order: The same for verdicts in one order, after the correction.
        max_order_gap: For `PairwiseReward`; None where verdicts with large gaps are worth
            something.
        swap_weight: For training with the swap term again.
        cost: Of all requests, None where nobody counts.
    """

    audit: JudgeAudit
    run: ProbeRun
    correction: PositionCorrection | None
    calibration: CrossFit | None
    one_order: CrossFit | None
    max_order_gap: float | None
    swap_weight: float
    cost: float | None

    @property
    def calibrators(self) -> dict[str, Calibrator]:
        """By the name of their file: `calibrator` (both orders), `calibrator_one_order`."""
        fits = {"calibrator": self.calibration, "calibrator_one_order": self.one_order}
        return {name: fit.calibrator for name, fit in fits.items() if fit is not None}

    def as_json(self) -> dict[str, Any]:
        """Plain values, for machines."""
        fits = {"both_orders": self.calibration, "one_order": self.one_order}
        return {
            **self.audit.as_json(),
            "probes": [finding.as_json() for finding in self.run.findings],
            "requests": {
                "planned": self.run.plan.planned,
                "asked": self.run.asked,
                "failed": self.run.answers.failed,
                "abstained": self.run.answers.abstained,
                "cost": self.cost,
            },
            "correction": None if self.correction is None else self.correction.to_dict(),
            "calibration": {k: None if v is None else _plain_fit(v) for k, v in fits.items()},
            "max_order_gap": self.max_order_gap,
            "swap_weight": self.swap_weight,
        }


def audit_judge(
    judge: Judge,
    pairs: Sequence[Pair],
    *,
    name: str = "judge",
    templates: Mapping[str, Judge] | None = None,
    repeats: int = 1,
    own_name: str = "",
    probes: bool = True,
    cache: str | Path | None = None,
    resamples: int = 1000,
) -> JudgeReport:
    """Ask a judge about pairs in both orders, again and changed, and say what it does.

    Args:
        judge: Compares; asked in one order at a time, so not in `BothOrders`.
        pairs: With `label`, `prompt_id`, `author_a`, `author_b`, `quality_gap` in their columns
            where known.
        name: Of the judge, for the report.
        templates: The judge with other wordings of its prompt, by name.
        repeats: How often each order is asked; stability takes at least 2.
        own_name: What the judge is called as an author.
        probes: Also change answers and prompts.
        cache: SQLite file that keeps opinions: an audit that was killed goes on for nothing.
        resamples: Behind the intervals.

    Raises:
        DataError: No pairs, or repeats < 1.
        JudgeError: The judge is down.
    """
    if repeats < 1:
        raise DataError(f"repeats must be at least 1, got {repeats}")
    items = [ProbeItem.of(pair, index) for index, pair in enumerate(pairs)]
    chosen: list[Probe] = standard_probes(
        own_name=own_name, templates=tuple(templates or ()), repeats=repeats
    )
    if not probes:
        chosen = [p for p in chosen if p.name in ("position", "length", "stability")]
    wrap = None if cache is None else partial(Cached, path=cache)
    versions = Versions(judge, dict(templates or {}), Repeated, wrap)
    run = run_probes(versions, items, chosen)
    table = _verdict_table(run, items, name, repeats)
    (audit,) = audit_verdicts(table, resamples=resamples)
    return _report(judge, run, audit)


def _verdict_table(
    run: ProbeRun, items: Sequence[ProbeItem], name: str, repeats: int
) -> VerdictTable:
    table = VerdictTable("judge")
    for number, item in enumerate(items):
        rest: dict[str, Any] = {
            "label": _CODES[item.label],
            "gap": abs(_number(item.pair.columns.get("quality_gap"))),
            "length_a": float(len(text_of(item.pair.a))),
            "length_b": float(len(text_of(item.pair.b))),
        }
        for repeat in range(repeats):
            for swapped, ask in enumerate(both_orders(item.pair, "", repeat)):
                verdict = _verdict(run, ask)
                if verdict is None:
                    continue
                table.add(
                    name,
                    item.prompt_id,
                    item.pair.id or number,
                    swapped=bool(swapped),
                    verdict=_CODES[verdict.choice],
                    p_first=math.nan if verdict.p_a is None else verdict.p_a,
                    **rest,
                )
    return table


def _verdict(run: ProbeRun, ask: Ask) -> Verdict | None:
    at = run.plan.place(ask)
    return None if at is None else run.answers.verdicts[at]


def _report(judge: Judge, run: ProbeRun, audit: JudgeAudit) -> JudgeReport:
    table = audit.table
    place = next(f for f in run.findings if f.probe == "position")
    correction = None
    if place.interval.defined and 0.0 not in place.interval:
        low, high = (
            end if math.isfinite(end) else math.nan
            for end in (place.interval.low, place.interval.high)
        )
        correction = PositionCorrection(
            place.interval.estimate, low, high, place.pairs, judge.fingerprint()
        )
    ab, ba = (_p(codes, p) for codes, p in ((table.ab, table.p_ab), (table.ba, table.p_ba)))
    known = ~np.isnan(ab + ba)
    gap = (ab + ba - 1.0)[known]
    p_a = ((ab + 1.0 - ba) / 2.0)[known]
    label, prompts = table.label[known], table.prompts[known]
    b = 0.0 if correction is None else correction.b
    told = (label == FIRST) | (label == SECOND)
    better = (label == FIRST).astype(np.float64)
    right = np.where(p_a == 0.5, 0.5, (p_a > 0.5) == (better == 1.0))
    # What is served in one order: either order of a pair is a forecast of "the first is better".
    one = [debias_one_order(side[known][told], b) for side in (ab, ba)]
    firsts, wins = np.concatenate(one), np.concatenate([better[told], 1.0 - better[told]])
    costs = [v.cost for v in run.answers.verdicts if v is not None]
    return JudgeReport(
        audit,
        run,
        correction,
        _calibration(p_a[told], better[told], prompts[told]),
        _calibration(firsts, wins, np.tile(prompts[told], 2)),
        suggested_max_order_gap(gap[told], right[told]) if told.any() else None,
        suggested_swap_weight(gap) if len(gap) else 0.0,
        total_cost(*costs),
    )


def _plain_fit(fit: CrossFit) -> dict[str, Any]:
    both = (("raw", fit.raw), ("calibrated", fit.calibrated))
    quality = {name: {f.name: getattr(q, f.name) for f in fields(q)} for name, q in both}
    return {"calibrator": fit.calibrator.to_dict(), **quality}


def _calibration(p_a: Any, better: Any, prompts: Any) -> CrossFit | None:
    if len(p_a) < _LEAST_TO_CALIBRATE or len(np.unique(prompts)) < 5:
        return None
    try:
        return cross_fit(Temperature(), p_a, better, prompts)
    except DataError:  # no better than chance, or right without exception: nothing to fit
        return None


def _p(codes: Any, p: Any) -> Any:
    """P(the first-shown wins): as said, else 1, 0 or .5 by the choice."""
    chosen = np.select([codes == FIRST, codes == SECOND, codes == TIE], [1.0, 0.0, 0.5], np.nan)
    return np.where(np.isnan(p) | (codes == MISSING), chosen, p)


def _number(value: Any) -> float:
    try:
        return math.nan if value is None else float(value)
    except (TypeError, ValueError):
        raise DataError(f"quality_gap must be a number, got {value!r:.40}; mend the row") from None


def _reseeded(judge: Judge, repeat: int) -> Judge:
    if not is_dataclass(judge) or not any(f.name == "seed" and f.init for f in fields(judge)):
        return judge
    seed = getattr(judge, "seed", None)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        return judge
    return replace(judge, seed=(seed or 0) + 7919 * repeat)
