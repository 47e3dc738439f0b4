"""Estimates of probes: a statistic of sums per prompt, its clustered error, p and power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray
from assay.calibration.bootstrap import OfTotals, cluster_totals
from assay.calibration.distributions import normal_quantile, t_quantile, two_sided_p
from assay.calibration.intervals import Interval, exact_interval
from assay.calibration.power import minimum_detectable_effect


@dataclass(frozen=True)
class Finding:
    """What a probe found.

    Attributes:
        probe: Its name.
        measures: What the estimate is, and its unit.
        null: What is true of a judge without this bias; empty where the figure only describes.
        interval: Estimate with its clustered interval.
        p_value: Two-sided p of the null; NaN where the figure only describes.
        q_value: The same, corrected for the number of probes (Benjamini and Hochberg).
        detectable: Smallest size that would have been found with power .8 (at p < .05).
        pairs: Pairs used.
        prompts: Independent units among them.
        details: Further numbers.
        problem: Why the probe could not be run; else empty.
    """

    probe: str
    measures: str
    null: str
    interval: Interval
    p_value: float = math.nan
    q_value: float = math.nan
    detectable: float = math.nan
    pairs: int = 0
    prompts: int = 0
    details: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    __hash__ = None  # type: ignore[assignment]

    @property
    def flagged(self) -> bool:
        """Whether the bias was found (q < .05)."""
        return self.q_value < 0.05

    def as_json(self) -> dict[str, Any]:
        """Plain values, for machines."""
        return {
            "probe": self.probe,
            "measures": self.measures,
            "null": self.null,
            **self.interval.as_json(),
            "p": _plain(self.p_value),
            "q": _plain(self.q_value),
            "detectable": _plain(self.detectable),
            "flagged": self.flagged,
            "pairs": self.pairs,
            "prompts": self.prompts,
            "details": {k: _plain(v) for k, v in self.details.items()},
            "problem": self.problem,
        }


@dataclass(frozen=True)
class Estimate:
    """A number with its clustered error."""

    interval: Interval
    p_value: float
    detectable: float
    rows: int


def mean_effect(values: ArrayLike, prompts: Sequence[Any], *, level: float = 0.95) -> Estimate:
    """Mean of an effect per pair, tested against 0; rows with NaN are left out.

    Example:
        >>> found = mean_effect([0.5, 0.0, 0.5, 1.0] * 10, range(40))
        >>> found.interval.estimate, found.p_value < 1e-6
        (0.5, True)
    """
    x = np.asarray(values, dtype=np.float64)
    kept = ~np.isnan(x)
    rows = np.stack([x[kept], np.ones(int(kept.sum()))], axis=1)
    groups = [prompt for prompt, keep in zip(prompts, kept, strict=True) if keep]
    return of_sums(rows, groups, lambda s: s[:, 0] / s[:, 1], level=level)


def of_sums(
    rows: FloatArray, prompts: Sequence[Any], statistic: OfTotals, *, level: float = 0.95
) -> Estimate:
    """A statistic of column sums with the error of the jackknife that leaves out whole prompts.

    The interval is estimate +- t(prompts - 1) errors. Where no prompt differs from another the
    jackknife says 0; then the ends are those of a share of which no case was seen
    (Clopper-Pearson), so that 20 silent prompts do not pass for certainty.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 11.5.
    """
    totals = cluster_totals(rows, list(prompts))
    units = len(totals)
    nothing = Estimate(
        Interval(math.nan, math.nan, math.nan, level, "", units), math.nan, math.nan, 0
    )
    if units < 2:
        return nothing
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = totals.sum(axis=0, keepdims=True)
        estimate = float(statistic(whole)[0])
        without = statistic(whole - totals)
    if not math.isfinite(estimate) or not np.isfinite(without).all():
        return nothing
    error = math.sqrt((units - 1) / units * float(np.sum((without - without.mean()) ** 2)))
    method = "jackknife by prompt"
    if error < 1e-12:
        reach = exact_interval(0, units, level).high
        found = Interval(estimate, estimate - reach, estimate + reach, level, method, units)
        return Estimate(found, 1.0 if abs(estimate) < 1e-12 else 0.0, reach, len(rows))
    half = t_quantile(0.5 + level / 2.0, units - 1) * error
    found = Interval(estimate, estimate - half, estimate + half, level, method, units)
    return Estimate(
        found, two_sided_t(estimate / error, units - 1), _detectable(error, units), len(rows)
    )


def lean(
    primacy: ArrayLike, recency: ArrayLike, prompts: Sequence[Any], *, level: float = 0.95
) -> Estimate:
    """Liking for the first place in logits: b = ln(primacy / recency) / 2.

    With logit P(first wins) = b +- d_i in the two orders of pair i, the chance that the first
    place wins both is exp(2b) times the chance that the second does, whatever the quality d_i:
    b needs no model of quality. The share of primacy among both gets Wilson's interval with the
    number of rows divided by the design effect of prompts, and is mapped to b.

    Args:
        primacy: p_AB p_BA of each pair, or 1 where the first-shown won both orders, shape (n,).
        recency: (1 - p_AB)(1 - p_BA), shape (n,).
        prompts: Clusters.
        level: Coverage.

    Source: the conditional likelihood of matched pairs, Breslow and Day, Statistical Methods in
    Cancer Research I (1980), chapter 7; the interval: Korn and Graubard, Survey Methodology 24
    (1998), with Wilson's score in place of the exact one.

    Example:
        >>> found = lean([1] * 60 + [0] * 140, [0] * 60 + [1] * 20 + [0] * 120, range(200))
        >>> round(found.interval.estimate, 2), found.interval.low > 0
        (0.54, True)
    """
    rows = np.stack([np.asarray(primacy, dtype=float), np.asarray(recency, dtype=float)], axis=1)
    prompts = list(prompts)
    kept = ~np.isnan(rows).any(axis=1)
    groups = [prompt for prompt, keep in zip(prompts, kept, strict=True) if keep]
    totals = cluster_totals(rows[kept], groups)
    units = len(totals)
    first, second = (float(v) for v in totals.sum(axis=0))
    n = first + second
    method = "wilson, clustered"
    if units < 2 or n <= 0:
        empty = Interval(math.nan, math.nan, math.nan, level, method, units)
        return Estimate(empty, 1.0 if units >= 2 else math.nan, math.nan, int(kept.sum()))
    share = first / n
    smooth = (first + 0.5) / (n + 1.0)
    # Variance of the share by prompt, at least as large as that of so many independent pairs.
    residual = totals[:, 0] - share * totals.sum(axis=1)
    variance = float(np.sum(residual**2)) / n**2 * units / (units - 1)
    independent = float(np.sum((rows[kept, 0] - share * rows[kept].sum(axis=1)) ** 2)) / n**2
    effect = max(variance / independent, 1.0) if independent > 0 else 1.0
    size = n / effect
    z = t_quantile(0.5 + level / 2.0, units - 1)
    middle, half = _wilson(share, size, z)
    estimate = 0.5 * math.log(smooth / (1.0 - smooth))
    low = -math.inf if second == n else _half_logit(max(middle - half, 0.0))
    high = math.inf if first == n else _half_logit(min(middle + half, 1.0))
    p = two_sided_t((share - 0.5) * 2.0 * math.sqrt(size), units - 1)
    return Estimate(
        Interval(estimate, low, high, level, method, units),
        p,
        _detectable_lean(size),
        int(kept.sum()),
    )


def two_sided_t(t: float, df: float) -> float:
    """P(|T| >= |t|) of Student's t.

    >>> round(two_sided_t(2.2281, 10), 3)
    0.05
    """
    from assay.calibration.distributions import beta_cdf

    if df > 1e6:
        return two_sided_p(t)
    return beta_cdf(df / (df + t * t), df / 2.0, 0.5)


def _detectable(error: float, units: int) -> float:
    """With t's quantile for the test where prompts are few."""
    z = minimum_detectable_effect(error)
    return z + (t_quantile(0.975, units - 1) - normal_quantile(0.975)) * error


def _detectable_lean(size: float) -> float:
    """Smallest b that so many one-sided pairs find: (share - 1/2) from z at the null and beyond."""
    z_test, z_power = normal_quantile(0.975), normal_quantile(0.8)

    def found(share: float) -> bool:
        spread = math.sqrt(share * (1.0 - share))
        return (share - 0.5) * math.sqrt(size) >= z_test * 0.5 + z_power * spread

    low, high = 0.5, 1.0
    if not found(high - 1e-12):
        return math.nan
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if found(middle) else (middle, high)
    return _half_logit(high)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    scale = 1.0 + z * z / n
    half = z * math.sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n)) / scale
    return (share + z * z / (2.0 * n)) / scale, half


def _half_logit(share: float) -> float:
    if share <= 0.0:
        return -math.inf
    return math.inf if share >= 1.0 else 0.5 * math.log(share / (1.0 - share))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
