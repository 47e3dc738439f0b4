"""Equality with scikit-learn, SciPy and choix on random data."""

from __future__ import annotations

import numpy as np
import pytest

from assay.calibration.agreement import cohen_kappa, confusion_table
from assay.calibration.bradley_terry import fit_bradley_terry
from assay.calibration.distributions import (
    beta_cdf,
    beta_quantile,
    binomial_cdf,
    binomial_pmf,
    t_quantile,
)
from assay.calibration.isotonic import Isotonic, pool_adjacent_violators
from assay.calibration.logistic import fit_logistic
from assay.calibration.paired_tests import false_discovery, mcnemar
from assay.calibration.reliability import reliability_curve
from assay.calibration.scoring_rules import brier_parts, brier_score, log_loss

near = pytest.approx
SEEDS = range(4)


@pytest.fixture(params=SEEDS)
def generator(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


def test_kappa(generator: np.random.Generator) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    a, b = generator.integers(0, 4, 200), generator.integers(0, 4, 200)
    b = np.where(generator.random(200) < 0.5, a, b)
    table = confusion_table(a, b)
    assert cohen_kappa(table) == near(metrics.cohen_kappa_score(a, b))
    for weights in ("linear", "quadratic"):
        expected = metrics.cohen_kappa_score(a, b, weights=weights)
        assert cohen_kappa(table, weights) == near(expected)


def test_scores_and_reliability(generator: np.random.Generator) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    calibration = pytest.importorskip("sklearn.calibration")
    p = generator.random(300)
    y = (generator.random(300) < p).astype(int)
    assert brier_score(p, y) == near(metrics.brier_score_loss(y, p))
    assert log_loss(p, y) == near(metrics.log_loss(y, p))
    curve = reliability_curve(p, y, bins=10)
    observed, forecast = calibration.calibration_curve(y, p, n_bins=10)
    assert curve.observed == near(observed)
    assert curve.forecast == near(forecast)


def test_brier_parts_add_up(generator: np.random.Generator) -> None:
    p = generator.random(200)
    for y in ((generator.random(200) < p).astype(float), generator.random(200)):
        for bins in (1, 7, 10):
            f = brier_parts(p, y, bins)
            total = f.reliability - f.resolution + f.uncertainty
            total += f.within_variance - f.within_covariance
            assert total == near(f.brier, abs=1e-12)


def test_isotonic(generator: np.random.Generator) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    y, w = generator.random(100), generator.random(100) + 0.1
    assert pool_adjacent_violators(y, w) == near(isotonic.isotonic_regression(y, sample_weight=w))
    p = generator.random(200).round(2)
    hit = (generator.random(200) < p).astype(float)
    model = isotonic.IsotonicRegression(out_of_bounds="clip").fit(p, hit)
    fitted = Isotonic(pairs=False).fit(p, hit)
    assert fitted.predict(p) == near(model.predict(p), abs=1e-6)
    mirrored = isotonic.IsotonicRegression(out_of_bounds="clip")
    mirrored.fit(np.concatenate([p, (1 - p).round(2)]), np.concatenate([hit, 1 - hit]))
    assert Isotonic().fit(p, hit).predict(p) == near(mirrored.predict(p), abs=1e-6)


def test_logistic(generator: np.random.Generator) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    x = generator.normal(size=(400, 3))
    y = (generator.random(400) < 1 / (1 + np.exp(-x @ [1.0, -0.5, 0.0]))).astype(int)
    ridge = linear.LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=1000).fit(
        x, y
    )
    ours = fit_logistic(x, y, penalty="ridge", strength=2.0)
    assert ours.coefficients == near(ridge.coef_[0], abs=1e-5)


def test_firth_of_a_table_adds_half_to_each_cell() -> None:
    """For a saturated model Firth's penalty is Haldane's correction."""
    x = np.array([[1.0, 1.0]] * 30 + [[1.0, -1.0]] * 20)
    y = [1] * 30 + [0] * 13 + [1] * 7
    fit = fit_logistic(x, y)
    first, second = np.log(30.5 / 0.5), np.log(7.5 / 13.5)
    assert fit.coefficients == near([(first + second) / 2, (first - second) / 2], abs=1e-8)


def test_bradley_terry(generator: np.random.Generator) -> None:
    choix = pytest.importorskip("choix")
    strengths = generator.normal(size=6)
    a = generator.integers(0, 6, 600)
    b = (a + generator.integers(1, 6, 600)) % 6
    won = generator.random(600) < 1 / (1 + np.exp(strengths[b] - strengths[a]))
    games = [(int(i), int(j)) if w else (int(j), int(i)) for i, j, w in zip(a, b, won, strict=True)]
    expected = choix.opt_pairwise(6, games)
    fit = fit_bradley_terry(a.tolist(), b.tolist(), won.astype(float), position=False)
    assert fit.strengths == near(expected - expected.mean(), abs=1e-4)
    # choix adds alpha |theta|^2, not half of it
    ridged = choix.opt_pairwise(6, games, alpha=0.7)
    ours = fit_bradley_terry(
        a.tolist(), b.tolist(), won.astype(float), position=False, penalty="ridge", strength=1.4
    )
    assert ours.strengths == near(ridged, abs=1e-4)


def test_distributions(generator: np.random.Generator) -> None:
    stats = pytest.importorskip("scipy.stats")
    for _ in range(50):
        a, b = np.exp(generator.normal(size=2) * 2)
        x = float(generator.random())
        assert beta_cdf(x, a, b) == near(stats.beta.cdf(x, a, b), rel=1e-9, abs=1e-12)
        assert beta_quantile(0.3, a, b) == near(stats.beta.ppf(0.3, a, b), rel=1e-8, abs=1e-12)
        n, p = int(generator.integers(1, 400)), float(generator.random())
        k = int(generator.integers(0, n + 1))
        assert binomial_cdf(k, n, p) == near(stats.binom.cdf(k, n, p), rel=1e-9, abs=1e-12)
        assert binomial_pmf(k, n, p) == near(stats.binom.pmf(k, n, p), rel=1e-8, abs=1e-12)
    for df in (1, 2, 9, 150, 10_000):
        assert t_quantile(0.975, df) == near(stats.t.ppf(0.975, df), rel=1e-7)
        assert t_quantile(0.1, df) == near(stats.t.ppf(0.1, df), rel=1e-7)


def test_mcnemar_and_false_discovery(generator: np.random.Generator) -> None:
    stats = pytest.importorskip("scipy.stats")
    p = generator.random(20) ** 2
    assert false_discovery(p) == near(stats.false_discovery_control(p))
    b, c = (int(v) for v in generator.integers(0, 30, 2))
    if b + c:
        assert mcnemar(b, c).p_exact == near(stats.binomtest(b, b + c).pvalue)
