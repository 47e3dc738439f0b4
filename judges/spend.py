"""What judging cost: sums of `info["cost"]` over a score and its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cost_of(row: Mapping[str, Any]) -> float:
    """The cost that stands in a score in its JSON form, at any depth of its parts.

    A reward that asks a judge puts what it paid, in the currency of the client's prices, into
    `info["cost"]` of its own score.

    >>> cost_of({"info": {"cost": 0.5}, "parts": {"a": {"info": {"cost": 0.25}, "parts": {}}}})
    0.75
    """
    cost = row.get("info", {}).get("cost")
    own = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else 0.0
    return own + sum(cost_of(part) for part in row.get("parts", {}).values())
