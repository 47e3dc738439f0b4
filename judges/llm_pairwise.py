"""A language model that says which of two answers is better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay._version import __version__
from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.judge import P_OF_CHOICE, Choice, Judge, Pair, Verdict
from assay.judges.client import Client
from assay.judges.fences import Fence, answer_text, fit, reference_text, shown_message
from assay.judges.label_logprobs import label_probabilities
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

CRITERIA = (
    "The better answer is the one that serves the person who asked: correct above all, then "
    "complete, then clear. An honest refusal beats a harmful or invented answer."
)
_NEEDED = ("nonce", "conversation", "answer_a", "answer_b")
_OPTIONAL = ("criteria", "reference", "tie_rule", "choices")


@dataclass(frozen=True)
class LLMPairwise(Judge):
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
    _template: PromptTemplate = field(init=False, repr=False, compare=False)

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        check_repeats(self, self.repeats, self.seed)
        if self.longest < 200:
            raise ConfigError(f"LLMPairwise.longest must be >= 200, got {self.longest}")
        text = shipped_prompt("pairwise") if self.prompt is None else self.prompt
        object.__setattr__(self, "_template", PromptTemplate(text, _NEEDED, _OPTIONAL))

    @property
    def columns(self) -> frozenset[str]:
        """The column with the reference answer, where there is one."""
        return frozenset(() if self.reference is None else (self.reference,))

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair, all asked in one batch.

        Raises:
            DataError: A pair lacks the reference column, or has no answer; says which pair.
        """
        pairs = list(pairs)
        shown = [self._shown(pair, index) for index, pair in enumerate(pairs)]
        found = self._questioner().ask(
            len(pairs), lambda index, salt: self._asked(pairs[index], shown[index], salt)
        )
        return [self._verdict(opinions) for opinions in found]

    def fingerprint(self) -> str:
        """A hash of the client, the prompt and every setting that changes a verdict."""
        settings = (self.criteria, self.allow_tie, self.reference, self.repeats, self.seed)
        return fingerprint_of(
            (
                "LLMPairwise",
                __version__,
                self.client.fingerprint(),
                self._template.text,
                settings,
                (self.longest, self.keep_raw, self.keep_prompt),
            )
        )

    def _choices(self) -> list[str]:
        return ["A", "B", "tie"] if self.allow_tie else ["A", "B"]

    def _questioner(self) -> Questioner:
        form = VerdictFormat(
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
        return Questioner(
            self.client, form, "comparison", self.repeats, self.seed, self.keep_prompt
        )

    def _shown(self, pair: Pair, index: int) -> tuple[str, str, str]:
        """Both answers and the reference, as text."""
        return (
            answer_text(pair.a, "A", index),
            answer_text(pair.b, "B", index),
            reference_text(pair.columns, self.reference, index),
        )

    def _asked(self, pair: Pair, shown: tuple[str, str, str], salt: str) -> Asked:
        a, b, reference = shown
        history = [shown_message(message) for message in pair.prompt]
        fence = Fence.for_texts([*history, a, b, reference], salt)
        a, b = fit([a, b], self.longest // 2, fence.nonce)
        told = fence.around("reference answer", reference) + "\n\n" if self.reference else ""
        tie = " If neither is better, say tie." if self.allow_tie else " You must choose one."
        prompt = self._template.fill(
            nonce=fence.nonce,
            criteria=self.criteria,
            conversation=fence.conversation("conversation", pair.prompt, self.longest // 2),
            reference=told,
            answer_a=fence.around("answer A", a),
            answer_b=fence.around("answer B", b),
            tie_rule=tie,
            choices='" or "'.join(self._choices()),
        )
        return Asked(prompt, fence.nonce)

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
