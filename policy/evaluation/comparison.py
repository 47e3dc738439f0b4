"""Paired comparison of two results on the same prompts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.calibration import Interval, false_discovery, mcnemar
from assay.errors import DataError
from assay.policy.evaluation.metrics import mean_interval

#: Sign patterns tried where all 2^n are too many.
_PATTERNS = 20_000


@dataclass(frozen=True)
class Difference:
    """What changed in one metric, prompt by prompt.

    Attributes:
        metric: Its name.
        before: Mean over the shared prompts.
        after: The same of the other result.
        change: after - before, with its interval over prompts.
        p: Of the sign-flip test, two-sided.
        p_mcnemar: Exact, where every prompt's value is 0 or 1 in both; else None.
        q: Smallest false discovery rate over the metrics compared together.
        prompts: Shared.
    """

    metric: str
    before: float
    after: float
    change: Interval
    p: float
    p_mcnemar: float | None
    q: float
    prompts: int

    def to_json(self) -> dict[str, Any]:
        """For files and machines."""
        return {
            "metric": self.metric,
            "before": self.before,
            "after": self.after,
            "change": self.change.as_json(),
            "p": self.p,
            "p_mcnemar": self.p_mcnemar,
            "q": self.q,
            "prompts": self.prompts,
        }


def sign_flip_p(differences: Sequence[float], seed: int = 0) -> float:
    """Two-sided p of the mean difference when each prompt's sign could as well be the other one.

    All 2^n patterns where n <= 14, else 20,000 random ones, the observed one among them.

    >>> sign_flip_p([1.0, 1.0, 1.0, 1.0])    # 2 of 16 patterns are as far from 0
    0.125
    """
    moved = [d for d in differences if d != 0]
    if not moved:
        return 1.0
    seen = abs(math.fsum(moved)) - 1e-12
    if len(moved) <= 14:
        patterns = 1 << len(moved)
        far = sum(
            abs(math.fsum(d if bits >> i & 1 else -d for i, d in enumerate(moved))) >= seen
            for bits in range(patterns)
        )
        return far / patterns
    import numpy as np

    coins = np.random.default_rng(seed).integers(0, 2, size=(_PATTERNS - 1, len(moved))) * 2 - 1
    sums = np.abs(coins @ np.asarray(moved))
    return float((1 + int((sums >= seen).sum())) / _PATTERNS)


def compare_results(
    before: Mapping[str, Mapping[str, float]],
    after: Mapping[str, Mapping[str, float]],
    *,
    seed: int = 0,
) -> list[Difference]:
    """Metrics that both results have, on the prompts that both have.

    Args:
        before: Value of each prompt, by metric.
        after: The same of the other result.
        seed: Of tests and intervals.

    Raises:
        DataError: No metric or no prompt is shared.
    """
    rows = []
    for metric in before:
        shared = sorted(before[metric].keys() & after.get(metric, {}).keys())
        if shared:
            pairs = [(before[metric][uid], after[metric][uid]) for uid in shared]
            rows.append((metric, pairs))
    if not rows:
        raise DataError(
            "the two results share no metric on any prompt; evaluate both on the same data with "
            "the same task"
        )
    tests = [sign_flip_p([b - a for a, b in pairs], seed) for _, pairs in rows]
    q_values = false_discovery(tests).tolist()
    found = []
    for (metric, pairs), p, q in zip(rows, tests, q_values, strict=True):
        binary = all(value in (0.0, 1.0) for pair in pairs for value in pair)
        exact = None
        if binary:
            exact = mcnemar(
                sum(a == 1 and b == 0 for a, b in pairs), sum(a == 0 and b == 1 for a, b in pairs)
            ).p_exact
        found.append(
            Difference(
                metric,
                math.fsum(a for a, _ in pairs) / len(pairs),
                math.fsum(b for _, b in pairs) / len(pairs),
                _change([b - a for a, b in pairs], seed),
                p,
                exact,
                q,
                len(pairs),
            )
        )
    return found


def seeds_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Mean over seeds with Student's t; NaN ends with fewer than two.

    >>> found = seeds_interval([1.0, 2.0, 3.0])
    >>> found.estimate, round(found.high - 2, 3)      # 4.303 / sqrt(3)
    (2.0, 2.484)
    """
    from assay.calibration.distributions import t_quantile

    count = len(values)
    if not count:
        return Interval(math.nan, math.nan, math.nan, level, "student t over seeds", 0)
    mean = math.fsum(values) / count
    if count < 2:
        return Interval(mean, math.nan, math.nan, level, "student t over seeds", count)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (count - 1))
    half = t_quantile(0.5 + level / 2, count - 1) * deviation / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, level, "student t over seeds", count)


def _change(differences: Sequence[float], seed: int) -> Interval:
    return mean_interval(differences, seed=seed, share=False)
