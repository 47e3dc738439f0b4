"""A language model that says whether an answer agrees with a gold answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

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
from assay.judges.structured import VerdictFormat

_NEEDED = ("nonce", "conversation", "reference", "answer")
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
class LLMReference(Judge):
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
    _template: PromptTemplate = field(init=False, repr=False, compare=False)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_repeats(self, self.repeats, self.seed)
        if self.longest < 300:
            raise ConfigError(f"LLMReference.longest must be >= 300, got {self.longest}")
        text = shipped_prompt("reference") if self.prompt is None else self.prompt
        object.__setattr__(self, "_template", PromptTemplate(text, _NEEDED))

    @property
    def columns(self) -> frozenset[str]:
        """The column with the gold answer."""
        return frozenset({self.column})

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """1 where the answer agrees with the gold answer, 0 where not; all asked in one batch.

        Raises:
            DataError: An item lacks the gold answer, or has no answer; says which item.
        """
        items = list(items)
        shown = [
            (
                answer_text(item.answer[-1:], "", index),
                reference_text(item.columns, self.column, index),
            )
            for index, item in enumerate(items)
        ]
        questioner = Questioner(
            self.client, _FORM, "equivalence", self.repeats, self.seed, self.keep_prompt
        )
        found = questioner.ask(
            len(items), lambda index, salt: self._asked(items[index], *shown[index], salt)
        )
        return [self._grade(opinions) for opinions in found]

    def fingerprint(self) -> str:
        """A hash of the client, the prompt and every setting that changes a grade."""
        return fingerprint_of(
            (
                "LLMReference",
                __version__,
                self.client.fingerprint(),
                self._template.text,
                (self.column, self.repeats, self.seed, self.longest),
                (self.keep_raw, self.keep_prompt),
            )
        )

    def _asked(self, item: Item, answer: str, reference: str, salt: str) -> Asked:
        history = [shown_message(message) for message in item.prompt]
        fence = Fence.for_texts([*history, answer, reference], salt)
        third = self.longest // 3
        prompt = self._template.fill(
            nonce=fence.nonce,
            conversation=fence.conversation("conversation", item.prompt, third),
            reference=fence.around("reference answer", shorten(reference, third, fence.nonce)),
            answer=fence.around("answer", shorten(answer, third, fence.nonce)),
        )
        return Asked(prompt, fence.nonce)

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
