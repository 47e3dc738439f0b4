"""What all adapters share: one rollout in, one number out, and no number where there is none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from assay.errors import ConfigError, RewardError
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.settings import real

#: What a trainer that knows only numbers gets for a missing score: an error, NaN, or a number that
#: the user names.
OnMissing = Literal["raise", "nan"] | float


def require_alone(reward: Reward, adapter: str) -> None:
    """Check that a reward can score a rollout without the others of its group.

    Raises:
        ConfigError: It is no Reward, or compares the rollouts of a prompt.
    """
    if not isinstance(reward, Reward):
        raise ConfigError(
            f"{adapter} needs an assay Reward, got {type(reward).__name__}; subclass "
            "assay.rewards.Reward or take one of the library's"
        )
    if reward.scope == "group":
        raise ConfigError(
            f"{adapter} scores one rollout a call, and {reward.name!r} compares the rollouts of a "
            "prompt; use a reward with scope 'sample', or an adapter that sees groups "
            "(assay.policy.adapters.verifiers.score_group, assay.policy.adapters.prime_rl)"
        )


def check_on_missing(value: object) -> None:
    """Check an `on_missing`.

    Raises:
        ConfigError: Neither `raise`, `nan` nor a finite number.
    """
    if isinstance(value, str):
        if value not in ("raise", "nan"):
            raise ConfigError(f"on_missing must be 'raise', 'nan' or a number, got {value!r}")
        return
    real("on_missing", value)


def score_one(reward: Reward, sample: Sample) -> Score:
    """The score of one rollout."""
    (score,) = reward.evaluate([sample])
    return score


def number_of(score: Score, reward: Reward, on_missing: OnMissing) -> float:
    """The value, or what stands for a missing one.

    >>> from assay.rewards import Length
    >>> number_of(Score.of(0.5), Length(target=3), "raise")
    0.5

    Raises:
        RewardError: There is no value, and `on_missing` is `raise`.
    """
    if score.value is not None:
        return score.value
    if on_missing == "nan":
        return math.nan
    if isinstance(on_missing, str):
        note = f": {score.note}" if score.note else ""
        raise RewardError(
            f"reward {reward.name!r} has no number for this rollout: {score.status}{note}; mend "
            "the cause, or say what a missing score counts as with on_missing"
        )
    return float(on_missing)


def plain(value: Any) -> Any:
    """A value of a row with NumPy's and torch's scalars and arrays as numbers and lists.

    >>> import numpy as np
    >>> plain({"tests": np.array([{"input": np.int64(1)}], dtype=object)})
    {'tests': [{'input': 1}]}
    """
    if hasattr(value, "tolist") and hasattr(value, "ndim"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def row_columns(*parts: object, name: str = "") -> dict[str, Any]:
    """Columns of a row from what a trainer passes: mappings, JSON text of one, or a bare value.

    Args:
        *parts: Later ones win.
        name: Column of a bare value; values that are no mapping are left out without it.

    >>> row_columns("4", {"index": 7}, name="answer")
    {'answer': '4', 'index': 7}
    """
    found: dict[str, Any] = {}
    for part in map(plain, parts):
        value = part
        if isinstance(value, str) and value.lstrip().startswith("{"):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                value = part
        if isinstance(value, Mapping):
            found |= {str(key): item for key, item in value.items()}
        if name and part is not None and not isinstance(part, Mapping):
            found.setdefault(name, part)
    return found


def group_levels(
    outcomes: Sequence[float | None], *, scale: bool = True, eps: float = 1e-4
) -> list[float | None]:
    """(r - mean) / (std + eps) over the outcomes that a group has; None where there is none.

    The standard deviation is the sample's, as TRL's.

    >>> group_levels([1.0, 0.0, None], scale=False)
    [0.5, -0.5, None]
    """
    known = [value for value in outcomes if value is not None]
    if not known:
        return [None] * len(outcomes)
    mean = math.fsum(known) / len(known)
    deviation = 1.0
    if scale and len(known) > 1:
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in known) / (len(known) - 1)) + eps
    return [None if value is None else (value - mean) / deviation for value in outcomes]
