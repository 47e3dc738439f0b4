"""Position terms, leaderboards, ties: recovered where identified, refused where not."""

from __future__ import annotations

import numpy as np
import pytest

from assay.calibration.bootstrap import cluster_totals, clustered_bootstrap, resampled_totals
from assay.calibration.bradley_terry import fit_bradley_terry
from assay.calibration.davidson import fit_davidson
from assay.calibration.debias import debias_one_order, debias_pairs
from assay.calibration.drift import check_drift
from assay.calibration.position_term import fit_position_term, two_order_term
from assay.errors import DataError


def judged(b: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    sign = np.where(generator.random(n) < 0.8, 1.0, -1.0)
    gap = np.abs(generator.normal(size=n)) * sign
    return (generator.random(n) < 1 / (1 + np.exp(-gap - b))).astype(float), gap


@pytest.mark.parametrize("b", [0.0, 1.0, 3.0])
def test_the_term_is_recovered_from_unbalanced_orders(b: float) -> None:
    found = [fit_position_term(*judged(b, 2000, seed)).b for seed in range(60)]
    error = np.std(found) / np.sqrt(60)
    assert abs(np.mean(found) - b) < 0.03 + 3 * error
    wins, _ = judged(b, 2000, 0)
    assert abs(np.log(wins.mean() / (1 - wins.mean())) - b) > 0.1  # the pooled rate


def test_swapping_the_places_turns_the_sign() -> None:
    wins, gap = judged(1.0, 500, 1)
    fit = fit_position_term(wins, gap)
    other = fit_position_term(1 - wins, -gap)
    assert other.b == pytest.approx(-fit.b, abs=1e-8)
    assert other.fit["quality"] == pytest.approx(fit.fit["quality"], abs=1e-8)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: fit_position_term([1, 0, 1], [1.0, 2.0, 1.0]), "same place in every row"),
        (lambda: fit_position_term([]), "needs verdicts"),
        (lambda: fit_position_term([1, 1, 1, 1], [1, -1, 1, -1], penalty="none"), "infinity"),
        (
            lambda: fit_position_term([1, 0], covariates={"length": [2.0, 2.0]}),
            "position, length cannot be told apart",
        ),
        (lambda: two_order_term(3, 5, 0, 0), "no verdicts in order BA"),
        (lambda: two_order_term(5, 5, 1, 5), "use firth=True"),
        (lambda: fit_bradley_terry("xz", "yw", [1, 0]), "never met"),
        (lambda: fit_bradley_terry("xx", "yy", [1, 1], position=False), "strengths are infinite"),
        (lambda: fit_bradley_terry("xxxx", "yyyy", [1, 0, 1, 0]), "not identified"),
        (lambda: fit_bradley_terry("x", "x", [1]), "meets itself"),
        (lambda: fit_davidson("xx", "yy", ["A", "B"]), "not identified: 0 of 2"),
        (lambda: fit_davidson("xxx", "yyy", ["A", "B", "tie"]), "same players always stand first"),
        (lambda: debias_one_order([0.5], float("nan")), "b must be finite"),
    ],
)
def test_what_is_not_identified_is_refused(act: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        act()  # type: ignore[operator]


def test_an_infinite_strength_names_the_players() -> None:
    with pytest.raises(DataError, match="x never lost to any|y, z never beat any"):
        fit_bradley_terry("xxyz", "yzzy", [1, 1, 1, 1], position=False)
    fit = fit_bradley_terry("xxyz", "yzzy", [1, 1, 1, 1], position=False, penalty="ridge")
    assert fit.strength("x") > fit.strength("y") == pytest.approx(fit.strength("z"))


def test_davidson_recovers_what_it_simulates() -> None:
    generator = np.random.default_rng(3)
    s, b, tie = np.array([0.8, 0.0, -0.8]), 0.6, -0.3
    i = generator.integers(0, 3, 20_000)
    j = (i + generator.integers(1, 3, 20_000)) % 3
    half = (s[i] - s[j] + b) / 2
    weights = np.exp(np.stack([half, -half, np.full(len(i), tie)], axis=1))
    cut = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    outcome = (generator.random((len(i), 1)) > cut).sum(axis=1)
    fit = fit_davidson(i.tolist(), j.tolist(), outcome)
    assert fit.strengths == pytest.approx(s, abs=0.06)
    assert (fit.position, fit.tie) == pytest.approx((b, tie), abs=0.05)
    assert b in fit.position_interval(0.999)


def test_debiasing_mirrors_exactly() -> None:
    generator = np.random.default_rng(0)
    ab, ba = generator.random(500), generator.random(500)
    assert (debias_pairs(ab, ba).p_a + debias_pairs(ba, ab).p_a == 1.0).all()


def test_equal_clusters_are_drawn_as_if_apart() -> None:
    """The two ways of drawing have the same mean and variance."""
    few = np.array([[1.0, 0.0]] * 30 + [[0.0, 1.0]] * 70)
    apart = few + np.arange(100)[:, None] * 1e-9  # all distinct: drawn one by one
    a, b = (resampled_totals(t, 4000, seed=1)[:, 0] for t in (few, apart))
    assert a.mean() == pytest.approx(30, abs=0.4) and b.mean() == pytest.approx(30, abs=0.4)
    assert a.var() == pytest.approx(21, rel=0.1) and b.var() == pytest.approx(21, rel=0.1)


def test_prompts_are_drawn_whole() -> None:
    values = np.repeat([0.0, 1.0] * 25, 8)
    rows = np.stack([values, np.ones(400)], axis=1)
    width = {}
    for name, groups in (("prompt", np.repeat(np.arange(50), 8)), ("game", np.arange(400))):
        (found,) = clustered_bootstrap(cluster_totals(rows, groups), lambda s: s[:, 0] / s[:, 1])
        width[name] = found.high - found.low
    assert width["prompt"] / width["game"] == pytest.approx(np.sqrt(8), rel=0.12)


def test_one_cluster_has_no_interval() -> None:
    (found,) = clustered_bootstrap(np.array([[1.0, 2.0]]), lambda s: s[:, 0] / s[:, 1])
    assert found.estimate == 0.5 and not found.defined


def test_drift_is_noise_when_a_repeat_differs_as_much() -> None:
    generator = np.random.default_rng(0)
    base = generator.random(400)
    then, now, repeat = (np.clip(base + generator.normal(size=400) * 0.05, 0, 1) for _ in "123")
    assert not check_drift(then, now, repeat=repeat * 0.98 + 0.01).drifted
    worse = check_drift(then, 1 - then, labels=(base > 0.5).astype(float))
    assert worse.drifted and worse.accuracy is not None and worse.accuracy.p_exact < 1e-6


@pytest.mark.slow
def test_coverage_by_prompt() -> None:
    generator = np.random.default_rng(0)
    hits = {"prompt": 0, "game": 0}
    for seed in range(1000):
        level = 1 / (1 + np.exp(-2 * generator.normal(size=80)))
        wins = (generator.random((80, 5)) < level[:, None]).ravel()
        rows = np.stack([wins, np.ones(400)], axis=1)
        for name, groups in (("prompt", np.repeat(np.arange(80), 5)), ("game", np.arange(400))):
            (found,) = clustered_bootstrap(
                cluster_totals(rows, groups), lambda s: s[:, 0] / s[:, 1], seed=seed
            )
            hits[name] += 0.5 in found
    assert 930 <= hits["prompt"] <= 970
    assert hits["game"] < 900
