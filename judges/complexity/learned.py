"""The learned estimator: a forest over structural features and the static estimate.

It corrects what rules read wrongly: which of two readings people mean, what a bound stands for.
Where the forest agrees with the static estimator the expression is the static one; elsewhere it is
the plain expression of the class that the forest prefers, and the estimate says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.errors import DataError
from assay.judge import Estimate
from assay.judges.complexity import features, static
from assay.judges.complexity.expression import CLASSES, parse
from assay.judges.complexity.forest import Forest
from assay.judges.complexity.labelled import Evaluation, Labelled, tally
from assay.judges.complexity.program import Program

#: The model that comes with the library, trained on the project's own programs only.
SHIPPED = Path(__file__).with_name("learned_model.npz")
_PLAIN = dict(zip(CLASSES, ("1", "log n", "n", "n log n", "n^2", "n^3", "2^n"), strict=True))


@dataclass(frozen=True)
class LearnedEstimator:
    """Static estimates, corrected by a forest.

    Attributes:
        forest: Trees over `features.NAMES`.
        trust: The forest overrules the static estimator where its share for another class is at
            least this.
    """

    forest: Forest
    trust: float = 0.4

    name = "learned"
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def shipped(cls) -> LearnedEstimator:
        """The estimator with the model that comes with the library.

        Raises:
            DataError: This installation has none.
        """
        if not SHIPPED.exists():
            raise DataError(
                "no learned model is installed; train one with assay complexity --train FILE, or "
                "use the method 'static'"
            )
        return cls(Forest.load(SHIPPED))

    @classmethod
    def train(
        cls, rows: Sequence[Labelled], *, trees: int = 300, seed: int = 0
    ) -> LearnedEstimator:
        """Fit on labelled programs.

        Raises:
            DataError: Fewer than two classes, or no rows.
            ImportError: scikit-learn is missing.
        """
        labels = [row.complexity for row in rows]
        if len(set(labels)) < 2:
            raise DataError(
                f"training needs programs of at least two classes, got {sorted(set(labels))}; "
                "add rows of other classes"
            )
        matrix = np.stack([row_of(row.program)[0] for row in rows])
        return cls(Forest.fit(matrix, labels, trees=trees, seed=seed))

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        """One estimate per program; what does not parse has none, with confidence 0."""
        if not programs:
            return []
        rows, estimates = zip(*(row_of(program) for program in programs), strict=True)
        shares = self.forest.predict(np.stack(rows))
        return [self._decide(e, share) for e, share in zip(estimates, shares, strict=True)]

    def _decide(self, estimate: Estimate, shares: npt.NDArray[np.float64]) -> Estimate:
        if "does not parse" in estimate.flags:
            return Estimate(None, 0.0, self.name, (), estimate.flags)
        best = int(shares.argmax())
        chosen = self.forest.classes[best]
        confidence = round(float(shares[best]), 3)
        found = parse(estimate.expression).to_class() if estimate.expression else None
        if chosen == found or (found is not None and shares[best] < self.trust):
            return Estimate(
                estimate.expression, confidence, self.name, estimate.evidence, estimate.flags
            )
        flag = f"static says {estimate.expression or 'nothing'}, the forest says {chosen}"
        return Estimate(
            _PLAIN[chosen], confidence, self.name, estimate.evidence, (*estimate.flags, flag)
        )


def row_of(program: Program) -> tuple[features.Vector, Estimate]:
    """Features of a program and its static estimate."""
    return static.StaticEstimator().describe(program)


def cross_validate(
    rows: Sequence[Labelled], *, folds: int = 5, trees: int = 300, seed: int = 0, trust: float = 0.4
) -> Evaluation:
    """Accuracy on programs that were not trained on; similar programs share a fold.

    Args:
        rows: Labelled programs.
        folds: How many parts.
        trees: Size of each forest.
        seed: Of folds and forests.
        trust: As in `LearnedEstimator`.
    """
    described = [row_of(row.program) for row in rows]
    matrix = np.stack([vector for vector, _ in described])
    groups = near_duplicates([row.program for row in rows])
    order = np.random.default_rng(seed).permutation(max(groups) + 1)
    fold_of = np.array([order[group] % folds for group in groups])
    found = [""] * len(rows)
    labels = [row.complexity for row in rows]
    for fold in range(folds):
        held, kept = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        if not len(held) or not len(kept):
            continue
        forest = Forest.fit(
            matrix[kept], [labels[i] for i in kept.tolist()], trees=trees, seed=seed
        )
        estimator = LearnedEstimator(forest, trust)
        for i, shares in zip(held.tolist(), forest.predict(matrix[held]), strict=True):
            estimate = estimator._decide(described[i][1], shares)
            expression = estimate.expression
            found[i] = (parse(expression).to_class() if expression else None) or "none"
    return tally(rows, found, "static + learned, cross-validated")


def near_duplicates(programs: Sequence[Program], *, threshold: float = 0.5) -> list[int]:
    """A group number for each program; programs whose structure is alike share one.

    Alike means that the sets of runs of five kinds of syntax node overlap by `threshold` (Jaccard).
    """
    sets = [frozenset(_shingles(program)) for program in programs]
    parent = list(range(len(programs)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, left in enumerate(sets):
        for j in range(i):
            right = sets[j]
            small, large = sorted((len(left), len(right)))
            if programs[i].language != programs[j].language or small < threshold * large:
                continue
            common = len(left & right)
            if common >= threshold * (small + large - common):
                parent[root(i)] = root(j)
    numbers: dict[int, int] = {}
    return [numbers.setdefault(root(i), len(numbers)) for i in range(len(programs))]


def _shingles(program: Program) -> list[int]:
    kinds = static.node_kinds(program)
    return [hash(tuple(kinds[i : i + 5])) for i in range(max(len(kinds) - 4, 1))]
