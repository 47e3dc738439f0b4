"""The learned estimator: a classifier over a program's structure and its static estimate.

It corrects what rules read wrongly: which of two readings people mean, what a bound stands for.
Where it agrees with the static estimator the expression is the static one; elsewhere it is the
plain expression of the class that it prefers, and the estimate says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.errors import DataError
from assay.judge import Estimate
from assay.judges.complexity import features, static
from assay.judges.complexity.expression import CLASSES, parse
from assay.judges.complexity.labelled import Evaluation, Labelled, predicted, tally
from assay.judges.complexity.linear import LinearModel
from assay.judges.complexity.program import Program

#: The model that comes with the library, trained on the project's own programs only.
SHIPPED = Path(__file__).with_name("learned_model.npz")
#: The shipped model knows few programs, so that it overrules only where it is all but certain.
_SHIPPED_TRUST = 0.95
_PLAIN = dict(zip(CLASSES, ("1", "log n", "n", "n log n", "n^2", "n^3", "2^n"), strict=True))


@dataclass(frozen=True)
class LearnedEstimator:
    """Static estimates, corrected by a classifier.

    Attributes:
        model: Reads what `features.describe` gives.
        trust: The model overrules the static estimator where its probability for another class is
            at least this.
    """

    model: LinearModel
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
        return cls(LinearModel.load(SHIPPED), _SHIPPED_TRUST)

    @classmethod
    def load(cls, path: str | Path) -> LearnedEstimator:
        """An estimator with a model that `save` wrote.

        Raises:
            DataError: Not a model.
        """
        return cls(LinearModel.load(path))

    def save(self, path: str | Path) -> None:
        """Write the model: plain arrays, nothing that is run when it is read."""
        self.model.save(path)

    @classmethod
    def train(cls, rows: Sequence[Labelled]) -> LearnedEstimator:
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
        return cls(_fit([row_of(row.program)[0] for row in rows], labels))

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        """One estimate per program; what does not parse has none, with confidence 0."""
        if not programs:
            return []
        described = [row_of(program) for program in programs]
        shares = self.shares([description for description, _ in described])
        return [self.decide(e, share) for (_, e), share in zip(described, shares, strict=True)]

    def shares(self, described: Sequence[features.Description]) -> npt.NDArray[np.float64]:
        """Probabilities of the model's classes, shape (programs, classes)."""
        return self.model.predict(*_parts(described))

    def decide(self, estimate: Estimate, shares: npt.NDArray[np.float64]) -> Estimate:
        """The static estimate, or the class that the model prefers to it.

        Args:
            estimate: What the static estimator says.
            shares: Probability of each of the model's classes.
        """
        if "does not parse" in estimate.flags:
            return Estimate(None, 0.0, self.name, (), estimate.flags)
        best = int(shares.argmax())
        chosen = self.model.classes[best]
        confidence = round(float(shares[best]), 3)
        found = parse(estimate.expression).to_class() if estimate.expression else None
        if chosen == found or (found is not None and shares[best] < self.trust):
            return Estimate(
                estimate.expression, confidence, self.name, estimate.evidence, estimate.flags
            )
        flag = f"static says {estimate.expression or 'nothing'}, the model says {chosen}"
        return Estimate(
            _PLAIN[chosen], confidence, self.name, estimate.evidence, (*estimate.flags, flag)
        )


def row_of(program: Program) -> tuple[features.Description, Estimate]:
    """What describes a program, and its static estimate."""
    return static.StaticEstimator().describe(program)


def cross_validate(
    rows: Sequence[Labelled],
    *,
    folds: int = 5,
    seed: int = 0,
    trust: float = 0.4,
    together: Sequence[str] | None = None,
) -> Evaluation:
    """Accuracy on programs that were not trained on; similar programs share a fold.

    Args:
        rows: Labelled programs.
        folds: How many parts.
        seed: Of the parts.
        trust: As in `LearnedEstimator`.
        together: For each row the name of a group, such as its problem, that stays in one fold.
    """
    found, _ = held_out(rows, folds=folds, seed=seed, trust=trust, together=together)
    return tally(rows, found, "static + learned, cross-validated")


def held_out(
    rows: Sequence[Labelled],
    *,
    folds: int = 5,
    seed: int = 0,
    trust: float = 0.4,
    together: Sequence[str] | None = None,
) -> tuple[list[str], list[int]]:
    """The class found for every program by a model that saw none like it, and its fold.

    Args:
        rows: Labelled programs.
        folds: How many parts.
        seed: Of the parts.
        trust: As in `LearnedEstimator`.
        together: As in `cross_validate`.
    """
    described = [row_of(row.program) for row in rows]
    groups = near_duplicates([row.program for row in rows], together=together)
    order = np.random.default_rng(seed).permutation(max(groups) + 1)
    fold_of = [int(order[group]) % folds for group in groups]
    found = [""] * len(rows)
    for fold in range(folds):
        held = [i for i, other in enumerate(fold_of) if other == fold]
        kept = [i for i, other in enumerate(fold_of) if other != fold]
        if not held or not kept:
            continue
        model = _fit([described[i][0] for i in kept], [rows[i].complexity for i in kept])
        estimator = LearnedEstimator(model, trust)
        shares = estimator.shares([described[i][0] for i in held])
        for i, share in zip(held, shares, strict=True):
            found[i] = predicted(estimator.decide(described[i][1], share))
    return found, fold_of


def _fit(described: Sequence[features.Description], labels: Sequence[str]) -> LinearModel:
    return LinearModel.fit(*_parts(described), labels)


def _parts(
    described: Sequence[features.Description],
) -> tuple[list[Mapping[str, int]], npt.NDArray[np.float32]]:
    return [d.words for d in described], np.stack([d.numbers for d in described])


def near_duplicates(
    programs: Sequence[Program],
    *,
    threshold: float = 0.5,
    together: Sequence[str] | None = None,
) -> list[int]:
    """A group number for each program; programs whose structure is alike share one.

    Alike means that the sets of runs of five kinds of syntax node overlap by `threshold` (Jaccard),
    or that `together` has the same name for both.
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
            if together is not None and together[i] == together[j]:
                parent[root(i)] = root(j)
                continue
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
