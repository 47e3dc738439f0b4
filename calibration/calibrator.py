"""Calibrators: what they share, how they keep p(A,B) + p(B,A) = 1, and their JSON files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, logit, sigmoid, vector
from assay.calibration.saved_objects import load_object, save_object
from assay.errors import ConfigError, DataError

Scale = Literal["probability", "logit"]
FORMAT = 1

#: Module and class of every kind of calibrator.
KINDS = {
    "temperature": ("temperature", "Temperature"),
    "platt": ("platt", "Platt"),
    "isotonic": ("isotonic", "Isotonic"),
    "histogram": ("histogram", "Histogram"),
    "beta": ("beta", "Beta"),
}


@dataclass(frozen=True)
class Calibrator(ABC):
    """Maps a judge's probabilities to calibrated ones; `fit` returns a new, fitted object.

    With `pairs` (the default) inputs are P(A preferred): the data are fitted together with their
    mirror images (1 - p, 1 - y), and predictions satisfy f(p) + f(1 - p) = 1 exactly, so that
    swapping A and B mirrors them. Without it, inputs are the probabilities of any event.

    Attributes:
        scale: `probability`: inputs are in [0, 1]. `logit`: inputs are logits, such as the
            difference of two reward-model scores, of which large ones would all round to 1.
        pairs: Whether inputs are preferences between two answers.
        n: Rows it was fitted on; 0 before `fit`.
    """

    scale: Scale = "probability"
    pairs: bool = True
    n: int = 0

    kind: ClassVar[str] = ""
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.scale not in ("probability", "logit"):
            raise ConfigError(
                f"{type(self).__name__}.scale must be one of {{'probability', 'logit'}}, got "
                f"{self.scale!r}"
            )
        if (
            not isinstance(self.pairs, bool)
            or isinstance(self.n, bool)
            or not (isinstance(self.n, int) and self.n >= 0)
        ):
            raise ConfigError(
                f"{type(self).__name__} needs pairs true or false and n a count, got "
                f"{self.pairs!r} and {self.n!r:.40}"
            )

    @abstractmethod
    def _learn(self, x: FloatArray, y: FloatArray) -> dict[str, Any]:
        """Fitted fields from logits and outcomes; mirrored already where `pairs` holds."""

    @abstractmethod
    def _map(self, x: FloatArray) -> FloatArray:
        """Calibrated probabilities of logits."""

    def fit(self, p: ArrayLike, y: ArrayLike) -> Self:
        """A fitted copy.

        Args:
            p: Probabilities (or logits, by `scale`), shape (n,).
            y: What happened, in [0, 1], shape (n,): 1 where A was preferred, .5 for a tie.

        Raises:
            DataError: No rows, other lengths, values out of range, or data that no member of the
                family fits best.
        """
        x = self._logits(p)
        labels = vector("y", y, low=0, high=1, size=len(x))
        if not len(x):
            raise DataError(f"{type(self).__name__}.fit needs rows, got none; give labelled pairs")
        learnt = (
            self._learn(np.concatenate([x, -x]), np.concatenate([labels, 1 - labels]))
            if self.pairs
            else self._learn(x, labels)
        )
        return replace(self, **learnt, n=len(x))

    def predict(self, p: ArrayLike) -> FloatArray:
        """Calibrated probabilities, shape (n,).

        Raises:
            ConfigError: It was not fitted.
        """
        if not self.n:
            name = type(self).__name__
            raise ConfigError(
                f"this {name} is not fitted; keep what fit returns: c = {name}().fit(p, y)"
            )
        if not self.pairs:
            return self._map(self._logits(p))
        # Only the upper half is mapped; the lower half is its mirror image, exactly.
        if self.scale == "logit":
            x = vector("p", p)
            lower, x = x < 0, np.abs(x)
        else:
            inside = vector("p", p, low=0, high=1)
            lower = inside < 0.5
            x = logit(np.where(lower, 1.0 - inside, inside), _CLIP)
        upper = np.where(x == 0, 0.5, self._map(x))
        found: FloatArray = np.where(lower, 1.0 - upper, upper)
        return found

    @property
    def takes(self) -> Scale:
        """What `predict` gets, as wrappers of judges ask: probabilities or logits."""
        return self.scale

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and model cards."""
        return {"calibrator": self.kind, "format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The calibrator that `to_dict` wrote; on `Calibrator` itself, of whichever kind.

        Raises:
            ConfigError: Another format, an unknown kind, or fields that are not this kind's.
        """
        kind, fmt = data.get("calibrator"), data.get("format")
        if not isinstance(kind, str) or kind not in KINDS or fmt != FORMAT:
            raise ConfigError(
                f"not a calibrator of format {FORMAT}: got kind {kind!r}, format {fmt!r}; save one "
                "with Calibrator.save"
            )
        module, name = KINDS[kind]
        target: type[Self] = getattr(import_module(f"assay.calibration.{module}"), name)
        if not issubclass(target, cls):
            raise ConfigError(f"this is a {name}, not a {cls.__name__}; use Calibrator.load")
        known = {f.name for f in fields(target)}
        given = {k: _frozen(v) for k, v in data.items() if k not in ("calibrator", "format")}
        if not set(given) <= known:
            raise ConfigError(
                f"{name} has no fields {sorted(set(given) - known)}; it has {sorted(known)}"
            )
        return target(**given)

    def save(self, path: str | Path) -> None:
        """Write the calibrator as JSON, all or nothing."""
        save_object(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote.

        Raises:
            ConfigError: Not a calibrator's file.
        """
        return cls.from_dict(load_object(path, "calibrator", "Calibrator.save writes one"))

    def _logits(self, p: ArrayLike) -> FloatArray:
        if self.scale == "logit":
            return vector("p", p)
        return logit(vector("p", p, low=0, high=1), _CLIP)


#: Hard verdicts (0 and 1) count as this sure.
_CLIP = 1e-6


def checked(
    owner: Calibrator, name: str, low: float = -np.inf, high: float = np.inf, *, above: bool = False
) -> None:
    """Refuse a fitted number, or one of several, that is none or lies outside [low, high].

    Files are written by hand too, and a curve of NaN would be served without a word.

    Raises:
        ConfigError: Names the field.
    """
    value = getattr(owner, name)
    several = value if isinstance(value, tuple) else (value,)
    for one in several:
        number = isinstance(one, int | float) and not isinstance(one, bool)
        if not number or not (low <= one <= high and np.isfinite(one)) or (above and one == low):
            span = "finite" if np.isinf(low) else f"> {low:g}" if above else f">= {low:g}"
            span += "" if np.isinf(high) else f" and <= {high:g}"
            raise ConfigError(f"{type(owner).__name__}.{name} must be {span}, got {one!r:.60}")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def unit(x: FloatArray) -> FloatArray:
    """Logits on (0, 1), where bins and isotonic steps lie; order is kept as far as floats do.

    >>> unit(np.array([-np.inf, 0.0])).tolist()
    [0.0, 0.5]
    """
    return sigmoid(x)
