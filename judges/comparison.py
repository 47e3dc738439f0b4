"""A judge's verdicts on the pairs of a file: what makes `assay compare` the same job as `score`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judge import Judge, Pair, Verdict
from assay.messages import Message, Sample, as_messages
from assay.reward import Reward, Score


@dataclass(frozen=True)
class Comparison(Reward):
    """P(A preferred) of a judge, for rows with two answers: the completion is A.

    `info` holds `choice`, `order_gap`, `agreement`, `cost`, and where the verdict came from. What
    the judge could not decide is abstained, what broke is failed.

    Args:
        judge: Compares pairs; wrap it in `BothOrders` to run both orders.
        second: Column with answer B: text or messages.
        first: What answer A is called in messages.

    Example:
        >>> class Longer(Judge):
        ...     def compare(self, pairs):
        ...         longer = [len(p.a[0].content) > len(p.b[0].content) for p in pairs]
        ...         return [Verdict("A" if one else "B") for one in longer]
        ...
        ...     def fingerprint(self):
        ...         return "longer"
        >>> Comparison(Longer())(completions=["It is four."], prompts=["2 + 2?"], b=["four"])
        [1.0]
    """

    judge: Judge
    second: str = "b"
    first: str = "a"
    name: str = "p_a"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()
    range: tuple[float, float] = field(default=(0.0, 1.0))

    def __post_init__(self) -> None:
        if not isinstance(self.judge, Judge):
            raise ConfigError(
                f"Comparison.judge must be an assay.judge.Judge, got {type(self.judge).__name__}"
            )
        read = frozenset(self.judge.columns or ())
        object.__setattr__(self, "columns", read | {self.second})

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Compare all pairs in one call of the judge."""
        pairs = [self._pair(sample, index) for index, sample in enumerate(samples)]
        return [_score(verdict) for verdict in self.judge.compare(pairs)]

    def _pair(self, sample: Sample, index: int) -> Pair:
        columns = {k: v for k, v in sample.columns.items() if k != self.second}
        second = sample.columns[self.second]
        try:
            answer: tuple[Message, ...] = as_messages(second, role="assistant")
        except DataError as error:
            raise DataError(f"column {self.second!r}: {error}", index) from None
        for name, one in ((self.first, sample.completion), (self.second, answer)):
            if not one:
                raise DataError(f"column {name!r} holds no message", index)
        return Pair(sample.prompt, sample.completion, answer, columns, str(columns.get("id", "")))


def _score(verdict: Verdict) -> Score:
    info: dict[str, Any] = {
        "choice": verdict.choice,
        "order_gap": verdict.order_gap,
        "agreement": verdict.agreement,
        "cost": verdict.cost,
        "raw": verdict.raw or None,
        "judge": dict(verdict.info) or None,
    }
    info = {key: value for key, value in info.items() if value is not None}
    p_a = verdict.preference
    if p_a is None:
        missing = Score.fail if verdict.status == "failed" else Score.abstain
        return missing(verdict.reason or "the judge did not decide", info=info)
    return Score.of(p_a, note=verdict.reason, info=info)
