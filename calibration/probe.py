"""What a probe is: requests about a pair, and a statistic of sums of what was answered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from assay.calibration.arrays import FloatArray
from assay.calibration.probe_estimates import Estimate, of_sums
from assay.calibration.probe_requests import ProbeItem, Request


class Probe(ABC):
    """One question about a judge.

    A probe is a statistic of column sums over pairs: `requests` says what to ask about a pair,
    `rows` turns the answers into columns, `statistic` their sums into the estimate.
    """

    name: str
    measures: ClassVar[str]
    null: ClassVar[str]

    @abstractmethod
    def usable(self, item: ProbeItem) -> bool:
        """Whether the pair has what the probe needs."""

    @abstractmethod
    def requests(self, item: ProbeItem) -> tuple[Request, ...]:
        """What to ask about a pair; equally many for every pair."""

    @abstractmethod
    def rows(self, values: FloatArray, items: Sequence[ProbeItem]) -> FloatArray:
        """Columns to be summed, shape (n, columns), from answers of shape (n, requests)."""

    @abstractmethod
    def statistic(self, sums: FloatArray) -> FloatArray:
        """The estimate from sums of shape (draws, columns); shape (draws,)."""

    def why_not(self) -> str:
        """What is missing where no pair is usable."""
        return "no pair has what it needs"

    def estimate(self, rows: FloatArray, prompts: Sequence[str], level: float) -> Estimate:
        """The estimate with its clustered error."""
        return of_sums(rows, prompts, self.statistic, level=level)

    def details(self, rows: FloatArray) -> dict[str, Any]:
        """Further numbers for people."""
        return {}


def mean_of(sums: FloatArray) -> FloatArray:
    """First column over the second, shape (draws,)."""
    found: FloatArray = sums[:, 0] / sums[:, 1]
    return found
