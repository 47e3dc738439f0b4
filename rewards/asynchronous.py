"""The asynchronous face of a reward, so that TRL overlaps several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError
from assay.groups import world
from assay.reward import Reward


@dataclass(frozen=True)
class AsyncReward:
    """`async __call__` around a Reward; GRPOTrainer runs all such rewards at the same time.

    Worth it beside other slow rewards; TRL runs synchronous ones first, one after the other.

    Raises:
        ConfigError: At the call, for a group-scoped reward under several ranks: collectives do not
            belong on a side thread. Give the trainer the reward itself.
    """

    reward: Reward

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.reward, Reward):
            raise ConfigError(f"AsyncReward needs a Reward, got {type(self.reward).__name__}")

    @property
    def __name__(self) -> str:
        return self.reward.name

    async def __call__(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **kwargs: Any
    ) -> list[float | None]:
        """As `Reward.__call__`, on a thread."""
        if self.reward.scope == "group" and world()[1] > 1:
            raise ConfigError(
                f"reward {self.reward.name!r} gathers groups across ranks and cannot run on a side "
                "thread; pass it to the trainer without AsyncReward"
            )
        import asyncio  # a tenth of this package's import time, needed only here

        return await asyncio.to_thread(self.reward, completions, prompts, **kwargs)
