"""Candidate solutions of one problem, and which of them are best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.judge import Estimate
from assay.judges.complexity import Constraints, Expression, parse, structure_hash


@dataclass(frozen=True, slots=True)
class Candidate:
    """One proposed solution and what was found out about it.

    Attributes:
        text: The answer as its author wrote it.
        author: Model or source.
        code: Its code, or None.
        passed: All tests passed; None where our side failed.
        estimate: Its time complexity; None where it was not judged.
    """

    text: str
    author: str
    code: str | None
    passed: bool | None
    estimate: Estimate | None = None

    @property
    def complexity(self) -> Expression | None:
        """The estimated complexity, where there is one."""
        if self.estimate is None or self.estimate.expression is None:
            return None
        return parse(self.estimate.expression)


def best_class(
    candidates: Sequence[Candidate], constraints: object = None
) -> list[Candidate] | None:
    """The candidates of the lowest complexity, or None where the lowest ones are incomparable."""
    bounds = Constraints.of(constraints)
    decided = [(c, c.complexity) for c in candidates]
    best = [
        (c, mine)
        for c, mine in decided
        if mine is not None
        and not any(
            other is not None and other.compare(mine, bounds) == "less" for _, other in decided
        )
    ]
    first = best[0][1] if best else None
    if first is None or any(mine.compare(first, bounds) != "equal" for _, mine in best):
        return None
    return [c for c, _ in best]


def merit(candidate: Candidate) -> tuple[float, int]:
    """Surest first, then shortest."""
    confidence = candidate.estimate.confidence if candidate.estimate else 0.0
    return round(confidence, 2), -len(candidate.code or "")


def distinct(candidates: Sequence[Candidate], language: str) -> list[Candidate]:
    """One candidate of each structure, the first."""
    kept: dict[str, Candidate] = {}
    for candidate in candidates:
        kept.setdefault(structure_hash(str(candidate.code), language), candidate)
    return list(kept.values())
