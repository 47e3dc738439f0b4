"""Metrics, models and calibrators refuse what they cannot use, and say what it was."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay.calibration as c
from assay.errors import ConfigError, DataError

NAN, INF = math.nan, math.inf
GAMES = (["a", "b"] * 4, ["b", "a"] * 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: c.log_loss([0.5], [1], clip=0), "clip must lie in"),
        (lambda: c.position_intervals(["A"] * 2, ["B"] * 2, [[1], [2, 3]]), "one per row"),
        (lambda: c.repetition_stability([[["A"], ["A"]]]), "words or numbers"),
        (lambda: c.balanced_scores([1, NAN], [1, 2]), "must be finite"),
        (lambda: c.verdict_entropy([INF, 1]), "lie in"),
        (lambda: c.bias_by_gap("AB", "BA", [1, 2], 2.5), "need bins"),  # type: ignore[arg-type]
        (lambda: c.cohen_kappa([[1, 2], [3]]), "agreement table"),
        (lambda: c.confusion_table(["a", 1], ["a", 1]), "of one kind"),
        (lambda: c.confusion_table(["a"], ["a"], ["a", "a"]), "categories must differ"),
        (lambda: c.krippendorff_alpha([[1, INF], [2, INF]], "interval"), "needs numbers"),
        (lambda: c.fit_logistic([["a"]], [1]), "features must be finite"),
        (lambda: c.fit_logistic(np.eye(2), [1, 0], names=["a", "a"]), "2 different names"),
        (lambda: c.two_order_term(1, INF, 1, 2), "wins in order AB"),
        (lambda: c.debias_one_order([0.5], "x"), "b must be finite"),  # type: ignore[arg-type]
        (lambda: c.fit_bradley_terry([["a"]], [["b"]], [1]), "players must be words"),
        (
            lambda: c.fit_bradley_terry(*GAMES, [1, 1, 0, 0] * 2, covariates={"position": [1] * 8}),
            "has the name of a term",
        ),
        (lambda: c.fit_davidson(["a"] * 3, ["b"], ["A", "B", "tie"]), "two players and an outcome"),
        (
            lambda: c.fit_davidson(*GAMES, ["A", "B", "tie", "A"] * 2, clusters=[1] * 8),
            "at least 2 clusters",
        ),
        # the first place never loses: the position term is infinite
        (lambda: c.fit_davidson(*GAMES, ["A", "A", "tie", "A"] * 2), "runs away to infinity"),
        (lambda: c.online_elo(["a"], ["a"], [1]), "meets itself"),
        (lambda: c.prediction_powered_mean([1, 1], [1, 1], [1, 0], level=1.5), "level must lie"),
        (lambda: c.rogan_gladen(0.5, 0.9, 0.9, n=-5, n_positive=2, n_negative=3), "counts >= 0"),
        (lambda: c.mcnemar(1.5, 2), "whole"),  # type: ignore[arg-type]
        (lambda: c.detectable_fairness(100, 2), "must lie in"),
        (lambda: c.self_preference_from_errors(5, 2, 0, 1), "cannot exceed"),
        (lambda: c.length_controlled_win_rate([1, 0], [1, 2], [2, 1], ridge=-1), "ridge must be"),
        (lambda: c.fixed_sequence([0.5], [1], thresholds=[]), "at least one"),
        (
            lambda: c.cross_fit(c.Temperature(), [0.6] * 9, [1] * 9, folds=2.5),  # type: ignore[arg-type]
            "folds must lie",
        ),
    ],
)
def test_data_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_what_is_missing_or_counted_otherwise_is_taken_as_meant() -> None:
    assert c.repetition_stability([[NAN, NAN, 1.0], ["A", None]]) == 1.0
    assert c.krippendorff_alpha([["1", 2], [1, "2"]], "interval") == 1.0
    assert c.ece([0.5], [1], np.int64(5)) == 0.5


@pytest.mark.parametrize(
    "fields",
    [
        {"calibrator": ["temperature"]},
        {"calibrator": "temperature", "temperature": "2"},
        {"calibrator": "temperature", "temperature": NAN},
        {"calibrator": "temperature", "n": "3"},
        {"calibrator": "platt", "slope": -1.0},
        {"calibrator": "platt", "intercept": None},
        {"calibrator": "beta", "a": NAN},
        {"calibrator": "isotonic", "knots": [], "values": []},
        {"calibrator": "isotonic", "knots": [0, 1], "values": [0]},
        {"calibrator": "isotonic", "knots": [1, 0], "values": [0, 1]},
        {"calibrator": "isotonic", "knots": [0, 1], "values": [0, 7]},
        {"calibrator": "histogram", "bins": 10, "shares": [0.1]},
        {"calibrator": "histogram", "bins": "10"},
    ],
)
def test_files_of_calibrators_are_checked(fields: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"format": 1, "n": 3} | fields))
    with pytest.raises(ConfigError):
        c.Calibrator.load(path)


def test_a_calibrator_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the calibrator"):
        c.Calibrator.load(tmp_path / "none.json")
