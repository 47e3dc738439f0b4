"""A reward whose value is mapped onto another scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import ConfigError, ContractError
from assay.judge import Judge
from assay.judges.calibrated import loaded_calibrator
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards.composite import derive, named
from assay.rewards.transforms import Predicted, Transform, as_transform


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
        return map_scores(self._map, name, self.part(name, self.reward, samples))


@dataclass(frozen=True)
class Calibrated(Reward):
    """A reward whose values go through a fitted calibrator: `Calibrated(reward, calibrator)`.

    What `Mapped(reward, calibrator)` does, under its own name. A judge, pair-wise models included,
    is calibrated by `assay.judges.Calibrated`.

    Args:
        reward: The reward; its values go in as they are.
        calibrator: Anything with `predict(array of shape (n,)) -> array of shape (n,)`, fitted on
            held-out scores of this reward, or the file of one (`Calibrator.save` of
            `assay.calibration`); its attribute `range`, else [0, 1], is the new range.

    Example:
        >>> from assay.rewards import Repetition, TemperatureScaling
        >>> Calibrated(Repetition(), TemperatureScaling(2.0)).range
        (0.0, 1.0)
    """

    reward: Reward
    calibrator: Any
    name: str = "calibrated"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.reward, Judge):
            raise ConfigError(
                f"Calibrated.reward must be a Reward, got the judge {type(self.reward).__name__}; "
                "use assay.judges.Calibrated, or wrap it as PointwiseReward or PairwiseReward"
            )
        object.__setattr__(self, "calibrator", loaded_calibrator(self.calibrator))
        if not callable(getattr(self.calibrator, "predict", None)):
            raise ConfigError(
                "Calibrated.calibrator must be a fitted object with predict(), got "
                f"{type(self.calibrator).__name__}"
            )
        inner = Mapped(self.reward, Predicted(self.calibrator))  # checks what is common
        derive(self, inner.range, [self.reward])

    def children(self) -> Mapping[str, Reward]:
        """The inner reward, under its own name."""
        return {self.reward.name: self.reward}

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate, then calibrate."""
        name = self.reward.name
        scores = self.part(name, self.reward, samples)
        return map_scores(Predicted(self.calibrator), name, scores)


def map_scores(transform: Transform, name: str, scores: Sequence[Score]) -> list[Score]:
    """Values and turn values mapped; the score itself becomes the part `name`.

    Raises:
        ContractError: The map gave another number of values.
    """
    given = [s.value for s in scores if s.value is not None]
    given += [t for s in scores for t in s.turns or () if t is not None]
    found = transform(given)
    if len(found) != len(given):
        raise ContractError(
            f"{type(transform).__name__} mapped {len(given)} values to {len(found)}; it must "
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
