"""Normal, t, beta and binomial distributions, so that audits need no SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p.

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    return _NORMAL.inv_cdf(p)


def normal_cdf(z: float) -> float:
    """P(Z <= z), also far out on the left.

    >>> normal_cdf(-40) < 1e-300
    True
    """
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def two_sided_p(z: float) -> float:
    """P(|Z| >= |z|).

    >>> round(two_sided_p(1.96), 3)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2.0))


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz).

    Source: Press et al., Numerical Recipes, section 6.4.

    >>> round(beta_cdf(0.5, 2, 3), 4)     # P(Bin(4, .5) >= 2) = 11/16
    0.6875
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # where the fraction converges slowly
        return 1.0 - beta_cdf(1.0 - x, b, a)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return math.exp(log_front) * _fraction(x, a, b) / a


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p.

    >>> round(beta_quantile(0.6875, 2, 3), 6)
    0.5
    """
    return _bisect(lambda x: beta_cdf(x, a, b) < p, 0.0, 1.0)


@lru_cache(maxsize=1024)  # audits ask for the same few again and again
def t_quantile(p: float, df: float) -> float:
    """Quantile of Student's t with `df` degrees of freedom.

    >>> round(t_quantile(0.975, 10), 4)
    2.2281
    """
    if p == 0.5:
        return 0.0
    tail = 2.0 * min(p, 1.0 - p)
    x = beta_quantile(tail, df / 2.0, 0.5)
    if x <= 0.0:
        return math.copysign(math.inf, p - 0.5)
    return math.copysign(math.sqrt(df * (1.0 - x) / x), p - 0.5)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(X <= k) for X ~ Binomial(n, p).

    >>> round(binomial_cdf(3, 80, 0.1), 6)
    0.035306
    """
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    return beta_cdf(1.0 - p, n - k, k + 1.0)


def binomial_pmf(k: int, n: int, p: float) -> float:
    """P(X = k) for X ~ Binomial(n, p).

    >>> binomial_pmf(1, 2, 0.5)
    0.5
    """
    if p in (0.0, 1.0):
        return float(k == n * p)
    log_choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return round(math.exp(log_choose + k * math.log(p) + (n - k) * math.log1p(-p)), 15)


def _fraction(x: float, a: float, b: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d = 1.0 + step * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + step / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def _bisect(below: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(1100):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2.0
