"""Composition: sums with weights and gates, routes, maps and ensembles, each itself a Reward."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Any, Literal, TypeVar

from assay.errors import ConfigError, ContractError, DataError
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards.transforms import Transform, as_transform

OnMissing = Literal["propagate", "zero"]
T = TypeVar("T")


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
        if not math.isfinite(weight):
            raise ConfigError(f"Term.weight must be finite, got {weight}")
        if self.on_missing not in ("propagate", "zero"):
            raise ConfigError(
                f"Term.on_missing must be one of {{'propagate', 'zero'}}, got {self.on_missing!r}"
            )


@dataclass(frozen=True)
class WeightedSum(Reward):
    """sum_k w_k r_k over terms, some of which count only where another one passed.

    A gated term does not run where its gate is closed; only `passed is True` opens a gate. In the
    sum, gated and skipped terms add nothing; an abstained or failed one makes the sum missing or
    adds nothing (`Term.on_missing`); all terms skipped means that the sum is skipped. `passed` is
    True iff every term that reports `passed` reports True. A gated term must not be able to lower
    the sum, so that opening a gate never costs anything.

    Source: method.md section 3, E4 and E5, as a general rule.

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
        >>> reward(completions=["```python\\nx = 1\\n```", "no code"])
        [1.5, 0.0]
    """

    terms: Mapping[str, Term]
    name: str = "reward"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        terms = _named(self.terms, "WeightedSum.terms", (Term, Reward))
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
        _derive(self, (low, high), self.children().values())

    def children(self) -> Mapping[str, Reward]:
        """The terms' rewards by name."""
        return {name: term.reward for name, term in self.terms.items()}

    def weights(self) -> Mapping[str, float]:
        """The terms' weights by name."""
        return {name: term.weight for name, term in self.terms.items()}

    def split(self) -> tuple[list[Reward], list[float]]:
        """Rewards and weights apart, for `GRPOConfig(reward_weights=...)` and GDPO.

        Raises:
            ConfigError: A term is gated (gates live only inside one reward function), or counts a
                missing score as 0 (a trainer that sums the parts does so for every one).
        """
        for name, term in self.terms.items():
            if term.gate is not None:
                raise ConfigError(
                    f"cannot split: term {name!r} is gated by {term.gate!r}, and a trainer that "
                    "adds separate rewards knows no gates; use the sum as one reward"
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
                open_rows = [i for i in range(len(samples)) if gate[i].passed is True]
            column = [Score.gate(f"gate {term.gate!r} closed") for _ in samples]
            scores = _evaluate_rows(self, name, term.reward, samples, open_rows)
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
        routes = _named(self.routes, "Route.routes", (Reward,))
        if self.default is not None and "default" in routes:
            raise ConfigError("Route.routes has a route named 'default' beside default=; drop one")
        object.__setattr__(self, "routes", routes)
        ranges = [child.range for child in self.children().values()]
        span = (min(low for low, _ in ranges), max(high for _, high in ranges))
        _derive(self, span, self.children().values())
        # A route's own columns are checked on its own rows only: other domains need not have them.
        object.__setattr__(self, "columns", frozenset({self.column}))

    def children(self) -> Mapping[str, Reward]:
        """The routes' rewards by column value, and `default`."""
        return dict(self.routes) | ({"default": self.default} if self.default else {})

    def weights(self) -> Mapping[str, float]:
        """Every route counts fully on its own rows."""
        return dict.fromkeys(self.children(), 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate each route once on its rows."""
        rows: dict[str, list[int]] = {}
        for index, sample in enumerate(samples):
            value = sample.columns[self.column]
            known = isinstance(value, str) and value in self.routes
            if not known and self.default is None:
                raise DataError(
                    f"column {self.column!r} is {value!r}, which names no route; have "
                    f"{sorted(self.routes)}, or give Route a default",
                    index,
                )
            rows.setdefault(value if known else "default", []).append(index)
        scores: list[Score] = [Score.skip("") for _ in samples]
        for name, child in self.children().items():
            chosen = rows.get(name, [])
            for row, part in zip(
                chosen, _evaluate_rows(self, name, child, samples, chosen), strict=True
            ):
                scores[row] = Score(
                    part.value, part.status, part.passed, part.turns, {name: part}, part.note
                )
        return scores


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
        transform = as_transform(self.transform)
        _derive(self, transform.image(self.reward.range), [self.reward])
        object.__setattr__(self, "_map", transform)

    _map: Transform = field(init=False, repr=False, compare=False, default=None)  # type: ignore[assignment]

    def children(self) -> Mapping[str, Reward]:
        """The inner reward, under its own name."""
        return {self.reward.name: self.reward}

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate, then map."""
        name = self.reward.name
        scores = self.part(name, self.reward, samples)
        values = iter(
            self._map(
                [s.value for s in scores if s.value is not None]
                + [t for s in scores for t in s.turns or () if t is not None]
            )
        )
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
    """

    members: Sequence[Reward]
    reduce: Literal["mean", "min", "mean_minus_std"] = "mean"
    penalty: float = 1.0
    name: str = "ensemble"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        members = tuple(self.members)
        object.__setattr__(self, "members", members)
        if len(members) < 2 or not all(isinstance(member, Reward) for member in members):
            raise ConfigError(f"Ensemble needs at least two Rewards, got {members!r:.200}")
        names = [member.name for member in members]
        if len(set(names)) < len(names):
            raise ConfigError(f"Ensemble members must have different names, got {names}; set name=")
        if self.reduce not in ("mean", "min", "mean_minus_std"):
            raise ConfigError(
                "Ensemble.reduce must be one of {'mean', 'min', 'mean_minus_std'}, got "
                f"{self.reduce!r}"
            )
        if not (math.isfinite(self.penalty) and self.penalty >= 0):
            raise ConfigError(f"Ensemble.penalty must be finite and >= 0, got {self.penalty}")
        low = min(member.range[0] for member in members)
        high = max(member.range[1] for member in members)
        if self.reduce == "mean_minus_std" and self.penalty and math.isfinite(high - low):
            low -= self.penalty * (high - low) / 2  # no std over [low, high] is larger
        elif self.reduce == "mean_minus_std" and self.penalty and math.isinf(high):
            low = -math.inf
        _derive(self, (low, high), members)

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
        _same_turns(parts)
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


def _named(mapping: Any, what: str, kinds: tuple[type, ...]) -> dict[str, Any]:
    if not isinstance(mapping, Mapping) or not mapping:
        raise ConfigError(f"{what} must be a non-empty mapping by name, got {mapping!r:.200}")
    for name, value in mapping.items():
        if not isinstance(name, str) or not name or "/" in name:
            raise ConfigError(f"{what}: a name must be text without '/', got {name!r}")
        if not isinstance(value, kinds):
            allowed = " or ".join(kind.__name__ for kind in kinds)
            raise ConfigError(f"{what}[{name!r}] must be a {allowed}, got {type(value).__name__}")
    return dict(mapping)


def _derive(reward: Reward, span: tuple[float, float], children: Any) -> None:
    """Set what follows from the components: range, columns, scope."""
    children = list(children)
    object.__setattr__(reward, "range", span)
    object.__setattr__(reward, "columns", frozenset().union(*(c.columns for c in children)))
    scope = "group" if any(child.scope == "group" for child in children) else "sample"
    object.__setattr__(reward, "scope", scope)


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


def _evaluate_rows(
    parent: Reward, name: str, child: Reward, samples: Sequence[Sample], rows: Sequence[int]
) -> list[Score]:
    """Evaluate a component on some rows; a DataError keeps pointing at the row of the batch."""
    try:
        return parent.part(name, child, [samples[row] for row in rows])
    except DataError as error:
        if error.index is not None:
            error.index = rows[error.index]
        raise


def _same_turns(parts: Mapping[str, Score]) -> None:
    lengths = {name: len(s.turns) for name, s in parts.items() if s.turns is not None}
    if len(set(lengths.values())) > 1:
        raise ContractError(f"components disagree on the number of assistant turns: {lengths}")


def _add_turns(
    parts: Mapping[str, Score], weights: Mapping[str, float]
) -> tuple[float | None, ...] | None:
    rows = [(weights[name], s.turns) for name, s in parts.items() if s.turns is not None]
    if not rows:
        return None
    _same_turns(parts)
    total: list[float | None] = [0.0] * len(rows[0][1])
    for weight, turns in rows:
        for i, value in enumerate(turns):
            known = total[i]
            total[i] = None if value is None or known is None else known + weight * value
    return tuple(total)
