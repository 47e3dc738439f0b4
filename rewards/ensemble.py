"""Several rewards on one scale, reduced to one value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Literal

from assay.errors import ConfigError
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards.composite import check_turns, derive, named
from assay.settings import real


@dataclass(frozen=True)
class Ensemble(Reward):
    """Several rewards on one scale reduced to one value.

    `mean`: their mean. `min`: the most sceptical one. `mean_minus_std`: mean minus `penalty` times
    their population standard deviation, which prices disagreement.

    A failed or abstained member makes the ensemble so; members that skip a row are left out.

    Source: Coste et al., Reward Model Ensembles Help Mitigate Overoptimization, arXiv:2310.02743
    (worst-case and uncertainty-weighted optimisation; there the penalty multiplies the variance).

    Args:
        members: Two or more rewards with different names.
        reduce: How.
        penalty: Factor of the standard deviation, >= 0.

    Example:
        >>> from assay.rewards import Length
        >>> members = [Length(target=5, name="short"), Length(target=50, name="long")]
        >>> Ensemble(members)(completions=["123", "123456789"])
        [1.0, 0.5]
        >>> Ensemble(members, reduce="min")(completions=["123", "123456789"])
        [1.0, 0.0]
    """

    members: Sequence[Reward]
    reduce: Literal["mean", "min", "mean_minus_std"] = "mean"
    penalty: float = 1.0
    name: str = "ensemble"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.members, Sequence):
            raise ConfigError(
                f"Ensemble needs a sequence of Rewards, got {type(self.members).__name__}"
            )
        members = tuple(self.members)
        object.__setattr__(self, "members", members)
        if len(members) < 2 or not all(isinstance(member, Reward) for member in members):
            raise ConfigError(f"Ensemble needs at least two Rewards, got {members!r:.200}")
        names = [member.name for member in members]
        if len(set(names)) < len(names):
            raise ConfigError(f"Ensemble members must have different names, got {names}; set name=")
        named({member.name: member for member in members}, "Ensemble.members", (Reward,))
        if self.reduce not in ("mean", "min", "mean_minus_std"):
            raise ConfigError(
                "Ensemble.reduce must be one of {'mean', 'min', 'mean_minus_std'}, got "
                f"{self.reduce!r}"
            )
        real("Ensemble.penalty", self.penalty, 0)
        low = min(member.range[0] for member in members)
        high = max(member.range[1] for member in members)
        if self.reduce == "mean_minus_std" and self.penalty and math.isfinite(high - low):
            low -= self.penalty * (high - low) / 2  # no std over [low, high] is larger
        elif self.reduce == "mean_minus_std" and self.penalty and math.isinf(high):
            low = -math.inf
        derive(self, (low, high), members)

    def children(self) -> Mapping[str, Reward]:
        """The members by name."""
        return {member.name: member for member in self.members}

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate every member on every row, then reduce."""
        columns = {name: self.part(name, child, samples) for name, child in self.children().items()}
        return [
            self._reduce({name: scores[i] for name, scores in columns.items()})
            for i in range(len(samples))
        ]

    def _reduce(self, parts: Mapping[str, Score]) -> Score:
        for status in ("failed", "abstained"):
            for name, part in parts.items():
                if part.status == status:
                    return Score(None, part.status, parts=parts, note=f"{name}: {part.note}")
        values = [part.value for part in parts.values() if part.value is not None]
        if not values:
            return Score.skip("no member applies to this row", parts=parts)
        reports = [part.passed for part in parts.values() if part.passed is not None]
        spread = pstdev(values)
        value = min(values) if self.reduce == "min" else fmean(values)
        if self.reduce == "mean_minus_std":
            value -= self.penalty * spread
        return Score.of(
            value,
            passed=all(reports) if reports else None,
            turns=self._reduce_turns(parts),
            parts=parts,
            info={"std": spread},
        )

    def _reduce_turns(self, parts: Mapping[str, Score]) -> tuple[float | None, ...] | None:
        rows = [part.turns for part in parts.values() if part.turns is not None]
        if not rows:
            return None
        check_turns(parts)
        reduced: list[float | None] = []
        for turn in zip(*rows, strict=True):
            known = [t for t in turn if t is not None]
            if len(known) < len(turn):
                reduced.append(None)
                continue
            value = min(known) if self.reduce == "min" else fmean(known)
            if self.reduce == "mean_minus_std":
                value -= self.penalty * pstdev(known)
            reduced.append(value)
        return tuple(reduced)
