"""Small rewards and samples that the tests share: real implementations of the interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import JudgeError
from assay.messages import Sample
from assay.reward import Reward, Score, Status


def sample(completion: Any = "answer", prompt: Any = "question", **columns: Any) -> Sample:
    return Sample.of(prompt, completion, columns)


@dataclass(frozen=True)
class FromColumn(Reward):
    """Its score is what the row's column says: a number, a status, or a (number, passed) pair."""

    column: str = "x"
    name: str = "from_column"
    low: float = -10.0
    high: float = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", frozenset({self.column}))
        object.__setattr__(self, "range", (self.low, self.high))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [self._one(s.columns[self.column]) for s in samples]

    def _one(self, value: Any) -> Score:
        if isinstance(value, str):
            status: Status = value  # type: ignore[assignment]
            return Score(None, status, note=f"{value} on purpose")
        if isinstance(value, list | tuple):
            number, passed, *turns = value
            return Score(number, passed=passed, turns=tuple(turns[0]) if turns else None)
        return Score.of(value)


@dataclass(frozen=True)
class Broken(Reward):
    """Its service is down."""

    name: str = "broken"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        raise JudgeError("no answer from the judge")


@dataclass(frozen=True)
class RankInGroup(Reward):
    """1 for the longest answer of its group, 0 for the others; raises on a poisoned group."""

    name: str = "rank_in_group"
    scope = "group"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        sizes: dict[str | None, list[int]] = {}
        for s in samples:
            if s.columns.get("poison"):
                raise ValueError("poisoned group")
            sizes.setdefault(s.group, []).append(len(s.answer))
        return [
            Score.of(
                float(len(s.answer) == max(sizes[s.group])), info={"size": len(sizes[s.group])}
            )
            for s in samples
        ]
