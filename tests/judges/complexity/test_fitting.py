"""Growth classes from synthetic costs: with noise, with start-up, in two variables."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from assay.errors import DataError
from assay.judges.complexity.fitting import choose, fit_costs, nonnegative, slope
from assay.judges.complexity.surfaces import fit_surface, spell

SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
COSTS: dict[str, Callable[[float], float]] = {
    "1": lambda n: 70.0,
    "log n": lambda n: 40 + 30 * math.log2(n),
    "sqrt n": lambda n: 30 + 20 * math.sqrt(n),
    "n": lambda n: 50 + 3 * n,
    "n log n": lambda n: 8 * n + n * math.log2(n),
    "n sqrt n": lambda n: 10 * n + n * math.sqrt(n),
    "n^2": lambda n: 9 * n + 0.5 * n * n,
    "n^2 log n": lambda n: 4 * n * n + n * n * math.log2(n),
    "n^3": lambda n: n * n + n**3 / 6,
}


@pytest.mark.parametrize("name", COSTS)
def test_exact_costs_with_smaller_terms(name: str) -> None:
    fit = fit_costs(SIZES, [COSTS[name](n) for n in SIZES])
    assert fit.name == name
    assert fit.confidence > 0.9
    assert fit.residual < 0.02


@pytest.mark.parametrize("name", ["1", "sqrt n", "n", "n^2", "n^3"])
def test_noise_of_three_percent(name: str) -> None:
    rng = random.Random(name)
    costs = [COSTS[name](n) * rng.uniform(0.97, 1.03) for n in SIZES]
    assert fit_costs(SIZES, costs, noise=0.03).name == name


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("2^n", lambda n: 3.0 * 2**n + 20 * n),
        ("n 2^n", lambda n: n * 2.0**n + 50),
        ("n^2 2^n", lambda n: n * n * 2.0**n + 50),
        ("n!", lambda n: 3.0 * math.factorial(n) + 20 * n),
        ("n n!", lambda n: n * float(math.factorial(n)) + 20),
    ],
)
def test_exponential_classes_are_told_apart(name: str, cost: Callable[[int], float]) -> None:
    sizes = list(range(3, 13))
    assert fit_costs(sizes, [cost(n) for n in sizes]).name == name


def test_slope_of_the_method() -> None:
    times = [1, 2.1, 4, 8.1]
    assert round(slope([1, 2, 4, 8], times), 3) == 0.998
    # The same in milliseconds behind a start-up of 50 ms reads as constant.
    late = [50 + t for t in times]
    assert round(slope([1, 2, 4, 8], late), 3) == 0.062
    assert round(slope([1, 2, 4, 8], [t - 50 for t in late]), 3) == 0.998
    assert fit_costs([1, 2, 4, 8], late, startup=50).name == "n"
    assert fit_costs([1, 2, 4, 8], late).name != "n^2"


def test_n_log_n_reads_steeper_than_one() -> None:
    sizes = [2**k for k in range(8, 13)]
    assert 1.09 < slope(sizes, [n * math.log2(n) for n in sizes]) < 1.16


def test_a_shrinking_part_is_not_a_logarithm() -> None:
    sizes = [12, 20, 33, 55, 90, 150, 250, 400]
    assert fit_costs(sizes, [(n - 5.0) * n for n in sizes]).name == "n^2"


def test_nothing_fits_noise_of_a_factor() -> None:
    rng = random.Random(1)
    costs = [n * math.exp(rng.gauss(0, 1.2)) for n in SIZES]
    assert fit_costs(SIZES, costs).name is None


def test_few_points_decide_nothing() -> None:
    assert fit_costs([1, 2, 4], [1, 2, 4]).name is None


def test_costs_must_be_finite() -> None:
    with pytest.raises(DataError, match="finite"):
        choose([1, 2, 3, 4], [1, 2, math.inf, 4])


def test_nonnegative_agrees_with_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="scipy is not installed")
    rng = np.random.default_rng(0)
    for _ in range(30):
        a = rng.normal(size=(12, 5))
        b = rng.normal(size=12)
        ours, (theirs, _) = nonnegative(a, b), optimize.nnls(a, b)
        assert (ours >= 0).all()
        assert np.linalg.norm(a @ ours - b) <= np.linalg.norm(a @ theirs - b) + 1e-8


GRID = [(n, m) for n in (4, 16, 64, 256, 1024) for m in (4, 16, 64, 256, 1024)]


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (lambda n, m: 3.0 * n + 7 * m + 40, "n + m"),
        (lambda n, m: 2.0 * n * m + 9 * n + 40, "n * m"),
        (lambda n, m: 5.0 * n + 3 * m * math.log2(n), "log n * m + n"),
        (lambda n, m: 1.0 * n * n + 8 * m, "n^2 + m"),
        (lambda n, m: 12.0 * n + 5, "n"),
        (lambda n, m: 30.0, "1"),
    ],
)
def test_surfaces(cost: Callable[[int, int], float], text: str) -> None:
    surface = fit_surface(GRID, [cost(n, m) for n, m in GRID])
    assert set(spell(surface.terms, ("n", "m")).split(" + ")) == set(text.split(" + "))
    assert surface.residual < 0.05


def test_growth_that_flattens_is_a_logarithm_and_no_higher_power() -> None:
    # counted steps of two loops around a binary search on equal numbers
    sizes = [12, 22, 37, 60, 97, 157, 256]
    costs = [214.469, 818.219, 2669.062, 8057.094, 23950.688, 70516.344, 209546.375]
    assert fit_costs(sizes, costs).name == "n^2 log n"
    rising = [n**3 / 40 + n**2 for n in sizes]
    assert fit_costs(sizes, rising).name == "n^3"


def test_a_sum_of_two_variables_has_no_products() -> None:
    grid = [(n, k) for n in (4, 9, 14) for k in (4, 48, 232, 7424)]
    costs = [5.0 * 2**n + k + (200 if k > 20 and n > 4 else 0) for n, k in grid]
    found = fit_surface(grid, costs, ("2^n", "n"), noise=0.05, mixed=False)
    assert spell(found.terms, ("n", "k")) in ("2^n + k", "k + 2^n")
