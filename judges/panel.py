"""Several judges as one: they vote or are averaged, and abstain where they disagree too much."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from assay.errors import ConfigError, ContractError
from assay.fingerprint import configuration_fingerprint
from assay.judge import Choice, Grade, Item, Judge, Outcome, Pair, Verdict, columns_of, total_cost

T = TypeVar("T", Verdict, Grade)


@dataclass(frozen=True)
class Panel(Judge):
    """Several judges, one opinion.

    | rule | pairs | items |
    |---|---|---|
    | `majority` | the choice with over half of the votes' weight, else abstain | weighted median |
    | `mean` | the weighted mean of p_a, a tie within `tie_tolerance` of .5 | weighted mean |

    p_a is the weighted mean under both rules. Members without an opinion do not vote; with fewer
    than `quorum` votes the panel abstains, or has failed if too many members failed for a quorum
    to be possible. `agreement` is the share of the votes' weight on the panel's side (of items: on
    values within `max_spread / 2`, or equal ones, of the panel's); below `min_agreement` the panel
    abstains.

    Args:
        judges: By name, at least two.
        rule: See above.
        weights: By name, > 0; equal where None. `log_odds_weights` makes them from accuracies.
        quorum: Members with an opinion that are needed; None for more than half of them.
        min_agreement: In [0, 1].
        max_spread: Of grades: highest minus lowest beyond which the panel abstains; None: never.
        tie_tolerance: Of rule `mean`.
        parallel: Ask the members at the same time, one thread each; set False where they share a
            model in this process.

    Source: Verga et al., Replacing Judges with Juries (PoLL), arXiv:2404.18796.
    """

    judges: Mapping[str, Judge]
    rule: Literal["majority", "mean"] = "majority"
    weights: Mapping[str, float] | None = None
    quorum: int | None = None
    min_agreement: float = 0.0
    max_spread: float | None = None
    tie_tolerance: float = 1e-9
    parallel: bool = True

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if len(self.judges) < 2:
            raise ConfigError(f"a Panel needs at least two judges, got {list(self.judges)}")
        if self.rule not in ("majority", "mean"):
            raise ConfigError(
                f"Panel.rule must be one of {{'majority', 'mean'}}, got {self.rule!r}"
            )
        if self.weights is not None:
            if self.weights.keys() != self.judges.keys():
                raise ConfigError(
                    f"Panel.weights must name the judges {sorted(self.judges)}, got "
                    f"{sorted(self.weights)}"
                )
            if bad := {k: w for k, w in self.weights.items() if not 0 < w < math.inf}:
                raise ConfigError(f"Panel.weights must be finite and > 0, got {bad}")
        if self.quorum is not None and not 1 <= self.quorum <= len(self.judges):
            raise ConfigError(
                f"Panel.quorum must lie in [1, {len(self.judges)}], got {self.quorum}"
            )
        for name in ("min_agreement", "tie_tolerance"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"Panel.{name} must lie in [0, 1], got {getattr(self, name)}")
        if self.max_spread is not None and not self.max_spread >= 0:
            raise ConfigError(f"Panel.max_spread must be >= 0 or None, got {self.max_spread}")

    @property
    def columns(self) -> frozenset[str] | None:
        """What the judges read."""
        return columns_of(self.judges.values())

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict per pair; every member gets the whole batch."""
        pairs = list(pairs)
        votes = self._ask(lambda judge: judge.compare(pairs), len(pairs))
        return [self._verdict({n: v[i] for n, v in votes.items()}) for i in range(len(pairs))]

    def grade(self, items: Sequence[Item]) -> list[Grade]:
        """One grade per item; every member gets the whole batch."""
        items = list(items)
        votes = self._ask(lambda judge: judge.grade(items), len(items))
        return [self._grade({n: v[i] for n, v in votes.items()}) for i in range(len(items))]

    def fingerprint(self) -> str:
        """A hash of the members and of how they are joined."""
        return configuration_fingerprint(self)

    def _ask(self, ask: Callable[[Judge], list[T]], count: int) -> dict[str, list[T]]:
        if self.parallel:
            with ThreadPoolExecutor(len(self.judges)) as threads:
                answers = list(threads.map(ask, self.judges.values()))
        else:
            answers = [ask(judge) for judge in self.judges.values()]
        for name, answer in zip(self.judges, answers, strict=True):
            if len(answer) != count:
                raise ContractError(f"judge {name!r} gave {len(answer)} answers to {count} items")
        return dict(zip(self.judges, answers, strict=True))

    def _missing(self, votes: Mapping[str, Any]) -> tuple[Outcome, str] | None:
        """Why there is no quorum, or None."""
        needed = len(self.judges) // 2 + 1 if self.quorum is None else self.quorum
        spoken = [v for v in votes.values() if v.status == "ok"]
        if len(spoken) >= needed:
            return None
        failed = sum(vote.status == "failed" for vote in votes.values())
        status: Outcome = "failed" if len(votes) - failed < needed else "abstained"
        said = "; ".join(f"{n}: {v.reason}" for n, v in votes.items() if v.status != "ok")
        return status, f"{len(spoken)} of {len(votes)} have an opinion, {needed} needed: {said}"

    def _weight(self, name: str) -> float:
        return 1.0 if self.weights is None else self.weights[name]

    def _verdict(self, votes: Mapping[str, Verdict]) -> Verdict:
        evidence: dict[str, Any] = {
            "cost": total_cost(*(vote.cost for vote in votes.values())),
            "raw": "\n".join(f"{n}: {v.raw}" for n, v in votes.items() if v.raw),
            "info": {
                "members": {
                    n: {
                        "choice": v.choice,
                        "p_a": v.p_a,
                        "order_gap": v.order_gap,
                        "status": v.status,
                        "info": dict(v.info),
                    }
                    for n, v in votes.items()
                }
            },
        }
        if missing := self._missing(votes):
            return Verdict(None, status=missing[0], reason=missing[1], **evidence)
        spoken = {n: v for n, v in votes.items() if v.choice is not None}
        total = sum(self._weight(n) for n in spoken)
        leans = {n: p for n, v in spoken.items() if (p := v.preference) is not None}
        p_a = sum(self._weight(n) * p for n, p in leans.items()) / total
        gaps = {n: v.order_gap for n, v in spoken.items() if v.order_gap is not None}
        gap = None
        if gaps:
            gap = sum(self._weight(n) * g for n, g in gaps.items()) / sum(
                self._weight(n) for n in gaps
            )
        shares: dict[Choice, float] = {"A": 0.0, "B": 0.0, "tie": 0.0}
        for name, vote in spoken.items():
            assert vote.choice is not None
            shares[vote.choice] += self._weight(name) / total
        if self.rule == "mean":
            lean = p_a - 0.5
            choice: Choice = "tie" if abs(lean) <= self.tie_tolerance else "A" if lean > 0 else "B"
        else:
            choice = max(shares, key=lambda one: shares[one])
        agreement = min(1.0, shares[choice])
        p_a = min(1.0, max(0.0, p_a))
        counts = ", ".join(f"{one} {share:.0%}" for one, share in shares.items() if share)
        split = self.rule == "majority" and shares[choice] <= 0.5
        if split or agreement < self.min_agreement:
            reason = f"the panel disagrees: {counts}"
            return Verdict(None, p_a, gap, "abstained", reason, agreement=agreement, **evidence)
        return Verdict(choice, p_a, gap, reason=counts, agreement=agreement, **evidence)

    def _grade(self, votes: Mapping[str, Grade]) -> Grade:
        evidence: dict[str, Any] = {
            "cost": total_cost(*(vote.cost for vote in votes.values())),
            "raw": "\n".join(f"{n}: {v.raw}" for n, v in votes.items() if v.raw),
            "info": {
                "members": {
                    n: {"value": v.value, "status": v.status, "info": dict(v.info)}
                    for n, v in votes.items()
                }
            },
        }
        if missing := self._missing(votes):
            return Grade(None, missing[0], reason=missing[1], **evidence)
        values = {n: v.value for n, v in votes.items() if v.value is not None}
        weights = {n: self._weight(n) for n in values}
        value = _mean(values, weights) if self.rule == "mean" else _median(values, weights)
        spread = max(values.values()) - min(values.values())
        near = 1e-9 if self.max_spread is None else self.max_spread / 2 + 1e-9
        close = sum(weights[n] for n, v in values.items() if abs(v - value) <= near)
        agreement = min(1.0, close / sum(weights.values()))
        said = ", ".join(f"{n} {v:g}" for n, v in values.items())
        criteria = self._criteria({n: votes[n] for n in values}, weights)
        wide = self.max_spread is not None and spread > self.max_spread
        if wide or agreement < self.min_agreement:
            reason = f"the panel disagrees: {said}"
            return Grade(None, "abstained", criteria, reason, agreement=agreement, **evidence)
        return Grade(value, criteria=criteria, reason=said, agreement=agreement, **evidence)

    def _criteria(
        self, votes: Mapping[str, Grade], weights: Mapping[str, float]
    ) -> dict[str, float | None]:
        names = dict.fromkeys(name for vote in votes.values() for name in vote.criteria)
        joined: dict[str, float | None] = {}
        for name in names:
            known = {n: g for n, v in votes.items() if (g := v.criteria.get(name)) is not None}
            join = _mean if self.rule == "mean" else _median
            joined[name] = join(known, {n: weights[n] for n in known}) if known else None
        return joined


def log_odds_weights(accuracies: Mapping[str, float]) -> dict[str, float]:
    """Weights log(a / (1 - a)), optimal for independent voters of accuracy a.

    Args:
        accuracies: By judge, measured on labelled items, each in (.5, 1): a judge at chance or
            below has no place on a panel, and one that was never wrong was measured on too little.

    Raises:
        ConfigError: An accuracy outside (.5, 1).

    Source: Nitzan and Paroush, Optimal Decision Rules in Uncertain Dichotomous Choice Situations
    (1982).

    >>> {k: round(v, 2) for k, v in log_odds_weights({"small": 0.6, "large": 0.9}).items()}
    {'small': 0.41, 'large': 2.2}
    """
    if bad := {name: a for name, a in accuracies.items() if not 0.5 < a < 1}:
        raise ConfigError(f"accuracies must lie between .5 and 1, both excluded; got {bad}")
    return {name: math.log(a / (1 - a)) for name, a in accuracies.items()}


def _mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(weights[n] * v for n, v in values.items()) / sum(weights.values())


def _median(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The weighted median; between two values where they balance exactly."""
    half = sum(weights.values()) / 2
    below = 0.0
    ordered = sorted(values, key=lambda n: values[n])
    for i, name in enumerate(ordered):
        below += weights[name]
        if math.isclose(below, half) and i + 1 < len(ordered):
            return (values[name] + values[ordered[i + 1]]) / 2
        if below > half:
            return values[name]
    return values[ordered[-1]]
