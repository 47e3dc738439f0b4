"""The correctness reward of question answering: the final answer is the gold answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import ConfigError, DataError
from assay.field_readers import listed
from assay.judge import Item, Judge
from assay.messages import Message, Sample
from assay.reward import Reward, Score
from assay.rewards.answer_forms import Tolerance, final_answer_text, normalised, same_answer
from assay.settings import common, nonempty, one_of, real, whole


@dataclass(frozen=True)
class AnswerMatch(Reward):
    r"""1 if the final answer equals one of the gold answers, else 0; `passed` says the same.

    The answer is what the last `<answer>`, `\boxed{}`, `Final answer:` or `Answer:` of the last
    assistant turn holds, else what follows "the answer is", else the whole of the turn after its
    reasoning. Two answers are equal if

    - they are the same text without case, punctuation, accents, articles and extra space;
    - or both are numbers within the tolerance (1,234.5 and 1234.5; 1/2 and 0.5; 12% and 0.12;
      $3 million; 1.5 x 10^3), in the same currency and unit where both name one;
    - or both are dates within the tolerance (July 4, 1776 and 1776-07-04; a gold year or month
      only asks for that much).

    What does not match so is wrong, or is put to a judge of equivalence where there is one
    (`assay.judges.LLMReference`), which sees question, gold answer and answer. A judge that cannot
    decide makes the score abstained, one that is down makes it failed.

    Source: normalised exact match is that of SQuAD (Rajpurkar et al., arXiv:1606.05250), here also
    without accents.

    Args:
        column: Dataset column with the gold answer: text, a number, or a list of right answers.
        relative: Tolerance of numbers relative to the gold one; up to 1e-6 it is for rounding, and
            whole numbers must be equal.
        absolute: Tolerance of numbers, absolute; the larger of both counts.
        days: Tolerance of dates.
        judge: Asked about answers that do not match, and only about those.
        contains: A long answer also matches if it holds the gold text as whole words and no
            marker says where its answer is. Off by default: an answer that lists everything would
            be right.
        longest: An answer of more characters is a wrong one without being read; 0 for no limit.
        missing: What a row without gold answer is: `error` a DataError, `skip` a skipped score.
        name: Metric name.

    Example:
        >>> reward = AnswerMatch()
        >>> reward(completions=["It took years. <answer>The Boston Tea Party!</answer>", "1,774"],
        ...        answer=["boston tea party", 1773])
        [1.0, 0.0]
    """

    column: str = "answer"
    relative: float = 1e-6
    absolute: float = 0.0
    days: int = 0
    judge: Judge | None = None
    contains: bool = False
    longest: int = 20_000
    missing: Literal["error", "skip"] = "error"
    name: str = "answer_match"
    max_error_rate: float = 0.5
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        nonempty("AnswerMatch.column", self.column)
        real("AnswerMatch.relative", self.relative, 0)
        real("AnswerMatch.absolute", self.absolute, 0)
        whole("AnswerMatch.days", self.days, 0)
        whole("AnswerMatch.longest", self.longest, 0)
        one_of("AnswerMatch.missing", self.missing, ("error", "skip"))
        if self.judge is not None and not isinstance(self.judge, Judge):
            raise ConfigError(
                f"AnswerMatch.judge must be a Judge that grades equivalence, got "
                f"{type(self.judge).__name__}"
            )
        needed = {self.column} if self.missing == "error" else set()
        object.__setattr__(self, "columns", frozenset(needed))
        common(self)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Compare; what is left goes to the judge in one batch."""
        scores: list[Score] = []
        open_rows: dict[int, Item] = {}
        tolerance = Tolerance(self.relative, self.absolute, self.days)
        for index, sample in enumerate(samples):
            golds = self._golds(sample, index)
            if not golds:
                scores.append(Score.skip(f"no gold answer in column {self.column!r}"))
                continue
            score = self._compare(sample, golds, tolerance)
            asks = self.judge is not None and not score.passed and bool(sample.answer.strip())
            if asks and not (self.longest and len(sample.answer) > self.longest):
                columns = {**sample.columns, self.column: " or ".join(golds)}
                open_rows[index] = Item(
                    sample.prompt, (Message("assistant", sample.answer),), columns
                )
            scores.append(score)
        if self.judge is not None and open_rows:
            grades = self.judge.grade(list(open_rows.values()))
            for (index, _), grade in zip(open_rows.items(), grades, strict=True):
                scores[index] = self._judged(scores[index], grade)
        return scores

    def _compare(self, sample: Sample, golds: Sequence[str], tolerance: Tolerance) -> Score:
        said = sample.answer
        if self.longest and len(said) > self.longest:
            return Score.of(0.0, passed=False, note=f"{len(said)} characters are no answer")
        answer, marked = final_answer_text(said)
        if not answer.strip():
            return Score.of(0.0, passed=False, note="no answer")
        for gold in golds:
            how = same_answer(answer, gold, tolerance)
            if not how and self.contains and not marked:
                inside = f" {normalised(gold)} " in f" {normalised(answer)} "
                how = "holds the gold answer" if normalised(gold) and inside else ""
            if how:
                return Score.of(1.0, passed=True, note=how, info={"found": answer[:200]})
        note = f"{answer[:80]!r} is not {golds[0][:80]!r}"
        return Score.of(0.0, passed=False, note=note, info={"found": answer[:200]})

    def _judged(self, score: Score, grade: Any) -> Score:
        info = {**score.info, "judge": grade.reason[:400]}
        if grade.value is None:
            note = f"the judge of equivalence {grade.status}: {grade.reason}"
            return (Score.fail if grade.status == "failed" else Score.abstain)(note, info=info)
        equal = grade.value >= 0.5
        note = f"the judge says {'equivalent' if equal else 'not equivalent'}: {grade.reason}"
        return Score.of(float(equal), passed=equal, note=note, info=info)

    def _golds(self, sample: Sample, index: int) -> list[str]:
        value = listed(sample.columns.get(self.column))
        values = list(value) if isinstance(value, list | tuple) else [value]
        values += ["true" if one else "false" for one in values if isinstance(one, bool)]
        golds = [text for one in values if (text := _gold(one, self.column, index))]
        if not golds and self.missing == "error":
            raise DataError(
                f"column {self.column!r} holds no gold answer ({value!r:.80}); fill it, or skip "
                "such rows with AnswerMatch(missing='skip')",
                index,
            )
        return golds


def _gold(value: Any, column: str, index: int) -> str:
    if getattr(value, "ndim", None) == 0:  # a NumPy scalar
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        return str(value).strip()
    if hasattr(value, "isoformat"):
        return str(value.isoformat())[:10]
    raise DataError(
        f"column {column!r} must hold text, a number, a date, or a list of them, got {value!r:.80}",
        index,
    )
