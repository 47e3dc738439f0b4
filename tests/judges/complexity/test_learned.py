from __future__ import annotations

import os
import pickle
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.errors import DataError
from assay.judges.complexity import features
from assay.judges.complexity.expression import parse
from assay.judges.complexity.labelled import Labelled, read_labelled
from assay.judges.complexity.learned import (
    SHIPPED,
    LearnedEstimator,
    cross_validate,
    near_duplicates,
    row_of,
)
from assay.judges.complexity.linear import LinearModel
from assay.judges.complexity.program import Program
from tests.judges.complexity.static_programs import PYTHON

ROWS = [
    Labelled(Program(case.code, "python"), parse(case.expected).to_class() or "constant")
    for case in PYTHON
]


@pytest.fixture(scope="module")
def trained() -> LearnedEstimator:
    return LearnedEstimator.train(ROWS)


WORDS = [Counter(f"w{j}" for j in range(20) if (i >> j % 5) & 1 or j == i % 20) for i in range(90)]
NUMBERS = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
LABELS = [("a", "b", "c")[i % 3] for i in range(90)]


@pytest.mark.parametrize("labels", [LABELS, ["a" if i % 3 else "b" for i in range(90)]])
def test_arrays_give_the_probabilities_of_scikit_learn(labels: list[str]) -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="needs scikit-learn")
    linear = pytest.importorskip("sklearn.linear_model")
    # the same vectors from scikit-learn's own parts; every word of WORDS is in two programs
    words = text.TfidfVectorizer(analyzer=list, sublinear_tf=True)
    documents = [list(counts.elements()) for counts in WORDS]
    scaled = np.clip((NUMBERS - NUMBERS.mean(0)) / NUMBERS.std(0), -3, 3) * 0.05
    matrix = np.hstack([words.fit_transform(documents).toarray(), scaled])
    theirs = linear.LogisticRegression(C=10.0, max_iter=500).fit(matrix, labels)
    ours = LinearModel.fit(WORDS, NUMBERS, labels, strength=10.0)
    np.testing.assert_allclose(
        ours.predict(WORDS, NUMBERS), theirs.predict_proba(matrix), atol=1e-3
    )


def test_saved_and_loaded_without_pickle(trained: LearnedEstimator, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    trained.save(path)
    loaded = LearnedEstimator.load(path)
    described = [row_of(row.program)[0] for row in ROWS]
    np.testing.assert_allclose(loaded.shares(described), trained.shares(described), atol=0.01)
    assert path.stat().st_size < 2_000_000


def test_a_file_that_is_no_model_is_refused(trained: LearnedEstimator, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    for content in (pickle.dumps({"evil": 1}), b"PK\x03\x04 half an archive", b""):
        path.write_bytes(content)
        with pytest.raises(DataError, match="no stored model"):
            LinearModel.load(path)
    np.savez(path, classes=np.array([97], dtype=np.uint8))
    with pytest.raises(DataError, match="no stored model"):
        LinearModel.load(path)
    replace(trained.model, bias=trained.model.bias[:-1]).save(path)
    with pytest.raises(DataError, match="do not fit; train again"):
        LinearModel.load(path)
    replace(trained.model, bias=trained.model.bias * np.nan).save(path)
    with pytest.raises(DataError, match="do not fit; train again"):
        LinearModel.load(path)


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


def test_descriptions_do_not_see_names() -> None:
    code = """
import sys
def total(items, limit):
    best = 0
    pick = max
    for item in items:
        best = pick(best, min(item, limit))  # O(1)
    return best
class Queue:
    def __init__(self):
        self.held = []
    def push(self, item):
        self.held.append(item)
n = int(input())
queue = Queue()
for i in range(n):
    queue.push(i)
print(total([int(w) for w in sys.stdin.readline().split()], n), "done")
"""
    renamed = code.replace("# O(1)", "# log n").replace("done", "O(n)")
    for name, other in (
        ("total", "bisect"), ("items", "heap"), ("limit", "logn"), ("best", "memo"),
        ("pick", "quick"), ("item", "x"), ("Queue", "SegTree"), ("queue", "dp"), ("held", "tree"),
        ("push", "query"), ("w", "cell"),
    ):  # fmt: skip
        renamed = re.sub(rf"\b{name}\b", other, renamed)
    left, right = (row_of(Program(text, "python"))[0] for text in (code, renamed))
    np.testing.assert_array_equal(left.numbers, right.numbers)
    assert left.words == right.words and left.words["own call"] == 4  # pick, Queue, push, total
    assert len(left.numbers) == len(features.NAMES)
    assert np.isfinite(left.numbers).all()


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
    result = cross_validate(ROWS, folds=3)
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
    assert result.accuracy("java") >= 0.77
    assert result.accuracy("python") >= 0.68
