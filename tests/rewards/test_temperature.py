"""Temperature scaling: hand arithmetic, symmetry, errors, and its place in `Mapped`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.errors import ConfigError, DataError
from assay.rewards import Mapped
from assay.rewards.temperature import TemperatureScaling
from tests.samples import FromColumn, sample


def test_worked_value() -> None:
    # logits 2, 75% right: T = 2 / log 3, NLL .6269 -> .5623
    d, y = [2.0] * 100, [1.0] * 75 + [0.0] * 25
    fitted = TemperatureScaling().fit(d, y)
    assert fitted.temperature == pytest.approx(2 / math.log(3))

    def nll(scaling: TemperatureScaling) -> float:
        p = scaling.predict(d)
        return float(-np.mean(np.where(np.array(y) == 1, np.log(p), np.log(1 - p))))

    assert nll(TemperatureScaling()) == pytest.approx(0.6269, abs=1e-4)
    assert nll(fitted) == pytest.approx(0.5623, abs=1e-4)


def test_recovers_a_temperature_and_does_not_care_about_a_and_b() -> None:
    made = np.random.default_rng(0)
    d = made.normal(size=20_000) * 3
    y = made.random(20_000) < 1 / (1 + np.exp(-d / 2.5))
    fitted = TemperatureScaling().fit(d, y)
    assert fitted.temperature == pytest.approx(2.5, rel=0.05)
    sign = made.choice([-1, 1], size=20_000)
    swapped = TemperatureScaling().fit(d * sign, np.where(sign > 0, y, 1 - y))
    assert swapped.temperature == pytest.approx(fitted.temperature)
    p = fitted.predict(d)
    assert p + fitted.predict(-d) == pytest.approx(np.ones_like(d))


def test_in_mapped() -> None:
    mapped = Mapped(FromColumn("x"), TemperatureScaling(2.0))
    (score,) = mapped.evaluate([sample(x=1.0)])
    assert score.value == pytest.approx(1 / (1 + math.exp(-0.5)))
    assert mapped.range == (0.0, 1.0)
    assert mapped.fingerprint() != Mapped(FromColumn("x"), TemperatureScaling(3.0)).fingerprint()


def test_messages() -> None:
    fit = TemperatureScaling().fit
    with pytest.raises(DataError, match="right on every pair"):
        fit([1.0, -2.0], [1, 0])
    with pytest.raises(DataError, match="no better than chance"):
        fit([1.0, -2.0], [0, 1])
    with pytest.raises(DataError, match="no better than chance"):
        fit([0.0, 0.0], [0, 1])
    with pytest.raises(DataError, match="as many labels as logits"):
        fit([1.0], [0, 1])
    with pytest.raises(DataError, match=r"lie in \[0, 1\]"):
        fit([1.0], [2])
    with pytest.raises(ConfigError, match="temperature must be finite and > 0, got 0"):
        TemperatureScaling(0)
