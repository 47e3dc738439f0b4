"""Rubrics: weighted criteria, each graded on a scale of its own."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.errors import ConfigError


@dataclass(frozen=True, slots=True)
class RubricCriterion:
    """One thing that is graded.

    Attributes:
        name: Key in `Grade.criteria`: letters, digits and `_`.
        question: What the judge is asked, with what the ends of the scale mean.
        weight: Share in the grade, relative to the other weights, > 0.
        low: Lowest grade.
        high: Highest grade.
    """

    name: str
    question: str
    weight: float = 1.0
    low: int = 1
    high: int = 5

    def __post_init__(self) -> None:
        if not (self.name.isidentifier() and self.name.isascii()):
            raise ConfigError(
                f"a criterion's name is made of letters, digits and _, got {self.name!r}"
            )
        if not self.question.strip():
            raise ConfigError(f"criterion {self.name!r} has an empty question")
        weight = self.weight
        if type(weight) not in (int, float) or not (math.isfinite(weight) and weight > 0):
            raise ConfigError(
                f"criterion {self.name!r}: weight must be finite and > 0, got {weight!r}"
            )
        if not (type(self.low) is type(self.high) is int):
            raise ConfigError(
                f"criterion {self.name!r}: low and high are whole numbers, got {self.low!r} and "
                f"{self.high!r}"
            )
        if not self.low < self.high:
            raise ConfigError(
                f"criterion {self.name!r}: low must be below high, got {self.low} and {self.high}"
            )

    def share(self, grade: float) -> float:
        """The grade's place on the scale, in [0, 1]."""
        return (grade - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Rubric:
    """Criteria, and what to do where the judge cannot tell one of them.

    Args:
        criteria: At least one, names distinct.
        unknown: `abstain`: the whole grade is missing. `reweight`: the others carry the grade.

    >>> rubric = Rubric((RubricCriterion("correct", "Is it right?", weight=3),
    ...                  RubricCriterion("clear", "Is it clear?", low=0, high=1)))
    >>> rubric.value({"correct": 5, "clear": 0})
    0.75
    """

    criteria: tuple[RubricCriterion, ...]
    unknown: Literal["abstain", "reweight"] = "abstain"

    def __post_init__(self) -> None:
        if self.unknown not in ("abstain", "reweight"):
            raise ConfigError(
                f"Rubric.unknown must be one of {{'abstain', 'reweight'}}, got {self.unknown!r}"
            )
        names = [criterion.name for criterion in self.criteria]
        if not names or len(set(names)) < len(names):
            raise ConfigError(f"a rubric needs criteria with distinct names, got {names}")

    @classmethod
    def of(cls, value: Any) -> Rubric:
        """A rubric from a rubric, or from tables as a TOML file holds them.

        Raises:
            ConfigError: Unknown keys, or none of these.
        """
        if isinstance(value, Rubric):
            return value
        if not isinstance(value, Mapping) or not isinstance(value.get("criteria"), list):
            raise ConfigError(f"a rubric is a table with a list `criteria`, got {value!r:.80}")
        rest = {key: item for key, item in value.items() if key != "criteria"}
        try:
            criteria = tuple(RubricCriterion(**entry) for entry in value["criteria"])
            return cls(criteria, **rest)
        except TypeError as error:
            raise ConfigError(
                f"a criterion has name, question, weight, low and high; a rubric criteria and "
                f"unknown: {error}"
            ) from None

    @classmethod
    def from_file(cls, path: str | Path) -> Rubric:
        """Read a TOML file with `[[criteria]]` tables.

        Raises:
            ConfigError: It cannot be read, or is no rubric.
        """
        try:
            with open(path, "rb") as file:
                return cls.of(tomllib.load(file))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"cannot read the rubric {path}: {error}") from None

    def value(self, grades: Mapping[str, float | None]) -> float | None:
        """The weighted mean of the criteria's places on their scales, in [0, 1], or None."""
        known = [(c, g) for c in self.criteria if (g := grades.get(c.name)) is not None]
        if not known or (self.unknown == "abstain" and len(known) < len(self.criteria)):
            return None
        total = sum(criterion.weight for criterion, _ in known)
        return sum(c.weight * c.share(grade) for c, grade in known) / total

    def text(self) -> str:
        """The criteria as the judge reads them."""
        return "\n".join(
            f"- {c.name} (integer from {c.low} to {c.high}): {c.question}" for c in self.criteria
        )

    def schema(self) -> dict[str, Any]:
        """JSON schema of one grade per criterion."""
        scales = {
            c.name: {"type": ["integer", "null"], "minimum": c.low, "maximum": c.high}
            for c in self.criteria
        }
        return {
            "type": "object",
            "properties": scales,
            "required": list(scales),
            "additionalProperties": False,
        }


#: What is graded where nobody says otherwise.
GENERAL = Rubric(
    (
        RubricCriterion(
            "correctness",
            "Is everything it says right? 1: wrong where it matters, 5: no mistake.",
            weight=2.0,
        ),
        RubricCriterion(
            "helpfulness",
            "Does it do what was asked, all of it? 1: not at all, 5: completely.",
        ),
        RubricCriterion(
            "clarity",
            "Can the reader use it at once? 1: confusing, 5: clear and no longer than needed.",
            weight=0.5,
        ),
    )
)
