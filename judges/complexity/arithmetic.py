"""Arithmetic on what is known of numbers: constants, sizes, sums of names."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from assay.judges.complexity import cost
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.ir import Name, Node, Num, Operation

_FOLDS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.truediv,
    "%": operator.mod,
    "**": lambda left, right: float(left**right) if abs(right) < 400 else math.inf,
    "<<": lambda left, right: left * 2.0**right if right < 400 else math.inf,
    ">>": lambda left, right: left // 2.0**right,
}


def folded(sign: str, left: float, right: float) -> float | None:
    """The constant that an operation on constants gives, or None."""
    fold = _FOLDS.get(sign)
    try:
        return fold(left, right) if fold is not None else None
    except (ArithmeticError, TypeError, ValueError):
        return None


def quotient(left: Cost, right: Cost) -> Cost:
    """The size of a quotient: what the divisor has in common with the dividend goes."""
    if len(right) == 1 and len(left) == 1 and right != ONE:
        (term,) = right
        (above,) = left
        if all(p > 0 for _, p, _ in term) and {n for n, _, _ in term} <= {n for n, _, _ in above}:
            return cost.times(left, frozenset({tuple((n, -p, -q) for n, p, q in term)}))
    return left


def power(size: Cost, exponent: float) -> Cost:
    """The size of a number to a constant power."""
    if exponent == 0.5:
        return cost.root(size, 2.0)
    result = ONE
    for _ in range(min(max(int(exponent), 0), 4)):
        result = cost.times(result, size)
    return result


def linear(node: Node) -> dict[str, float] | None:
    """Coefficients of names in a sum; the constant under the empty name."""
    if type(node) is Num and node.value is not None:
        return {"": node.value}
    if type(node) is Name:
        return {node.id: 1.0}
    if type(node) is Operation and node.sign in ("+", "-") and len(node.operands) == 2:
        left, right = linear(node.operands[0]), linear(node.operands[1])
        if left is None or right is None:
            return None
        factor = 1.0 if node.sign == "+" else -1.0
        for name, value in right.items():
            left[name] = left.get(name, 0.0) + factor * value
        return left
    return None
