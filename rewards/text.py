"""Rewards on the form of a text: repetition, overlong completions, length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.errors import ConfigError, DataError
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.settings import one_of, whole


@dataclass(frozen=True)
class Repetition(Reward):
    """-(1 - unique n-grams / n-grams) * max_penalty: 0 without repetition, never positive.

    Counted over everything the model wrote in the completion, reasoning included, each assistant
    turn by itself (no n-gram crosses turns); letter case is ignored. A text with fewer than n units
    has no n-gram and scores 0. The range is [-max_penalty, 0].

    Source: the repetition penalty of open-r1; n = 3 is its default.

    Args:
        n: Length of the n-grams, in units.
        max_penalty: What a text that repeats one n-gram for ever comes close to losing, >= 0.
        unit: `word` (separated by white space), or `character` for languages without spaces.
        name: Metric name.

    Raises:
        ConfigError: n < 1, max_penalty negative or not finite, or an unknown unit.

    Example:
        `a a a a` has two 2-grams too many: 3 of them, 1 unique.

        >>> Repetition(n=2, max_penalty=1.5)(completions=["a b c d", "a a a a"])
        [0.0, -1.0]
    """

    n: int = 3
    max_penalty: float = 1.0
    unit: Literal["word", "character"] = "word"
    name: str = "repetition"

    def __post_init__(self) -> None:
        whole("Repetition.n", self.n, 1)
        number = isinstance(self.max_penalty, int | float)
        if not (number and math.isfinite(self.max_penalty) and self.max_penalty >= 0):
            raise ConfigError(
                f"Repetition.max_penalty must be finite and >= 0, got {self.max_penalty!r}; "
                "the sign is the reward's own"
            )
        one_of("Repetition.unit", self.unit, ("word", "character"))
        object.__setattr__(self, "range", (0.0 - self.max_penalty, 0.0))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Count n-grams."""
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> Score:
        seen: set[str | tuple[str, ...]] = set()
        total = 0
        for text in _written(sample):
            text = text.lower()
            words = text.split() if self.unit == "word" else None
            count = len(text if words is None else words) - self.n + 1
            for start in range(count):
                end = start + self.n
                seen.add(text[start:end] if words is None else tuple(words[start:end]))
            total += max(0, count)
        share = (total - len(seen)) / total if total else 0.0
        note = f"{total - len(seen)} of {total} {self.n}-grams are repeats"
        return Score.of(0.0 - share * self.max_penalty, note=note)


@dataclass(frozen=True)
class Overlong(Reward):
    """DAPO's soft overlong punishment: 0, then linearly down over the cache, then -1.

    With L the length, L_max and L_c the two limits::

        0                            if L <= L_max - L_c
        ((L_max - L_c) - L) / L_c    if L_max - L_c < L <= L_max
        -1                           if L > L_max, or the completion was truncated

    A truncated completion counts as longer than L_max whatever its text says, and needs no length.
    Tokens are counted in `completion_ids`, which hold the tokens of tool results as well: in a
    trajectory the results count as length, as they do against the trainer's limit.

    Source: Yu et al., DAPO, arXiv:2503.14476, equation 13.

    Args:
        max_tokens: L_max, in units.
        cache_tokens: L_c, in units, 0 <= L_c <= L_max. 0 is a hard limit.
        unit: `tokens` needs `completion_ids`; `characters` and `words` measure what the model wrote
            (reasoning included, tool results not) and serve where no ids are at hand.
        eos_token_ids: Ids that end a finished completion (`Reward.eos_token_ids`).
        name: Metric name.

    Raises:
        ConfigError: Limits out of order, or an unknown unit.
        DataError: `unit="tokens"` and a row without `completion_ids`.

    Example:
        >>> Overlong()(completions=["a", "b"], completion_ids=[[7] * 17408, [7] * 18432])
        [-0.25, -0.5]
    """

    max_tokens: int = 20480
    cache_tokens: int = 4096
    unit: Literal["tokens", "characters", "words"] = "tokens"
    eos_token_ids: tuple[int, ...] = ()
    name: str = "overlong"
    range = (-1.0, 0.0)

    def __post_init__(self) -> None:
        whole("Overlong.max_tokens", self.max_tokens, 1)
        whole("Overlong.cache_tokens", self.cache_tokens, 0)
        if self.cache_tokens > self.max_tokens:
            raise ConfigError(
                f"Overlong.cache_tokens must be <= max_tokens, got {self.cache_tokens} > "
                f"{self.max_tokens}"
            )
        one_of("Overlong.unit", self.unit, ("tokens", "characters", "words"))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Measure each completion."""
        return [self._one(sample, index) for index, sample in enumerate(samples)]

    def _one(self, sample: Sample, index: int) -> Score:
        if sample.truncated:
            return Score.of(-1.0, note="truncated: counts as longer than max_tokens")
        length = self._length(sample, index)
        free = self.max_tokens - self.cache_tokens
        if length <= free:
            value = 0.0
        elif length <= self.max_tokens:
            value = (free - length) / self.cache_tokens
        else:
            value = -1.0
        return Score.of(value, note=f"{length} {self.unit}")

    def _length(self, sample: Sample, index: int) -> int:
        if self.unit != "tokens":
            return sum(_size(text, self.unit) for text in _written(sample))
        if sample.completion_ids is None:
            raise DataError(
                "Overlong counts tokens and this row has no completion_ids; pass completion_ids "
                "(TRL does), or measure the text: Overlong(unit='words') or unit='characters', "
                "with limits to match",
                index,
            )
        return len(sample.completion_ids)


@dataclass(frozen=True)
class Length(Reward):
    """1 up to `target`, then linearly down to 0: min(1, max(0, 1 - (L - target) / slack)).

    L is the length of the answer, after the reasoning, without white space around it. An empty
    answer scores 0, or saying nothing would be the best answer; so does a truncated completion,
    whose length nobody knows.

    Source: ours.

    Args:
        target: Longest answer with full marks, in units.
        slack: Units over which the value falls to 0; 0 is a hard limit.
        unit: `characters` or `words`.
        eos_token_ids: Ids that end a finished completion (`Reward.eos_token_ids`).
        name: Metric name.

    Raises:
        ConfigError: target < 1, slack < 0, or an unknown unit.

    Example:
        >>> Length(target=4, slack=4)(completions=["four", "fives", "far too long", ""])
        [1.0, 0.75, 0.0, 0.0]
    """

    target: int
    slack: int = 0
    unit: Literal["characters", "words"] = "characters"
    eos_token_ids: tuple[int, ...] = ()
    name: str = "length"
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        whole("Length.target", self.target, 1)
        whole("Length.slack", self.slack, 0)
        one_of("Length.unit", self.unit, ("characters", "words"))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Measure each answer."""
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> Score:
        length = _size(sample.answer.strip(), self.unit)
        if sample.truncated:
            return Score.of(0.0, note="truncated: the length is unknown")
        if length == 0:
            return Score.of(0.0, note="empty answer")
        over = length - self.target
        value = 1.0 if over <= 0 else max(0.0, 1.0 - over / self.slack) if self.slack else 0.0
        return Score.of(value, note=f"{length} {self.unit}")


def _written(sample: Sample) -> Iterator[str]:
    """What the model wrote, turn by turn; reasoning that is kept apart comes first."""
    for message in sample.completion:
        if message.role == "assistant":
            yield "\n".join(filter(None, (message.reasoning, message.content)))


def _size(text: str, unit: str) -> int:
    return len(text.split()) if unit == "words" else len(text)
