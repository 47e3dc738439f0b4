"""Criteria that a model decides: a yes-or-no question, or a judge's grade against a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay._version import __version__
from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.judge import Item, Judge
from assay.judges.checklist import Criterion, Finding
from assay.judges.client import Client, check_client
from assay.judges.criteria import answer_of
from assay.judges.fences import Fence, shorten
from assay.judges.opinions import Asked, Opinion, Questioner
from assay.judges.prompt_template import PromptTemplate, shipped_prompt
from assay.judges.structured import VerdictFormat
from assay.settings import whole

_PLACES = ("nonce", "conversation", "answer", "question")
_FORM = VerdictFormat(
    {
        "type": "object",
        "properties": {
            "evidence": {"type": "string"},
            "answer": {"enum": ["yes", "no", "unknown"]},
        },
        "required": ["answer"],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True)
class Question(Criterion):
    """A yes-or-no question to a model about the answer, e.g. "Does it answer the question?".

    The conversation and the answer are fenced as in `LLMPairwise`; a reply that does not end in a
    verdict with the request's nonce is unknown, never a no.

    Args:
        client: The model that is asked.
        question: Answered yes, no or unknown.
        longest: Characters of conversation and answer together; half of them are the answer's.
    """

    client: Client
    question: str = "Does the answer address what the last user message asks for?"
    longest: int = 60_000

    def __post_init__(self) -> None:
        check_client("Question.client", self.client)
        if not self.question.strip():
            raise ConfigError("Question.question must not be empty")
        whole("Question.longest", self.longest, 200)

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Ask about all items in one call."""
        items = list(items)
        found = Questioner(self.client, _FORM, "finding").ask(
            len(items), lambda index, salt: self._asked(items[index], salt)
        )
        return [_finding(opinion) for (opinion,) in found]

    def fingerprint(self) -> str:
        """A hash of the client, the prompt and the question."""
        prompt = shipped_prompt("question")
        return fingerprint_of(
            ("Question", __version__, self.client, prompt, self.question, self.longest)
        )

    def _asked(self, item: Item, salt: str) -> Asked:
        answer = answer_of(item)
        fence = Fence.for_prompt(item.prompt, [answer], salt)
        half = self.longest // 2
        prompt = PromptTemplate(shipped_prompt("question"), _PLACES).fill(
            nonce=fence.nonce,
            conversation=fence.conversation("conversation", item.prompt, half),
            answer=fence.around("answer", shorten(answer, half, fence.nonce)),
            question=self.question,
        )
        return Asked(prompt, fence.nonce)


def _finding(opinion: Opinion) -> Finding:
    if opinion.value is None:
        return Finding("unknown", opinion.note, failed=opinion.status == "failed")
    answer: Literal["yes", "no", "unknown"] = opinion.value["answer"]
    return Finding(answer, str(opinion.value.get("evidence", ""))[-400:])


@dataclass(frozen=True)
class GradeAtLeast(Criterion):
    """A judge's grade of the answer reaches a threshold; an abstention is unknown."""

    judge: Judge
    threshold: float

    def check(self, items: Sequence[Item]) -> list[Finding]:
        """Grade all items in one call."""
        found = []
        for grade in self.judge.grade(items):
            if grade.value is None:
                failed = grade.status == "failed"
                found.append(Finding("unknown", grade.reason or grade.status, failed=failed))
                continue
            note = f"grade {grade.value:g}" + (f": {grade.reason}" if grade.reason else "")
            found.append(Finding("yes" if grade.value >= self.threshold else "no", note))
        return found
