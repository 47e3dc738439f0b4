"""Trains a turn critic: a causal model learns to write the verdicts on a turn in its context.

A row is a run in any form of `assay.policy.data.trajectories` with `verdicts`, one object a turn:
`logical_soundness`, `tool_call_accuracy`, `informational_gain` (true, false or null) and `reason`;
`assay audit trajectories --output` writes such rows. The prompt is the one that `ModelCritic`
asks with, so that the trained folder serves as it is: `trained_critic(folder)`.

config = TurnCriticConfig.of(model="my/base", data="reviewed.jsonl", output_dir="critic")
main(config)
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.judge import TurnVerdict
from assay.judges.local_model import LocalModel
from assay.judges.turn_model import CRITERIA, ModelCritic, turn_request, verdict_text
from assay.messages import Trajectory
from assay.policy.checkpoints import write_json_file
from assay.policy.data.sources import read_sources
from assay.policy.data.trajectories import read_trajectory
from assay.policy.stages import sft
from assay.policy.stages.sft import SftConfig
from assay.policy.stages.stage_config import StageResult

#: What a trained critic must be asked with, in its folder.
SETTINGS_FILE = "turn_critic.json"


@dataclass(frozen=True)
class TurnCriticConfig(SftConfig):
    """Fine-tuning of a turn critic.

    Args:
        context_tokens: Most tokens of the record of the run in one prompt; must leave room for the
            instructions and the verdict within `max_length`.
        recent: Turns before the reviewed one that are shortened last.
        keep_passing: Share of the turns without a failing verdict that are trained on; failing
            ones are rare, and all of them are kept.
        keep_undecided: Train on turns on which every criterion is undecided.

    Source: the Nanbeige4.1-3B report (arXiv:2602.13367) trains its turn critic and does not
    disclose how.
    """

    context_tokens: int = 12_000
    recent: int = 3
    keep_passing: float = 1.0
    keep_undecided: bool = False

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.keep_passing <= 1:
            raise ConfigError(f"keep_passing is a share in [0, 1], got {self.keep_passing}")
        if self.context_tokens < 64 or self.recent < 0:
            raise ConfigError(
                f"context_tokens must be >= 64 and recent >= 0, got {self.context_tokens} and "
                f"{self.recent}"
            )


def main(
    config: TurnCriticConfig, *, rows: Mapping[str, Sequence[Any]] | None = None
) -> StageResult:
    """Train the critic that `config` describes; continues from its last checkpoint.

    Args:
        config: The settings.
        rows: Reviewed runs by source in place of the files in `config.data`.

    Raises:
        ConfigError: Settings that cannot work together.
        DataError: Rows that cannot be read, without verdicts, or none to train on.
    """
    found = read_sources(config.data, limit=config.limit) if rows is None else rows
    prepared = {
        name: list(critic_rows(map(reviewed_run, source), config)) for name, source in found.items()
    }
    settings = {"context_tokens": config.context_tokens, "recent": config.recent}

    def finish(folder: Path) -> dict[str, float]:
        write_json_file(folder / SETTINGS_FILE, settings)
        return {}

    return sft.main(config, rows=prepared, stage="turn_critic", finish=finish)


def trained_critic(folder: str | Path, **settings: Any) -> ModelCritic:
    """The critic in a folder, asked as it was trained.

    Args:
        folder: What `main` left behind.
        **settings: Of `LocalModel`, such as `device`.

    Raises:
        ConfigError: The folder holds no trained critic.
    """
    path = Path(folder) / SETTINGS_FILE
    try:
        asked = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{folder} holds no trained turn critic ({error}); train one with "
            "`assay train turn-critic`"
        ) from None
    client = LocalModel(str(folder), **settings)
    return ModelCritic(
        client, turns_per_call=1, max_tokens=asked["context_tokens"], recent=asked["recent"]
    )


def reviewed_run(row: Mapping[str, Any]) -> tuple[Trajectory, list[TurnVerdict]]:
    """A run and the verdicts on its turns.

    Raises:
        DataError: No `verdicts`, not one a turn, or a verdict that is none.
    """
    trajectory = read_trajectory({k: v for k, v in row.items() if k != "verdicts"})
    told = row.get("verdicts")
    turns = len(trajectory.turns)
    if not isinstance(told, Sequence) or isinstance(told, str) or len(told) != turns:
        size = len(told) if isinstance(told, Sequence) else type(told).__name__
        raise DataError(
            f"run {trajectory.id!r} needs `verdicts`, one for each of its {turns} turns, got {size}"
        )
    return trajectory, [_verdict(one, trajectory.id) for one in told]


def critic_rows(
    reviewed: Iterable[tuple[Trajectory, Sequence[TurnVerdict]]], config: TurnCriticConfig
) -> Iterator[dict[str, Any]]:
    """One row for fine-tuning a turn: the prompt that asks about it, and the reply."""
    coin = random.Random(config.seed)
    for trajectory, verdicts in reviewed:
        for index, verdict in enumerate(verdicts):
            decided = [getattr(verdict, name) for name in CRITERIA]
            if False not in decided:
                if coin.random() >= config.keep_passing:
                    continue
                if not config.keep_undecided and decided == [None, None, None]:
                    continue
            request, nonce = turn_request(
                trajectory, [index], max_tokens=config.context_tokens, recent=config.recent
            )
            reply = verdict_text({index: verdict}, nonce)
            yield {
                "prompt": [{"role": "user", "content": request.messages[0].content}],
                "completion": [{"role": "assistant", "content": reply}],
                "id": f"{trajectory.id}#{index}",
            }


def _verdict(value: Any, run: str) -> TurnVerdict:
    if isinstance(value, TurnVerdict):
        return value
    if not isinstance(value, Mapping):
        raise DataError(f"run {run!r}: a verdict must be an object, got {value!r:.80}")
    told: dict[str, Any] = {name: value.get(name) for name in CRITERIA}
    wrong = [name for name, one in told.items() if one is not None and not isinstance(one, bool)]
    if wrong:
        raise DataError(f"run {run!r}: {wrong[0]} must be true, false or null, got {value!r:.80}")
    return TurnVerdict(**told, reason=str(value.get("reason") or ""))
