"""Composition: sums with weights and gates, routes, maps and ensembles, each itself a Reward."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import ConfigError, DataError
from assay.messages import Sample
from assay.reward import Reward, Score, column_names
from assay.rewards.composite import check_turns, derive, evaluate_rows, named
from assay.rewards.ensemble import Ensemble
from assay.rewards.mapped import Calibrated, Mapped
from assay.settings import nonempty, one_of

__all__ = ["Calibrated", "Ensemble", "Mapped", "Route", "Term", "WeightedSum"]

OnMissing = Literal["propagate", "zero"]


@dataclass(frozen=True)
class Term:
    """One summand of a `WeightedSum`.

    Attributes:
        reward: Any Reward, a sum among them.
        weight: Finite factor of its value. 0 makes it a pure gate.
        gate: Name of the term that must have `passed is True` for this one to run and count.
        on_missing: What an abstained or failed score does to the sum: `propagate` makes the sum
            missing, `zero` adds nothing and is counted in the logs (right for a bonus).
    """

    reward: Reward
    weight: float = 1.0
    gate: str | None = None
    on_missing: OnMissing = "propagate"

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.reward, Reward):
            raise ConfigError(
                f"Term needs a Reward, got {type(self.reward).__name__}; subclass Reward and "
                "write score()"
            )
        weight = self.weight
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise ConfigError(f"Term.weight must be a number, got {weight!r}")
        if self.gate is not None:
            nonempty("Term.gate", self.gate)
        if not math.isfinite(weight):
            raise ConfigError(f"Term.weight must be finite, got {weight}")
        one_of("Term.on_missing", self.on_missing, ("propagate", "zero"))


@dataclass(frozen=True)
class WeightedSum(Reward):
    r"""sum_k w_k r_k over terms, some of which count only where another one passed.

    A gated term does not run where its gate is closed; only `passed is True` opens a gate. In the
    sum, gated and skipped terms add nothing; an abstained or failed one makes the sum missing or
    adds nothing (`Term.on_missing`); all terms skipped means that the sum is skipped. `passed` is
    True iff every term that reports `passed` reports True. A gated term must not be able to lower
    the sum, so that opening a gate never costs anything.

    Source: the gated reward of the Nanbeige4.1-3B report (arXiv:2602.13367), R = R_format +
    R_correctness + [all tests pass] R_time, as a general rule.

    Args:
        terms: Term (or plain Reward, weight 1) by name; names become metric names.

    Raises:
        ConfigError: No terms, a bad name, an unknown gate, a cycle of gates, or a gated term whose
            weighted range goes below 0.

    Example:
        >>> from assay.rewards import CodeFormat, Length
        >>> reward = WeightedSum({
        ...     "format": Term(CodeFormat(language="python")),
        ...     "short": Term(Length(target=20), weight=0.5, gate="format"),
        ... })
        >>> reward(completions=["```python\nx = 1\n```", "no code"])
        [1.5, 0.0]
    """

    terms: Mapping[str, Term]
    name: str = "reward"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        terms = named(self.terms, "WeightedSum.terms", (Term, Reward))
        terms = {k: t if isinstance(t, Term) else Term(t) for k, t in terms.items()}
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "_order", _gate_order(terms))
        low = high = 0.0
        for key, term in terms.items():
            smallest, largest = _scaled(term.reward.range, term.weight)
            if term.gate is not None and smallest < 0:
                raise ConfigError(
                    f"gated term {key!r} can lower the sum: its weighted range is "
                    f"[{smallest}, {largest}]; a gated term needs a range >= 0, so map it with "
                    "Mapped(reward, Clip(0, 1)) or Sigmoid(), or change its weight"
                )
            low += min(0.0, smallest)
            high += max(0.0, largest)
        derive(self, (low, high), self.children().values())

    def children(self) -> Mapping[str, Reward]:
        """The terms' rewards by name."""
        return {name: term.reward for name, term in self.terms.items()}

    def weights(self) -> Mapping[str, float]:
        """The terms' weights by name."""
        return {name: term.weight for name, term in self.terms.items()}

    def split(self) -> tuple[list[Reward], list[float]]:
        """Rewards and weights apart, for per-objective normalisation (GDPO, arXiv:2601.05242).

        Use as `GRPOTrainer(reward_funcs=rewards)` with `GRPOConfig(reward_weights=weights,
        multi_objective_aggregation="normalize_then_sum")`.

        Raises:
            ConfigError: A term is gated or counts a missing score as 0: both rules live only inside
                one reward function. Mind that TRL's `sum_then_normalize` counts every missing part
                as 0; `normalize_then_sum` leaves it out.
        """
        for name, term in self.terms.items():
            if term.gate is not None:
                raise ConfigError(
                    f"cannot split: term {name!r} is gated by {term.gate!r}, and a trainer that "
                    "adds separate rewards knows no gates; use the sum as one reward"
                )
            if term.on_missing == "zero":
                raise ConfigError(
                    f"cannot split: term {name!r} counts a missing score as 0, and what a trainer "
                    "does with one is its own rule; use the sum as one reward"
                )
        rewards = []
        for name, term in self.terms.items():
            part = copy.copy(term.reward)
            object.__setattr__(part, "name", f"{self.name}/{name}")
            object.__setattr__(part, "eos_token_ids", self.eos_token_ids)
            rewards.append(part)
        return rewards, [term.weight for term in self.terms.values()]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate the terms in the order of their gates, then add."""
        found: dict[str, list[Score]] = {}
        for name in self._order:
            term = self.terms[name]
            if term.gate is None:
                open_rows = list(range(len(samples)))
            else:
                gate = found[term.gate]
                open_rows = [i for i, s in enumerate(gate) if s.status == "scored" and s.passed]
            column = [Score.gate(f"gate {term.gate!r} closed") for _ in samples]
            scores = evaluate_rows(self, name, term.reward, samples, open_rows)
            for row, score in zip(open_rows, scores, strict=True):
                column[row] = score
            found[name] = column
        return [self._add({k: found[k][i] for k in self.terms}) for i in range(len(samples))]

    _order: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())

    def _add(self, parts: Mapping[str, Score]) -> Score:
        missing = [k for k, s in parts.items() if s.status in ("abstained", "failed")]
        fatal = [k for k in missing if self.terms[k].on_missing == "propagate"]
        zeroed = [k for k in missing if k not in fatal]
        reports = [s.passed for s in parts.values() if s.passed is not None]
        passed = all(reports) if reports else None
        info: dict[str, Any] = {"zeroed": zeroed} if zeroed else {}
        if fatal:
            failed = [k for k in fatal if parts[k].status == "failed"]
            first = (failed or fatal)[0]
            note = f"{first}: {parts[first].note}"
            if failed:
                return Score.fail(note, parts=parts, info=info)
            return Score.abstain(note, parts=parts, info=info)
        weighted = {
            k: self.terms[k].weight * s.value for k, s in parts.items() if s.value is not None
        }
        if not weighted and not zeroed:
            return Score.skip("no term applies to this row", parts=parts)
        info["weighted"] = weighted
        notes = [f"{k}: {s.note}" for k, s in parts.items() if s.note and s.status != "gated"]
        return Score(
            math.fsum(weighted.values()),
            passed=passed,
            turns=_add_turns(parts, self.weights()),
            parts=parts,
            note="; ".join(notes),
            info=info,
        )


@dataclass(frozen=True)
class Route(Reward):
    """Picks a reward per row by a column, in one batch over mixed domains.

    Args:
        column: Dataset column whose value names the route.
        routes: Reward by value of the column.
        default: Reward for every other value; without it such a row is a DataError.

    Example:
        >>> from assay.rewards import Length
        >>> route = Route("domain", {"short": Length(target=5), "long": Length(target=50)})
        >>> route(completions=["123456789", "123456789"], domain=["short", "long"])
        [0.0, 1.0]
    """

    column: str
    routes: Mapping[str, Reward]
    default: Reward | None = None
    name: str = "route"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        routes = named(self.routes, "Route.routes", (Reward,))
        nonempty("Route.column", self.column)
        if self.default is not None and not isinstance(self.default, Reward):
            raise ConfigError(f"Route.default must be a Reward, got {type(self.default).__name__}")
        if self.default is not None and "default" in routes:
            raise ConfigError("Route.routes has a route named 'default' beside default=; drop one")
        object.__setattr__(self, "routes", routes)
        ranges = [child.range for child in self.children().values()]
        span = (min(low for low, _ in ranges), max(high for _, high in ranges))
        derive(self, span, self.children().values())
        # A route's own columns are checked on its own rows only: other domains need not have them.
        object.__setattr__(self, "columns", frozenset({self.column}))

    def children(self) -> Mapping[str, Reward]:
        """The routes' rewards by column value, and `default`."""
        return dict(self.routes) | ({"default": self.default} if self.default else {})

    def weights(self) -> Mapping[str, float]:
        """Every route counts fully on its own rows."""
        return dict.fromkeys(self.children(), 1.0)

    def check(self, dataset: object) -> None:
        """As every reward's; where `dataset` is a list of rows, each route on its own rows."""
        if not isinstance(dataset, Sequence):
            super().check(dataset)
            return
        self._check_names(column_names(dataset))
        rows = [row for row in dataset if isinstance(row, Mapping)]
        for name, child in self.children().items():
            child.check([row for row in rows if self._named(row.get(self.column)) == name])

    def _named(self, value: object) -> str:
        return value if isinstance(value, str) and value in self.routes else "default"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate each route once on its rows."""
        rows: dict[str, list[int]] = {}
        for index, sample in enumerate(samples):
            value = sample.columns[self.column]
            name = self._named(value)
            if name not in self.routes and self.default is None:
                raise DataError(
                    f"column {self.column!r} is {value!r}, which names no route; have "
                    f"{sorted(self.routes)}, or give Route a default",
                    index,
                )
            rows.setdefault(name, []).append(index)
        scores: list[Score] = [Score.skip("") for _ in samples]
        for name, child in self.children().items():
            chosen = rows.get(name, [])
            for row, part in zip(
                chosen, evaluate_rows(self, name, child, samples, chosen), strict=True
            ):
                scores[row] = Score(
                    part.value, part.status, part.passed, part.turns, {name: part}, part.note
                )
        return scores


def _scaled(span: tuple[float, float], weight: float) -> tuple[float, float]:
    if weight == 0:
        return 0.0, 0.0
    ends = (span[0] * weight, span[1] * weight)
    return min(ends), max(ends)


def _gate_order(terms: Mapping[str, Term]) -> tuple[str, ...]:
    for name, term in terms.items():
        if term.gate is not None and term.gate not in terms:
            raise ConfigError(
                f"term {name!r} is gated by {term.gate!r}, which is no term; have {sorted(terms)}"
            )
    order: list[str] = []
    while len(order) < len(terms):
        ready = [k for k, t in terms.items() if k not in order and (t.gate in (None, *order))]
        if not ready:
            cycle = sorted(set(terms) - set(order))
            raise ConfigError(f"the gates of terms {cycle} form a cycle; one must have no gate")
        order.extend(ready)
    return tuple(order)


def _add_turns(
    parts: Mapping[str, Score], weights: Mapping[str, float]
) -> tuple[float | None, ...] | None:
    rows = [(weights[name], s.turns) for name, s in parts.items() if s.turns is not None]
    if not rows:
        return None
    check_turns(parts)
    total: list[float | None] = [0.0] * len(rows[0][1])
    for weight, turns in rows:
        for i, value in enumerate(turns):
            known = total[i]
            total[i] = None if value is None or known is None else known + weight * value
    return tuple(total)
