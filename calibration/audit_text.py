"""An audit in plain words."""

from __future__ import annotations

import math

from assay.calibration.coded_winners import MISSING
from assay.calibration.intervals import Interval
from assay.calibration.verdict_audit import JudgeAudit


def sentences(audit: JudgeAudit) -> list[str]:
    """What the audit found, one sentence each, the most important first."""
    figures, found = audit.figures, []
    if audit.counts is not None and "first_pick_rate" in figures:
        found.append(
            f"Picks the first answer {_percent(figures['first_pick_rate'])} of the time; flips on "
            f"{_percent(figures['flip_rate'])} of {_pairs(audit)}."
        )
        found.append(_verdict_on_position(audit))
        if audit.counts.unparsed:
            found.append(
                f"{audit.counts.unparsed:,} pairs lack a readable verdict in one order and are "
                "left out."
            )
    elif not ((audit.table.ab != MISSING) | (audit.table.ba != MISSING)).any():
        found.append("No verdict could be read: nothing can be said of this judge.")
    elif audit.table.ordered:
        found.append(
            "No pair has a verdict in both orders: nothing can be said of the place. Judge both."
        )
    if len(audit.by_gap) > 1:
        shares = [b.counts.conflict_rate for b in audit.by_gap]
        if not any(math.isnan(s) for s in (shares[0], shares[-1])):
            where = "strongest" if shares[0] > shares[-1] else "no stronger"
            found.append(
                f"Flips are {where} where answers are close: {shares[0]:.0%} of the closest pairs, "
                f"{shares[-1]:.0%} of the clearest."
            )
    if "accuracy" in figures:
        text = f"Agrees with the labels on {_percent(figures['accuracy'])} of verdicts"
        if "both_orders_accuracy" in figures:
            text += f", on {_percent(figures['both_orders_accuracy'])} of pairs by both orders"
        found.append(text + ".")
    if "repetition_stability" in figures:
        found.append(
            f"Repeats of one request agree with their majority "
            f"{_percent(figures['repetition_stability'])} of the time."
        )
    if "ece" in figures and audit.null_ece is not None:
        value, high = figures["ece"].estimate, audit.null_ece[1]
        says = "more than" if value > high else "no more than"
        found.append(
            f"Its probabilities are off by {value:.3f} on average (ECE), {says} chance explains "
            f"(a perfect judge reads up to {high:.3f})."
        )
    if "longer_win_rate" in figures:
        found.append(f"The longer answer wins {_percent(figures['longer_win_rate'])} of the time.")
    return found


def advice(audit: JudgeAudit) -> list[str]:
    """What to do about what was found."""
    figures, found = audit.figures, []
    term = figures.get("position_term")
    sure = term is not None and term.defined and 0.0 not in term
    if term is not None and (sure or audit.q_value < 0.05):
        found.append(
            "Judge both orders and average (BothOrders). Where only one can be paid for, subtract "
            f"the position term of {term.estimate:+.2f} logits (debias_one_order), for this judge, "
            "prompt and task alone."
        )
    flips = figures.get("flip_rate")
    if flips is not None and flips.estimate > 0.1:
        found.append(
            "Treat pairs whose orders disagree as ties or send them to people; do not train on "
            "them at full weight."
        )
    if "ece" in figures and audit.null_ece and figures["ece"].estimate > audit.null_ece[1]:
        found.append(
            "Fit a calibrator on labelled pairs (Temperature, with cross_fit to check it), or "
            "abstain where the judge is unsure (fixed_sequence)."
        )
    longer = figures.get("longer_win_rate")
    if longer is not None and longer.defined and longer.low > 0.55:
        found.append(
            "Longer answers win more often: that is a bias only if they are not better; hold "
            "quality fixed with fit_style_bias."
        )
    if not ((audit.table.ab != MISSING) | (audit.table.ba != MISSING)).any():
        return ["Look at the judge's replies and at what reads them."]
    if not found and set(figures) <= {"unparsed", "repetition_stability"}:
        return ["Judge the other order too, or add labels: this file can show next to nothing."]
    return found or ["Nothing needs mending that this file can show."]


def _verdict_on_position(audit: JudgeAudit) -> str:
    term = audit.figures.get("position_term")
    shown = "" if term is None else f" (position term {_signed(term)} logits)"
    if not math.isnan(audit.q_value) and audit.q_value < 0.05:
        assert audit.counts is not None
        place = "first" if audit.counts.fairness < 0 else "second"
        return f"It favours the {place} place{shown}; q = {audit.q_value:.2g}."
    if math.isnan(audit.detectable):
        return f"No liking for a place was found{shown}; there are too few flips to tell how small."
    return (
        f"No liking for a place was found{shown}; one of {audit.detectable:.2f} in fairness would "
        "have been found four times in five."
    )


def _pairs(audit: JudgeAudit) -> str:
    distinct = len(set(audit.table.items.tolist()))
    repeats = f" ({distinct:,} with repeats)" if distinct < audit.pairs else ""
    return f"{audit.both_orders:,} pairs{repeats}"


def _percent(value: Interval) -> str:
    text = f"{value.estimate:.0%}"
    if value.defined:
        text += f" ({100 * value.low:.0f}-{100 * value.high:.0f})"
    return text


def _signed(value: Interval) -> str:
    text = f"{value.estimate:+.2f}"
    return text + (f", {value.low:+.2f} to {value.high:+.2f}" if value.defined else "")
