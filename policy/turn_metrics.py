"""What a run with turn credit logs: failing turns by criterion and index, credit, abstentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.policy.credit_assignment import TurnAdvantages
from assay.reward import Score

#: Criteria of a turn as `TurnVerdict` names them.
CRITERIA = ("logical_soundness", "tool_call_accuracy", "informational_gain")
#: Key of `Score.info` under which a turn reward leaves its verdicts, one mapping per turn.
VERDICTS = "turn_verdicts"


@dataclass(frozen=True, slots=True)
class JudgedTurns:
    """Turn values of one trajectory and, where a reward left them, the verdicts behind them."""

    turns: tuple[float | None, ...] | None
    verdicts: tuple[Mapping[str, bool | None], ...] = ()

    __hash__ = None  # type: ignore[assignment]


def verdicts_in(score: Score) -> tuple[Mapping[str, bool | None], ...]:
    """Verdicts by criterion, one mapping per turn, of the first component that left any."""
    found = score.info.get(VERDICTS)
    if isinstance(found, Sequence) and not isinstance(found, str):
        return tuple(_criteria(verdict) for verdict in found)
    for part in score.parts.values():
        if verdicts := verdicts_in(part):
            return verdicts
    return ()


def turn_metrics(
    judged: Sequence[JudgedTurns], credits: Sequence[TurnAdvantages | None]
) -> dict[str, float]:
    """Metrics over the trajectories of all ranks, by name.

    | metric | over |
    |---|---|
    | `turns` | assistant turns per judged trajectory |
    | `unjudged` | share of trajectories without turn values |
    | `abstained` | share of turns without a verdict |
    | `failing` | share of failing turns among those with one |
    | `failing/CRITERION` | the same for one criterion |
    | `failing/turn_N`, `failing/turn_N-M` | the same by turn index, from 4 on in powers of two |
    | `credit`, `credit/failing`, `credit/passing` | mean A_it - A_i |
    | `masked` | share of turns that left the loss |

    A metric without anything to count is left out: a NaN would poison the average over steps.
    """
    found: dict[str, float] = {}
    rows = [
        (row, credit)
        for row, credit in zip(judged, credits, strict=True)
        if row.turns is not None and credit is not None
    ]
    if judged:
        found["unjudged"] = 1 - len(rows) / len(judged)
    values = [value for row, _ in rows for value in row.turns or ()]
    if not values:
        return found
    found["turns"] = len(values) / len(rows)
    found["abstained"] = values.count(None) / len(values)
    given = [value for value in values if value is not None]
    if given:
        found["failing"] = sum(value < 0 for value in given) / len(given)
    found |= _by_criterion([row for row, _ in rows]) | _by_index([row for row, _ in rows])
    terms = [term for _, credit in rows for term in credit.terms]
    found["credit"] = _mean(terms)
    failing = [t for t, v in zip(terms, values, strict=True) if v is not None and v < 0]
    passing = [t for t, v in zip(terms, values, strict=True) if v is not None and v >= 0]
    for name, group in (("failing", failing), ("passing", passing)):
        if group:
            found[f"credit/{name}"] = _mean(group)
    kept = [keep for _, credit in rows for keep in credit.kept]
    found["masked"] = 1 - sum(kept) / len(kept)
    return found


def index_bucket(index: int) -> str:
    """Name of the bucket of a turn index: 0 to 3 alone, then powers of two.

    >>> [index_bucket(i) for i in (0, 3, 4, 7, 8, 599)]
    ['0', '3', '4-7', '4-7', '8-15', '512-1023']
    """
    if index < 4:
        return str(index)
    low: int = 1 << (index.bit_length() - 1)
    return f"{low}-{2 * low - 1}"


def _by_criterion(rows: Sequence[JudgedTurns]) -> dict[str, float]:
    judged: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for row in rows:
        for verdict in row.verdicts:
            for criterion, passed in verdict.items():
                if passed is not None:
                    judged[criterion] += 1
                    failed[criterion] += not passed
    return {f"failing/{name}": failed[name] / count for name, count in judged.items()}


def _by_index(rows: Sequence[JudgedTurns]) -> dict[str, float]:
    judged: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for row in rows:
        for index, value in enumerate(row.turns or ()):
            if value is not None:
                bucket = index_bucket(index)
                judged[bucket] += 1
                failed[bucket] += value < 0
    return {f"failing/turn_{name}": failed[name] / count for name, count in judged.items()}


def _criteria(verdict: Any) -> Mapping[str, bool | None]:
    if isinstance(verdict, Mapping):
        return {name: verdict[name] for name in CRITERIA if name in verdict}
    return {name: getattr(verdict, name) for name in CRITERIA if hasattr(verdict, name)}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
