"""Both orders of a pair: what a judge says once its liking for a position is taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError, places_in
from assay.fingerprint import configuration_fingerprint
from assay.judge import Choice, Grade, Item, Judge, Outcome, Pair, Verdict, total_cost


@dataclass(frozen=True)
class BothOrders(Judge):
    """Asks about (A, B) and (B, A) and joins the two opinions.

    With p_AB = P(the first wins) as A stands first and p_BA the same as B stands first:
    p_a = (p_AB + 1 - p_BA) / 2 and order_gap = p_AB + p_BA - 1, which is 0 for a judge without
    position bias and > 0 for one that favours the first slot. A judge that only chooses counts as
    1, 0 or .5.

    Swapping A and B mirrors the verdict exactly: p_a becomes 1 - p_a, the gap stays.

    Args:
        judge: Compares pairs.
        mode: `mean` decides by p_a. `agree` lets an answer win only if both orders chose it; two
            orders that disagree are a tie.
        tie_tolerance: In mode `mean`, a tie where abs(p_a - .5) is at most this.

    Source: the swap consistency of the Nanbeige4.1-3B report (arXiv:2602.13367). Departure: the
    two orders are run at inference and averaged; nothing is trained.
    """

    judge: Judge
    mode: Literal["mean", "agree"] = "mean"
    tie_tolerance: float = 1e-9

    def __post_init__(self) -> None:
        if self.mode not in ("mean", "agree"):
            raise ConfigError(
                f"BothOrders.mode must be one of {{'mean', 'agree'}}, got {self.mode!r}"
            )
        if not 0 <= self.tie_tolerance < 0.5:
            raise ConfigError(
                f"BothOrders.tie_tolerance must lie in [0, .5), got {self.tie_tolerance}"
            )

    @property
    def columns(self) -> frozenset[str] | None:
        """What the judge reads."""
        return self.judge.columns

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair; the judge gets both orders of all pairs as one batch."""
        pairs = list(pairs)
        with places_in([*range(len(pairs))] * 2):
            both = self.judge.compare([*pairs, *(pair.swapped() for pair in pairs)])
        straight, swapped = both[: len(pairs)], both[len(pairs) :]
        return [self._join(ab, ba) for ab, ba in zip(straight, swapped, strict=True)]

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """As the judge grades: a single item has no order."""
        return self.judge.grade(items)

    def fingerprint(self) -> str:
        """A hash of the judge and of how its opinions are joined."""
        return configuration_fingerprint(self)

    def _join(self, ab: Verdict, ba: Verdict) -> Verdict:
        raw = _both(ab.raw, ba.raw)
        evidence = _evidence(ab, ba)
        missing = [v for v in (ab, ba) if v.status != "ok"]
        if missing:
            outcome: Outcome = (
                "failed" if any(v.status == "failed" for v in missing) else "abstained"
            )
            reason = _both(_missing(ab), _missing(ba))
            return Verdict(None, status=outcome, reason=reason, raw=raw, **evidence)
        p_ab, p_ba = ab.preference, ba.preference
        assert p_ab is not None and p_ba is not None  # both statuses are ok
        gap = p_ab + p_ba - 1.0
        lean = (p_ab - p_ba) / 2.0
        choice = self._choice(ab, ba, lean)
        # Rounded in the upper half only, where 1 - p is exact: the mirror image is exact too.
        upper = 0.5 + abs(lean)
        p_a = upper if lean >= 0 else 1.0 - upper
        reason = _both(ab.reason, ba.reason)
        return Verdict(choice, p_a, gap, reason=reason, raw=raw, **evidence)

    def _choice(self, ab: Verdict, ba: Verdict, lean: float) -> Choice:
        if self.mode == "agree":
            if ab.choice == "A" and ba.choice == "B":
                return "A"
            return "B" if ab.choice == "B" and ba.choice == "A" else "tie"
        if abs(lean) <= self.tie_tolerance:
            return "tie"
        return "A" if lean > 0 else "B"


def _evidence(ab: Verdict, ba: Verdict) -> dict[str, Any]:
    """Cost of both, the lesser agreement, and what each order said."""
    both = {"A first": ab, "B first": ba}
    info = {
        order: {**verdict.info, "choice": verdict.choice, "p_first": verdict.p_a}
        for order, verdict in both.items()
    }
    agreements = [v.agreement for v in (ab, ba) if v.agreement is not None]
    return {
        "cost": total_cost(ab.cost, ba.cost),
        "agreement": min(agreements, default=None),
        "info": info,
    }


def _missing(verdict: Verdict) -> str:
    return "" if verdict.status == "ok" else f"{verdict.status}: {verdict.reason}"


def _both(ab: str, ba: str) -> str:
    """Two texts side by side, each under the order it belongs to."""
    parts = [f"A first: {ab}" if ab else "", f"B first: {ba}" if ba else ""]
    return "\n".join(part for part in parts if part)
