"""The auditor on planted judges: coverage, power where it is stated, and no false alarms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from typer.testing import CliRunner

from assay.calibration.planted import PlantedJudge, Strengths, planted_items
from assay.calibration.probe_validation import (
    POWER,
    SCENARIOS,
    PlantedAudit,
    PowerResult,
    ScenarioResult,
    problems,
)
from assay.cli import app
from assay.errors import ConfigError


@pytest.fixture(scope="module")
def audit() -> PlantedAudit:
    return PlantedAudit(100, truth_draws=100)


def result(**changed: float) -> ScenarioResult:
    values = {"truth": 0.1, "mean": 0.1, "coverage": 0.95, "power": 1.0, "detectable": 0.05}
    values |= {"false_flags": 0.03} | changed
    return ScenarioResult("planted", "padding", **values, seeds=2000)


@pytest.mark.parametrize(
    "scenario",
    [s for s in SCENARIOS if s.name in ("no bias", "position .8", "own answers 1")],
    ids=lambda s: s.name,
)
def test_truth_lies_in_the_interval_and_flags_fire(audit, scenario):
    found = audit.run(scenario, 40)
    assert found.coverage >= 0.8  # P(fewer than 32 of 40 at 95%) < 1e-4
    assert found.false_flags <= 0.2
    if scenario.strengths.position >= 0.8:
        assert found.power == 1.0


def test_power_at_the_stated_effect_is_what_is_stated(audit):
    found = audit.power("padding", POWER["padding"], 100)
    assert found.truth == pytest.approx(found.detectable, rel=0.1)
    assert 0.62 < found.power < 0.95  # 80% +- 4 errors


def test_truths_are_those_of_the_formulas(audit):
    truths = audit.truths(Strengths(position=0.8))
    assert truths["position"] == pytest.approx(0.8, abs=0.03)
    assert all(abs(truths[name]) < 0.01 for name in ("padding", "length", "template"))


def test_a_judge_draws_what_the_probabilities_say(audit):
    # The judge of the command line and the fast draw of the validation share one formula.
    items = planted_items(100)
    judge = PlantedJudge(Strengths(position=2.0), len(items))
    first = np.mean([v.choice == "A" for v in judge.compare([i.pair for i in items])])
    p = audit.probabilities(Strengths(position=2.0), audit.latent((0, 1)))
    assert first == pytest.approx(p.mean(), abs=0.08)


def test_bounds_allow_for_the_number_of_seeds():
    assert problems([result()], [PowerResult("padding", 0.3, 0.1, 0.1, 0.80, 2000)]) == []
    assert problems([result(coverage=0.90)], []) == ["planted: coverage of padding is 0.900"]
    assert problems([result(false_flags=0.09)], []) == ["planted: false flags of padding is 0.090"]
    wrong = problems([], [PowerResult("padding", 0.3, 0.1, 0.1, 0.6, 2000)])
    assert wrong == ["padding: power 0.600 at the stated minimum detectable effect"]
    assert problems([result(coverage=math.nan)], [])


def test_too_small_a_population_is_refused():
    with pytest.raises(ConfigError, match="at least 20 prompts"):
        PlantedAudit(10)


@pytest.mark.slow
def test_the_command_finds_everything_in_bounds(tmp_path):
    found = CliRunner().invoke(app, ["audit", "validate", "--json", str(tmp_path / "v.json")])
    assert found.exit_code == 0, found.output
    assert "all within bounds for 40 seeds" in found.output


@pytest.mark.slow
def test_two_thousand_seeds_in_bounds():
    found = CliRunner().invoke(app, ["audit", "validate", "--slow"])
    assert found.exit_code == 0, found.output
