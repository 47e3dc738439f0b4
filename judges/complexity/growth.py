"""Growth of products: monomials in logarithms, and the order that decides which grows faster.

A monomial is written by its logarithm, `exp(sum of c_g * g)`, where each *gauge* `g` is a product
of powers of iterated logarithms of variables. So `n` is `exp(1 * log n)`, `log n` is
`exp(1 * log log n)`, `2^n` is `exp(ln 2 * n)`, and `n!` is `exp(n log n - n + log(n) / 2)`.

Two monomials are compared along a *regime*: every variable becomes a power of one huge number `T`
or of its logarithm, which leaves functions of `T` alone, and those are totally ordered. What holds
in every regime is dominance as all variables grow, in whatever proportion; an intersection of
total orders is reflexive, transitive and, up to equality, antisymmetric.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations, product

Factor = tuple[str, int]  # a variable and how many logarithms are taken of it
Gauge = tuple[tuple[Factor, float], ...]
Monomial = tuple[tuple[Gauge, float], ...]
Scale = tuple[int, float]  # a variable is (T, or its logarithm taken so often) to this power
Regime = Mapping[str, Scale]

ONE: Monomial = ()
#: Levels past every iterated logarithm: the logarithms of log* n and of inverse Ackermann.
LOG_STAR = 80
LOG_ALPHA = 90
_SLOTS = 8
_ZERO = (0.0,) * (_SLOTS + 2)
_EPSILON = 1e-9

#: How fast one variable may grow against another: logarithm, roots, equally, powers.
_FINE: tuple[Scale, ...] = (
    (1, 1.0),
    (1, 3.0),
    (0, 1 / 3),
    (0, 0.5),
    (0, 2 / 3),
    (0, 1.0),
    (0, 1.5),
    (0, 2.0),
    (0, 3.0),
)
_COARSE: tuple[Scale, ...] = ((1, 1.0), (0, 0.5), (0, 1.0), (0, 2.0))
_MOST = 3  # variables up to which the fine set is used


def variable(name: str) -> Monomial:
    """The monomial of one variable."""
    return (((((name, 1), 1.0),), 1.0),)


def monomial(terms: Mapping[Gauge, float]) -> Monomial:
    """The canonical monomial with these gauges and coefficients."""
    kept = ((g, round(c, 12)) for g, c in terms.items() if g and abs(c) > _EPSILON)
    return tuple(sorted(kept))


def times(left: Monomial, right: Monomial) -> Monomial:
    """Product of two monomials."""
    if not left or not right:
        return left or right
    terms = dict(left)
    for gauge, coefficient in right:
        terms[gauge] = terms.get(gauge, 0.0) + coefficient
    return monomial(terms)


def to_power(base: Monomial, exponent: float) -> Monomial:
    """A monomial to a constant power."""
    return monomial({gauge: coefficient * exponent for gauge, coefficient in base})


def logarithm(of: Monomial) -> list[tuple[float, Monomial]]:
    """The natural logarithm as a sum of coefficient times monomial."""
    return [(coefficient, _of_gauge(gauge)) for gauge, coefficient in of]


def exponential(terms: Sequence[tuple[float, Monomial]]) -> Monomial | None:
    """`exp` of a sum of coefficient times monomial; None for a tower such as 2^(2^n)."""
    gauges: dict[Gauge, float] = {}
    for coefficient, of in terms:
        gauge = _as_gauge(of)
        if gauge is None:
            return None
        gauges[gauge] = gauges.get(gauge, 0.0) + coefficient
    return monomial(gauges)


def variables(of: Monomial) -> frozenset[str]:
    """The variables of a monomial."""
    return frozenset(name for gauge, _ in of for (name, _), _ in gauge)


def regimes(names: frozenset[str]) -> Iterator[Regime]:
    """Every way in which these variables are let grow against one another."""
    ordered = sorted(names)
    if len(ordered) <= 1:
        yield dict.fromkeys(ordered, (0, 1.0))
        return
    if len(ordered) > _MOST + 1:  # too many for all proportions: one or two apart from the rest
        steady = dict.fromkeys(ordered, (0, 1.0))
        yield steady
        for first in ordered:
            for scale in _FINE:
                yield {**steady, first: scale}
        for first, second in combinations(ordered, 2):
            for one, other in product(_COARSE, repeat=2):
                yield {**steady, first: one, second: other}
        return
    scales = _FINE if len(ordered) <= _MOST else _COARSE
    for choice in product(scales, repeat=len(ordered)):
        yield dict(zip(ordered, choice, strict=True))


def sign(left: Monomial, right: Monomial, regime: Regime) -> int:
    """-1, 0 or 1: left grows slower than, as fast as, or faster than right along a regime."""
    difference: dict[tuple[float, ...], float] = {}
    for terms, direction in ((left, 1.0), (right, -1.0)):
        for gauge, coefficient in terms:
            names = {name for (name, _), _ in gauge}
            scales = tuple((name, *regime[name]) for name in sorted(names))
            vector, factor = _along(gauge, scales)
            difference[vector] = difference.get(vector, 0.0) + direction * coefficient * factor
    leading, of_leading = _ZERO, 0.0
    for vector, coefficient in difference.items():
        if vector > leading and abs(coefficient) > 1e-7:
            leading, of_leading = vector, coefficient
    return (of_leading > 0) - (of_leading < 0)


def surely_within(small: Monomial, large: Monomial) -> bool:
    """Whether `large` has every factor of `small` to at least its power: sufficient, and quick."""
    bounds = dict(large)
    return all(c <= bounds.get(g, 0.0) + _EPSILON for g, c in small) and all(
        c >= 0 or (g, c) in small for g, c in large
    )


def log_value(of: Monomial, values: Mapping[str, float]) -> float:
    """Natural logarithm of a monomial's value; logarithms to base 2 and at least 1."""
    total = 0.0
    for gauge, coefficient in of:
        if len(gauge) == 1 and gauge[0][1] == 1.0 and gauge[0][0][1] >= 1:
            name, level = gauge[0][0]
            if level == LOG_ALPHA:
                total += coefficient * math.log(_inverse_ackermann(values[name]))
            elif level == LOG_STAR:
                total += coefficient * math.log(_iterated(values[name]))
            else:
                total += coefficient * math.log(_log2_times(values[name], level - 1))
        else:
            total += coefficient * math.prod(
                _natural_log_times(values[name], level) ** power for (name, level), power in gauge
            )
    return total


