"""Wrong types in constructors are ConfigErrors that say what, what they got and what is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.rewards import (
    ChatFormat,
    Clip,
    CodeFormat,
    Ensemble,
    Length,
    Mapped,
    MathAnswer,
    PassRate,
    Repetition,
    Route,
    Sigmoid,
    Standardise,
    Term,
    TimeComplexity,
    WeightedSum,
)
from tests.samples import FromColumn

LENGTH = Length(target=5)
TWO: list[Any] = [LENGTH, Length(target=3, name="other")]


class Backwards(FromColumn):
    def __post_init__(self) -> None:
        object.__setattr__(self, "range", (1.0, 0.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Term(LENGTH, gate=3), "Term.gate must be non-empty text, got 3"),
        (lambda: WeightedSum({"a": LENGTH}, max_error_rate="x"), "max_error_rate must be a finite"),
        (lambda: WeightedSum({"a": LENGTH}, max_error_rate=math.nan), ">= 0 and <= 1, got nan"),
        (lambda: WeightedSum({"a": LENGTH}, name=None), "WeightedSum.name must be non-empty text"),
        (
            lambda: WeightedSum({"a": LENGTH}, eos_token_ids=3),
            "a tuple of token ids, got 3",
        ),
        (lambda: WeightedSum({"a": Backwards()}), r"Backwards.range must be \(smallest, largest\)"),
        (lambda: Route(3, {"a": LENGTH}), "Route.column must be non-empty text, got 3"),
        (lambda: Route("d", {"a": LENGTH}, default=3), "Route.default must be a Reward, got int"),
        (lambda: Mapped(LENGTH, Clip("a", "b")), "Clip needs low < high, got 'a' and 'b'"),
        (lambda: Mapped(Length(target=1, name="a/b"), Clip(0, 1)), "text without '/', got 'a/b'"),
        (lambda: Clip(None, 1), "Clip needs low < high, got None and 1"),
        (lambda: Sigmoid("x"), "Sigmoid.temperature must be > 0, got 'x'"),
        (lambda: Sigmoid(1.0, math.nan), "Sigmoid.shift must be a finite number, got nan"),
        (lambda: Standardise(0, None), "needs a finite mean and std > 0, got 0 and None"),
        (lambda: Ensemble(None), "Ensemble needs a sequence of Rewards, got NoneType"),
        (lambda: Ensemble(TWO, penalty="x"), "Ensemble.penalty must be a finite number >= 0"),
        (lambda: PassRate(language="cobol"), "PassRate.language must be one of .*got 'cobol'"),
        (lambda: PassRate(comparison="foo"), "PassRate.comparison must be one of"),
        (lambda: PassRate(limits=3), "PassRate.limits must be Limits, got int"),
        (lambda: PassRate(stop_after_failures=0), "must be a whole number >= 1, got 0"),
        (lambda: PassRate(checker=3), "PassRate.checker must be a function or a JudgeProgram"),
        (lambda: PassRate(binary="yes"), "PassRate.binary must be one of {False, True}"),
        (lambda: PassRate(bare=[True]), "PassRate.bare must be one of"),
        (lambda: PassRate(column=3), "PassRate.column must be non-empty text"),
        (lambda: CodeFormat(language=["python"]), "language must be one of"),
        (lambda: CodeFormat(graded="x"), "CodeFormat.graded must be one of {False, True}"),
        (
            lambda: ChatFormat(special_tokens=None),
            "a sequence of non-empty texts, got None",
        ),
        (lambda: ChatFormat(think_prefilled="no"), "think_prefilled must be one of"),
        (lambda: Repetition(max_penalty="x"), "must be finite and >= 0, got 'x'"),
        (lambda: MathAnswer(wall_s="x"), "MathAnswer.wall_s must be a finite number >= 0"),
        (lambda: MathAnswer(workers=1.5), "MathAnswer.workers must be a whole number >= 1"),
        (lambda: MathAnswer(column=3), "MathAnswer.column must be non-empty text"),
        (lambda: TimeComplexity(mode=["x"]), "TimeComplexity.mode must be one of"),
        (lambda: TimeComplexity(column=3), "TimeComplexity.column must be non-empty text"),
    ],
)
def test_wrong_settings_are_told(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
