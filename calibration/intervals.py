"""Intervals of shares: Wilson's and the exact one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.calibration.distributions import beta_quantile, normal_quantile
from assay.errors import DataError


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes:
        estimate: The value on the data itself; NaN where it is undefined.
        low: Lower end; NaN where there is no interval.
        high: Upper end.
        level: Nominal coverage, e.g. .95.
        method: How the ends were found.
        units: Independent units behind it (clusters, or rows); 0 if not known.
    """

    estimate: float
    low: float
    high: float
    level: float = 0.95
    method: str = ""
    units: int = 0

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def defined(self) -> bool:
        """Whether estimate and both ends are numbers."""
        return not any(math.isnan(v) for v in (self.estimate, self.low, self.high))

    def as_json(self) -> dict[str, float | int | str | None]:
        """Plain values; NaN becomes None."""
        return {
            "estimate": _plain(self.estimate),
            "low": _plain(self.low),
            "high": _plain(self.high),
            "level": self.level,
            "method": self.method,
            "units": self.units,
        }


def wilson_interval(successes: float, n: float, level: float = 0.95) -> Interval:
    """Wilson's score interval of a share.

    (p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).

    Args:
        successes: Count, in [0, n].
        n: Independent rows. For rows that share prompts use `clustered_bootstrap` instead.
        level: Coverage in (0, 1).

    Raises:
        DataError: successes > n or a negative count.

    Source: Wilson, Probable inference, JASA 22 (1927).

    Example:
        >>> found = wilson_interval(8, 10)
        >>> round(found.low, 3), round(found.high, 3)
        (0.49, 0.943)
    """
    _check(successes, n, level)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, level, "wilson", 0)
    z, p = normal_quantile(0.5 + level / 2.0), successes / n
    half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    middle, scale = p + z * z / (2.0 * n), 1.0 + z * z / n
    low = 0.0 if successes == 0 else (middle - half) / scale
    high = 1.0 if successes == n else (middle + half) / scale
    return Interval(p, low, high, level, "wilson", int(n))


def exact_interval(successes: int, n: int, level: float = 0.95) -> Interval:
    """Clopper and Pearson's interval, whose coverage is never below `level`.

    Source: Clopper and Pearson, Biometrika 26 (1934).

    Example:
        >>> found = exact_interval(0, 40, level=0.9)
        >>> round(found.high, 4)      # 1 - .05^(1/40)
        0.0722
    """
    _check(successes, n, level)
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, level, "clopper-pearson", 0)
    tail = (1.0 - level) / 2.0
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, n - successes + 1)
    high = 1.0 if successes == n else beta_quantile(1.0 - tail, successes + 1, n - successes)
    return Interval(successes / n, low, high, level, "clopper-pearson", int(n))


def _check(successes: float, n: float, level: float) -> None:
    if not 0 <= successes <= n:
        raise DataError(f"successes must lie in [0, n], got {successes} of {n}; count again")
    if not 0 < level < 1:
        raise DataError(f"level must lie in (0, 1), got {level}; 0.95 is usual")


def _plain(value: float) -> float | None:
    return None if math.isnan(value) or math.isinf(value) else float(value)
