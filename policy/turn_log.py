"""What a run with turn credit logs: failing turns by criterion and index, credit, abstentions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.policy.credit_assignment import TurnAdvantages
from assay.reward import Score


@dataclass(frozen=True, slots=True)
class JudgedTurns:
    """Turn values of one trajectory and, where its reward tells, failures by criterion."""

    turns: tuple[float | None, ...] | None
    failures: Mapping[str, int] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]


def failures_by_criterion(score: Score) -> dict[str, int]:
    """How many turns fail each criterion: `info["by_criterion"]` of the first part that has it."""
    found = score.info.get("by_criterion")
    if isinstance(found, Mapping):
        return {str(name): int(count) for name, count in found.items()}
    for part in score.parts.values():
        if failures := failures_by_criterion(part):
            return failures
    return {}


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
    | `failing/CRITERION` | share of turns that fail it, among all turns where it is told |
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
    turns: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for row in rows:
        for criterion, count in row.failures.items():
            turns[criterion] += len(row.turns or ())
            failed[criterion] += count
    return {f"failing/{name}": failed[name] / count for name, count in turns.items() if count}


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


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
