"""What an audit hands on: a position term to subtract, and settings for those who train."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector
from assay.calibration.debias import debias_one_order
from assay.calibration.distributions import binomial_cdf
from assay.calibration.saved_objects import load_object, save_object
from assay.errors import ConfigError, DataError

FORMAT = 1
#: The strongest weight of a swap term that was tried; see the page on training reward models.
MOST_SWAP_WEIGHT = 2.0


@dataclass(frozen=True)
class PositionCorrection:
    """Takes a judge's liking for the first place out of verdicts in one order.

    Attributes:
        b: Position term in logits, from an audit of the same judge, prompt and task.
        low: Lower end of its 95% interval.
        high: Upper end.
        pairs: Pairs it was found on.
        judge: Fingerprint of the judge; empty where it is not known.

    Example:
        >>> PositionCorrection(0.4904).p_first([0.8]).round(2).tolist()
        [0.71]
    """

    b: float
    low: float = math.nan
    high: float = math.nan
    pairs: int = 0
    judge: str = ""

    def __post_init__(self) -> None:
        if (
            isinstance(self.b, bool)
            or not isinstance(self.b, int | float)
            or not math.isfinite(self.b)
        ):
            raise ConfigError(f"PositionCorrection.b must be a finite number, got {self.b!r}")

    def p_first(self, p: ArrayLike) -> FloatArray:
        """P(the first-shown wins) without the place, shape (n,)."""
        return debias_one_order(p, self.b)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain = {k: None if v != v else v for k, v in asdict(self).items()}
        return {"correction": "position", "format": FORMAT, **plain}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` wrote.

        Raises:
            ConfigError: It is something else.
        """
        if data.get("correction") != "position" or data.get("format") != FORMAT:
            raise ConfigError(
                f"not a position correction of format {FORMAT}: got {data.get('correction')!r}, "
                f"format {data.get('format')!r}; an audit writes one (correction.json)"
            )
        known = {f.name for f in fields(cls)}
        given: dict[str, Any] = {
            k: math.nan if v is None else v
            for k, v in data.items()
            if k not in ("correction", "format")
        }
        if not set(given) <= known or "b" not in given:
            raise ConfigError(f"a correction has the fields {sorted(known)}, got {sorted(given)}")
        return cls(**given)

    def save(self, path: str | Path) -> None:
        """Write JSON, all or nothing."""
        save_object(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote.

        Raises:
            ConfigError: Missing, or not a correction's file.
        """
        return cls.from_dict(load_object(path, "correction", "an audit writes one"))


def suggested_max_order_gap(
    order_gap: ArrayLike, right: ArrayLike, *, grid: int = 20
) -> float | None:
    """The order gap beyond which verdicts are no better than a coin.

    For `PairwiseReward(max_order_gap=)`: the smallest threshold of a grid such that the verdicts
    with a larger gap, at least 10 of them, are not right more often than half (one-sided binomial
    test at 5%).

    Args:
        order_gap: p_AB + p_BA - 1 of each pair, shape (n,).
        right: 1 where the verdict of both orders together is right, 0 where wrong, .5 for a tie.
        grid: Steps in (0, 1).

    Returns:
        None where verdicts with large gaps are still worth something, or too few.

    Example:
        >>> suggested_max_order_gap([0.0] * 50 + [0.6] * 40, [1] * 45 + [0] * 5 + [1, 0] * 20)
        0.05
    """
    gap = np.abs(vector("order_gap", order_gap, low=-1, high=1))
    hits = vector("right", right, low=0, high=1, size=len(gap))
    for step in range(1, grid):
        beyond = gap > step / grid
        n = int(beyond.sum())
        if n < 10:
            return None
        if 1.0 - binomial_cdf(math.ceil(float(hits[beyond].sum())) - 1, n, 0.5) > 0.05:
            return step / grid
    return None


def suggested_swap_weight(order_gap: ArrayLike, *, target: float = 0.1) -> float:
    """A weight of the swap term that would bring the order gap down to `target`.

    With m the mean over both orders and delta = gap / 2 the loss is (m - y)^2 + (1 + 4 w) delta^2:
    weight w pulls a gap that the data ask for down by 1 + 4 w, so w = (rms gap / target - 1) / 4,
    at most 2, the largest that was tried.

    Args:
        order_gap: p_AB + p_BA - 1 of each pair, shape (n,).
        target: Root mean square of the gap to be reached.

    Raises:
        DataError: No pairs.

    Example:
        >>> suggested_swap_weight([0.3, -0.3]), suggested_swap_weight([0.05])
        (0.5, 0.0)
    """
    gap = vector("order_gap", order_gap, low=-1, high=1)
    if not len(gap) or not target > 0:
        raise DataError(f"need order gaps and a target > 0, got {len(gap)} gaps, target {target}")
    weight = (float(np.sqrt(np.mean(gap**2))) / target - 1.0) / 4.0
    return round(min(max(weight, 0.0), MOST_SWAP_WEIGHT), 2)
