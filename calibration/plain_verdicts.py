"""The plain layout: one verdict a row, or both orders of a pair in one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.calibration.coded_winners import FIRST, MISSING, SECOND, TIE
from assay.calibration.position import position_counts
from assay.calibration.verdict_table import VerdictTable
from assay.errors import ConfigError, DataError

Numbering = Literal["position", "original"]

_WORDS = {"a": FIRST, "b": SECOND, "tie": TIE, "c": TIE, "": MISSING, "none": MISSING}
_PLACES = {"first": FIRST, "second": SECOND}
_ORDERS = {"ab": False, "a first": False, "ba": True, "b first": True}
_LABELS = {"a": FIRST, "b": SECOND, "tie": TIE, "1": FIRST, "2": SECOND, "a>b": FIRST}
_LABELS |= {"b>a": SECOND, "a=b": TIE}
_SPOKEN = ("choice", "verdict", "winner", "p_a", "p_first")
_SWAP = {FIRST: SECOND, SECOND: FIRST, TIE: TIE, MISSING: MISSING}


@dataclass
class PlainReader:
    """Reads rows with `item`, `order` and `choice` and/or `p_a` or `p_first`.

    Fields: `item` (or `pair_id`, `id`), `prompt_id` (or `question_id`, `uid`: the cluster; the item
    if absent), `judge`, `order` (`AB` or `BA`), `choice` (or `verdict`, `winner`: `A`, `B`, `tie`,
    `first`, `second`, empty), `p_a` = P(answer A), `p_first` = P(the first-shown), `order_gap` with
    `p_a` (both orders in one row), `label`, `quality_gap`, `length_a`, `length_b`.

    Attributes:
        numbering: Whether A in `choice` is the first-shown answer (`position`) or the answer A
            (`original`). Without it a swapped row is ambiguous, and `finish` asks.
    """

    numbering: Numbering | None = None
    _unclear: list[tuple[int, int]] = field(default_factory=list)
    _placed: bool = False

    def read(self, table: VerdictTable, row: Mapping[str, Any], where: str) -> None:
        """Add the verdicts of one row.

        Raises:
            DataError: No item, an unknown word, or a number that is none.
        """
        get = row.get
        item = get("item", get("pair_id", get("id")))
        if item is None:
            raise DataError(
                f"{where} has no `item` (or `pair_id`, `id`) and is of no known layout; got "
                f"fields {sorted(map(str, row))[:12]}"
            )
        prompt = get("prompt_id", get("question_id", get("uid", item)))
        swapped = False
        if (order := get("order")) is not None:
            self._placed = True
            found = _ORDERS.get(str(order).lower())
            if found is None:
                raise DataError(f"{where}: order must be 'AB' or 'BA', got {order!r:.40}")
            swapped = found
        if not any(name in row for name in _SPOKEN):
            raise DataError(
                f"{where} says nothing of who won: it has none of {', '.join(_SPOKEN)}, only "
                f"{sorted(map(str, row))[:12]}"
            )
        verdict = self._verdict(get("choice", get("verdict", get("winner"))), swapped, where, table)
        p_a, p_first = (_real(get(k), k, where, 0.0, 1.0) for k in ("p_a", "p_first"))
        gap = _real(get("order_gap"), "order_gap", where, -1.0, 1.0)
        label = get("label")
        rest: dict[str, Any] = {
            "label": MISSING if label is None else self._label(label, where),
            "gap": abs(_real(get("quality_gap"), "quality_gap", where)),
            "length_a": _real(get("length_a"), "length_a", where, 0.0),
            "length_b": _real(get("length_b"), "length_b", where, 0.0),
        }
        judge = get("judge", "judge")
        if gap == gap and p_a == p_a:  # neither is NaN: both orders in one row
            self._placed = True
            for second, p in ((False, p_a + gap / 2), (True, 1.0 - p_a + gap / 2)):
                p = min(max(p, 0.0), 1.0)
                place = _of_probability(p)
                table.add(judge, prompt, item, swapped=second, verdict=place, p_first=p, **rest)
            return
        if p_first != p_first and p_a == p_a:
            p_first = 1.0 - p_a if swapped else p_a
        if verdict is None:
            verdict = MISSING if p_first != p_first else _of_probability(p_first)
        table.add(judge, prompt, item, swapped=swapped, verdict=verdict, p_first=p_first, **rest)

    def finish(self, table: VerdictTable) -> None:
        """Ask where the file leaves open what A means in the swapped order.

        Raises:
            ConfigError: Names both readings and what each would say.
        """
        if table.layout == "plain" and not self._placed and len(table):
            table.note = "no row has an `order`: A is taken to stand first in all of them"
        if not self._unclear:
            return
        readings = []
        for name, swap in (("position", False), ("original", True)):
            # Rows were added as places; the other reading mirrors the swapped ones.
            pairs = table.by_judge()[0]
            words = pairs.ba if not swap else [_SWAP[int(v)] for v in pairs.ba]
            counts = position_counts(pairs.ab, words)
            readings.append(f"--numbering {name} would read {counts.consistency:.0%} consistent")
        raise ConfigError(
            f"{len(self._unclear)} rows of order BA have a `choice` of A or B, and nothing says "
            "whether A is the answer shown first (position) or the answer A of the file "
            f"(original): {'; '.join(readings)}. Say which"
        )

    def _verdict(self, value: Any, swapped: bool, where: str, table: VerdictTable) -> int | None:
        if value is None:
            return None
        word = str(value).strip().lower()
        if word in _PLACES:
            return _PLACES[word]
        code = _WORDS.get(word)
        if code is None:
            raise DataError(
                f"{where}: a choice must be one of A, B, tie, first, second or empty, got "
                f"{value!r:.40}"
            )
        if not swapped or code in (TIE, MISSING):
            return code
        if self.numbering is None:
            self._unclear.append((len(table), code))
            return code
        return _SWAP[code] if self.numbering == "original" else code

    def _label(self, value: Any, where: str) -> int:
        code = _LABELS.get(str(value).strip().lower())
        if code is None:
            raise DataError(f"{where}: a label must be one of A, B, tie, 1, 2, got {value!r:.40}")
        return code


def _of_probability(p: float) -> int:
    return FIRST if p > 0.5 else SECOND if p < 0.5 else TIE


def _real(
    value: Any, name: str, where: str, low: float = -math.inf, high: float = math.inf
) -> float:
    """A number in [low, high], NaN where there is none."""
    if value is None or value == "":
        return math.nan
    try:
        number = math.inf if isinstance(value, bool) else float(value)
    except (OverflowError, TypeError, ValueError):
        number = math.inf
    if math.isinf(number) or number < low or number > high:
        span = (
            ""
            if math.isinf(low)
            else f" >= {low:g}"
            if math.isinf(high)
            else f" in [{low:g}, {high:g}]"
        )
        raise DataError(f"{where}: {name} must be a number{span}, got {value!r:.40}")
    return number
