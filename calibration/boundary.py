"""Intervals where every prompt says the same: a resample differs in nothing, and doubt remains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from assay.calibration.intervals import Interval, exact_interval

_SHARES = ("consistency", "flip_rate", "accuracy", "both_orders_accuracy", "longer_win_rate")
#: How far a figure moves for each share of pairs that go another way.
_MOVES = {"fairness": 2.0, "first_pick_rate": 1.0}


def widened(figures: Mapping[str, Interval]) -> dict[str, Interval]:
    """Figures whose bootstrap interval has no width at a boundary, with one that admits doubt.

    None of n prompts went another way, so the share that would is at most the exact upper bound of
    0 in n. A position term without width gets no interval.

    >>> sure, even = Interval(1.0, 1.0, 1.0, units=30), Interval(0.0, 0.0, 0.0, units=30)
    >>> found = widened({"consistency": sure, "fairness": even})
    >>> round(found["consistency"].low, 3), round(found["fairness"].high, 3)
    (0.884, 0.231)
    """
    found = dict(figures)
    for name, value in figures.items():
        if not value.defined or value.low != value.high or not value.units:
            continue
        if name == "position_term":
            found[name] = replace(value, low=math.nan, high=math.nan)
        elif name in _MOVES or (name in _SHARES and value.estimate in (0.0, 1.0)):
            room = exact_interval(0, value.units, value.level).high * _MOVES.get(name, 1.0)
            lowest = -1.0 if name == "fairness" else 0.0
            found[name] = replace(
                value,
                low=max(lowest, value.estimate - room),
                high=min(1.0, value.estimate + room),
                method="exact, no prompt differs",
            )
    return found
