"""A judge whose probabilities went through a calibrator: `Calibrated(judge, calibrator)`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, ContractError
from assay.fingerprint import fingerprint_of
from assay.judge import Choice, Grade, Item, Judge, Pair, Verdict

#: Probabilities nearer to 0 or 1 are taken for this one, so that their logit is finite.
_LEAST = 1e-12


@dataclass(frozen=True)
class Calibrated(Judge):
    """`judge`, its P(A preferred) and its grades mapped by a fitted calibrator.

    A pair's probability is mapped in both directions, (f(p) + 1 - f(1 - p)) / 2, so that the
    verdicts on (A, B) and (B, A) stay mirror images whatever f is; for an f without an intercept
    that is f itself. Where both orders were run, the order gap is that of the two mapped
    probabilities. A verdict without a probability, a tie and a missing one stay as they are.

    Args:
        judge: Compares, grades, or both.
        calibrator: Anything with `predict(array of shape (n,)) -> array of shape (n,)`, fitted on
            held-out opinions of this judge, or the file of one (`Calibrator.save` of
            `assay.calibration`). It gets probabilities; one with the attribute `scale = "logit"`
            gets their logits. Grades go in as they are.

    Raises:
        ConfigError: The calibrator has no `predict`.
        ContractError: It gives another number of values, or no probabilities for pairs.

    Example:
        >>> class Sure(Judge):
        ...     def compare(self, pairs):
        ...         return [Verdict("A", 0.9, 0.1) for _ in pairs]
        ...
        ...     def fingerprint(self):
        ...         return "sure"
        >>> class Halved:
        ...     scale = "logit"
        ...
        ...     def predict(self, logits):
        ...         return 1 / (1 + 2.718281828459045 ** (-logits / 2))
        >>> (verdict,) = Calibrated(Sure(), Halved()).compare([Pair((), (), ())])
        >>> verdict.choice, round(verdict.p_a, 4)     # odds of 9 become odds of 3
        ('A', 0.75)
    """

    judge: Judge
    calibrator: Any

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.judge, Judge):
            raise ConfigError(
                f"Calibrated.judge must be a judge, got {type(self.judge).__name__}; for a reward "
                "use assay.rewards.Calibrated"
            )
        object.__setattr__(self, "calibrator", loaded_calibrator(self.calibrator))
        if not callable(getattr(self.calibrator, "predict", None)):
            raise ConfigError(
                "Calibrated.calibrator must be a fitted object with predict(), got "
                f"{type(self.calibrator).__name__}"
            )

    @property
    def columns(self) -> frozenset[str] | None:
        """What the judge reads."""
        return self.judge.columns

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """The judge's verdicts, calibrated."""
        verdicts = self.judge.compare(pairs)
        asked: list[float] = []
        for verdict in verdicts:
            if verdict.p_a is not None:
                asked.append(verdict.p_a)
                if verdict.order_gap is not None:
                    asked += _orders(verdict.p_a, verdict.order_gap)
        found = iter(self._probabilities(asked))
        made = []
        for verdict in verdicts:
            if verdict.p_a is None:
                made.append(verdict)
                continue
            p = next(found)
            gap = None if verdict.order_gap is None else next(found) - next(found)
            made.append(replace(verdict, choice=_choice(verdict, p), p_a=p, order_gap=gap))
        return made

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """The judge's grades, calibrated."""
        grades = self.judge.grade(items)
        found = iter(self._predict([g.value for g in grades if g.value is not None]))
        return [g if g.value is None else replace(g, value=next(found)) for g in grades]

    def fingerprint(self) -> str:
        """A hash of the judge and of the calibrator's parameters."""
        return fingerprint_of(("calibrated", self.judge, self.calibrator))

    def _probabilities(self, p: Sequence[float]) -> list[float]:
        """(f(p) + 1 - f(1 - p)) / 2, exactly mirrored."""
        both = [*p, *(1 - x for x in p)]
        if getattr(self.calibrator, "scale", "probability") == "logit":
            both = [_logit(x) for x in both]
        mapped = self._predict(both)
        if any(not -1e-9 <= x <= 1 + 1e-9 for x in mapped):
            raise ContractError(
                f"{type(self.calibrator).__name__}.predict must give probabilities in [0, 1], got "
                f"values from {min(mapped)} to {max(mapped)}"
            )
        half = len(p)
        leans = [(x - y) / 2 for x, y in zip(mapped[:half], mapped[half:], strict=True)]
        return [min(max(0.5 + lean, 0.0), 1.0) for lean in leans]

    def _predict(self, values: Sequence[float]) -> list[float]:
        import numpy as np

        if not values:
            return []
        found = np.asarray(self.calibrator.predict(np.asarray(values, dtype=float)), dtype=float)
        if found.shape != (len(values),) or not np.isfinite(found).all():
            raise ContractError(
                f"{type(self.calibrator).__name__}.predict must give one finite number per value, "
                f"got shape {found.shape} for {len(values)} values"
            )
        return [float(x) for x in found]


def loaded_calibrator(calibrator: Any) -> Any:
    """The calibrator that a path names; anything else as it is.

    Raises:
        ConfigError: The file is missing or holds no calibrator.
    """
    if not isinstance(calibrator, str | Path):
        return calibrator
    from assay.calibration.calibrator import Calibrator

    try:
        return Calibrator.load(calibrator)
    except OSError as error:
        raise ConfigError(
            f"cannot read the calibrator {calibrator}: {error.strerror or error}; save one with "
            "Calibrator.save"
        ) from error


def _orders(p_a: float, gap: float) -> list[float]:
    """P(A wins) with A shown first, and with A shown second."""
    return [min(max(x, 0.0), 1.0) for x in (p_a + gap / 2, p_a - gap / 2)]


def _choice(verdict: Verdict, p: float) -> Choice | None:
    if verdict.choice in (None, "tie"):
        return verdict.choice
    return "tie" if p == 0.5 else "A" if p > 0.5 else "B"


def _logit(p: float) -> float:
    p = min(max(p, _LEAST), 1 - _LEAST)
    return math.log(p) - math.log1p(-p)
