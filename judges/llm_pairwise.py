"""A language model that says which of two answers is better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.judge import P_OF_CHOICE, Choice, Pair, Verdict
from assay.judges.client import Client
from assay.judges.fences import Fence, answer_text, fit
from assay.judges.label_logprobs import label_probabilities
from assay.judges.llm_judge import LLMJudge, Shown, reference_part
from assay.judges.opinions import Opinion, joined, missing_status
from assay.judges.structured import VerdictFormat

CRITERIA = (
    "The better answer is the one that serves the person who asked: correct above all, then "
    "complete, then clear. An honest refusal beats a harmful or invented answer."
)


@dataclass(frozen=True)
class LLMPairwise(LLMJudge[Pair]):
    """Asks an instruct model which of two answers is better; one order per pair.

    The whole history is shown. Candidates stand between markers with a nonce that they cannot
    contain, and only a verdict that repeats the nonce counts, so that no candidate can close its
    own fence or plant a verdict. A reply without a well-formed verdict abstains. Wrap the judge in
    `BothOrders` to take its liking for a position out.

    p_a is P(A) + P(tie) / 2 from the log-probabilities of the choice where the client reports them
    (`top_logprobs`), else 1, 0 or .5; over repeats it is the mean.

    Args:
        client: An `Endpoint`, a `LocalModel`, or another `Client`.
        criteria: What makes an answer better.
        allow_tie: Whether the model may call a tie.
        reference: Column with a reference answer that the judge is shown, or None.
        repeats: Opinions per pair; `Verdict.agreement` says how many of them agree.
        seed: Of the first repeat; the next ones count up. Repeats need one, and a temperature
            above 0.
        prompt: Text of a prompt of your own, with the places {nonce}, {conversation}, {answer_a}
            and {answer_b}, and optionally {criteria}, {reference}, {tie_rule} and {choices}.
        longest: Characters of conversation and answers together; half of them are the answers',
            divided fairly.
        keep_raw: Keep the model's words in `Verdict.raw`.
        keep_prompt: Keep the prompt in `Verdict.info`.

    Source: Zheng et al., Judging LLM-as-a-Judge, arXiv:2306.05685, section 3.1. Departures: the
    verdict is JSON with a nonce, and reasons come before it.

    >>> judge = LLMPairwise(Endpoint("http://127.0.0.1:8000/v1", "m"))    # doctest: +SKIP
    """

    client: Client
    criteria: str = CRITERIA
    allow_tie: bool = True
    reference: str | None = None
    repeats: int = 1
    seed: int | None = None
    prompt: str | None = None
    longest: int = 60_000
    keep_raw: bool = False
    keep_prompt: bool = False

    _shipped: ClassVar[str] = "pairwise"
    _needed: ClassVar[tuple[str, ...]] = ("nonce", "conversation", "answer_a", "answer_b")
    _optional: ClassVar[tuple[str, ...]] = ("criteria", "reference", "tie_rule", "choices")
    _schema_name: ClassVar[str] = "comparison"

    __hash__ = None  # type: ignore[assignment]

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair, all asked in one batch.

        Raises:
            DataError: A pair lacks the reference column, or has no answer; says which pair.
        """
        return [self._verdict(opinions) for opinions in self._ask(list(pairs))]

    def _reference_column(self) -> str | None:
        return self.reference

    def _settings(self) -> tuple[object, ...]:
        return (
            (self.criteria, self.allow_tie, self.reference, self.repeats, self.seed),
            (self.longest, self.keep_raw, self.keep_prompt),
        )

    def _choices(self) -> list[str]:
        return ["A", "B", "tie"] if self.allow_tie else ["A", "B"]

    def _form(self) -> VerdictFormat:
        return VerdictFormat(
            {
                "type": "object",
                "properties": {
                    "reason": {"type": "string"},
                    "choice": {"enum": self._choices()},
                },
                "required": ["choice"],
                "additionalProperties": False,
            }
        )

    def _answers(self, row: Pair, index: int) -> tuple[str, ...]:
        return answer_text(row.a, "A", index), answer_text(row.b, "B", index)

    def _places(self, shown: Shown, fence: Fence, most: int) -> Mapping[str, str]:
        a, b = fit(shown.answers, most, fence.nonce)
        tie = " If neither is better, say tie." if self.allow_tie else " You must choose one."
        return {
            "criteria": self.criteria,
            "reference": reference_part(shown, fence),
            "answer_a": fence.around("answer A", a),
            "answer_b": fence.around("answer B", b),
            "tie_rule": tie,
            "choices": '" or "'.join(self._choices()),
        }

    def _verdict(self, opinions: Sequence[Opinion]) -> Verdict:
        evidence = joined(opinions, keep_raw=self.keep_raw)
        spoken = [one for one in opinions if one.value is not None]
        if not spoken:
            return Verdict(None, status=missing_status(opinions), **evidence)
        p_a = sum(self._p_a(one) for one in spoken) / len(spoken)
        choice = self._choice(spoken, p_a)
        agreement = None
        if len(opinions) > 1:
            agree = sum(one.value is not None and one.value["choice"] == choice for one in opinions)
            agreement = agree / len(opinions)
        return Verdict(choice, p_a, agreement=agreement, **evidence)

    def _choice(self, spoken: Sequence[Opinion], p_a: float) -> Choice:
        """The model's own word; over repeats the most frequent one, and p_a where words tie."""
        counts = Counter(str(one.value["choice"]) for one in spoken if one.value is not None)
        most = max(counts.values())
        leaders = [word for word, count in counts.items() if count == most]
        if len(leaders) == 1:
            return "A" if leaders[0] == "A" else "B" if leaders[0] == "B" else "tie"
        return "A" if p_a > 0.5 else "B" if p_a < 0.5 else "tie"

    def _p_a(self, opinion: Opinion) -> float:
        found = label_probabilities(opinion.logprobs, self._choices(), opinion.span)
        if found is None:
            return P_OF_CHOICE[(opinion.value or {})["choice"]]
        return min(1.0, found["A"] + found.get("tie", 0.0) / 2)
