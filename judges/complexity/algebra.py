"""Arithmetic on growth while an expression is read: minimum of maxima of sums of monomials.

Coefficients matter only inside exponents (`2^(2n)` is `4^n`), so they are kept until the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product

from assay.errors import DataError
from assay.judges.complexity.growth import ONE, Monomial, exponential, logarithm, times, to_power

Sum = dict[Monomial, float]
#: Outer tuple: minimum of. Inner tuple: maximum of. Sum: coefficient of each monomial.
Value = tuple[tuple[Sum, ...], ...]
_MOST_PARTS = 64
_EXPANDED = 8


def constant(number: float) -> Value:
    """A number."""
    return (({ONE: number},),)


def of(single: Monomial) -> Value:
    """One monomial."""
    return (({single: 1.0},),)


def number(value: Value) -> float | None:
    """The number that a value is, or None if it grows."""
    if len(value) != 1 or len(value[0]) != 1 or any(key != ONE for key in value[0][0]):
        return None
    return value[0][0].get(ONE, 0.0)


def add(left: Value, right: Value) -> Value:
    """Sum."""
    return _pairwise(left, right, _add)


def subtract(left: Value, right: Value) -> Value:
    """Difference."""
    negative = tuple(tuple({m: -c for m, c in s.items()} for s in group) for group in right)
    return _pairwise(left, negative, _add)


def multiply(left: Value, right: Value) -> Value:
    """Product."""
    return _pairwise(left, right, _multiply)


def divide(left: Value, right: Value) -> Value:
    """Quotient by one monomial or number."""
    if len(right) != 1 or len(right[0]) != 1 or len(right[0][0]) != 1:
        raise DataError(
            "a complexity can be divided by a single product only, got a sum, max or min below the "
            "line; write an upper bound instead"
        )
    ((below, coefficient),) = right[0][0].items()
    if coefficient == 0:
        raise DataError("a complexity was divided by zero; remove the division")
    return multiply(left, (({to_power(below, -1.0): 1.0 / coefficient},),))


def maximum(values: Iterable[Value]) -> Value:
    """Largest of several values: minimum over choices of alternatives, maximum inside."""
    return _small(tuple(sum(choice, ()) for choice in product(*values)))


def minimum(values: Iterable[Value]) -> Value:
    """Smallest of several values."""
    return _small(sum(values, ()))


def log(value: Value, base: float) -> Value:
    """Logarithm; of a sum it is the largest logarithm of a term, up to a constant."""

    def of_sum(terms: Sum) -> tuple[Sum, ...]:
        parts: list[Sum] = []
        for key, coefficient in terms.items():
            if coefficient > 0:
                part = {m: c / math.log(base) for c, m in logarithm(key)}
                if coefficient != 1.0 or not part:
                    part[ONE] = part.get(ONE, 0.0) + math.log(coefficient) / math.log(base)
                parts.append(part)
        return tuple(parts) or ({ONE: 0.0},)

    return _each(value, of_sum)


def exp(value: Value) -> Value:
    """`exp`; of a maximum it is the maximum."""

    def of_sum(terms: Sum) -> tuple[Sum, ...]:
        result = exponential([(c, m) for m, c in terms.items() if m != ONE])
        if result is None:
            raise DataError(
                "a tower of exponentials such as 2^(2^n) is beyond these expressions; write 2^n or "
                "name the inner part as a variable of its own"
            )
        return ({result: math.exp(min(terms.get(ONE, 0.0), 700.0))},)

    return _each(value, of_sum)


def power(base: Value, exponent: Value) -> Value:
    """Power with a constant or growing exponent."""
    fixed = number(exponent)
    if fixed is None:
        if number(base) is not None and (number(base) or 0.0) <= 0:
            raise DataError(f"the base of a growing power must be positive, got {number(base)}")
        return exp(multiply(exponent, log(base, math.e)))
    if fixed.is_integer() and 0 <= fixed <= _EXPANDED:
        result = constant(1.0)
        for _ in range(int(fixed)):
            result = multiply(result, base)
        return result
    if fixed < 0:
        return divide(constant(1.0), power(base, constant(-fixed)))

    def of_sum(terms: Sum) -> tuple[Sum, ...]:
        return tuple({to_power(m, fixed): c**fixed} for m, c in terms.items() if c > 0)

    return _each(base, of_sum)


def factorial(value: Value) -> Value:
    """Factorial by Stirling: exp(x log x - x + log(x) / 2)."""
    fixed = number(value)
    if fixed is not None:
        return constant(math.gamma(min(max(fixed, 0.0), 100.0) + 1))
    natural = log(value, math.e)
    exponent = subtract(multiply(value, natural), value)
    return exp(add(exponent, multiply(constant(0.5), natural)))


def _add(left: Sum, right: Sum) -> Sum:
    total = dict(left)
    for key, coefficient in right.items():
        total[key] = total.get(key, 0.0) + coefficient
    return {key: c for key, c in total.items() if c != 0} or {ONE: 0.0}


def _multiply(left: Sum, right: Sum) -> Sum:
    total: Sum = {}
    for (a, x), (b, y) in product(left.items(), right.items()):
        key = times(a, b)
        total[key] = total.get(key, 0.0) + x * y
    return total


def _pairwise(left: Value, right: Value, combine: Callable[[Sum, Sum], Sum]) -> Value:
    return _small(
        tuple(
            tuple(combine(x, y) for x, y in product(group, other))
            for group, other in product(left, right)
        )
    )


def _each(value: Value, change: Callable[[Sum], tuple[Sum, ...]]) -> Value:
    return _small(tuple(sum((change(part) for part in group), ()) for group in value))


def _small(value: Value) -> Value:
    parts = sum(len(sums) for group in value for sums in group)
    if parts > _MOST_PARTS * _MOST_PARTS:
        raise DataError(
            f"a complexity expands to {parts} terms, more than {_MOST_PARTS * _MOST_PARTS}; "
            "write it in fewer terms"
        )
    return value
