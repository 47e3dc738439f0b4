"""Rules first, a model where rules cannot tell, and how far the two agree where both can."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.calibration.agreement import cohen_kappa
from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.judge import TurnCritic, TurnVerdict
from assay.judges.turn_model import CRITERIA, ModelCritic
from assay.judges.turn_rules import RuleCritic
from assay.messages import Trajectory


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """Turns on which both decided a criterion: both yes, both no, and where they differ."""

    both_yes: int = 0
    both_no: int = 0
    rules_no: int = 0
    model_no: int = 0

    def __add__(self, other: CriterionAgreement) -> CriterionAgreement:
        return CriterionAgreement(
            self.both_yes + other.both_yes,
            self.both_no + other.both_no,
            self.rules_no + other.rules_no,
            self.model_no + other.model_no,
        )

    @property
    def count(self) -> int:
        """Turns on which both decided."""
        return self.both_yes + self.both_no + self.rules_no + self.model_no

    @property
    def share(self) -> float | None:
        """Share of them on which they agree, or None without any."""
        return (self.both_yes + self.both_no) / self.count if self.count else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None without any, or where chance alone gives full agreement.

        >>> round(CriterionAgreement(both_yes=6, both_no=2, rules_no=1, model_no=1).kappa, 4)
        0.5238
        """
        kappa = cohen_kappa([[self.both_yes, self.model_no], [self.rules_no, self.both_no]])
        return kappa if math.isfinite(kappa) else None


@dataclass(frozen=True, slots=True)
class CombinedReview:
    """What the combined critic makes of some trajectories.

    Attributes:
        verdicts: One list per trajectory, one verdict per turn.
        agreement: By criterion, over turns that both were asked about.
        asked: Turns that the model was asked about.
        turns: All turns.
    """

    verdicts: list[list[TurnVerdict]]
    agreement: Mapping[str, CriterionAgreement] = field(default_factory=dict)
    asked: int = 0
    turns: int = 0

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def joined(cls, parts: Sequence[CombinedReview]) -> CombinedReview:
        """Several reviews as one."""
        counts = {name: CriterionAgreement() for name in CRITERIA}
        for part in parts:
            for name, one in part.agreement.items():
                counts[name] = counts[name] + one
        return cls(
            [verdicts for part in parts for verdicts in part.verdicts],
            counts,
            sum(part.asked for part in parts),
            sum(part.turns for part in parts),
        )

    def to_json(self) -> dict[str, object]:
        """The agreement for people and machines."""
        by = {
            name: {"turns": one.count, "share": one.share, "kappa": one.kappa}
            for name, one in self.agreement.items()
        }
        return {"turns": self.turns, "asked": self.asked, "agreement": by}


@dataclass(frozen=True)
class CombinedCritic(TurnCritic):
    """What rules decide stands; the model is asked about turns that they leave open.

    A turn that the rules fail is not asked about (it has failed), unless `ask_all`, which also
    gives the fullest measure of agreement.

    Args:
        rules: The rule critic.
        model: The model critic.
        ask_all: Ask the model about every turn.
    """

    rules: RuleCritic
    model: ModelCritic
    ask_all: bool = False

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.rules, RuleCritic) or not isinstance(self.model, ModelCritic):
            raise ConfigError(
                "CombinedCritic needs a RuleCritic and a ModelCritic, got "
                f"{type(self.rules).__name__} and {type(self.model).__name__}"
            )

    def review(self, trajectories: Sequence[Trajectory]) -> list[list[TurnVerdict]]:
        """One verdict per assistant turn."""
        return self.review_all(trajectories).verdicts

    def review_all(self, trajectories: Sequence[Trajectory]) -> CombinedReview:
        """Verdicts with the agreement of rules and model."""
        by_rules = self.rules.review(trajectories)
        wanted = [
            [i for i, v in enumerate(one) if self.ask_all or v.passed is None] for one in by_rules
        ]
        by_model = self.model.review_some(list(zip(trajectories, wanted, strict=True)))
        counts: dict[str, dict[str, int]] = {name: {} for name in CRITERIA}
        merged: list[list[TurnVerdict]] = []
        for rules, model, asked in zip(by_rules, by_model, wanted, strict=True):
            row = list(rules)
            for index in asked:
                row[index] = merge(rules[index], model[index])
                for name in CRITERIA:
                    kind = _kind(getattr(rules[index], name), getattr(model[index], name))
                    if kind:
                        counts[name][kind] = counts[name].get(kind, 0) + 1
            merged.append(row)
        return CombinedReview(
            merged,
            {name: CriterionAgreement(**count) for name, count in counts.items()},
            sum(map(len, wanted)),
            sum(map(len, by_rules)),
        )

    def fingerprint(self) -> str:
        """A hash of both critics."""
        return fingerprint_of(
            ("CombinedCritic", self.rules.fingerprint(), self.model.fingerprint(), self.ask_all)
        )


def merge(rules: TurnVerdict, model: TurnVerdict) -> TurnVerdict:
    """The rules' verdict on a criterion where they have one, else the model's.

    >>> merge(TurnVerdict(None, True, None, "fits"), TurnVerdict(False, False, True, "a guess"))
    TurnVerdict(logical_soundness=False, tool_call_accuracy=True, informational_gain=True, \
reason='fits; model: a guess', raw='', findings=())
    """
    decided = {name: getattr(model, name) for name in CRITERIA if getattr(rules, name) is None}
    reason = "; ".join(
        part for part in (rules.reason, f"model: {model.reason}" if model.reason else "") if part
    )
    return replace(rules, **decided, reason=reason, raw=model.raw)


def _kind(rules: bool | None, model: bool | None) -> str:
    if rules is None or model is None:
        return ""
    if rules == model:
        return "both_yes" if rules else "both_no"
    return "model_no" if rules else "rules_no"
