"""A reward whose value is mapped onto another scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, ContractError
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards.composite import derive, named
from assay.rewards.transforms import Transform, as_transform


@dataclass(frozen=True)
class Mapped(Reward):
    """Applies a map to a reward's value: bounds an unbounded score before it meets bounded ones.

    Args:
        reward: The reward.
        transform: `Clip`, `Sigmoid`, `Standardise`, or any calibrator with `predict(array)`.

    Turn values are mapped as well; `passed`, status and note stay.

    Example:
        >>> from assay.rewards import Clip, Repetition
        >>> Mapped(Repetition(), Clip(-0.5, 0)).range
        (-0.5, 0.0)
    """

    reward: Reward
    transform: Any
    name: str = "mapped"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.reward, Reward):
            raise ConfigError(f"Mapped needs a Reward, got {type(self.reward).__name__}")
        named({self.reward.name: self.reward}, "Mapped.reward", (Reward,))
        transform = as_transform(self.transform)
        derive(self, transform.image(self.reward.range), [self.reward])
        object.__setattr__(self, "_map", transform)

    _map: Transform = field(init=False, repr=False, compare=False, default=None)  # type: ignore[assignment]

    def children(self) -> Mapping[str, Reward]:
        """The inner reward, under its own name."""
        return {self.reward.name: self.reward}

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate, then map."""
        name = self.reward.name
        scores = self.part(name, self.reward, samples)
        given = [s.value for s in scores if s.value is not None]
        given += [t for s in scores for t in s.turns or () if t is not None]
        found = self._map(given)
        if len(found) != len(given):
            raise ContractError(
                f"{type(self._map).__name__} mapped {len(given)} values to {len(found)}; it must "
                "give one for each"
            )
        values = iter(found)
        mapped = [None if s.value is None else next(values) for s in scores]
        return [
            Score(
                value,
                s.status,
                s.passed,
                None
                if s.turns is None
                else tuple(None if t is None else next(values) for t in s.turns),
                {name: s},
                s.note,
            )
            for s, value in zip(scores, mapped, strict=True)
        ]
