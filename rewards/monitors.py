"""Watches what a reward pays for while a policy trains on it.

Monitors show hacking after it happens: a correlation with length says that long answers are paid
for now, not that they will be. They are a reason to stop and look, not a defence.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.groups import world
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards.composite import derive
from assay.rewards.style import features_of

_log_metric: ContextVar[Callable[[str, float], None] | None] = ContextVar(
    "assay_monitor", default=None
)


def batch_statistics(
    values: Sequence[float | None],
    answers: Sequence[str],
    groups: Sequence[str | None] | None = None,
    held_out: Sequence[float | None] | None = None,
) -> dict[str, float]:
    """What a batch of rewards goes along with.

    Correlations are Pearson's, of values and features with each group's mean taken off where groups
    are known: prompts differ in what they earn, and only differences within a group train. A
    correlation is left out where either side does not vary.

    Args:
        values: Rewards, shape (n,); None where missing, and then left out.
        answers: What was rewarded.
        groups: Which rows are rollouts of one prompt.
        held_out: The same rows' scores by a reward that does not train the policy.

    Returns:
        `rows`, `mean`, `std`; `zero_variance_groups`, the share of groups of two or more whose
        values are all equal; `<feature>_mean` and `<feature>_correlation` for length, repetition
        and every style mark; `style_r2`, the share of the variance within groups that all of them
        together explain (adjusted for their number, at least 0); `held_out_mean`, `held_out_std`
        and `held_out_correlation`.
    """
    import numpy as np

    rows = [i for i, value in enumerate(values) if value is not None]
    found: dict[str, float] = {"rows": float(len(rows))}
    if not rows:
        return found
    y = np.array([values[i] for i in rows], dtype=float)
    keys = [str(i) if groups is None else (groups[i] or "") for i in rows]
    labels = np.unique(keys, return_inverse=True)[1] if groups is not None else np.zeros(len(rows))
    found |= {"mean": float(y.mean()), "std": float(y.std())}
    if groups is not None:
        sizes = [y[labels == label] for label in np.unique(labels)]
        several = [part for part in sizes if len(part) > 1]
        if several:
            equal = sum(float(part.max()) == float(part.min()) for part in several)
            found["zero_variance_groups"] = equal / len(several)
    counted = [features_of(answers[i]) for i in rows]
    centred = _centred(y, labels)
    columns = []
    for name in counted[0]:
        x = np.array([features[name] for features in counted])
        found[f"{name}_mean"] = float(x.mean())
        x = _centred(x, labels)
        if (r := _correlation(centred, x)) is not None:
            found[f"{name}_correlation"] = r
            columns.append(x / np.linalg.norm(x))
    free = len(rows) - len(np.unique(labels)) - len(columns)
    total = float(centred @ centred)
    if columns and free > 0 and total > 0:
        matrix = np.stack(columns, axis=1)
        fit = matrix @ np.linalg.lstsq(matrix, centred, rcond=None)[0]
        left = float((centred - fit) @ (centred - fit)) / total
        found["style_r2"] = max(0.0, 1 - left * (free + len(columns)) / free)
    if held_out is not None:
        both = [j for j, i in enumerate(rows) if held_out[i] is not None]
        other = np.array([held_out[rows[j]] for j in both], dtype=float)
        if both:
            found |= {"held_out_mean": float(other.mean()), "held_out_std": float(other.std())}
            at = np.array(both)
            r = _correlation(_centred(y[at], labels[at]), _centred(other, labels[at]))
            if r is not None:
                found["held_out_correlation"] = r
    return found


@dataclass(frozen=True)
class Monitored(Reward):
    """A reward that reports what it pays for; its values are the inner reward's, unchanged.

    Every call sends `batch_statistics` to the trainer's log under `<name>/monitor/` and, with
    `path`, appends them to a JSON-lines file (one for each rank: `.rank1` and so on go into its
    name) that `assay.rewards.monitor_log.read_monitor` reads.

    Args:
        reward: What the policy trains on.
        held_out: A reward that it does not train on, such as another reward model: scores the same
            rollouts. When the reward rises and this one does not, the policy has learnt the reward
            and not the task.
        path: File to append to.

    Monitor the outermost reward: only its call reaches the trainer's log.

    Example:
        >>> from assay.rewards import Length
        >>> seen = {}
        >>> reward = Monitored(Length(target=2))
        >>> _ = reward(completions=["a", "a b", "a b c d e f"], log_metric=seen.__setitem__)
        >>> seen["monitored/monitor/rows"]
        3.0
    """

    reward: Reward
    held_out: Reward | None = None
    path: str | None = None
    name: str = "monitored"
    max_error_rate: float = 0.5
    eos_token_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for what, value in (("reward", self.reward), ("held_out", self.held_out)):
            if not isinstance(value, Reward) and (what == "reward" or value is not None):
                raise ConfigError(f"Monitored.{what} must be a Reward, got {type(value).__name__}")
        if self.path is not None:
            object.__setattr__(self, "path", str(self.path))
        members = [self.reward] + ([self.held_out] if self.held_out is not None else [])
        derive(self, self.reward.range, members)

    def children(self) -> Mapping[str, Reward]:
        """The reward under its own name; the held-out one is no part of the value."""
        return {self.reward.name: self.reward}

    def fingerprint(self) -> str:
        """The inner reward's: watching changes no score."""
        return self.reward.fingerprint()

    def __call__(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **kwargs: Any
    ) -> list[float | None]:
        """The contract of every reward; the trainer's `log_metric` reaches `score` as well."""
        token = _log_metric.set(kwargs.get("log_metric"))
        try:
            return super().__call__(completions, prompts, **kwargs)
        finally:
            _log_metric.reset(token)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Evaluate, then report; the held-out score goes into `info`."""
        name = self.reward.name
        scores = self.part(name, self.reward, samples)
        others: list[Score] = []
        if self.held_out is not None:
            others = self.held_out.evaluate(samples)
        found = batch_statistics(
            [score.value for score in scores],
            [sample.answer for sample in samples],
            [s.group for s in samples] if all(s.group is not None for s in samples) else None,
            [other.value for other in others] if others else None,
        )
        log_metric = _log_metric.get()
        if log_metric is not None:
            for key, value in found.items():
                log_metric(f"{self.name}/monitor/{key}", value)
        if self.path is not None:
            append(self.path, found)
        return [
            Score(
                score.value,
                score.status,
                score.passed,
                score.turns,
                {name: score},
                score.note,
                {"held_out": others[i].value} if others else {},
            )
            for i, score in enumerate(scores)
        ]


def append(path: str, entry: Mapping[str, Any]) -> None:
    """Append one line to a monitor's file, this rank's own."""
    rank, _ = world()
    file = Path(path)
    if rank:
        file = file.with_name(f"{file.stem}.rank{rank}{file.suffix}")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab+") as out:
        torn = ""
        if out.tell():
            out.seek(-1, os.SEEK_END)
            torn = "" if out.read(1) == b"\n" else "\n"  # a killed process left half a line
        out.write(f"{torn}{json.dumps(entry)}\n".encode())


def _centred(x: Any, labels: Any) -> Any:
    import numpy as np

    means = np.zeros(len(x))
    for label in np.unique(labels):
        means[labels == label] = x[labels == label].mean()
    return x - means


def _correlation(x: Any, y: Any) -> float | None:
    import numpy as np

    scale = float(np.linalg.norm(x) * np.linalg.norm(y))
    if len(x) < 3 or not math.isfinite(scale) or scale <= 1e-12:
        return None
    return float(x @ y) / scale
