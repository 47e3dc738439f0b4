"""Calibrators: mirror symmetry, files, refusals, and honest forecasts afterwards."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from assay.calibration.beta import Beta
from assay.calibration.calibrator import Calibrator
from assay.calibration.cross_fitting import cross_fit
from assay.calibration.histogram import Histogram
from assay.calibration.isotonic import Isotonic
from assay.calibration.platt import Platt
from assay.calibration.temperature import Temperature
from assay.errors import ConfigError, DataError

KINDS: list[Calibrator] = [Temperature(), Platt(), Isotonic(), Histogram(), Beta()]
FREE: list[Calibrator] = [
    Platt(pairs=False),
    Isotonic(pairs=False),
    Histogram(pairs=False),
    Beta(pairs=False),
]


def overconfident(n: int, factor: float = 3.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=n)
    y = (generator.random(n) < 1 / (1 + np.exp(-x))).astype(float)
    return 1 / (1 + np.exp(-factor * x)), y


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.kind)
def test_swapping_the_answers_mirrors_the_forecast(kind: Calibrator) -> None:
    p, y = overconfident(400)
    fitted = kind.fit(p, y)
    grid = np.concatenate([np.linspace(0, 1, 1001), p, [0.5, 1e-12, 1 - 1e-12]])
    assert (fitted.predict(grid) + fitted.predict(1 - grid) == 1.0).all()
    assert fitted.predict([0.5]).tolist() == [0.5]
    # swapping every training pair changes nothing
    other = kind.fit(1 - p, 1 - y)
    assert other.predict(grid) == pytest.approx(fitted.predict(grid), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.kind)
def test_order_of_rows_does_not_matter(kind: Calibrator) -> None:
    p, y = overconfident(200)
    order = np.random.default_rng(1).permutation(200)
    grid = np.linspace(0.01, 0.99, 50)
    assert kind.fit(p[order], y[order]).predict(grid) == pytest.approx(
        kind.fit(p, y).predict(grid), abs=1e-9
    )


@pytest.mark.parametrize("kind", KINDS + FREE, ids=repr)
def test_file_and_pickle_keep_it(kind: Calibrator, tmp_path: Path) -> None:
    p, y = overconfident(300)
    fitted = kind.fit(p, y)
    fitted.save(tmp_path / "c.json")
    for again in (Calibrator.load(tmp_path / "c.json"), pickle.loads(pickle.dumps(fitted))):
        assert again == fitted
        assert (again.predict(p) == fitted.predict(p)).all()
    assert [f.name for f in tmp_path.iterdir()] == ["c.json"]


@pytest.mark.parametrize("kind", KINDS + FREE, ids=repr)
def test_calibration_mends_overconfidence(kind: Calibrator) -> None:
    p, y = overconfident(3000)
    found = cross_fit(kind, p, y)
    assert found.raw.ece > 0.1
    assert found.calibrated.ece < 0.05
    assert found.calibrated.log_loss < found.raw.log_loss
    assert len(found.forecasts) == 3000


def test_beta_bends_where_temperature_cannot() -> None:
    generator = np.random.default_rng(0)
    q = generator.uniform(0.01, 0.99, 20_000)
    true = 1 / (1 + np.exp(-(0.5 * np.log(q) - 2.0 * np.log(1 - q) - 0.7)))
    y = (generator.random(20_000) < true).astype(float)
    fitted = Beta(pairs=False).fit(q, y)
    assert [fitted.a, fitted.b, fitted.c] == pytest.approx([0.5, 2.0, -0.7], abs=0.12)


def test_logits_beyond_what_probabilities_resolve() -> None:
    d = np.array([60.0, 50.0, 80.0, -40.0, 100.0, -70.0] * 20)
    y = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0] * 20)
    fitted = Temperature(scale="logit").fit(d, y)
    assert 20 < fitted.temperature < 200
    assert len(np.unique(fitted.predict([60.0, 80.0]))) == 2


def test_a_prompt_is_never_on_both_sides() -> None:
    class Spy(Temperature):
        seen: ClassVar[list[set[float]]] = []

        def _learn(self, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
            self.seen.append(set(np.round(np.abs(x), 6).tolist()))
            return {"temperature": 1.0}

    logits = np.repeat(np.arange(1.0, 41.0), 3)
    cross_fit(Spy(scale="logit"), logits, np.ones(120), np.repeat(np.arange(40), 3), folds=4)
    assert [len(s) for s in Spy.seen] == [30, 30, 30, 30, 40]


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: Temperature().predict([0.5]), ConfigError, "not fitted; keep what fit returns"),
        (lambda: Temperature().fit([0.9, 0.9], [0, 0]), DataError, "no better than chance"),
        (lambda: Temperature().fit([0.9, 0.1], [1, 0]), DataError, "right on every pair"),
        (lambda: Platt().fit([0.9, 0.8], [0, 0]), DataError, "no better than chance"),
        (lambda: Temperature().fit([], []), DataError, "needs rows"),
        (lambda: Temperature().fit([1.2], [1]), DataError, "must lie in"),
        (lambda: Temperature().fit([0.5, float("nan")], [1, 0]), DataError, "position 1"),
        (lambda: Temperature(scale="odds"), ConfigError, "got 'odds'"),  # type: ignore[arg-type]
        (lambda: Calibrator.from_dict({"calibrator": "magic", "format": 1}), ConfigError, "magic"),
        (
            lambda: Isotonic.from_dict(Temperature().to_dict()),
            ConfigError,
            "this is a Temperature, not a Isotonic",
        ),
        (lambda: cross_fit(Temperature(), [0.5] * 3, [1, 0, 1], folds=5), DataError, "3 prompts"),
    ],
)
def test_refusals(act: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act()  # type: ignore[operator]


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(ConfigError, match="is not JSON"):
        Calibrator.load(tmp_path / "c.json")
    (tmp_path / "c.json").write_text(json.dumps(Temperature().to_dict() | {"colour": "red"}))
    with pytest.raises(ConfigError, match="no fields \\['colour'\\]"):
        Calibrator.load(tmp_path / "c.json")
