"""Bootstrap by cluster: whole prompts are drawn again, never single games."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.calibration.arrays import FloatArray, group_codes, vector
from assay.calibration.distributions import normal_cdf, t_quantile
from assay.calibration.intervals import Interval
from assay.errors import DataError

#: A statistic of totals: takes shape (resamples, columns), gives (resamples,) or (resamples, k).
OfTotals = Callable[[FloatArray], FloatArray]

_BLOCK_CELLS = 4_000_000


def cluster_totals(rows: NDArray[Any], groups: NDArray[Any] | Sequence[Any] | None) -> FloatArray:
    """Sums of the columns of `rows` inside each group, shape (groups, columns).

    >>> cluster_totals(np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 1.0]]), ["p", "q", "p"]).tolist()
    [[5.0, 1.0], [2.0, 1.0]]
    """
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2:
        raise DataError(f"rows must have shape (n, columns), got {table.shape}; stack the columns")
    codes = group_codes("groups", groups, len(table))
    size = int(codes.max()) + 1 if len(codes) else 0
    columns = [np.bincount(codes, weights=column, minlength=size) for column in table.T]
    return np.stack(columns, axis=1) if columns else np.zeros((size, 0))


def resampled_totals(totals: FloatArray, resamples: int, seed: int = 0) -> FloatArray:
    """Column sums of `resamples` draws of whole clusters with replacement.

    Equal clusters are drawn together: the counts of the distinct ones are multinomial, which is the
    same distribution, and a million verdicts have few distinct clusters when all they hold is
    counts.

    Args:
        totals: Sums per cluster, shape (clusters, columns).
        resamples: Number of draws.
        seed: Of NumPy's PCG64; the same seed gives the same draws.

    Returns:
        Shape (resamples, columns).
    """
    generator = np.random.default_rng(seed)
    n = len(totals)
    kinds, counts = _distinct(totals)
    if len(kinds) * 4 <= n:
        draws = generator.multinomial(n, counts / n, size=resamples)
        found: FloatArray = draws @ kinds
        return found
    return np.concatenate([w @ totals for w in _weights(generator, n, resamples)])


def clustered_bootstrap(
    totals: FloatArray,
    statistic: OfTotals,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> list[Interval]:
    """Percentile intervals of statistics that are functions of column sums.

    Percentiles are taken a little further out than the nominal ones, at
    Phi(-t sqrt(G/(G-1))) with t of G - 1 degrees of freedom: with few clusters the plain
    percentile interval is too narrow.

    Args:
        totals: Sums per cluster, shape (clusters, columns), see `cluster_totals`.
        statistic: Takes sums of shape (resamples, columns) and gives one value a row, or k.
        resamples: Number of draws, at least 100.
        level: Coverage in (0, 1).
        seed: Makes the draws repeatable.

    Returns:
        One `Interval` per statistic. With fewer than two clusters the ends are NaN.

    Raises:
        DataError: Too few resamples or a level outside (0, 1).

    Source: Davison and Hinkley, Bootstrap Methods (1997), section 3.8; the expanded percentiles are
    Hesterberg, What teachers should know about the bootstrap, arXiv:1411.5279, section 4.1.

    Example:
        >>> rows = np.array([[1.0, 1], [1, 1], [0, 1], [0, 1]] * 25)
        >>> by_prompt = cluster_totals(rows, [i // 2 for i in range(100)])
        >>> (found,) = clustered_bootstrap(by_prompt, lambda s: s[:, 0] / s[:, 1])
        >>> found.estimate, found.low < 0.4, found.high > 0.6
        (0.5, True, True)
    """
    if resamples < 100 or not 0 < level < 1:
        raise DataError(
            f"need at least 100 resamples and a level in (0, 1), got {resamples} and {level}"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = _columns(statistic(totals.sum(axis=0, keepdims=True)))[0]
        if len(totals) < 2:
            draws = np.full((1, len(whole)), np.nan)
        else:
            draws = _columns(statistic(resampled_totals(totals, resamples, seed)))
    return percentile_intervals(whole, draws, level, len(totals))


def percentile_intervals(
    whole: FloatArray, draws: FloatArray, level: float, clusters: int
) -> list[Interval]:
    """Intervals from estimates of shape (k,) and their draws of shape (resamples, k).

    Draws in which a statistic is undefined are left out; if more than a tenth are, so is the
    interval.
    """
    tail = (1.0 - level) / 2.0
    if clusters >= 2:
        t = t_quantile(tail, clusters - 1)
        tail = normal_cdf(t * math.sqrt(clusters / (clusters - 1)))
    found = []
    for estimate, column in zip(whole, draws.T, strict=True):
        kept = column[np.isfinite(column)]
        low = high = math.nan
        if len(kept) >= max(0.9 * len(column), 2) and math.isfinite(estimate):
            low, high = np.quantile(kept, [tail, 1.0 - tail])
        method = "bootstrap by cluster"
        found.append(Interval(float(estimate), float(low), float(high), level, method, clusters))
    return found


def design_effect(values: FloatArray, groups: NDArray[Any] | list[Any]) -> float:
    """Variance of a mean when whole clusters are drawn, over that of independent rows.

    1 + (m - 1) rho for clusters of m rows with correlation rho: two orders with rho = .6 give 1.6.

    Returns:
        NaN with fewer than two clusters or values that are all alike.

    Source: Kish, Survey Sampling (1965), section 5.4.

    Example:
        >>> design_effect(np.array([1.0, 1, 0, 0] * 50), [i // 2 for i in range(200)])
        2.0
    """
    x = vector("values", values)
    codes = group_codes("groups", groups, len(x))
    size = int(codes.max()) + 1 if len(codes) else 0
    independent = float(np.sum((x - x.mean()) ** 2)) if len(x) else 0.0
    if size < 2 or independent == 0.0:
        return math.nan
    between = np.bincount(codes, weights=x - x.mean(), minlength=size)
    return float(np.sum(between**2)) / independent


def _distinct(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distinct rows and how many of each, found by a hash that is checked afterwards."""
    if not totals.size:
        return totals, np.ones(len(totals))
    key = np.random.default_rng(0).normal(size=totals.shape[1])
    hashed = np.rint((totals @ key) * 2**30)
    _, first, inverse, counts = np.unique(
        hashed, return_index=True, return_inverse=True, return_counts=True
    )
    kinds = totals[first]
    if len(kinds) * 4 <= len(totals) and np.array_equal(kinds[inverse], totals):
        return kinds, counts.astype(np.float64)
    return totals, np.ones(len(totals))


def _weights(generator: np.random.Generator, n: int, resamples: int) -> Iterator[FloatArray]:
    """How often each of n clusters is drawn, in blocks of shape (some, n)."""
    block = max(1, min(resamples, _BLOCK_CELLS // max(n, 1)))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = generator.integers(0, n, size=(rows, n), dtype=np.uint32)
        yield np.stack([np.bincount(row, minlength=n) for row in drawn]).astype(np.float64)


def _columns(values: FloatArray) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    return array[:, None] if array.ndim == 1 else array
