"""Growth in two variables: which products of growth classes explain measured costs.

As in `fitting`, with products such as `E log V` for columns. From all products up to the classes
that each variable shows alone, the largest that are not needed are taken away one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.judges.complexity.fitting import CLASSES, NAMES, Array, relative_fit

#: Classes of one variable within a product.
Term = tuple[str, str]
_FACTORS = ("1", "log n", "sqrt n", "n", "n log n", "n^2", "n^3", "2^n")
#: The smaller of the two variables: rounds of a search, steps that end with either.
_MINIMUM: Term = ("min", "min")
_SHARE = 0.1  # of the cost at one of the costlier points: less is noise
_MAIN = 0.4  # of the cost at the median of the costlier points: this term is what grows
#: Products that no program shows and that imitate a minimum of two variables.
_ROOTS = {("sqrt n", one) for one in _FACTORS if one not in ("1", "n")}
_ROOTS |= {(b, a) for a, b in _ROOTS}


@dataclass(frozen=True, slots=True)
class Surface:
    """A sum of products and how well it explains the costs.

    Attributes:
        terms: Largest products, one class per variable; empty where nothing explains the costs.
        residual: Root mean square of the relative residuals.
        coefficients: Of every product kept, smaller ones too.
    """

    terms: tuple[Term, ...]
    residual: float
    coefficients: tuple[tuple[Term, float], ...]

    def predict(self, x: float, y: float) -> float:
        """Cost at two sizes."""
        at = np.array([[x, y]])
        return float(sum(weight * _column(term, at)[0] for term, weight in self.coefficients))


def fit_surface(
    sizes: Sequence[tuple[int, int]],
    costs: Sequence[float],
    largest: tuple[str, str] = ("n^3", "n^3"),
    *,
    noise: float = 0.03,
    mixed: bool = True,
) -> Surface:
    """Fit costs over pairs of sizes.

    Args:
        sizes: Pairs of sizes, both variables varied.
        costs: Cost at each pair, > 0.
        largest: Largest class of each variable to consider.
        noise: Relative residual that the right answer may leave.
        mixed: Whether products of both variables are tried, or only sums of each alone.

    >>> grid = [(n, m) for n in (4, 16, 64, 256) for m in (4, 16, 64, 256)]
    >>> fit_surface(grid, [n * m + 50.0 for n, m in grid]).terms
    (('n', 'n'),)
    >>> fit_surface(grid, [3.0 * n + 7 * m + 50 for n, m in grid]).terms
    (('n', '1'), ('1', 'n'))
    """
    points = np.asarray(sizes, float)
    c = np.asarray(costs, float)
    factors = [_factors(most, points[:, place]) for place, most in enumerate(largest)]
    terms = [(a, b) for a in factors[0] for b in factors[1] if (a, b) not in _ROOTS]
    terms.append(_MINIMUM)
    if not mixed:
        terms = [term for term in terms if "1" in term]
    terms.sort(key=_growth)
    basis = np.stack([_column(term, points) for term in terms], axis=1)
    _, best = relative_fit(basis, c)
    if best > max(5 * noise, 0.15):
        return Surface((), best, ())
    allowed = max(noise, 1.3 * best)
    costly = c >= np.quantile(c, 0.6)
    kept = _pruned(terms, basis, c, allowed, costly)
    weights, residual = relative_fit(basis[:, kept], c)
    single = _single(terms, basis, c, max(noise, 1.25 * residual + 0.01))
    if len([w for w in weights if w > 0]) > 1 and single is not None:
        kept, weights, residual = single
    found = [(terms[i], float(w)) for i, w in zip(kept, weights, strict=True) if w > 0]
    names = [term for term, _ in found]
    top = [t for t in names if not any(_below(t, other) for other in names if other != t)]
    return Surface(tuple(reversed(top)), residual, tuple(found))


def _pruned(
    terms: Sequence[Term], basis: Array, costs: Array, allowed: float, costly: NDArray[np.bool_]
) -> list[int]:
    """Take away the largest products that are not needed, or are hardly seen; keep lower ones."""
    kept = list(range(len(terms)))
    falling = True
    while falling and len(kept) > 1:
        falling = False
        weights, _ = relative_fit(basis[:, kept], costs)
        shares = (basis[:, kept] * weights / costs[:, None])[costly].max(axis=0)
        for i, share in reversed(list(zip(kept, shares, strict=True))):
            if any(_below(terms[i], terms[j]) for j in kept if j != i):
                continue
            fewer = [j for j in kept if j != i]
            if share < _SHARE or relative_fit(basis[:, fewer], costs)[1] <= allowed:
                kept, falling = fewer, True
                break
    return kept


def _single(
    terms: Sequence[Term], basis: Array, costs: Array, allowed: float
) -> tuple[list[int], Array, float] | None:
    """The smallest product that, with what is below it, explains the costs about as well.

    Costs with a part that shrinks, such as n k - k^2 / 2, otherwise gather strange small terms.
    """
    costly = costs >= np.quantile(costs, 0.6)
    for place, top in enumerate(terms):
        used = [i for i in range(place + 1) if _below(terms[i], top)]
        weights, residual = relative_fit(basis[:, used], costs)
        share = (basis[:, place] * weights[-1] / costs)[costly]
        if residual <= allowed and float(np.median(share)) >= _MAIN:
            return used, weights, residual
    return None


def spell(terms: Sequence[Term], names: tuple[str, str]) -> str:
    """The terms with the variables' own names.

    >>> spell([("log n", "n"), ("n", "1")], ("V", "E"))
    'log V * E + V'
    """
    parts = []
    for term in terms:
        if term == _MINIMUM:
            parts.append(f"min({names[0]}, {names[1]})")
            continue
        factors = [
            one.replace("n", name) for one, name in zip(term, names, strict=True) if one != "1"
        ]
        parts.append(" * ".join(factors) or "1")
    return " + ".join(parts) or "1"


def _factors(largest: str, sizes: Array) -> list[str]:
    most = NAMES.index(largest)
    names = [name for name in _FACTORS if NAMES.index(name) <= most]
    return [name for name in names if name != "2^n" or sizes.max() <= 60]


def _column(term: Term, points: Array) -> Array:
    if term == _MINIMUM:
        return np.asarray(points.min(axis=1), float)
    product: Array = CLASSES[term[0]](points[:, 0]) * CLASSES[term[1]](points[:, 1])
    return product


def _growth(term: Term) -> float:
    """Order in which terms are tried: by value where both variables are large."""
    exponents = {
        "min": 0.45,
        "1": 0.0,
        "log n": 0.1,
        "sqrt n": 0.5,
        "n": 1.0,
        "n log n": 1.1,
        "n^2": 2.0,
    }
    exponents |= {"n^3": 3.0, "2^n": 50.0}
    return exponents[term[0]] + exponents[term[1]]


def _below(one: Term, other: Term) -> bool:
    """Whether one term is at most the other, factor by factor."""
    if _MINIMUM in (one, other):
        linear = any(NAMES.index(x) >= NAMES.index("n") for x in other if x != "min")
        return one == other or linear or one == ("1", "1")
    return all(NAMES.index(a) <= NAMES.index(b) for a, b in zip(one, other, strict=True))
