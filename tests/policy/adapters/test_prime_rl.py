"""prime-rl is on no package index: its contract is checked on objects shaped as its sources say."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, RewardError
from assay.messages import Sample
from assay.policy.adapters.prime_rl import advantages, rollout_pieces
from assay.reward import Reward, Score

LEVEL = 0.5 / (math.sqrt(0.5) + 1e-4)


@dataclass(frozen=True)
class Broken(Reward):
    name: str = "broken"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [Score.fail("the judge is down") for _ in samples]


broken = Broken()


@dataclass
class Inputs:
    rollouts: list[Any]
    completion_lengths: list[int]


def _rollout(
    reward: float | None, turns: list[float | None] | None, answer: str = "a"
) -> dict[str, Any]:
    """Two turns of 2 and 3 tokens after a prompt of 4, with 2 tokens of a result between them."""
    info = {} if turns is None else {"turn_rewards": turns}
    steps = [
        {"tokens": {"prompt_ids": [1] * 4, "completion_ids": [2] * 2}},
        {"tokens": {"prompt_ids": [1] * 8, "completion_ids": [2] * 3}},
    ]
    said = [
        {"role": "assistant", "content": "hm"},
        {"role": "user", "content": "go on"},
        {"role": "assistant", "content": answer},
    ]
    return {
        "prompt": [{"role": "user", "content": "?"}],
        "completion": said,
        "reward": reward,
        "trajectory": steps,
        "info": info,
    }


def test_outcomes_without_turn_values_are_broadcast() -> None:
    found = advantages(Inputs([_rollout(1.0, None), _rollout(0.0, None)], [7, 7]))
    assert found[0] == pytest.approx([LEVEL] * 7)
    assert found[1] == pytest.approx([-LEVEL] * 7)


def test_turn_values_are_spread_over_the_tokens_of_their_turns() -> None:
    group = [_rollout(1.0, [-1.0, 0.0]), _rollout(0.0, [0.0, None])]
    found = advantages(Inputs(group, [7, 7]), credit={"weight": 0.5})
    assert found[0] == pytest.approx([LEVEL - 0.5] * 2 + [0.0] * 2 + [LEVEL] * 3)
    assert found[1] == pytest.approx([-LEVEL] * 2 + [0.0] * 2 + [-LEVEL] * 3)
    # Where prime-rl made one sample of each turn there is nothing between them.
    apart = advantages(Inputs(group, [5, 5]), scale=False)
    assert apart[0] == pytest.approx([-0.5] * 2 + [0.5] * 3)


def test_masked_turns_have_no_advantage() -> None:
    group = [_rollout(1.0, [-1.0, 0.0]), _rollout(0.0, [0.0, 0.0])]
    found = advantages(Inputs(group, [7, 7]), credit={"mode": "mask"}, scale=False)
    assert found[0] == pytest.approx([0.0] * 4 + [0.5] * 3)


def test_a_rollout_without_outcome_counts_for_nobody() -> None:
    group = [_rollout(1.0, None), _rollout(None, [0.0, 0.0]), _rollout(0.0, None)]
    found = advantages(Inputs(group, [7, 7, 7]), scale=False)
    assert [row[0] for row in found] == [0.5, 0.0, -0.5]


def test_a_reward_that_compares_rollouts_sees_the_group() -> None:
    group = [_rollout(0.0, None, "long answer"), _rollout(1.0, None, "short")]
    spec = "tests.policy.adapters.rewards_under_test:longest"
    found = advantages(Inputs(group, [7, 7]), reward=spec, scale=False)
    assert [row[0] for row in found] == [0.5, -0.5]
    polite = "tests.policy.adapters.rewards_under_test:politeness"
    group[0]["completion"][0]["content"] = "hm!"  # the first turn of the first rollout shouts
    turned = advantages(Inputs(group, [7, 7]), reward=polite, scale=False)
    assert turned[0] == pytest.approx([-1.25] * 2 + [0.0] * 2 + [-0.25] * 3)


def test_tokens_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(DataError, match=r"\[7, 5\] tokens, and prime-rl trains on 9"):
        advantages(Inputs([_rollout(1.0, [0.0, 0.0])], [9]))
    with pytest.raises(DataError, match="2 turns and 3 turn values"):
        advantages(Inputs([_rollout(1.0, [0.0, 0.0, 0.0])], [7]))
    with pytest.raises(DataError, match="has no tokens"):
        rollout_pieces({"trajectory": [{"tokens": None}]}, 3)
    with pytest.raises(ConfigError, match="credit"):
        advantages(Inputs([], []), credit={"wait": 1})


def test_missing_outcomes_are_told(caplog: pytest.LogCaptureFixture) -> None:
    found = advantages(Inputs([_rollout(1.0, None), _rollout(None, None)], [7, 7]))
    assert found[1] == [0.0] * 7
    assert "1 of 2 rollouts of a group have no outcome" in caplog.text
    with pytest.raises(RewardError, match="'broken' failed on 2 of the 2 rows"):
        advantages(
            Inputs([_rollout(1.0, None)] * 2, [7, 7]),
            reward="tests.policy.adapters.test_prime_rl:broken",
        )


def test_groups_of_another_form() -> None:
    with pytest.raises(DataError, match="2 rollouts and 1 completion_lengths"):
        advantages(Inputs([_rollout(1.0, None)] * 2, [7]))
    with pytest.raises(DataError, match="the reward of a rollout must be a number, got 'high'"):
        advantages(Inputs([_rollout("high", None)], [7]))  # type: ignore[arg-type]
    bare = _rollout(1.0, None)
    del bare["completion"]
    with pytest.raises(DataError, match="a rollout has no 'completion'"):
        advantages(Inputs([bare], [7]), reward="tests.policy.adapters.rewards_under_test:longest")
