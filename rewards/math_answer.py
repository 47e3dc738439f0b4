"""The correctness reward for mathematics: the final answer equals the gold answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

from assay.errors import DataError
from assay.fingerprint import fingerprint_of
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.sandbox.process import BoundedWorker, CallFailure
from assay.settings import nonempty, one_of, real, whole

#: Without a box, only the end of an answer is searched.
TAIL = 2000


@dataclass(frozen=True)
class MathAnswer(Reward):
    r"""1 if the final answer equals the gold answer as mathematics, else 0; `passed` says the same.

    The answer is what the last `\boxed{...}` after `</think>` holds; without a box it is the last
    expression that math-verify finds in the last 2000 characters. Fractions, decimals, percentages,
    intervals, sets, matrices, equations and symbolic forms are compared by value. A text in which
    nothing parses is a wrong answer: 0.

    The comparison runs in a process of its own, confined and under a wall limit
    (`assay.rewards.math_worker`), because some texts make SymPy compute for ever. Such a row is
    *abstained*: we could not decide, and that is not the completion's score. A degenerate answer
    therefore gains nothing and loses nothing. A worker that cannot run makes scores *failed*.

    Source: math-verify (github.com/huggingface/Math-Verify) for equality.

    Args:
        column: Dataset column with the gold answer: LaTeX with or without `$` or a box, a number,
            or text that ends on GSM8K's `#### answer`.
        missing: What a row without gold answer (None, NaN, blank) is: `error` a DataError, `skip` a
            skipped score.
        boxed: Only a boxed answer counts.
        wall_s: Wall seconds for one comparison.
        workers: Processes that compare at the same time.
        name: Metric name.

    Raises:
        ImportError: math-verify is not installed (at construction).
        DataError: No gold answer, or one that does not parse; `index` says in which row.

    Example:
        >>> reward = MathAnswer()
        >>> reward(completions=[r"So it is \boxed{\frac{1}{2}}.", "The answer is 3."],
        ...        answer=["0.5", "4"])
        [1.0, 0.0]
    """

    column: str = "answer"
    missing: Literal["error", "skip"] = "error"
    boxed: bool = False
    wall_s: float = 5.0
    workers: int = field(default=2, metadata={"fingerprint": False})
    name: str = "math_answer"
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        _math_verify_version()
        one_of("MathAnswer.missing", self.missing, ("error", "skip"))
        nonempty("MathAnswer.column", self.column)
        real("MathAnswer.wall_s", self.wall_s, 0)
        whole("MathAnswer.workers", self.workers, 1)
        self._worker()
        needed = {self.column} if self.missing == "error" else set()
        object.__setattr__(self, "columns", frozenset(needed))

    def fingerprint(self) -> str:
        """Settings, and the version of math-verify."""
        return fingerprint_of((super().fingerprint(), _math_verify_version()))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Compare the rows that have both answers, several at a time."""
        scores: list[Score] = [Score.skip("no gold answer")] * len(samples)
        calls: dict[int, list[str]] = {}
        for index, sample in enumerate(samples):
            gold = self._gold(sample, index)
            if gold is None:
                continue
            answer, note = final_answer(sample.answer, boxed=self.boxed)
            if answer is None:
                scores[index] = Score.of(0.0, passed=False, note=note)
            calls[index] = [gold, answer or ""]
        replies = self._worker().call(list(calls.values()))
        for index, reply in zip(calls, replies, strict=True):
            scores[index] = self._score(reply, samples[index], index, scores[index])
        return scores

    def _score(self, reply: Any, sample: Sample, index: int, known: Score) -> Score:
        if isinstance(reply, CallFailure):
            if known.status == "scored":
                return known
            if reply.reason == "error":
                undecided = reply.message.startswith(("MemoryError", "RecursionError"))
                return (Score.abstain if undecided else Score.fail)(reply.message)
            return Score.abstain(f"the comparison gave no verdict: {reply.message}")
        if not reply["gold_parses"]:
            raise DataError(
                f"gold answer {sample.columns[self.column]!r:.120} does not parse as mathematics; "
                "mend the row, or score it with another reward",
                index,
            )
        if known.status == "scored":
            return known
        equal = reply["equal"]
        note = reply["note"] or f"found {reply['found']}"
        return Score.of(float(equal), passed=equal, note=note, info={"found": reply["found"]})

    def _gold(self, sample: Sample, index: int) -> str | None:
        value = sample.columns.get(self.column)
        blank = value is None or (isinstance(value, str) and not value.strip())
        if blank or (isinstance(value, float) and math.isnan(value)):
            if self.missing == "skip":
                return None
            raise DataError(
                f"column {self.column!r} holds no gold answer ({value!r}); fill it, or skip such "
                "rows with MathAnswer(missing='skip')",
                index,
            )
        if isinstance(value, str):
            return gold_text(value)
        if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
            return gold_text(format(Decimal(str(value)), "f"))
        raise DataError(
            f"column {self.column!r} must hold text or a finite number, got {value!r:.120}", index
        )

    def _worker(self) -> BoundedWorker:
        return BoundedWorker(
            "assay.rewards.math_worker:serve", wall_s=self.wall_s, workers=self.workers
        )


def final_answer(text: str, *, boxed: bool = False) -> tuple[str | None, str]:
    r"""The part of an answer that is compared, or None and why there is none.

    >>> final_answer(r"\boxed{1}, no: \boxed{\{1, 2\}}.")[0]
    '\\boxed{\\{1, 2\\}}'
    >>> final_answer(r"\boxed{1")
    (None, 'the last box is not closed')
    """
    if not text.strip():
        return None, "empty answer"
    start = text.rfind(r"\boxed{")
    if start < 0:
        return (None, "no boxed answer") if boxed else (text[-TAIL:], "")
    content = _braced(text, start + len(r"\boxed{"))
    if content is None:
        return None, "the last box is not closed"
    if len(content) > TAIL:
        return None, f"the last box holds more than {TAIL} characters"
    if not content.strip():
        return None, "the last box is empty"
    return rf"\boxed{{{' '.join(content.split())}}}", ""


def gold_text(gold: str) -> str:
    r"""A gold answer as math-verify reads it: boxed, unless it brings its own delimiters.

    >>> gold_text("1/2"), gold_text("2 + 2 = 4\n#### 4"), gold_text("$x$")
    ('\\boxed{1/2}', '\\boxed{4}', '$x$')
    """
    gold = gold.rpartition("####")[2].strip()
    if r"\boxed{" in gold:
        return final_answer(gold)[0] or gold
    if gold.startswith(("$", r"\(", r"\[")) and gold.endswith(("$", r"\)", r"\]")):
        return gold
    return rf"\boxed{{{' '.join(gold.split())}}}"


def _braced(text: str, start: int) -> str | None:
    """What stands before the brace that closes the one just before `start`."""
    depth = 1
    at = start
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return text[start:at]
        at += 1
    return None


def _math_verify_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("math-verify")
    except PackageNotFoundError:
        raise ImportError(
            'MathAnswer needs math-verify; install it with: pip install "assay[math]"'
        ) from None
