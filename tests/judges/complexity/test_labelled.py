from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from assay.errors import ConfigError, DataError
from assay.judge import Estimate
from assay.judges.complexity.expression import CLASSES
from assay.judges.complexity.labelled import (
    Evaluation,
    Labelled,
    estimator_of,
    evaluate,
    predicted,
    read_labelled,
)
from assay.judges.complexity.program import Program


class Answers:
    """Gives prepared expressions, one per program."""

    def __init__(self, *expressions: str | None) -> None:
        self.expressions = expressions

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        return [Estimate(e, 0.9 if e else 0.0, "fake") for e in self.expressions]


def rows(*pairs: tuple[str, str]) -> list[Labelled]:
    return [Labelled(Program("x = 1", language), label) for language, label in pairs]


def write(path: Path, *documents: object) -> Path:
    text = "\n".join(json.dumps(document) for document in documents) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def test_accuracy_confusion_and_rank_distance_by_hand() -> None:
    labelled = rows(
        ("python", "linear"), ("python", "linear"), ("python", "cubic"), ("java", "constant")
    )
    result = evaluate(labelled, Answers("n + m", "n^2", None, "1"), "fake")
    assert result.accuracy("python") == pytest.approx(1 / 3)
    assert result.accuracy("java") == 1
    # linear -> quadratic is 2 ranks, no estimate is 7, right is 0: (0 + 2 + 7) / 3
    assert result.rank_distance("python") == pytest.approx(3)
    assert result.confusion["python"]["cubic", "none"] == 1
    document = result.as_json()
    assert document["programs"] == 4
    assert document["languages"]["python"]["confusion"]["linear"] == {"linear": 1, "quadratic": 1}
    json.dumps(document)


def test_the_table_shows_every_label() -> None:
    result = evaluate(rows(("python", "logn")), Answers("log n"), "fake")
    text = printed(result, 140)
    assert "python: 100.0% of 1 right, mean rank distance 0.00 (fake)" in text
    assert "logn" in text


def test_the_headings_fit_80_columns() -> None:
    labels = [(("python", "java")[i % 2], label) for i, label in enumerate(CLASSES * 40)]
    result = evaluate(rows(*labels), Answers(*["2^n"] * 280), "fake")
    text = printed(result, 80)
    assert "…" not in text
    for heading in ("log", "n^2", "n^3", "exp", "none", "exponential"):
        assert heading in text


def printed(result: Evaluation, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(result.table())
    return console.export_text()


def test_an_expression_maps_to_its_nearest_class() -> None:
    assert predicted(Estimate("n m log n", 1.0, "x")) == "quadratic"
    assert predicted(Estimate(None, 0.0, "x")) == "none"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_reads_json_lines(tmp_path: Path, name: str) -> None:
    path = write(
        tmp_path / name,
        {"language": "Python", "src": "x = 1", "complexity": "constant", "id": 3},
        {"language": "java", "src": "class A {}", "complexity": "O(n^2)"},
    )
    read = read_labelled(path)
    assert read[0] == Labelled(Program("x = 1", "python"), "constant")
    assert read[1].complexity == "quadratic"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows; each line needs language, src and complexity"),
        ("{\n", "line 1 is not JSON; write one object a line"),
        ('{"language": "python"}\n', "line 1 lacks src, complexity; add it to the row"),
        ('{"language": "python", "src": "", "complexity": "fast!?"}\n', "not a complexity"),
    ],
)
def test_bad_files_say_what_to_do(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_labelled(path)


def test_missing_file_and_no_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read none.jsonl"):
        read_labelled(tmp_path / "none.jsonl")
    with pytest.raises(DataError, match="nothing to evaluate"):
        evaluate([], Answers(), "fake")


def test_methods() -> None:
    assert estimator_of("static").estimate([Program("x = 1", "python")])[0].expression == "1"
    with pytest.raises(ConfigError, match="method must be one of"):
        estimator_of("magic")


def test_an_evaluation_is_comparable() -> None:
    assert Evaluation("a") == Evaluation("a")
