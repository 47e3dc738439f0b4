"""A language model that grades one answer by a rubric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from assay._version import __version__
from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.judge import Grade, Item, Judge
from assay.judges.client import Client
from assay.judges.fences import Fence, answer_text, reference_text, shorten, shown_message
from assay.judges.opinions import (
    Asked,
    Opinion,
    Questioner,
    check_repeats,
    joined,
    missing_status,
)
from assay.judges.prompt_template import PromptTemplate, shipped_prompt
from assay.judges.rubric import GENERAL, Rubric
from assay.judges.structured import VerdictFormat

_NEEDED = ("nonce", "criteria", "conversation", "answer")
_OPTIONAL = ("reference", "scores")


@dataclass(frozen=True)
class LLMPointwise(Judge):
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
    _template: PromptTemplate = field(init=False, repr=False, compare=False)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_repeats(self, self.repeats, self.seed)
        if self.longest < 200:
            raise ConfigError(f"LLMPointwise.longest must be >= 200, got {self.longest}")
        object.__setattr__(self, "rubric", Rubric.of(self.rubric))
        text = shipped_prompt("pointwise") if self.prompt is None else self.prompt
        object.__setattr__(self, "_template", PromptTemplate(text, _NEEDED, _OPTIONAL))

    @property
    def columns(self) -> frozenset[str]:
        """The column with the reference answer, where there is one."""
        return frozenset(() if self.reference is None else (self.reference,))

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """One grade per item, all asked in one batch.

        Raises:
            DataError: An item lacks the reference column, or has no answer; says which item.
        """
        items = list(items)
        shown = [
            (
                answer_text(item.answer, "", index),
                reference_text(item.columns, self.reference, index),
            )
            for index, item in enumerate(items)
        ]
        found = self._questioner().ask(
            len(items), lambda index, salt: self._asked(items[index], *shown[index], salt)
        )
        return [self._grade(opinions) for opinions in found]

    def fingerprint(self) -> str:
        """A hash of the client, the prompt, the rubric and every setting that changes a grade."""
        return fingerprint_of(
            (
                "LLMPointwise",
                __version__,
                self.client.fingerprint(),
                self._template.text,
                self.rubric,
                (self.reference, self.repeats, self.seed, self.longest),
                (self.keep_raw, self.keep_prompt),
            )
        )

    def _questioner(self) -> Questioner:
        form = VerdictFormat(
            {
                "type": "object",
                "properties": {"reason": {"type": "string"}, "scores": self.rubric.schema()},
                "required": ["scores"],
                "additionalProperties": False,
            }
        )
        return Questioner(self.client, form, "grade", self.repeats, self.seed, self.keep_prompt)

    def _asked(self, item: Item, answer: str, reference: str, salt: str) -> Asked:
        history = [shown_message(message) for message in item.prompt]
        fence = Fence.for_texts([*history, answer, reference], salt)
        told = fence.around("reference answer", reference) + "\n\n" if self.reference else ""
        prompt = self._template.fill(
            nonce=fence.nonce,
            criteria=self.rubric.text(),
            conversation=fence.conversation("conversation", item.prompt, self.longest // 2),
            reference=told,
            answer=fence.around("answer", shorten(answer, self.longest // 2, fence.nonce)),
            scores=", ".join(f'"{c.name}": <grade or null>' for c in self.rubric.criteria),
        )
        return Asked(prompt, fence.nonce)

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
