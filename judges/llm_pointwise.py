"""A language model that grades one answer by a rubric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from assay.judge import Grade, Item
from assay.judges.client import Client
from assay.judges.fences import Fence, answer_text, shorten
from assay.judges.llm_judge import LLMJudge, Shown, reference_part
from assay.judges.opinions import Opinion, joined, missing_status
from assay.judges.rubric import GENERAL, Rubric
from assay.judges.structured import VerdictFormat


@dataclass(frozen=True)
class LLMPointwise(LLMJudge[Item]):
    """Asks an instruct model to grade an answer by weighted criteria.

    `Grade.value` is the weighted mean of the criteria's places on their scales, in [0, 1];
    `Grade.criteria` holds the grades themselves. A criterion that the model cannot tell is null,
    and what then happens is the rubric's `unknown`. Candidates are fenced as in `LLMPairwise`.

    Over repeats the grades of a criterion are averaged, and `agreement` is the share of repeats
    that gave the most frequent value.

    Args:
        client: An `Endpoint`, a `LocalModel`, or another `Client`.
        rubric: A `Rubric`, or tables for one.
        reference: Column with a reference answer that the judge is shown, or None.
        repeats: Opinions per item.
        seed: Of the first repeat; the next ones count up.
        prompt: Text of a prompt of your own, with the places {nonce}, {criteria}, {conversation}
            and {answer}, and optionally {reference} and {scores}.
        longest: Characters of conversation and answer together; half of them are the answer's.
        keep_raw: Keep the model's words in `Grade.raw`.
        keep_prompt: Keep the prompt in `Grade.info`.

    Source: Kim et al., Prometheus, arXiv:2310.08491 (rubric and reference answer in the prompt).
    """

    client: Client
    rubric: Rubric = GENERAL
    reference: str | None = None
    repeats: int = 1
    seed: int | None = None
    prompt: str | None = None
    longest: int = 60_000
    keep_raw: bool = False
    keep_prompt: bool = False

    _shipped: ClassVar[str] = "pointwise"
    _needed: ClassVar[tuple[str, ...]] = ("nonce", "criteria", "conversation", "answer")
    _optional: ClassVar[tuple[str, ...]] = ("reference", "scores")
    _schema_name: ClassVar[str] = "grade"

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rubric", Rubric.of(self.rubric))

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """One grade per item, all asked in one batch.

        Raises:
            DataError: An item lacks the reference column, or has no answer; says which item.
        """
        return [self._grade(opinions) for opinions in self._ask(list(items))]

    def _reference_column(self) -> str | None:
        return self.reference

    def _settings(self) -> tuple[object, ...]:
        return (
            self.rubric,
            (self.reference, self.repeats, self.seed, self.longest),
            (self.keep_raw, self.keep_prompt),
        )

    def _form(self) -> VerdictFormat:
        return VerdictFormat(
            {
                "type": "object",
                "properties": {"reason": {"type": "string"}, "scores": self.rubric.schema()},
                "required": ["scores"],
                "additionalProperties": False,
            }
        )

    def _answers(self, row: Item, index: int) -> tuple[str, ...]:
        return (answer_text(row.answer, "", index),)

    def _places(self, shown: Shown, fence: Fence, most: int) -> Mapping[str, str]:
        (answer,) = shown.answers
        return {
            "criteria": self.rubric.text(),
            "reference": reference_part(shown, fence),
            "answer": fence.around("answer", shorten(answer, most, fence.nonce)),
            "scores": ", ".join(f'"{c.name}": <grade or null>' for c in self.rubric.criteria),
        }

    def _grade(self, opinions: Sequence[Opinion]) -> Grade:
        evidence = joined(opinions, keep_raw=self.keep_raw)
        spoken = [one.value["scores"] for one in opinions if one.value is not None]
        if not spoken:
            return Grade(None, missing_status(opinions), **evidence)
        criteria: dict[str, float | None] = {}
        for criterion in self.rubric.criteria:
            known = [float(s[criterion.name]) for s in spoken if s[criterion.name] is not None]
            criteria[criterion.name] = fmean(known) if known else None
        value = self.rubric.value(criteria)
        if value is None:
            blank = [name for name, grade in criteria.items() if grade is None]
            evidence["reason"] = f"cannot tell {', '.join(blank)}: {evidence['reason']}"
            return Grade(None, "abstained", criteria, **evidence)
        agreement = None
        if len(opinions) > 1:
            values = Counter(self.rubric.value(scores) for scores in spoken)
            values.pop(None, None)
            agreement = max(values.values(), default=0) / len(opinions)
        return Grade(value, criteria=criteria, agreement=agreement, **evidence)
