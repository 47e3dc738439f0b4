"""Evaluation on programs with known classes: accuracy, confusion matrix, mean rank distance.

Rows are JSON lines with `language`, `src` and `complexity` (one of the seven classes, or an
expression, which counts as its nearest class). A program without an estimate counts as wrong.
"""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import ConfigError, DataError
from assay.judge import Estimate
from assay.judges.complexity.expression import CLASSES, parse
from assay.judges.complexity.judge import Estimator
from assay.judges.complexity.program import Program

if TYPE_CHECKING:
    from rich.console import Group

Method = Literal["static", "learned", "hybrid"]
UNMAPPED = "none"
#: Headings short enough for a confusion matrix in a terminal of 80 columns.
_SHORT = dict(
    zip((*CLASSES, UNMAPPED), ("1", "log", "n", "nlog", "n^2", "n^3", "exp", "none"), strict=True)
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A program and its class."""

    program: Program
    complexity: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an estimator gets right.

    Attributes:
        method: Name of the estimator.
        confusion: Language to a count of (class, predicted class or `none`).
        seconds: Time that all the estimates took.
    """

    method: str
    confusion: Mapping[str, Mapping[tuple[str, str], int]] = field(default_factory=dict)
    seconds: float = 0.0

    __hash__ = None  # type: ignore[assignment]

    def count(self, language: str) -> int:
        """Programs of a language."""
        return sum(self.confusion[language].values())

    def accuracy(self, language: str) -> float:
        """Share of programs of a language with the right class."""
        right = sum(n for (label, found), n in self.confusion[language].items() if label == found)
        return right / self.count(language)

    def rank_distance(self, language: str) -> float:
        """Mean distance of ranks among the seven classes; no estimate counts as seven.

        Source: CodeComplex (arXiv:2401.08719), whose score is one minus this over seven.
        """
        total = sum(
            n * (abs(CLASSES.index(label) - CLASSES.index(found)) if found in CLASSES else 7)
            for (label, found), n in self.confusion[language].items()
        )
        return total / self.count(language)

    def as_json(self) -> dict[str, Any]:
        """A document for machines."""
        total = sum(self.count(language) for language in self.confusion)
        return {
            "method": self.method,
            "programs": total,
            "programs_per_s": round(total / self.seconds, 1) if self.seconds else None,
            "languages": {
                language: {
                    "programs": self.count(language),
                    "accuracy": round(self.accuracy(language), 4),
                    "mean_rank_distance": round(self.rank_distance(language), 4),
                    "confusion": {
                        label: {
                            found: counts[label, found]
                            for found in (*CLASSES, UNMAPPED)
                            if counts.get((label, found))
                        }
                        for label in CLASSES
                    },
                }
                for language, counts in sorted(self.confusion.items())
            },
        }

    def table(self) -> Group:
        """Tables for people: one confusion matrix per language."""
        from rich.console import Group
        from rich.table import Table

        tables: list[Table] = []
        for language, counts in sorted(self.confusion.items()):
            title = (
                f"{language}: {self.accuracy(language):.1%} of {self.count(language)} right, "
                f"mean rank distance {self.rank_distance(language):.2f} ({self.method})"
            )
            table = Table(title=title, title_justify="left")
            table.add_column("label \\ found", no_wrap=True)
            for found in (*CLASSES, UNMAPPED):
                table.add_column(_SHORT[found], justify="right", no_wrap=True)
            for label in CLASSES:
                row = [counts.get((label, found), 0) for found in (*CLASSES, UNMAPPED)]
                if any(row):
                    table.add_row(label, *(str(n) if n else "." for n in row))
            tables.append(table)
        return Group(*tables)


def read_labelled(path: str | Path) -> list[Labelled]:
    """Rows of a JSON-lines file, gzipped if its name ends so.

    Raises:
        DataError: A row is no JSON object, lacks a field, or has an unknown class; names the line.
    """
    file = Path(path)
    opener = gzip.open if file.suffix == ".gz" else open
    rows: list[Labelled] = []
    try:
        with opener(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    rows.append(_row(line, number, file.name))
    except OSError as error:
        raise DataError(f"cannot read {file.name}: {error}; pass a .jsonl or .jsonl.gz") from None
    if not rows:
        raise DataError(f"{file.name} has no rows; each line needs language, src and complexity")
    return rows


def evaluate(rows: Sequence[Labelled], estimator: Estimator, method: str) -> Evaluation:
    """Estimate every row and count.

    Raises:
        DataError: There are no rows.
    """
    if not rows:
        raise DataError("nothing to evaluate; pass at least one labelled program")
    start = time.perf_counter()
    estimates = estimator.estimate([row.program for row in rows])
    seconds = time.perf_counter() - start
    return tally(rows, [predicted(estimate) for estimate in estimates], method, seconds)


def tally(
    rows: Sequence[Labelled], found: Sequence[str], method: str, seconds: float = 0.0
) -> Evaluation:
    """Count predicted classes against labels."""
    confusion: dict[str, Counter[tuple[str, str]]] = {}
    for row, name in zip(rows, found, strict=True):
        confusion.setdefault(row.program.language, Counter())[row.complexity, name] += 1
    return Evaluation(method, confusion, seconds)


def predicted(estimate: Estimate) -> str:
    """The class of an estimate, or `none`."""
    if estimate.expression is None:
        return UNMAPPED
    return parse(estimate.expression).to_class() or UNMAPPED


def estimator_of(method: str) -> Estimator:
    """The estimator that a method's name stands for.

    Raises:
        ConfigError: An unknown method.
    """
    if method == "static":
        from assay.judges.complexity.static import StaticEstimator

        return StaticEstimator()
    if method in ("learned", "hybrid"):
        from assay.judges.complexity.learned import LearnedEstimator

        return LearnedEstimator.shipped()
    raise ConfigError(f"method must be one of {{'static', 'learned', 'hybrid'}}, got {method!r}")


def _row(line: str, number: int, name: str) -> Labelled:
    try:
        row = json.loads(line)
    except ValueError:
        raise DataError(f"{name} line {number} is not JSON; write one object a line") from None
    missing = [key for key in ("language", "src", "complexity") if key not in row]
    if missing:
        raise DataError(f"{name} line {number} lacks {', '.join(missing)}; add it to the row")
    label = str(row["complexity"])
    if label not in CLASSES:
        nearest = parse(label).to_class()
        if nearest is None:
            raise DataError(
                f"{name} line {number}: complexity must be one of {', '.join(CLASSES)} or an "
                f"expression that maps to one, got {label!r:.60}"
            )
        label = nearest
    return Labelled(Program(str(row["src"]), str(row["language"]).lower()), label)
