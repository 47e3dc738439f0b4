"""Calibrated judges: worked odds, mirror images, gaps, missing verdicts, what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.calibration.temperature import Temperature
from assay.errors import ConfigError, ContractError
from assay.judge import Grade, Item, Judge, Pair, Verdict
from assay.judges import Calibrated
from assay.judges.order import BothOrders
from assay.rewards import Calibrated as RewardCalibrated
from assay.rewards import Length, PairwiseReward, TemperatureScaling

PAIR = Pair((), (), ())


class Says(Judge):
    """One verdict for everything, and a grade."""

    def __init__(self, verdict: Verdict, value: float | None = 3.0) -> None:
        self.verdict, self.value = verdict, value

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [self.verdict for _ in pairs]

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        status: Any = "failed" if self.value is None else "ok"
        return [Grade(self.value, status) for _ in items]

    def fingerprint(self) -> str:
        return f"says {self.verdict} {self.value}"


class Tilted:
    """Favours the first answer, as a calibrator with an intercept does."""

    def predict(self, p: Any) -> Any:
        return np.clip(p**2 + 0.2, 0, 1)


def test_temperature_on_odds() -> None:
    # Odds of 9 at temperature 2 are odds of 3; the orders .95 and .85: odds 19 and 17/3.
    (verdict,) = Calibrated(Says(Verdict("A", 0.9, 0.1)), TemperatureScaling(2.0)).compare([PAIR])
    assert verdict.p_a == pytest.approx(0.75)
    first, second = (math.sqrt(odds) / (1 + math.sqrt(odds)) for odds in (19, 17 / 3))
    assert verdict.order_gap == pytest.approx(first - second)
    assert verdict.choice == "A"


@given(st.floats(0.0, 1.0), st.sampled_from([TemperatureScaling(3.0), Tilted()]))
def test_mirror_images_whatever_the_calibrator(p: float, calibrator: Any) -> None:
    choice: Any = "A" if p > 0.5 else "B"
    one = Calibrated(Says(Verdict(choice, p)), calibrator).compare([PAIR])[0].p_a
    other = Calibrated(Says(Verdict("A", 1 - p)), calibrator).compare([PAIR])[0].p_a
    assert one is not None and other is not None
    assert one + other == pytest.approx(1, abs=1e-9)
    assert 0 <= one <= 1


def test_what_has_no_probability_stays() -> None:
    for verdict in (Verdict("A"), Verdict(None, status="failed"), Verdict("tie", 0.5)):
        assert Calibrated(Says(verdict), TemperatureScaling(2.0)).compare([PAIR]) == [verdict]
    agree = Calibrated(Says(Verdict("tie", 0.7, 0.5)), TemperatureScaling(2.0)).compare([PAIR])[0]
    assert agree.choice == "tie"  # the orders disagreed: a calibrator does not make them agree
    assert agree.p_a is not None and agree.p_a < 0.7


def test_grades() -> None:
    class Third:
        def predict(self, values: Any) -> Any:
            return values / 3

    judge = Calibrated(Says(Verdict("A"), 3.0), Third())
    assert judge.grade([Item((), ())] * 2)[1].value == 1.0
    missing = Calibrated(Says(Verdict("A"), None), Third()).grade([Item((), ())])
    assert missing == [Grade(None, "failed")]


def test_it_is_a_judge_for_both_orders_and_for_rewards() -> None:
    class First(Judge):
        columns = frozenset({"gold"})

        def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
            return [Verdict("A", 0.9) for _ in pairs]

        def fingerprint(self) -> str:
            return "first"

    (verdict,) = BothOrders(Calibrated(First(), TemperatureScaling(2.0))).compare([PAIR])
    assert (verdict.p_a, verdict.order_gap) == (0.5, pytest.approx(0.5))  # .75 + .75 - 1
    assert Calibrated(First(), TemperatureScaling(2.0)).columns == {"gold"}
    outside = Calibrated(Says(Verdict("A", 0.9, 0.1)), TemperatureScaling(2.0))
    reward = PairwiseReward(outside, mode="soft")
    (value,) = reward(completions=["x"], prompts=["p"], reference=["y"])
    assert value == pytest.approx(0.75)  # the calibrated probability itself


def test_refusals() -> None:
    with pytest.raises(ConfigError, match=r"with predict\(\), got int"):
        Calibrated(Says(Verdict("A")), 3)
    with pytest.raises(ConfigError, match="use assay.rewards.Calibrated"):
        Calibrated(PairwiseReward(Says(Verdict("A"))), TemperatureScaling())  # type: ignore[arg-type]

    class Wild:
        def __init__(self, factor: float, drop: int = 0) -> None:
            self.factor, self.drop = factor, drop

        def predict(self, values: Any) -> Any:
            return self.factor * values[self.drop :]

    with pytest.raises(ContractError, match=r"probabilities in \[0, 1\]"):
        Calibrated(Says(Verdict("A", 0.9)), Wild(7.0)).compare([PAIR])
    with pytest.raises(ContractError, match="one finite number per value"):
        Calibrated(Says(Verdict("A", 0.9)), Wild(1.0, drop=1)).compare([PAIR])


def test_fingerprints_change_with_the_calibrator() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression
    judge = Says(Verdict("A", 0.9))
    fits = [isotonic().fit([0.0, 1.0], [0.0, top]) for top in (1.0, 0.8, 0.8)]
    made = [Calibrated(judge, c).fingerprint() for c in (*fits, TemperatureScaling(2.0))]
    assert made[1] == made[2]
    assert len(set(made)) == 3


def test_calibrators_come_from_files(tmp_path: Path) -> None:
    scaling = Temperature(scale="probability").fit([0.9, 0.8, 0.9, 0.7], [1, 0, 1, 1])
    scaling.save(tmp_path / "t.json")
    said = Says(Verdict("A", 0.9, 0.1))
    loaded = Calibrated(said, tmp_path / "t.json")
    assert loaded == Calibrated(said, scaling)
    assert loaded.compare([PAIR])[0].p_a == pytest.approx(float(scaling.predict([0.9])[0]))
    assert loaded.fingerprint() == Calibrated(said, scaling).fingerprint()
    by_logit = TemperatureScaling(scaling.temperature)
    (verdict,) = Calibrated(said, by_logit).compare([PAIR])
    assert verdict.p_a == pytest.approx(loaded.compare([PAIR])[0].p_a)
    assert RewardCalibrated(Length(target=3), tmp_path / "t.json").calibrator == scaling
    with pytest.raises(ConfigError, match=r"cannot read the calibrator .*: No such file"):
        Calibrated(said, tmp_path / "none.json")
