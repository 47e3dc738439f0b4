from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from assay.errors import DataError
from assay.judges.complexity import features
from assay.judges.complexity.expression import parse
from assay.judges.complexity.forest import Forest
from assay.judges.complexity.labelled import Labelled, read_labelled
from assay.judges.complexity.learned import (
    SHIPPED,
    LearnedEstimator,
    cross_validate,
    near_duplicates,
    row_of,
)
from assay.judges.complexity.program import Program
from tests.judges.complexity.static_programs import PYTHON

ROWS = [
    Labelled(Program(case.code, "python"), parse(case.expected).to_class() or "constant")
    for case in PYTHON
]


@pytest.fixture(scope="module")
def trained() -> LearnedEstimator:
    return LearnedEstimator.train(ROWS, trees=60)


def test_arrays_give_the_shares_of_scikit_learn() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble", reason="needs scikit-learn")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 6)).astype(np.float32)
    labels = [("a", "b", "c")[int(x > 0) + int(y > 0.5)] for x, y in rows[:, :2]]
    forest = Forest.fit(rows, labels, trees=30, seed=4)
    model = ensemble.ExtraTreesClassifier(
        30, min_samples_leaf=2, max_features=0.3, random_state=4
    ).fit(rows, labels)
    fresh = rng.normal(size=(50, 6)).astype(np.float32)
    np.testing.assert_allclose(forest.predict(fresh), model.predict_proba(fresh), atol=0.01)


def test_saved_and_loaded_without_pickle(trained: LearnedEstimator, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    trained.forest.save(path)
    loaded = Forest.load(path)
    row = np.stack([row_of(ROWS[0].program)[0]])
    np.testing.assert_array_equal(loaded.predict(row), trained.forest.predict(row))
    assert path.stat().st_size < 2_000_000


def test_a_file_that_is_no_forest_is_refused(trained: LearnedEstimator, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    path.write_bytes(pickle.dumps({"evil": 1}))
    with pytest.raises(DataError, match="no stored forest"):
        Forest.load(path)
    np.savez(path, classes=np.array(["a"]))
    with pytest.raises(DataError, match="no stored forest"):
        Forest.load(path)
    forest = trained.forest
    looping = Forest(
        forest.feature, forest.threshold, np.zeros_like(forest.left), forest.right, forest.leaf,
        forest.roots, forest.classes,
    )  # fmt: skip
    looping.save(path)
    with pytest.raises(DataError, match="loop; train again"):
        Forest.load(path)


def test_estimates_have_evidence_and_say_when_they_overrule(trained: LearnedEstimator) -> None:
    estimates = trained.estimate([row.program for row in ROWS])
    right = sum(
        parse(e.expression or "1").to_class() == row.complexity
        for e, row in zip(estimates, ROWS, strict=True)
    )
    assert right / len(ROWS) > 0.9
    assert all(0 <= e.confidence <= 1 and e.method == "learned" for e in estimates)
    assert trained.estimate([]) == []
    broken = trained.estimate([Program("def (", "python")])[0]
    assert broken.expression is None and broken.confidence == 0


def test_features_do_not_see_names(trained: LearnedEstimator) -> None:
    code = "n = int(input())\nfor i in range(n):\n    print(i)  # O(1)"
    renamed = "quick = int(input())\nfor logn in range(quick):\n    print(logn)"
    left, right = (row_of(Program(text, "python"))[0] for text in (code, renamed))
    np.testing.assert_array_equal(left, right)
    assert len(left) == len(features.NAMES)
    assert np.isfinite(left).all()


def test_training_needs_two_classes() -> None:
    with pytest.raises(DataError, match="at least two classes"):
        LearnedEstimator.train(ROWS[:1])


def test_near_duplicates_share_a_group() -> None:
    code = "n = int(input())\ns = 0\nfor i in range(n):\n    s += i * i\nprint(s)"
    programs = [
        Program(code, "python"),
        Program(code.replace("s", "total"), "python"),
        Program("import sys\nprint(sorted(sys.stdin.read().split())[::-1])", "python"),
        Program("class A { int f(int n) { return n; } }", "java"),
    ]
    groups = near_duplicates(programs)
    assert groups[0] == groups[1]
    assert len(set(groups)) == 3


def test_cross_validation_predicts_every_row_once() -> None:
    result = cross_validate(ROWS, folds=3, trees=20)
    assert result.count("python") == len(ROWS)


def test_the_shipped_model_is_small() -> None:
    if not SHIPPED.exists():
        pytest.skip("no model is shipped")
    assert SHIPPED.stat().st_size < 2_000_000
    estimator = LearnedEstimator.shipped()
    expression = estimator.estimate([ROWS[4].program])[0].expression
    assert expression is not None and parse(expression).to_class() == "quadratic"


@pytest.mark.slow
@pytest.mark.skipif("ASSAY_DATA" not in os.environ, reason="ASSAY_DATA is unset: no labelled data")
def test_cross_validated_accuracy_on_labelled_programs() -> None:
    rows = read_labelled(Path(os.environ["ASSAY_DATA"], "codecomplex", "labelled.jsonl.gz"))
    result = cross_validate(rows)
    assert result.accuracy("java") >= 0.70
    assert result.accuracy("python") >= 0.62
