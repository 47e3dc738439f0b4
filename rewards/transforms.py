"""Maps of a score's value: clip, sigmoid, standardise, calibrate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError
from assay.settings import real


class Transform(ABC):
    """An elementwise, monotone map of values."""

    @abstractmethod
    def __call__(self, values: Sequence[float]) -> list[float]:
        """The mapped values, as many as given."""

    @abstractmethod
    def image(self, span: tuple[float, float]) -> tuple[float, float]:
        """The range of mapped values when the values lie in `span`."""


@dataclass(frozen=True)
class Clip(Transform):
    """min(max(x, low), high).

    >>> Clip(-5, 5)([7.0, -1.0])
    [5.0, -1.0]
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        numbers = all(isinstance(end, int | float) for end in (self.low, self.high))
        if not (numbers and self.low < self.high):
            raise ConfigError(f"Clip needs low < high, got {self.low!r} and {self.high!r}")

    def __call__(self, values: Sequence[float]) -> list[float]:
        """Clip each value."""
        return [float(min(max(value, self.low), self.high)) for value in values]

    def image(self, span: tuple[float, float]) -> tuple[float, float]:
        """The span, clipped."""
        low, high = self(span)
        return low, high


@dataclass(frozen=True)
class Sigmoid(Transform):
    """1 / (1 + exp(-(x - shift) / temperature)).

    >>> Sigmoid()([0.0, 1000.0, -1000.0])
    [0.5, 1.0, 0.0]
    """

    temperature: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        number = isinstance(self.temperature, int | float)
        if not (number and math.isfinite(self.temperature) and self.temperature > 0):
            raise ConfigError(f"Sigmoid.temperature must be > 0, got {self.temperature!r}")
        real("Sigmoid.shift", self.shift)

    def __call__(self, values: Sequence[float]) -> list[float]:
        """Squash each value into [0, 1], without overflow."""
        return [_sigmoid((value - self.shift) / self.temperature) for value in values]

    def image(self, span: tuple[float, float]) -> tuple[float, float]:
        """The ends, squashed."""
        low, high = self(span)
        return low, high


@dataclass(frozen=True)
class Standardise(Transform):
    """(x - mean) / std, with statistics fixed beforehand (a held-out set), never the batch's.

    >>> Standardise(mean=2.0, std=0.5)([3.0])
    [2.0]
    """

    mean: float
    std: float

    def __post_init__(self) -> None:
        numbers = all(isinstance(one, int | float) for one in (self.mean, self.std))
        if not (numbers and math.isfinite(self.mean) and math.isfinite(self.std) and self.std > 0):
            raise ConfigError(
                f"Standardise needs a finite mean and std > 0, got {self.mean!r} and {self.std!r}"
            )

    def __call__(self, values: Sequence[float]) -> list[float]:
        """Standardise each value."""
        return [(value - self.mean) / self.std for value in values]

    def image(self, span: tuple[float, float]) -> tuple[float, float]:
        """The ends, standardised."""
        low, high = self(span)
        return low, high


@dataclass(frozen=True)
class Predicted(Transform):
    """A fitted calibrator with `predict(array) -> array`; its attribute `range`, else [0, 1]."""

    calibrator: Any

    def __call__(self, values: Sequence[float]) -> list[float]:
        """Predict for all values at once."""
        import numpy as np

        if not values:
            return []
        predicted = np.asarray(self.calibrator.predict(np.asarray(values, dtype=float)))
        if predicted.shape != (len(values),):
            raise ConfigError(
                f"{type(self.calibrator).__name__}.predict must give one number per value, got "
                f"shape {predicted.shape} for {len(values)} values"
            )
        return [float(value) for value in predicted]

    def image(self, span: tuple[float, float]) -> tuple[float, float]:
        """The calibrator's own range."""
        low, high = getattr(self.calibrator, "range", (0.0, 1.0))
        return float(low), float(high)


def as_transform(value: Any) -> Transform:
    """`value` itself, or a calibrator wrapped.

    Raises:
        ConfigError: Neither a Transform nor an object with `predict`.
    """
    if isinstance(value, Transform):
        return value
    if callable(getattr(value, "predict", None)):
        return Predicted(value)
    raise ConfigError(
        "Mapped needs Clip, Sigmoid, Standardise or a fitted calibrator with predict(), got "
        f"{type(value).__name__}"
    )


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    power = math.exp(x)
    return power / (1.0 + power)
