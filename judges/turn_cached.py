"""A turn critic whose reviews are kept: `CachedTurnCritic(critic, path)`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.judge import TurnCritic, TurnVerdict
from assay.judges.cache import ScoreCache, cache_key
from assay.messages import Trajectory


@dataclass(frozen=True)
class CachedTurnCritic(TurnCritic):
    """`critic`, asked once for each run.

    A review is kept if the critic decided something in it; one that is nothing but abstentions (a
    model that was down, a reply that could not be read) is asked for again.

    Args:
        critic: Any turn critic.
        path: The SQLite file; critics and judges may share one.
        max_mb: Size of that file, in MiB.
    """

    critic: TurnCritic
    path: Path | str
    max_mb: float = 1024.0
    cache: ScoreCache = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cache", ScoreCache(self.path, self.max_mb))

    def review(self, trajectories: Sequence[Trajectory]) -> list[list[TurnVerdict]]:
        """One verdict per assistant turn, from the cache where it has the run."""
        fingerprint = self.critic.fingerprint()
        keys = [_key(fingerprint, one) for one in trajectories]
        known = [key for key in keys if key is not None]
        values = dict(zip(known, self.cache.get(known), strict=True))
        found = [None if key is None else _read(values.get(key)) for key in keys]
        missing = [index for index, one in enumerate(found) if one is None]
        fresh = self.critic.review([trajectories[index] for index in missing]) if missing else []
        kept: dict[bytes, Any] = {}
        for index, verdicts in zip(missing, fresh, strict=True):
            found[index] = verdicts
            key = keys[index]
            if key is not None and any(_decided(verdict) for verdict in verdicts):
                kept[key] = [asdict(verdict) for verdict in verdicts]
        self.cache.put(kept)
        return [one or [] for one in found]

    def fingerprint(self) -> str:
        """The critic's own: where its reviews lie does not change them."""
        return self.critic.fingerprint()


def _key(fingerprint: str, trajectory: Trajectory) -> bytes | None:
    """The run's key, or None where something in it has no place in JSON: then nothing is kept."""
    whole = asdict(trajectory)
    whole.pop("id")
    try:
        return cache_key(fingerprint, "review", json.loads(json.dumps(whole)))
    except (ConfigError, TypeError, ValueError):
        return None


def _read(value: Any) -> list[TurnVerdict] | None:
    if not isinstance(value, list):
        return None
    return [TurnVerdict(**{**one, "findings": tuple(one["findings"])}) for one in value]


def _decided(verdict: TurnVerdict) -> bool:
    criteria = (
        verdict.logical_soundness,
        verdict.tool_call_accuracy,
        verdict.informational_gain,
    )
    return any(one is not None for one in criteria)
