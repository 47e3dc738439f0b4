"""Sums of products of sizes: the arithmetic of the static estimator, made for speed.

A term is a sorted tuple of (variable, power, power of its logarithm). The variables `^x` and `!x`
stand for 2^x and x!. A cost is a set of terms, none of which another one plainly outgrows.
`expression` has the exact order; here only what one look at the exponents decides is dropped.
"""

from __future__ import annotations

from functools import lru_cache

Term = tuple[tuple[str, float, float], ...]
Cost = frozenset[Term]

ONE: Cost = frozenset({()})
ZERO: Cost = frozenset()
_MOST = 6


@lru_cache(maxsize=4096)
def of(name: str, power: float = 1.0, log: float = 0.0) -> Cost:
    """One variable to a power, times a power of its logarithm."""
    return frozenset({((name, power, log),)})


@lru_cache(maxsize=65536)
def times(left: Cost, right: Cost) -> Cost:
    """Product."""
    if left == ONE or not right:
        return right
    if right == ONE or not left:
        return left
    return _pruned({_product(a, b) for a in left for b in right})


@lru_cache(maxsize=65536)
def plus(left: Cost, right: Cost) -> Cost:
    """Sum, which is also the maximum."""
    if left == right or not right or (right == ONE and left):
        return left
    if not left or left == ONE:
        return right
    return _pruned(set(left | right))


@lru_cache(maxsize=4096)
def log(of_cost: Cost) -> Cost:
    """Logarithm: the largest of the logarithms of the factors."""
    found: Cost = ONE
    for term in of_cost:
        for name, power, logs in term:
            if name[0] == "^":
                found = plus(found, of(name[1:]))
            elif name[0] == "!":
                found = plus(found, of(name[1:], 1.0, 1.0))
            elif power > 0 or logs > 0:
                found = plus(found, of(name, 0.0, 1.0))
    return found


@lru_cache(maxsize=4096)
def root(of_cost: Cost, degree: float) -> Cost:
    """Root of every term."""
    if degree == 1:
        return of_cost
    return frozenset(
        tuple((name, power / degree, logs / degree) for name, power, logs in term)
        for term in of_cost
    )


@lru_cache(maxsize=4096)
def exponential(of_cost: Cost, sign: str = "^") -> Cost:
    """2 to a cost, or its factorial with the sign `!`; of a sum, the product."""
    result: Cost = ONE
    for term in of_cost:
        if len(term) == 1 and term[0][1] > 0 and term[0][0][0] not in "^!":
            result = times(result, of(sign + term[0][0], 1.0))
        elif len(term) == 1 and term[0][1] == 0:
            result = times(result, of(term[0][0], 1.0))  # 2^(log n)
        elif term:
            longest = max(term, key=lambda factor: factor[1])
            result = times(result, of(sign + longest[0].lstrip("^!"), 1.0))
    return result


def over_root(of_cost: Cost, step: Cost) -> Cost:
    """A cost divided by a root, such as the trips of a loop with steps of sqrt(n)."""
    (term,) = step
    if not term or any(not 0 < power < 1 or logs for _, power, logs in term):
        return of_cost
    if not all({name for name, _, _ in term} <= {name for name, _, _ in one} for one in of_cost):
        return of_cost
    return times(of_cost, frozenset({tuple((name, -power, logs) for name, power, logs in term)}))


def without(of_cost: Cost, name: str) -> Cost:
    """The cost with one variable taken as constant."""
    return _pruned({tuple(f for f in term if f[0] != name) for term in of_cost})


def power_in(of_cost: Cost, name: str) -> float:
    """Highest power of a variable in a cost; infinite where it is an exponent."""
    powers = [0.0]
    for term in of_cost:
        for factor, power, _ in term:
            if factor == name:
                powers.append(power)
            elif factor in ("^" + name, "!" + name):
                powers.append(float("inf"))
    return max(powers)


@lru_cache(maxsize=65536)
def degree(of_cost: Cost) -> tuple[float, float, float]:
    """Growth with all variables equal: number of exponentials, power, power of the logarithm."""
    return max((_degree(term) for term in of_cost), default=(0.0, 0.0, 0.0))


def names(of_cost: Cost) -> set[str]:
    """Variables in a cost."""
    return {name.lstrip("^!") for term in of_cost for name, _, _ in term}


def is_constant(of_cost: Cost) -> bool:
    """Whether nothing grows."""
    return of_cost == ONE or not of_cost


def _product(left: Term, right: Term) -> Term:
    if not left or not right:
        return left or right
    powers = {name: (power, logs) for name, power, logs in left}
    for name, power, logs in right:
        p, q = powers.get(name, (0.0, 0.0))
        powers[name] = (p + power, q + logs)
    return tuple(sorted((n, p, q) for n, (p, q) in powers.items() if p or q))


def _degree(term: Term) -> tuple[float, float, float]:
    exponentials = sum(p for name, p, _ in term if name[0] in "^!")
    return (
        exponentials,
        sum(p for name, p, _ in term if name[0] not in "^!"),
        sum(q for _, _, q in term),
    )


def _pruned(terms: set[Term]) -> Cost:
    if len(terms) > 1:
        terms = {
            term
            for term in terms
            if not any(other != term and _within(term, other) for other in terms)
        }
        if len(terms) > _MOST:
            ranked = sorted(terms, key=lambda term: (_degree(term), term), reverse=True)
            terms = set(ranked[:_MOST])
    return frozenset(terms)


def _within(small: Term, large: Term) -> bool:
    powers = {name: (power, logs) for name, power, logs in large}
    if any(p < 0 for p, _ in powers.values()):
        return False
    mine = {name: power for name, power, _ in small}
    return all(
        (p, q) <= powers.get(name, (0.0, 0.0))
        or any(powers.get(e + name, (0.0, 0.0))[0] > mine.get(e + name, 0.0) for e in "^!")
        for name, p, q in small
    )
