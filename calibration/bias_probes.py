"""Probes of what should not decide: the place, length, style, authority, who wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.calibration.probe import Probe, mean_of
from assay.calibration.probe_changes import Change
from assay.calibration.probe_estimates import Estimate, lean
from assay.calibration.probe_requests import ProbeItem, Request, both_orders, text_of


@dataclass(frozen=True)
class PositionProbe(Probe):
    """Does the first place win whichever answer stands in it?"""

    name: str = "position"
    measures: ClassVar[str] = "liking for the first place in logits, quality held fixed"
    null: ClassVar[str] = "both places win both orders equally often"

    def usable(self, item: ProbeItem) -> bool:
        """Every pair."""
        return True

    def requests(self, item: ProbeItem) -> tuple[Request, ...]:
        """Both orders."""
        return both_orders(item.pair)

    def rows(self, values: FloatArray, items: Sequence[ProbeItem]) -> FloatArray:
        """First wins both, second wins both, order gap; ties of one that only chooses count 0."""
        ab, ba = values.T
        tie = (ab == 0.5) | (ba == 0.5)
        known = ~np.isnan(ab + ba)
        first, second = ab * ba, (1 - ab) * (1 - ba)
        return np.stack(
            [np.where(tie & known, 0.0, first), np.where(tie & known, 0.0, second), ab + ba - 1.0],
            axis=1,
        )

    def statistic(self, sums: FloatArray) -> FloatArray:
        """ln(primacy / recency) / 2."""
        found: FloatArray = 0.5 * np.log(sums[:, 0] / sums[:, 1])
        return found

    def estimate(self, rows: FloatArray, prompts: Sequence[str], level: float) -> Estimate:
        """By the share of primacy, see `lean`."""
        return lean(rows[:, 0], rows[:, 1], prompts, level=level)

    def details(self, rows: FloatArray) -> dict[str, Any]:
        """Share of pairs that follow a place, and the mean order gap."""
        return {
            "first_wins_both": float(rows[:, 0].mean()),
            "second_wins_both": float(rows[:, 1].mean()),
            "order_gap": float(rows[:, 2].mean()),
        }


@dataclass(frozen=True)
class ChangeProbe(Probe):
    """Does an answer win more often once something that makes it no better was changed?"""

    change: Change
    name: str = ""
    measures: ClassVar[str] = "change of the share won"
    null: ClassVar[str] = "an answer wins as often with the change as without"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.change.name)

    def usable(self, item: ProbeItem) -> bool:
        """Pairs that the change applies to."""
        return self.change.applies(item)

    def requests(self, item: ProbeItem) -> tuple[Request, ...]:
        """Both orders without and with the change."""
        return (*both_orders(item.pair), *both_orders(self.change.of(item)))

    def rows(self, values: FloatArray, items: Sequence[ProbeItem]) -> FloatArray:
        """Win of the changed answer, with minus without."""
        before = (values[:, 0] + 1 - values[:, 1]) / 2
        after = (values[:, 2] + 1 - values[:, 3]) / 2
        sign = np.array([1.0 if item.target == "a" else -1.0 for item in items])
        return np.stack([sign * (after - before), np.ones(len(items))], axis=1)

    def statistic(self, sums: FloatArray) -> FloatArray:
        """The mean."""
        return mean_of(sums)

    def details(self, rows: FloatArray) -> dict[str, Any]:
        """What was changed."""
        return {"change": self.change.what}


class _Attraction(Probe):
    """P(picks it | it is better) - P(picks the other | the other is better)."""

    def _marked(self, item: ProbeItem) -> str:
        """Which answer has the mark, `a` or `b`; empty if neither has, or both."""
        raise NotImplementedError

    def usable(self, item: ProbeItem) -> bool:
        """Labelled pairs of which one answer has the mark."""
        return item.label in ("A", "B") and bool(self._marked(item))

    def requests(self, item: ProbeItem) -> tuple[Request, ...]:
        """Both orders."""
        return both_orders(item.pair)

    def rows(self, values: FloatArray, items: Sequence[ProbeItem]) -> FloatArray:
        """Picks and pairs where it is better, picks and pairs where the other is."""
        wins_a = (values[:, 0] + 1 - values[:, 1]) / 2
        a_marked = np.array([self._marked(item) == "a" for item in items])
        picks = np.where(a_marked, wins_a, 1 - wins_a)
        own = np.array([item.label == "A" for item in items]) == a_marked
        return np.stack([picks * own, own, (1 - picks) * ~own, ~own], axis=1).astype(np.float64)

    def statistic(self, sums: FloatArray) -> FloatArray:
        """The difference of the two shares."""
        found: FloatArray = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
        return found


@dataclass(frozen=True)
class LengthProbe(_Attraction):
    """Does the longer answer win beyond what labels say?"""

    name: str = "length"
    measures: ClassVar[str] = "P(longer | longer is better) - P(shorter | shorter is better)"
    null: ClassVar[str] = "longer and shorter answers are found equally often when they are better"

    def _marked(self, item: ProbeItem) -> str:
        a, b = len(text_of(item.pair.a)), len(text_of(item.pair.b))
        return "" if a == b else "a" if a > b else "b"

    def why_not(self) -> str:
        """Labels."""
        return "no pair has a label and answers of different length"


@dataclass(frozen=True)
class SelfPreferenceProbe(_Attraction):
    """Does the judge favour its own answers beyond their worth?

    Source: Wataoka et al., arXiv:2410.21819, equation 1.
    """

    own_name: str = ""
    name: str = "self_preference"
    measures: ClassVar[str] = "P(own | own is better) - P(other | other is better)"
    null: ClassVar[str] = "own and others' answers are found equally often when they are better"

    def _marked(self, item: ProbeItem) -> str:
        a, b = (author == self.own_name for author in (item.author_a, item.author_b))
        return "" if not self.own_name or a == b else "a" if a else "b"

    def why_not(self) -> str:
        """Names and labels."""
        if not self.own_name:
            return "the judge's own name as author is not given"
        return f"no labelled pair has one answer by {self.own_name!r} (author_a, author_b)"
