"""Whoever listens hears the full scores of the rewards that a trainer calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from assay.diagnostics import listening
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards import AsyncReward, WeightedSum


@dataclass(frozen=True)
class Turned(Reward):
    name: str = "turned"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [Score.of(1, turns=[0.0] * len(s.turns)) for s in samples]


def test_only_the_outermost_call_is_heard_and_only_while_listening() -> None:
    reward = WeightedSum({"a": Turned()}, name="sum")
    with listening() as heard:
        reward(completions=["x", "y"])
    reward(completions=["z"])
    assert [call.reward.name for call in heard] == ["sum"]
    assert [score.turns for score in heard[0].scores] == [(0.0,), (0.0,)]
    assert heard[0].samples[1].answer == "y"


def test_rewards_on_other_threads_are_heard() -> None:
    with listening() as heard:
        asyncio.run(AsyncReward(Turned())(completions=["x"]))
    assert len(heard) == 1
