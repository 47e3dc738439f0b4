"""Has a judge changed? The same frozen anchor pairs, then and now."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import vector
from assay.calibration.bootstrap import cluster_totals, clustered_bootstrap
from assay.calibration.intervals import Interval
from assay.calibration.paired_tests import McNemar, mcnemar
from assay.errors import DataError


@dataclass(frozen=True)
class Drift:
    """What changed between two runs on the same pairs.

    Attributes:
        shift: Mean of p now - p then, with its interval.
        distance: Mean |p now - p then|, with its interval.
        flips: Share of pairs whose preferred answer changed, with its interval.
        accuracy: McNemar's test of right then against right now; None without labels.
        noise: The same distance between two runs of the unchanged judge, if it was given.
    """

    shift: Interval
    distance: Interval
    flips: Interval
    accuracy: McNemar | None
    noise: float

    @property
    def drifted(self) -> bool:
        """The shift's interval excludes 0, accuracy changed, or distance lies above the noise."""
        moved = not math.isnan(self.shift.low) and 0.0 not in self.shift
        worse = self.accuracy is not None and self.accuracy.p_exact < 0.05
        noisy = not math.isnan(self.noise) and self.distance.low > self.noise
        return moved or worse or noisy


def check_drift(
    then: ArrayLike,
    now: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    prompts: Sequence[Any] | NDArray[Any] | None = None,
    repeat: ArrayLike | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Drift:
    """Compare a judge with its own verdicts on a frozen anchor set.

    Args:
        then: P(A preferred) of the reference run, shape (n,); hard verdicts are 1, .5, 0.
        now: The same pairs in the same order now, shape (n,).
        labels: 1 where A is better, 0 where B is, shape (n,), for the accuracy test.
        prompts: Clusters, shape (n,).
        repeat: A second run of the reference judge, shape (n,): its distance is what chance does.
            A sampled judge differs from itself; without this, distance and flips say little.
        resamples: Bootstrap draws.
        level: Coverage.
        seed: Of the draws.

    Raises:
        DataError: No rows or other lengths.

    Example:
        >>> then = [0.9, 0.2, 0.7, 0.4] * 25
        >>> check_drift(then, then).drifted
        False
        >>> found = check_drift(then, [min(1.0, p + 0.1) for p in then])
        >>> found.drifted, round(found.shift.estimate, 2)
        (True, 0.1)
    """
    p, q = vector("then", then, low=0, high=1), vector("now", now, low=0, high=1)
    if len(p) != len(q) or not len(p):
        raise DataError(
            f"both runs need the same pairs, got {len(p)} and {len(q)}; leave out pairs that only "
            "one of them answered"
        )
    flipped = (np.sign(p - 0.5) * np.sign(q - 0.5) < 0).astype(float)
    rows = np.stack([q - p, np.abs(q - p), flipped, np.ones(len(p))], axis=1)
    shift, distance, flips = clustered_bootstrap(
        cluster_totals(rows, prompts),
        lambda s: s[:, :3] / s[:, 3:],
        resamples=resamples,
        level=level,
        seed=seed,
    )
    accuracy = None
    if labels is not None:
        y = vector("labels", labels, low=0, high=1, size=len(p))
        right_then, right_now = _right(p, y), _right(q, y)
        accuracy = mcnemar(
            int((right_then & ~right_now).sum()), int((~right_then & right_now).sum())
        )
    noise = math.nan
    if repeat is not None:
        noise = float(np.abs(vector("repeat", repeat, low=0, high=1, size=len(p)) - p).mean())
    return Drift(shift, distance, flips, accuracy, noise)


def _right(p: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray(((p > 0.5) & (y > 0.5)) | ((p < 0.5) & (y < 0.5)))
