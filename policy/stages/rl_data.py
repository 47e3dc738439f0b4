"""Prompts of an RL stage as a dataset: own and replayed rows by share, columns that Arrow keeps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.fingerprint import fingerprint_of
from assay.policy.chat import with_system
from assay.policy.data.sources import by_share, read_sources
from assay.policy.stages.rl_config import RLConfig
from assay.reward import RESERVED_COLUMNS
from assay.rewards.chat_text import chat_prompt

#: Column that says which reward scores a row.
DOMAIN = "domain"
#: Columns that a rollout adds to a problem row; the trainer makes its own.
_OF_ROLLOUTS = frozenset({"completion", "completion_ids", "truncated", "id"})


def own_rows(
    config: RLConfig,
    complete: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None,
) -> list[dict[str, Any]]:
    """The stage's own prompts; `complete` may add to the rows of a source as they were read.

    Raises:
        DataError: A row without a prompt, or a column whose name the trainer needs itself.
    """
    found = read_sources(config.data, limit=config.limit)
    if complete is not None:
        found = {name: complete(source) for name, source in found.items()}
    return prompt_rows(config, found, config.domain)


def training_prompts(
    config: RLConfig, own: Sequence[Mapping[str, Any]], amount: int
) -> list[dict[str, Any]]:
    """Own and replayed rows, each domain by its share, `amount` in all."""
    rows: dict[str, Sequence[Mapping[str, Any]]] = {config.domain: own}
    shares = {config.domain: 1 - sum(replay.share for replay in config.replay)}
    for replay in config.replay:
        found = read_sources(replay.data, limit=config.limit)
        rows[replay.domain] = prompt_rows(config, found, replay.domain)
        shares[replay.domain] = replay.share
    picked = by_share(rows, shares, amount, config.seed)
    # The same prompt may come twice in one batch: rollouts are grouped by uid.
    seen: dict[str, int] = {}
    result = []
    for _, row in picked:
        uid = str(row["uid"])
        seen[uid] = seen.get(uid, 0) + 1
        result.append(dict(row) | {"uid": uid if seen[uid] == 1 else f"{uid}#{seen[uid]}"})
    return result


def prompt_rows(
    config: RLConfig, sources: Mapping[str, Iterable[Mapping[str, Any]]], domain: str
) -> list[dict[str, Any]]:
    """Rows with canonical prompts, a `uid` and a `domain`."""
    rows = []
    for name, source in sources.items():
        for number, row in enumerate(source, start=1):
            if "prompt" not in row:
                raise DataError(f"source {name!r}, row {number} has no prompt, only {sorted(row)}")
            if taken := sorted(row.keys() & RESERVED_COLUMNS - _OF_ROLLOUTS):
                raise DataError(
                    f"source {name!r}: columns {taken} have names that the trainer fills itself; "
                    "rename them"
                )
            try:
                messages = chat_prompt(row["prompt"])
            except DataError as error:
                raise DataError(
                    f"source {name!r}, row {number}, prompt: {error}", number - 1
                ) from error
            prompt = with_system(messages, config.system_prompt)
            uid = row.get("uid")
            rows.append(
                {k: v for k, v in row.items() if k not in _OF_ROLLOUTS}
                | {
                    "prompt": prompt,
                    "uid": str(uid) if uid is not None else fingerprint_of(prompt)[:16],
                    DOMAIN: domain,
                }
            )
    return rows


def as_columns(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose columns all have one type: nested ones that Arrow would unite become JSON text.

    Arrow fills the keys that one row lacks and another has with None, and a test would change.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    nested = {
        name for name in names if name != "prompt" and any(_nested(row.get(name)) for row in rows)
    }
    return [
        {
            name: json.dumps(row[name])
            if name in nested and row.get(name) is not None and not isinstance(row[name], str)
            else row.get(name)
            for name in names
        }
        for row in rows
    ]


def _nested(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    if not isinstance(value, list | tuple):
        return False
    messages = value and all(
        isinstance(v, Mapping) and v.keys() == {"role", "content"} for v in value
    )
    return not messages and any(isinstance(v, Mapping | list | tuple) for v in value)
