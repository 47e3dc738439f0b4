"""A language model that says whether an answer agrees with a gold answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.judge import Grade, Item
from assay.judges.client import Client
from assay.judges.fences import Fence, answer_text, shorten
from assay.judges.llm_judge import LLMJudge, Shown
from assay.judges.opinions import Opinion, joined, missing_status
from assay.judges.structured import VerdictFormat

_FORM = VerdictFormat(
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "equivalent": {"enum": ["yes", "no", "unknown"]},
        },
        "required": ["equivalent"],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True)
class LLMReference(LLMJudge[Item]):
    """Asks an instruct model whether an answer means the same as the gold answer: 1, 0 or abstain.

    Only the text after the reasoning of the last assistant message is shown. Over repeats the
    majority decides; a tie abstains.

    Args:
        client: An `Endpoint`, a `LocalModel`, or another `Client`.
        column: Dataset column with the gold answer: text, a number, or messages.
        repeats: Opinions per item.
        seed: Of the first repeat; the next ones count up.
        prompt: Text of a prompt of your own, with the places {nonce}, {conversation}, {reference}
            and {answer}.
        longest: Characters of conversation, gold answer and answer, each at most a third.
        keep_raw: Keep the model's words in `Grade.raw`.
        keep_prompt: Keep the prompt in `Grade.info`.

    Source: the equivalence graders of SimpleQA (Wei et al., arXiv:2411.04368); the prompt is ours.
    """

    client: Client
    column: str = "answer"
    repeats: int = 1
    seed: int | None = None
    prompt: str | None = None
    longest: int = 30_000
    keep_raw: bool = False
    keep_prompt: bool = False

    _shipped: ClassVar[str] = "reference"
    _needed: ClassVar[tuple[str, ...]] = ("nonce", "conversation", "reference", "answer")
    _parts: ClassVar[int] = 3
    _schema_name: ClassVar[str] = "equivalence"

    __hash__ = None  # type: ignore[assignment]

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """1 where the answer agrees with the gold answer, 0 where not; all asked in one batch.

        Raises:
            DataError: An item lacks the gold answer, or has no answer; says which item.
        """
        return [self._grade(opinions) for opinions in self._ask(list(items))]

    def _reference_column(self) -> str:
        return self.column

    def _settings(self) -> tuple[object, ...]:
        return (
            (self.column, self.repeats, self.seed, self.longest),
            (self.keep_raw, self.keep_prompt),
        )

    def _form(self) -> VerdictFormat:
        return _FORM

    def _answers(self, row: Item, index: int) -> tuple[str, ...]:
        return (answer_text(row.answer[-1:], "", index),)

    def _places(self, shown: Shown, fence: Fence, most: int) -> Mapping[str, str]:
        (answer,) = shown.answers
        return {
            "reference": fence.around(
                "reference answer", shorten(shown.reference, most, fence.nonce)
            ),
            "answer": fence.around("answer", shorten(answer, most, fence.nonce)),
        }

    def _grade(self, opinions: Sequence[Opinion]) -> Grade:
        evidence = joined(opinions, keep_raw=self.keep_raw)
        words = [str(one.value["equivalent"]) for one in opinions if one.value is not None]
        if not words:
            return Grade(None, missing_status(opinions), **evidence)
        counts = Counter(words)
        yes, no = counts["yes"], counts["no"]
        agreement = None if len(opinions) == 1 else max(yes, no) / len(opinions)
        if yes == no or max(yes, no) <= counts["unknown"]:
            return Grade(None, "abstained", agreement=agreement, **evidence)
        return Grade(1.0 if yes > no else 0.0, agreement=agreement, **evidence)
