"""Win rate of answers against reference answers, every pair judged in both orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.judge import Judge, Pair
from assay.messages import as_messages
from assay.policy.evaluation.answers import Figures
from assay.rewards.duel import run_duels


def judged_duels(
    rollouts: Sequence[Mapping[str, Any]], judge: Judge, column: str = "reference"
) -> list[dict[str, Any]]:
    """One duel a rollout: `win`, `agree`, `order_gap` and `flipped`, None where there is none.

    Args:
        rollouts: With `prompt`, `completion`, and the answer to beat in `column`.
        judge: Compares pairs.
        column: Of the reference answer.

    Raises:
        DataError: A row has no reference.
    """
    pairs = []
    for place, row in enumerate(rollouts):
        if not row.get(column):
            raise DataError(
                f"row {row.get('uid', place)!r} has no {column!r} to beat; add the column, or name "
                "a reference policy",
                place,
            )
        columns = {k: v for k, v in row.items() if k not in ("prompt", "completion", "score")}
        pairs.append(
            Pair(
                as_messages(row["prompt"], role="user"),
                as_messages(row["completion"], role="assistant"),
                as_messages(row[column], role="assistant"),
                columns,
                str(row["uid"]),
            )
        )
    return [
        {
            "win": duel.value("hard"),
            "agree": duel.value("agree"),
            "order_gap": duel.order_gap,
            "flipped": duel.flipped,
            "duel_note": duel.note,
        }
        for duel in run_duels(judge, pairs, both=True)
    ]


def win_figures(rows: Sequence[Mapping[str, Any]]) -> Figures:
    """Figures of rollouts joined with their duels.

    `win rate` counts a win where the mean of both orders prefers the answer, and half a tie; `win
    in both orders` counts half where the orders disagree. `order gap` is signed, > 0 where the
    judge favours the first slot; `flips` is the share of pairs in which both orders pick the same
    slot.
    """
    found = Figures()
    for name, key in (
        ("win rate", "win"),
        ("win in both orders", "agree"),
        ("order gap", "order_gap"),
        ("flips", "flipped"),
    ):
        found.add(name, _by_prompt(rows, key))
    unjudged = sum(row["win"] is None for row in rows)
    if unjudged:
        found.notes.append(f"{unjudged} of {len(rows)} pairs have no verdict")
    return found


def _by_prompt(rows: Sequence[Mapping[str, Any]], key: str) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in rows:
        if row[key] is not None:
            values.setdefault(str(row["uid"]), []).append(float(row[key]))
    return {uid: sum(some) / len(some) for uid, some in values.items()}
