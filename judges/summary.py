"""What a file of scores says at a glance: per leaf, how many, how good, how spread, and why not."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.judges.spend import cost_of
from assay.reward import STATUSES

QUANTILES = (0.1, 0.5, 0.9)
BINS = 12
#: Distinct notes kept per leaf; a reward that writes a new one for every row must not fill memory.
MOST_NOTES = 1000
_NUMBER = re.compile(r"(?<![\w.])\d+([.,]\d+)*(?!\w)")
_SHORTEST_KIND = 16  # "sandbox" or "KeyError" alone would say nothing
_BARS = " ▁▂▃▄▅▆▇█"


@dataclass
class LeafSummary:
    """One leaf (or the total) over all rows.

    Attributes:
        states: Rows by status.
        passed: Rows with full marks.
        judged: Rows that say whether they have full marks.
        values: The scored values.
        notes: Rows by status and kind of note, for every row without full marks.
    """

    states: Counter[str] = field(default_factory=Counter)
    passed: int = 0
    judged: int = 0
    values: array[float] = field(default_factory=lambda: array("d"))
    notes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, score: Mapping[str, Any]) -> None:
        """Count one score in its JSON form."""
        status = score["status"]
        self.states[status] += 1
        if score["value"] is not None:
            self.values.append(score["value"])
        if score["passed"] is not None:
            self.judged += 1
            self.passed += score["passed"]
        if score["note"] and score["passed"] is not True:
            key = (status, kind_of_note(score["note"]))
            if key not in self.notes and len(self.notes) >= MOST_NOTES:
                key = (status, "other notes")
            self.notes[key] += 1

    def mean(self) -> float | None:
        """Mean of the scored values."""
        return sum(self.values) / len(self.values) if self.values else None

    def quantiles(self) -> list[float]:
        """Smallest, the `QUANTILES`, and largest value; empty without values."""
        if not self.values:
            return []
        import numpy as np

        return [float(q) for q in np.quantile(np.asarray(self.values), [0.0, *QUANTILES, 1.0])]

    def histogram(self, low: float, high: float) -> list[int]:
        """Rows in `BINS` equal bins from `low` to `high`, values outside in the end bins."""
        counts = [0] * BINS
        for value in self.values:
            share = (value - low) / (high - low) if high > low else 1.0
            counts[min(max(int(share * BINS), 0), BINS - 1)] += 1
        return counts

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        spread = self.quantiles()
        names = ["min", *(f"p{round(q * 100)}" for q in QUANTILES), "max"]
        return {
            "rows": {status: self.states[status] for status in STATUSES},
            "mean": self.mean(),
            "quantiles": dict(zip(names, spread, strict=True)) if spread else {},
            "passed": self.passed,
            "judged": self.judged,
            "notes": [
                {"status": status, "note": note, "rows": rows}
                for (status, note), rows in self.notes.most_common(20)
            ],
        }


@dataclass
class Summary:
    """All leaves of a reward, fed row by row with what stands in the output.

    Args:
        paths: Leaves, as `Reward.leaves()` names them.
    """

    paths: Sequence[str]
    rows: int = 0
    cost: float = 0.0
    total: LeafSummary = field(default_factory=LeafSummary)
    leaves: dict[str, LeafSummary] = field(init=False)

    def __post_init__(self) -> None:
        self.leaves = {path: LeafSummary() for path in self.paths if path}

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one output row."""
        self.rows += 1
        self.cost += cost_of(row)
        self.total.add(row)
        for path, leaf in self.leaves.items():
            leaf.add(leaf_of(row, path))

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "rows": self.rows,
            "cost": self.cost,
            "total": self.total.to_json(),
            "leaves": {path: leaf.to_json() for path, leaf in self.leaves.items()},
        }


def leaf_of(row: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The score of the leaf at `path` in an output row, as `diagnostics.leaf_scores` reads it."""
    score = row
    for name in path.split("/"):
        part = score["parts"].get(name)
        if part is None:
            passed_by = score["parts"] or score["status"] == "scored"
            status = "skipped" if passed_by else score["status"]
            part = {"value": None, "status": status, "passed": None, "parts": {}, "note": ""}
        score = part
    return score


def kind_of_note(note: str) -> str:
    """What many notes have in common: numbers become N, details after a colon are cut.

    >>> kind_of_note("3 of 7 tests passed; WA: f(2) == 4: got 5")
    'N of N tests passed; WA'
    >>> kind_of_note("sandbox: bwrap is missing")
    'sandbox: bwrap is missing'
    """
    text = _NUMBER.sub("N", " ".join(note.split()))
    end = text.find(": ", _SHORTEST_KIND)
    return (text if end < 0 else text[:end])[:300]


def sparkline(counts: Sequence[int]) -> str:
    """A bar of eighths per count; the fullest bin is a full block, a bin with any row shows.

    >>> sparkline([0, 1, 50, 100])
    ' ▁▄█'
    """
    most = max(counts, default=0)
    return "".join(
        _BARS[0 if not count else max(1, round(count / most * (len(_BARS) - 1)))]
        for count in counts
    )
