"""Which growth class explains measured costs: non-negative least squares with a simplicity rule.

A cost is a non-negative sum of classes up to some class g; the answer is the smallest g whose
relative residual is as small as that of any larger one, within the noise. Residuals are relative,
so that small sizes count as much as large ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError

Array = NDArray[np.float64]
Growth = Callable[[Array], Array]

#: Class -> growth as a function of an array of sizes, slowest first.
CLASSES: dict[str, Growth] = {
    "1": lambda n: np.ones_like(n),
    "log n": lambda n: np.log2(n + 1),
    "sqrt n": lambda n: np.sqrt(n),
    "n": lambda n: n,
    "n log n": lambda n: n * np.log2(n + 1),
    "n sqrt n": lambda n: n**1.5,
    "n^2": lambda n: n**2,
    "n^2 log n": lambda n: n**2 * np.log2(n + 1),
    "n^3": lambda n: n**3,
    "n^4": lambda n: n**4,
    "2^n": lambda n: np.exp2(np.minimum(n, 400.0)),
    "n 2^n": lambda n: n * np.exp2(np.minimum(n, 400.0)),
    "n^2 2^n": lambda n: n**2 * np.exp2(np.minimum(n, 400.0)),
    "n!": lambda n: np.array([math.gamma(min(x, 150.0) + 1.0) for x in n]),
    "n n!": lambda n: np.array([x * math.gamma(min(x, 150.0) + 1.0) for x in n]),
}
NAMES = tuple(CLASSES)
#: Steeper than these, a polynomial of any degree fits a few points as well.
_EXPONENTIAL = NAMES.index("2^n")
#: What is tried, with either sign, before a logarithm is believed.
_WITHOUT_LOG = {"n log n": ("n", "1"), "n^2 log n": ("n^2", "n", "1"), "log n": ("1",)}
#: What a power is mistaken for: the class below it, times a logarithm.
_WITH_LOG = {"n^2": "n log n", "n^3": "n^2 log n"}
_DEGREES = {"n^2": 2.0, "n^3": 3.0}
_SHARE = 0.08
#: A program that gets through sizes above this is not exponential.
_EXPONENTIAL_TO = 60
_EPSILON = 1e-12


@dataclass(frozen=True, slots=True)
class Fit:
    """A growth class and how well it explains the costs.

    Attributes:
        name: A key of `CLASSES`, or None where nothing explains them.
        residual: Root mean square of the relative residuals under that class.
        confidence: Share of bootstrap samples that choose the same class, in [0, 1].
    """

    name: str | None
    residual: float
    confidence: float


def nonnegative(matrix: Array, target: Array) -> Array:
    """Solve min |A x - b| with x >= 0 (active sets, Lawson and Hanson 1974).

    >>> x = nonnegative(np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), np.array([2.0, 4.0, 6.0]))
    >>> [round(float(one), 6) for one in x]
    [0.0, 2.0]
    """
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1.0
    a = matrix / scale
    columns = a.shape[1]
    x = np.zeros(columns)
    passive = np.zeros(columns, dtype=bool)
    gradient = a.T @ target
    for _ in range(6 * columns):
        free = ~passive & (gradient > 1e-10 * max(1.0, float(np.abs(target).max())))
        if not free.any():
            break
        passive[int(np.argmax(np.where(free, gradient, -np.inf)))] = True
        while True:
            trial = np.zeros(columns)
            trial[passive] = np.linalg.lstsq(a[:, passive], target, rcond=None)[0]
            if not (trial[passive] <= 0).any():
                break
            falling = passive & (trial <= 0)
            step = float(np.min(x[falling] / (x[falling] - trial[falling] + _EPSILON)))
            x = x + step * (trial - x)
            passive &= x > _EPSILON
            x[~passive] = 0.0
            if not passive.any():
                break
        x = np.where(passive, trial, 0.0)
        gradient = a.T @ (target - a @ x)
    result: Array = x / scale
    return result


def relative_fit(columns: Array, costs: Array) -> tuple[Array, float]:
    """Coefficients and the root mean square of the relative residuals."""
    weighted = columns / costs[:, None]
    weights = nonnegative(weighted, np.ones_like(costs))
    rest = weighted @ weights - 1.0
    return weights, float(np.sqrt(np.mean(rest**2)))


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Least-squares slope of log cost against log size.

    A constant start-up hides growth: subtract the empty run first.

    >>> round(slope([1, 2, 4, 8], [1, 2.1, 4, 8.1]), 3)
    0.998
    """
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float))
    x = x - x.mean()
    return float((x @ (y - y.mean())) / (x @ x))


