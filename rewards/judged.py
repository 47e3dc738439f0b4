"""A judge's grade as a reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError
from assay.judge import Grade, Item, Judge
from assay.messages import Sample
from assay.reward import Reward, Score


@dataclass(frozen=True)
class Judged(Reward):
    """The value of `judge.grade` for each completion.

    What the judge could not decide is abstained, and what broke is failed; neither is 0. The
    score's `info` holds the grades by criterion, agreement of repeats, cost and where they came
    from.

    Args:
        judge: Grades single answers: `LLMPointwise`, `LLMReference`, a `Panel`, ...
        passing: Grades from here on set `passed`, for gates; None leaves it unset.
        range: Of the judge's grades.

    Example:
        >>> class Short(Judge):
        ...     def grade(self, items):
        ...         return [Grade(float(len(item.answer[-1].content) < 9)) for item in items]
        ...
        ...     def fingerprint(self):
        ...         return "short"
        >>> Judged(Short(), passing=1.0)(completions=["four", "It is four."], prompts=["?"] * 2)
        [1.0, 0.0]
    """

    judge: Judge
    passing: float | None = None
    name: str = "judged"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()
    range: tuple[float, float] = field(default=(0.0, 1.0))

    def __post_init__(self) -> None:
        if not isinstance(self.judge, Judge):
            raise ConfigError(
                f"Judged.judge must be an assay.judge.Judge, got {type(self.judge).__name__}"
            )
        object.__setattr__(self, "columns", frozenset(self.judge.columns or ()))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Grade all samples in one call of the judge."""
        items = [Item(s.prompt, s.completion, s.columns) for s in samples]
        return [self._score(grade) for grade in self.judge.grade(items)]

    def _score(self, grade: Grade) -> Score:
        info: dict[str, Any] = {
            "criteria": dict(grade.criteria),
            "agreement": grade.agreement,
            "cost": grade.cost,
            "judge": dict(grade.info),
        }
        if grade.raw:
            info["raw"] = grade.raw
        info = {key: value for key, value in info.items() if value not in (None, {})}
        if grade.value is None:
            missing = Score.fail if grade.status == "failed" else Score.abstain
            return missing(grade.reason or "the judge did not decide", info=info)
        passed = None if self.passing is None else grade.value >= self.passing
        return Score.of(grade.value, passed=passed, note=grade.reason, info=info)
