"""How many pairs an audit needs, and what it could have found."""

from __future__ import annotations

import math

import numpy as np

from assay.calibration.distributions import binomial_cdf, binomial_pmf, normal_quantile
from assay.errors import DataError


def mcnemar_pairs(
    inconsistent: float, fairness: float, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Pairs needed to find a preference fairness by McNemar's test (normal approximation).

    n = (z_{1-alpha/2} sqrt(pi) + z_power sqrt(pi - delta^2))^2 / delta^2, rounded up. The exact
    test needs about 8% more, see `mcnemar_power`.

    Args:
        inconsistent: pi, share of pairs whose two orders disagree, in (0, 1].
        fairness: delta = |PF|, in (0, pi].
        power: Chance of finding it.
        alpha: Level of the two-sided test.

    Source: Connor, Biometrics 43 (1987).

    Example:
        >>> mcnemar_pairs(0.2, 0.1), mcnemar_pairs(0.3, 0.1)
        (155, 234)
    """
    delta = _effect(inconsistent, fairness, power, alpha)
    z_alpha, z_power = normal_quantile(1 - alpha / 2), normal_quantile(power)
    root = z_alpha * math.sqrt(inconsistent) + z_power * math.sqrt(inconsistent - delta**2)
    return math.ceil(root**2 / delta**2 - 1e-9)


def mcnemar_power(n: int, inconsistent: float, fairness: float, alpha: float = 0.05) -> float:
    """Power of the exact McNemar test on n pairs.

    The sum over the number m of discordant pairs, Binomial(n, pi), of the chance that their split,
    Binomial(m, (1 + delta/pi)/2), is rejected.

    Example:
        >>> round(mcnemar_power(155, 0.2, 0.1), 4), round(mcnemar_power(170, 0.2, 0.1), 4)
        (0.7617, 0.8061)
    """
    delta = _effect(inconsistent, fairness, 0.5, alpha)
    share = 0.5 + delta / (2.0 * inconsistent)
    total = 0.0
    for m in range(1, n + 1):
        weight = binomial_pmf(m, n, inconsistent)
        if weight < 1e-12:
            continue
        critical = -1  # largest count of the rarer kind that is rejected
        while 2.0 * binomial_cdf(critical + 1, m, 0.5) <= alpha:
            critical += 1
        if critical >= 0:
            low = binomial_cdf(critical, m, share)
            high = 1.0 - binomial_cdf(m - critical - 1, m, share)
            total += weight * (low + high)
    return total


def share_pairs(share: float, half_width: float, level: float = 0.95) -> int:
    """Rows needed to know a share to within half_width: z^2 p (1 - p) / h^2, rounded up.

    >>> share_pairs(0.8, 0.05)
    246
    """
    if not 0 <= share <= 1 or not 0 < half_width < 1 or not 0 < level < 1:
        raise DataError(
            f"share, half_width and level must lie in [0, 1], got {share}, {half_width}, {level}"
        )
    z = normal_quantile(0.5 + level / 2)
    return math.ceil(z * z * share * (1 - share) / half_width**2 - 1e-9)


def minimum_detectable_effect(
    standard_error: float, power: float = 0.8, alpha: float = 0.05
) -> float:
    """(z_{1-alpha/2} + z_power) standard errors: what would have been found with that power.

    No bias found and an effect of interest below it means: it could not have been found.

    >>> round(minimum_detectable_effect(0.01), 4)
    0.028
    """
    if not (standard_error >= 0 and 0 < power < 1 and 0 < alpha < 1):
        raise DataError(
            f"need a standard error >= 0, power and alpha in (0, 1), got {standard_error}, "
            f"{power}, {alpha}"
        )
    return (normal_quantile(1 - alpha / 2) + normal_quantile(power)) * standard_error


def detectable_fairness(
    n: int, inconsistent: float, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Smallest |PF| that n pairs find with the given power; NaN where even |PF| = pi is too small.

    >>> round(detectable_fairness(155, 0.2), 3)
    0.1
    """
    if n < 1:
        raise DataError(f"n must be at least 1, got {n}; give the number of pairs")
    if not (0 <= inconsistent <= 1 and 0 < power < 1 and 0 < alpha < 1):
        raise DataError(
            "inconsistent, power and alpha must lie in [0, 1], got "
            f"{inconsistent}, {power}, {alpha}"
        )
    z_alpha, z_power = normal_quantile(1 - alpha / 2), normal_quantile(power)

    def found(delta: float) -> bool:
        root = z_alpha * math.sqrt(inconsistent)
        root += z_power * math.sqrt(max(inconsistent - delta**2, 0.0))
        return root**2 <= n * delta**2

    if not found(inconsistent):
        return math.nan
    low, high = 0.0, inconsistent
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return float(np.round(high, 12))


def _effect(inconsistent: float, fairness: float, power: float, alpha: float) -> float:
    delta = abs(fairness)
    if not (0 < delta <= inconsistent <= 1 and 0 < power < 1 and 0 < alpha < 1):
        raise DataError(
            "need 0 < |fairness| <= inconsistent <= 1 and power, alpha in (0, 1), got "
            f"{fairness}, {inconsistent}, {power}, {alpha}: PF cannot exceed the share of "
            "inconsistent pairs"
        )
    return delta