def choose(
    sizes: Sequence[float],
    costs: Sequence[float],
    *,
    noise: float = 0.02,
    classes: Sequence[str] = NAMES,
) -> tuple[str | None, dict[str, float]]:
    """The smallest class that explains the costs, and the residual under every class.

    A class that makes less than `_SHARE` of the cost at the largest size is taken for noise, and
    the largest one that makes more is chosen.

    Args:
        sizes: Sizes, all > 0.
        costs: Costs above start-up, all > 0.
        noise: Relative error that a right class may leave.
        classes: The classes to choose from, slowest first.
    """
    n, c = np.asarray(sizes, float), np.asarray(costs, float)
    if not math.isfinite(float(c.sum())):
        raise DataError("costs must be finite numbers > 0, got an infinity or NaN; drop the point")
    usable = NAMES[:_EXPONENTIAL] if n.max() > _EXPONENTIAL_TO else NAMES
    candidates = [name for name in classes if name in usable]
    basis = {name: CLASSES[name](n) for name in usable}
    residuals: dict[str, float] = {}
    fits: dict[str, tuple[list[str], Array]] = {}
    for name in candidates:
        # Exponential classes stand on polynomials, not on each other.
        used = [*NAMES[: min(NAMES.index(name), _EXPONENTIAL)], name]
        columns = np.stack([basis[one] for one in used], axis=1)
        weights, residuals[name] = relative_fit(columns, c)
        fits[name] = (used, weights * columns[int(np.argmax(n))])
    best = min(residuals.values())
    if best > max(6 * noise, 0.12):
        return None, residuals
    allowed = max(noise, 1.4 * best)
    used, parts = fits[next(name for name in candidates if residuals[name] <= allowed)]
    large = [name for name, part in zip(used, parts, strict=True) if part >= _SHARE * parts.sum()]
    name = large[-1]
    plain = _WITHOUT_LOG.get(name)
    if plain is not None and _signed_residual(n, c, plain) <= min(0.02, residuals[name] + 0.005):
        name = plain[0]
    below = _WITH_LOG.get(name)
    if below is not None and _flattens(n, c, below=_DEGREES[name] - 0.5):
        name = below if residuals.get(below, math.inf) <= max(2 * noise, 0.04) else name
    return name, residuals


def _flattens(sizes: Array, costs: Array, below: float) -> bool:
    """Whether growth stays under a degree and no longer rises: no sum of powers does that.

    A sum of powers with positive weights is convex in log-log scale, n^k log n is concave.
    """
    known = dict(sorted(zip(sizes.tolist(), costs.tolist(), strict=True)))
    if len(known) < 6:
        return False
    at, cost = list(known)[-6:], list(known.values())[-6:]
    early, late = slope(at[:4], cost[:4]), slope(at[-3:], cost[-3:])
    return late < below and late < early


def _signed_residual(sizes: Array, costs: Array, names: Sequence[str]) -> float:
    """The residual where smaller classes may be subtracted: (n - 5) n is not n^2 log n."""
    columns = np.stack([CLASSES[name](sizes) for name in names], axis=1) / costs[:, None]
    weights = np.linalg.lstsq(columns, np.ones_like(costs), rcond=None)[0]
    return float(np.sqrt(np.mean((columns @ weights - 1.0) ** 2)))


def fit_costs(
    sizes: Sequence[float],
    costs: Sequence[float],
    *,
    startup: float = 0.0,
    noise: float = 0.02,
    samples: int = 20,
    seed: int = 0,
    largest: str | None = None,
) -> Fit:
    """Fit costs at growing sizes.

    Args:
        sizes: At least four different sizes, rising.
        costs: Cost at each size.
        startup: Cost of an empty run, subtracted.
        noise: Relative error of one cost.
        samples: Bootstrap samples.
        seed: Seed of the bootstrap.
        largest: The last class to consider.

    >>> fit_costs([8, 16, 32, 64, 128, 256], [8, 16, 32, 64, 128, 256]).name
    'n'
    """
    n = np.asarray(sizes, float)
    c = np.maximum(np.asarray(costs, float) - startup, _EPSILON)
    if len(set(sizes)) < 4:
        return Fit(None, math.inf, 0.0)
    classes = NAMES if largest is None else NAMES[: NAMES.index(largest) + 1]
    name, residuals = choose(n.tolist(), c.tolist(), noise=noise, classes=classes)
    if name is None:
        return Fit(None, min(residuals.values()), 0.0)
    place = classes.index(name)
    near = classes[max(0, place - 2) : place + 3]
    rng = np.random.default_rng(seed)
    agree = 0
    for _ in range(samples):
        picked = np.sort(rng.integers(0, len(n), len(n)))
        picked[0], picked[-1] = 0, len(n) - 1
        if len(set(picked.tolist())) < 4:
            picked = np.arange(len(n))
        again, _ = choose(n[picked].tolist(), c[picked].tolist(), noise=noise, classes=near)
        agree += again == name
    return Fit(name, residuals[name], agree / samples if samples else 1.0)
