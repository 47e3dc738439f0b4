"""Training sets from scored rollouts: best of N, rejection sampling, best against worst.

The rollouts are the input of `assay score` (rows with `prompt`, `completion`, and `uid` where
several belong to one prompt), the scores its output (rows with `id`, `value`, `status`, `passed`).
A missing score is never a bad one: such rollouts are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from assay.errors import ConfigError, DataError
from assay.judges.rows import BadRow, RowSource
from assay.messages import Sample
from assay.policy.data.preferences import (
    Preference,
    shuffled_slots,
    text_of,
    write_preferences,
)
from assay.policy.data.row_files import read_rows, write_rows
from assay.rewards.chat_text import chat_message

Kind = Literal["best_of_n", "rejection_sampled", "best_against_worst"]


@dataclass(frozen=True, slots=True)
class ScoredRollout:
    """A completion with its score.

    Attributes:
        id: The row's id, or its line.
        group: Its `uid`; the prompt's text where it has none.
        sample: Prompt, completion, columns.
        value: A finite number.
        passed: Full marks, None where the reward does not say.
    """

    id: str | int
    group: str
    sample: Sample
    value: float
    passed: bool | None = None

    __hash__ = None  # type: ignore[assignment]

    def to_json(self, **more: Any) -> dict[str, Any]:
        """A row for supervised fine-tuning: messages, and where they come from."""
        return {
            "prompt": [chat_message(message) for message in self.sample.prompt],
            "completion": [chat_message(message) for message in self.sample.completion],
            "uid": self.group,
            "id": self.id,
            "value": self.value,
            **more,
        }


def scored_rollouts(
    rollouts: str | Path, scores: str | Path, dropped: dict[str, int] | None = None
) -> list[ScoredRollout]:
    """Rollouts joined with their scores by id, in the order of the rollouts.

    Args:
        rollouts: Input of `assay score`.
        scores: Its output; rows may be in any order.
        dropped: Rollouts without a value are counted here by status.

    Raises:
        DataError: The files do not belong together (no id in common), or a score comes twice.
    """
    path = Path(rollouts)
    found: dict[str | int, dict[str, Any]] = {}
    for row in read_rows(scores):
        if "id" not in row or "value" not in row:
            raise DataError(f"{scores}: a score needs 'id' and 'value', got {sorted(row)}")
        if row["id"] in found:
            raise DataError(f"{scores}: id {row['id']!r} has two scores")
        found[row["id"]] = row
    joined = []
    matched = 0
    counts = {} if dropped is None else dropped
    for row_or_bad in RowSource(path, str(path)):
        if isinstance(row_or_bad, BadRow):
            _count(counts, "unreadable")
            continue
        score = found.get(row_or_bad.id)
        if score is None:
            _count(counts, "no score")
            continue
        matched += 1
        if score["value"] is None:
            _count(counts, str(score.get("status") or "no value"))
            continue
        sample = row_or_bad.sample
        group = text_of(sample.prompt) if sample.group is None else sample.group
        if not group:
            raise DataError(
                f"{rollouts}, row {row_or_bad.line} has neither `uid` nor prompt, so its group is "
                "not known; give every row a `uid`, one per prompt"
            )
        joined.append(
            ScoredRollout(row_or_bad.id, group, sample, float(score["value"]), score.get("passed"))
        )
    if found and not matched:
        raise DataError(
            f"no id of {scores} stands in {rollouts}; give the file that was scored with "
            "`assay score --input`"
        )
    return joined


def best_of_n(
    rollouts: Iterable[ScoredRollout], *, n: int | None = None, min_value: float | None = None
) -> Iterator[dict[str, Any]]:
    """The best rollout of each prompt; the earliest of equals.

    Args:
        rollouts: Any order; the order of prompts is kept.
        n: Look at the first `n` of each prompt; None at all.
        min_value: A prompt whose best is below it is left out.
    """
    if n is not None and n < 1:
        raise ConfigError(f"best_of_n needs n >= 1, got {n}")
    for group in _groups(rollouts):
        seen = group[:n]
        best = max(seen, key=lambda rollout: rollout.value)
        if min_value is None or best.value >= min_value:
            mean = sum(rollout.value for rollout in seen) / len(seen)
            yield best.to_json(n=len(seen), mean_value=mean)


def rejection_sampled(
    rollouts: Iterable[ScoredRollout],
    *,
    min_value: float | None = None,
    per_prompt: int | None = None,
    skip_saturated: bool = False,
) -> Iterator[dict[str, Any]]:
    """Every rollout that is good enough, best first within a prompt, the same text once.

    Args:
        rollouts: Any order; the order of prompts is kept.
        min_value: Smallest value that is kept; None keeps those with `passed` True.
        per_prompt: At most so many of one prompt.
        skip_saturated: Leave out prompts all of whose rollouts are good enough.

    Raises:
        DataError: `min_value` is None and no rollout says whether it passed.
    """
    groups = _groups(rollouts)
    if min_value is None and groups and all(r.passed is None for group in groups for r in group):
        raise DataError(
            "the scores do not say `passed`, so there is nothing to reject by; give min_value"
        )
    for group in groups:
        good = [r for r in group if (r.passed if min_value is None else r.value >= min_value)]
        if skip_saturated and len(good) == len(group):
            continue
        texts: set[str] = set()
        for rollout in sorted(good, key=lambda r: -r.value):
            text = text_of(rollout.sample.completion)
            if text in texts:
                continue
            if per_prompt is not None and len(texts) >= per_prompt:
                break
            texts.add(text)
            yield rollout.to_json(n=len(group), kept=len(good))


def best_against_worst(
    rollouts: Iterable[ScoredRollout], *, min_gap: float = 0.0, seed: int = 0
) -> Iterator[Preference]:
    """The best against the worst rollout of each prompt, where the values differ.

    Args:
        rollouts: Any order.
        min_gap: The difference must be larger than this.
        seed: Of the coin that decides which slot the better one takes.
    """
    for group in _groups(rollouts):
        best = max(group, key=lambda rollout: rollout.value)
        worst = min(group, key=lambda rollout: rollout.value)
        if best.value - worst.value <= max(min_gap, 0.0):
            continue
        preference = Preference(
            best.sample.prompt,
            best.sample.completion,
            worst.sample.completion,
            1.0,
            source="best_against_worst",
            evidence={
                "a": {"id": best.id, "value": best.value},
                "b": {"id": worst.id, "value": worst.value},
            },
        )
        yield from shuffled_slots([preference], seed)


def export_rollouts(
    kind: Kind, rollouts: str | Path, scores: str | Path, output: str | Path, **options: Any
) -> dict[str, Any]:
    """Write one of the exports as JSON lines; returns counts for people and for `--json`.

    Args:
        kind: `best_of_n`, `rejection_sampled` (rows for fine-tuning), or `best_against_worst`
            (preferences).
        rollouts: Input of `assay score`.
        scores: Its output.
        output: Where rows go; the file appears whole or not at all.
        **options: Those of the function of that name.

    Raises:
        ConfigError: Unknown kind.
    """
    if kind not in get_args(Kind):
        raise ConfigError(f"kind must be one of {get_args(Kind)}, got {kind!r:.80}")
    dropped: dict[str, int] = {}
    found = scored_rollouts(rollouts, scores, dropped)
    if kind == "best_against_worst":
        written = write_preferences(output, best_against_worst(found, **options))
    else:
        choose = best_of_n if kind == "best_of_n" else rejection_sampled
        written = write_rows(output, choose(found, **options))
    prompts = len({rollout.group for rollout in found})
    return {"rollouts": len(found), "prompts": prompts, "written": written, "dropped": dropped}


def _groups(rollouts: Iterable[ScoredRollout]) -> list[Sequence[ScoredRollout]]:
    groups: dict[str, list[ScoredRollout]] = {}
    for rollout in rollouts:
        groups.setdefault(rollout.group, []).append(rollout)
    return list(groups.values())


def _count(counts: dict[str, int], reason: str) -> None:
    counts[reason] = counts.get(reason, 0) + 1
