"""Probes that ask again: other wordings of the prompt, repeats, and how a scale is used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assay.calibration.arrays import FloatArray
from assay.calibration.probe import Probe, mean_of
from assay.calibration.probe_requests import Ask, GradeAsk, ProbeItem, Request, both_orders
from assay.judge import Item


@dataclass(frozen=True)
class TemplateProbe(Probe):
    """Does the wording of the judge's prompt decide?

    Mean of (x_0 - x_t)^2 - (x_0 - x_0')^2 / 2 - (x_t - x_t')^2 / 2 with x the verdicts on one order
    and x' a repeat: the mean squared difference of P(first wins) under two wordings, with the noise
    of a judge that draws its verdicts taken out.
    """

    templates: tuple[str, ...] = ()
    name: str = "template"
    measures: ClassVar[str] = "squared difference of P between wordings of the prompt"
    null: ClassVar[str] = "wordings differ no more than repeats of one wording do"

    def usable(self, item: ProbeItem) -> bool:
        """Every pair, where there are paraphrases."""
        return bool(self.templates)

    def why_not(self) -> str:
        """Paraphrases."""
        return "no paraphrased prompts are given"

    def requests(self, item: ProbeItem) -> tuple[Request, ...]:
        """One order, twice by each wording."""
        return tuple(
            Ask(item.pair, name, repeat) for name in ("", *self.templates) for repeat in (0, 1)
        )

    def rows(self, values: FloatArray, items: Sequence[ProbeItem]) -> FloatArray:
        """The squared difference of each pair, mean over paraphrases."""
        base, repeat = values[:, 0], values[:, 1]
        found = []
        for at in range(2, values.shape[1], 2):
            other, again = values[:, at], values[:, at + 1]
            between = np.mean(
                [(x - y) ** 2 for x in (base, repeat) for y in (other, again)], axis=0
            )
            found.append(between - (base - repeat) ** 2 / 2 - (other - again) ** 2 / 2)
        return np.stack([np.mean(found, axis=0), np.ones(len(items))], axis=1)

    def statistic(self, sums: FloatArray) -> FloatArray:
        """The mean."""
        return mean_of(sums)

    def details(self, rows: FloatArray) -> dict[str, Any]:
        """How far apart, as a difference of probabilities."""
        mean = float(rows[:, 0].mean())
        return {"rms_difference": math.sqrt(max(mean, 0.0)), "wordings": len(self.templates) + 1}


@dataclass(frozen=True)
class StabilityProbe(Probe):
    """How often do repeats of one request agree? Describes; a judge may draw its verdicts."""

    repeats: int = 3
    name: str = "stability"
    measures: ClassVar[str] = "share of repeats that agree"
    null: ClassVar[str] = ""

    def usable(self, item: ProbeItem) -> bool:
        """Every pair."""
        return self.repeats >= 2

    def requests(self, item: ProbeItem) -> tuple[Request, ...]:
        """Both orders, some times."""
        return tuple(
            ask for repeat in range(self.repeats) for ask in both_orders(item.pair, "", repeat)
        )

    def rows(self, values: FloatArray, items: Sequence[ProbeItem]) -> FloatArray:
        """Share of pairs of repeats of one order with the same winner."""
        side = np.where(np.isnan(values), np.nan, np.sign(values - 0.5))
        pairs = [
            (2 * i + order, 2 * j + order)
            for order in (0, 1)
            for i in range(self.repeats)
            for j in range(i)
        ]
        agree = [
            np.where(np.isnan(side[:, i] + side[:, j]), np.nan, side[:, i] == side[:, j])
            for i, j in pairs
        ]
        return np.stack([np.mean(agree, axis=0), np.ones(len(items))], axis=1)

    def statistic(self, sums: FloatArray) -> FloatArray:
        """The mean."""
        return mean_of(sums)


@dataclass(frozen=True)
class ScaleProbe(Probe):
    """How much of its scale does a judge that grades use? Describes."""

    name: str = "scale"
    measures: ClassVar[str] = "share of answers with the most frequent grade"
    null: ClassVar[str] = ""

    def usable(self, item: ProbeItem) -> bool:
        """Every pair."""
        return True

    def requests(self, item: ProbeItem) -> tuple[Request, ...]:
        """Grades of both answers."""
        pair = item.pair
        return tuple(
            GradeAsk(Item(pair.prompt, side, pair.columns, pair.id)) for side in (pair.a, pair.b)
        )

    def rows(self, values: FloatArray, items: Sequence[ProbeItem]) -> FloatArray:
        """Answers with each of the (at most 100 most frequent) grades."""
        if np.isnan(values).all():
            return np.full((len(items), 1), np.nan)
        grades, count = np.unique(values[~np.isnan(values)], return_counts=True)
        kept = grades[np.argsort(-count, kind="stable")[:100]]
        found: FloatArray = (values[:, :, None] == kept).sum(axis=1).astype(np.float64)
        found[np.isnan(values).any(axis=1)] = np.nan
        return found

    def statistic(self, sums: FloatArray) -> FloatArray:
        """The largest share."""
        found: FloatArray = sums.max(axis=1) / sums.sum(axis=1)
        return found

    def details(self, rows: FloatArray) -> dict[str, Any]:
        """Number of grades, and their entropy in bits."""
        share = rows.sum(axis=0) / rows.sum()
        share = share[share > 0]
        return {"grades": len(share), "entropy_bits": abs(float(-(share * np.log2(share)).sum()))}
