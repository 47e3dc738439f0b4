"""How sizes grow, and what times alone decide, without running anything."""

from __future__ import annotations

import math

import pytest

from assay.judges.complexity.plane import apart
from assay.judges.complexity.probing import Line, Point
from assay.judges.complexity.timing import _by_time


def seconds(n: int, unit: float, exponential: bool) -> float:
    return 0.002 + unit * (2.0**n if exponential else n**2)


def test_from_nothing_to_too_much_goes_back_and_takes_small_steps() -> None:
    line = Line("random", 60, 0.4, 2.4, floor=0.002, noise=0.0015, start=(4, 8, 12, 16))
    tried = []
    while (size := line.next_size()) is not None:
        tried.append(size)
        cost = seconds(size, 2e-9, exponential=True)
        slow = cost > 4.0
        line.record(size, Point((size,), "random", 0, math.inf if slow else cost,
                                "slow" if slow else "ok"))  # fmt: skip
    assert line.careful and line.cliff is None
    timed = [n for n, c in zip(line.grown, line.costs, strict=True) if c > 0.004]
    assert len(timed) >= 4 and max(tried[5:]) < 32
    assert _by_time([(n, seconds(n, 2e-9, exponential=True) - 0.002) for n in timed]) == "2^n"


def test_a_wall_that_was_foretold_ends_the_line() -> None:
    line = Line("random", 10**5, 0.4, 2.4, floor=0.002, noise=0.0015, start=(4, 8, 12, 16))
    for size in (4, 8, 12, 16):
        line.record(size, Point((size,), "random", 0, 0.002 + size / 100))
    line.record(40, Point((40,), "random", 0, math.inf, "slow"))
    assert (line.careful, line.cliff, line.next_size()) == (False, 40, None)


@pytest.mark.parametrize(
    ("power", "log", "found"),
    [(2, 0, "n^2"), (2, 1, None), (1, 0, "n")],
)
def test_what_times_alone_decide(power: int, log: int, found: str | None) -> None:
    sizes = [4_000, 7_000, 12_000, 20_000, 32_000]
    noise = [1.02, 0.99, 1.01, 0.985, 1.01]
    costs = [n**power * math.log2(n) ** log * e for n, e in zip(sizes, noise, strict=True)]
    scale = 0.5 / costs[-1]
    timed = [(n, c * scale) for n, c in zip(sizes, costs, strict=True)]
    assert _by_time(timed) == found


def along(held: int, place: int, sizes: list[int], costs: list[float]) -> Line:
    fixed = (held, None) if place == 1 else (None, held)
    line = Line("random", 10**5, 1e5, 1e6, fixed=fixed)
    line.points = [
        Point((held, size) if place == 1 else (size, held), "random", 0, cost)
        for size, cost in zip(sizes, costs, strict=True)
    ]
    return line


@pytest.mark.parametrize("product", [False, True])
def test_what_one_variable_adds_tells_a_sum_from_a_product(product: bool) -> None:
    ks, ns = [4, 14, 58, 232, 928], [2, 4, 6, 8, 10, 12, 14]

    def cost(n: int, k: int) -> float:
        return 5.0 * 2**n + (k * math.log2(n) if product else k)

    lines = [along(n, 1, ks, [cost(n, k) for k in ks]) for n in (4, 9)]
    lines += [along(k, 0, ns, [cost(n, k) for n in ns]) for k in (4, 48)]
    assert apart(lines) is not product


def test_times_that_a_busy_machine_bent_decide_nothing() -> None:
    # about quadratic, the last one slowed down: the best of the pure forms is a cube
    timed = [(4096, 0.013), (8192, 0.047), (16000, 0.13), (32000, 1.0)]
    assert _by_time(timed) in ("n^2", None)
