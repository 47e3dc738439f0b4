"""Verdicts of one file as columns: what an audit works on."""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.calibration.arrays import FloatArray, IntArray
from assay.calibration.coded_winners import MISSING, CodeArray
from assay.errors import DataError


@dataclass(frozen=True, eq=False)
class PairTable:
    """One judge's pairs, one row per pair and repeat; each array has shape (n,).

    Attributes:
        judge: Whose verdicts.
        prompts: Cluster of each row.
        items: Pair of each row; repeats share it.
        ab: Verdict as A stood first, by place (0 first, 1 second, 2 tie, -1 missing).
        ba: Verdict as B stood first, by place.
        p_ab: P(the first-shown wins) as A stood first; NaN where there is none.
        p_ba: P(the first-shown wins) as B stood first.
        label: Which answer is better: 0 A, 1 B, 2 tie, -1 unknown.
        gap: |quality difference| by an independent measure; NaN where unknown.
        length_a: Length of A; NaN where unknown.
        length_b: Length of B.
        item_names: What the codes in `items` stand for.
        ordered: Whether the places in which the answers stood are known.
    """

    judge: str
    prompts: IntArray
    items: IntArray
    ab: CodeArray
    ba: CodeArray
    p_ab: FloatArray
    p_ba: FloatArray
    label: CodeArray
    gap: FloatArray
    length_a: FloatArray
    length_b: FloatArray
    item_names: list[str]
    ordered: bool

    def __len__(self) -> int:
        return len(self.ab)

    @property
    def p_a(self) -> FloatArray:
        """P(A preferred): mean of the orders that were run; NaN where none has a probability."""
        sides = np.stack([self.p_ab, 1.0 - self.p_ba])
        known = ~np.isnan(sides)
        count = known.sum(axis=0)
        total = np.where(known, sides, 0.0).sum(axis=0)
        found: FloatArray = np.divide(total, count, out=np.full(len(self), np.nan), where=count > 0)
        return found


@dataclass
class VerdictTable:
    """Collects verdicts in any order and pairs them up.

    Example:
        >>> table = VerdictTable()
        >>> table.add("judge", "q1", "pair 1", swapped=False, verdict=0, label=0)
        >>> table.add("judge", "q1", "pair 1", swapped=True, verdict=0, label=0)
        >>> (pairs,) = table.by_judge()
        >>> pairs.ab.tolist(), pairs.ba.tolist()         # the first answer both times
        ([0], [0])
    """

    layout: str = "plain"
    note: str = ""
    ordered: bool = True
    _codes: dict[str, dict[Hashable, int]] = field(
        default_factory=lambda: {"judge": {}, "prompt": {}, "item": {}}
    )
    _columns: dict[str, Any] = field(
        default_factory=lambda: {
            **{name: array("q") for name in ("judge", "prompt", "item")},
            **{name: array("b") for name in ("swapped", "verdict", "label")},
            **{name: array("d") for name in ("p", "gap", "length_a", "length_b")},
        }
    )

    def __len__(self) -> int:
        return len(self._columns["verdict"])

    def add(
        self,
        judge: Hashable,
        prompt: Hashable,
        item: Hashable,
        *,
        swapped: bool,
        verdict: int,
        p_first: float = math.nan,
        label: int = MISSING,
        gap: float = math.nan,
        length_a: float = math.nan,
        length_b: float = math.nan,
    ) -> None:
        """Add one verdict; `verdict` names a place, `label` an answer (codes 0, 1, 2, -1)."""
        columns, codes = self._columns, self._codes
        columns["judge"].append(codes["judge"].setdefault(judge, len(codes["judge"])))
        columns["prompt"].append(codes["prompt"].setdefault(prompt, len(codes["prompt"])))
        columns["item"].append(codes["item"].setdefault(item, len(codes["item"])))
        columns["swapped"].append(swapped)
        columns["verdict"].append(verdict)
        columns["label"].append(label)
        columns["p"].append(p_first)
        columns["gap"].append(gap)
        columns["length_a"].append(length_a)
        columns["length_b"].append(length_b)

    def by_judge(self) -> list[PairTable]:
        """A table per judge, in the order in which they came.

        The n-th verdicts of a pair in either order stand in one row.

        Raises:
            DataError: No verdicts, an item under two prompts, or a pair with two labels.
        """
        if not len(self):
            raise DataError("there are no verdicts in the file; check the layout")
        column = {name: np.asarray(values) for name, values in self._columns.items()}
        self._check_items(column["item"], column["prompt"])
        items = [_shown(name) for name in self._codes["item"]]
        found = []
        for name, code in self._codes["judge"].items():
            rows = np.flatnonzero(column["judge"] == code)
            found.append(self._pairs(_shown(name), {k: v[rows] for k, v in column.items()}, items))
        return found

    def _check_items(self, item: IntArray, prompt: IntArray) -> None:
        """An item's name may be used once a prompt; its orders could not be paired up otherwise."""
        of_item = np.empty(len(self._codes["item"]), dtype=np.int64)
        of_item[item] = prompt
        if (wrong := np.flatnonzero(of_item[item] != prompt)).size:
            name = list(self._codes["item"])[int(item[wrong[0]])]
            prompts = list(self._codes["prompt"])
            both = (prompts[int(prompt[wrong[0]])], prompts[int(of_item[item[wrong[0]]])])
            raise DataError(
                f"item {name!r:.60} stands under two prompts, {both[0]!r:.60} and {both[1]!r:.60}; "
                "give every pair a name of its own, or leave out the prompt's column"
            )

    def _pairs(self, judge: str, column: dict[str, Any], items: list[str]) -> PairTable:
        swapped = column["swapped"].astype(bool)
        key = column["item"] * 2 + swapped
        order = np.argsort(key, kind="stable")
        ranked = key[order]
        new = np.append(True, ranked[1:] != ranked[:-1])
        starts = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
        repeat = np.empty(len(order), dtype=np.int64)
        repeat[order] = np.arange(len(order)) - starts
        place = column["item"] * (int(repeat.max()) + 1) + repeat
        _, first, row = np.unique(place, return_index=True, return_inverse=True)
        n = len(first)

        def side(values: Any, mask: Any, missing: Any) -> Any:
            out = np.full(n, missing, dtype=np.asarray(values).dtype)
            out[row[mask]] = values[mask]
            return out

        def told(values: Any, missing: Any) -> Any:
            """What one of a pair's rows says of it; the others need not."""
            known = ~np.isnan(values) if np.isnan(missing) else values != missing
            return side(values, known, missing)

        label = told(column["label"], MISSING)
        differs = (column["label"] != MISSING) & (label[row] != column["label"])
        if differs.any():
            name = items[int(column["item"][np.flatnonzero(differs)[0]])]
            raise DataError(
                f"the two orders of item {name!r:.60} have two labels; keep the right one"
            )
        return PairTable(
            judge,
            column["prompt"][first],
            column["item"][first],
            side(column["verdict"], ~swapped, MISSING),
            side(column["verdict"], swapped, MISSING),
            side(column["p"], ~swapped, np.nan),
            side(column["p"], swapped, np.nan),
            label,
            told(column["gap"], np.nan),
            told(column["length_a"], np.nan),
            told(column["length_b"], np.nan),
            items,
            self.ordered,
        )


def _shown(name: Hashable) -> str:
    """A name as text that can be written: JSON may hold half a character."""
    return str(name).encode("utf-8", "replace").decode("utf-8")