def _of_gauge(gauge: Gauge) -> Monomial:
    kept = ((factor, power) for factor, power in gauge if factor[1] < LOG_STAR)
    return monomial({(((name, level + 1), 1.0),): power for (name, level), power in kept})


def _as_gauge(of: Monomial) -> Gauge | None:
    factors: list[tuple[Factor, float]] = []
    for gauge, coefficient in of:
        if len(gauge) != 1 or gauge[0][1] != 1.0 or not 1 <= gauge[0][0][1] < LOG_STAR:
            return None
        name, level = gauge[0][0]
        factors.append(((name, level - 1), coefficient))
    return tuple(sorted(factors))


@lru_cache(maxsize=65536)
def _along(
    gauge: Gauge, scales: tuple[tuple[str, int, float], ...]
) -> tuple[tuple[float, ...], float]:
    of = {name: (depth, power) for name, depth, power in scales}
    vector = list(_ZERO)
    factor = 1.0
    for (name, level), exponent in gauge:
        depth, power = of[name]
        if level >= LOG_STAR:
            vector[_SLOTS + (level == LOG_ALPHA)] += exponent
        elif level == 0:
            vector[depth] += power * exponent
        else:
            vector[min(depth + level, _SLOTS - 1)] += exponent
            if level == 1:
                factor *= power**exponent
    return tuple(round(x, 9) for x in vector), factor


def _log2_times(value: float, times: int) -> float:
    value = max(value, 1.0)
    for _ in range(times):
        value = max(math.log2(value), 1.0)
    return value


def _natural_log_times(value: float, times: int) -> float:
    for _ in range(times):
        value = math.log(max(value, math.e))
    return value


def _iterated(value: float) -> float:
    count = 0
    while value > 1:
        value, count = math.log2(value), count + 1
    return float(max(count, 1))


@cache
def _inverse_ackermann(value: float) -> int:
    return 1 if value < 3 else 2 if value < 8 else 3 if value < 2048 else 4
