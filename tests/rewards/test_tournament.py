"""Tournaments: balanced schedules, hand-computed strengths, judges that only see the slot, GRPO."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError, DataError
from assay.messages import Sample
from assay.rewards.schedule import all_pairs, circular_pairs, swiss_pairs
from assay.rewards.strengths import bradley_terry, expected_win_rates, win_rates
from assay.rewards.tournament import TournamentReward
from tests.ranks import run_ranks
from tests.rewards.test_pairwise import Rule, always_first, longer_wins, model, never

SCHEDULES: list[Any] = ["all", "circular", "swiss"]
AGGREGATES: list[Any] = ["win_rate", "bradley_terry"]


def group(*answers: str, uid: str = "u") -> list[Sample]:
    return [Sample.of("question", answer, {"uid": uid}) for answer in answers]


def values(reward: TournamentReward, samples: list[Sample]) -> list[float | None]:
    return [score.value for score in reward.evaluate(samples)]


# --- Schedules


@given(st.integers(1, 20), st.integers(1, 12))
def test_circular_is_balanced(size: int, rounds: int) -> None:
    pairs = circular_pairs(size, rounds)
    assert len(set(pairs)) == len(pairs)
    assert all(0 <= i < j < size for i, j in pairs)
    meetings = Counter(i for pair in pairs for i in pair)
    assert len(set(meetings.values())) <= 1
    if size > 1:
        assert meetings[0] == min(2 * rounds, size - 1)


def test_swiss_meets_neighbours_without_repeats_and_shares_byes() -> None:
    met: set[tuple[int, int]] = set()
    byes = [0] * 5
    for _ in range(4):
        pairs = swiss_pairs([0.0] * 5, met, byes)
        assert len(pairs) == 2
        assert not met & set(pairs)
        met |= set(pairs)
        (out,) = set(range(5)) - {i for pair in pairs for i in pair}
        byes[out] += 1
    assert sorted(byes) == [0, 1, 1, 1, 1]
    # Everybody has met everybody: the last resort is to meet again.
    assert len(swiss_pairs([0.0] * 4, set(all_pairs(4)), [0] * 4)) == 2
    assert swiss_pairs([3.0, 0.0, 2.0, 1.0], set(), [0] * 4) == [(0, 2), (1, 3)]


# --- Strengths


def test_bradley_terry_recovers_exact_probabilities() -> None:
    true = [0.8, 0.1, -0.9]
    outcomes = [
        (i, j, 1 / (1 + math.exp(true[j] - true[i]))) for i, j in all_pairs(3) for _ in range(2)
    ]
    assert bradley_terry(3, outcomes, prior=1e-9) == pytest.approx(true, abs=1e-6)
    # With the prior: a mode of the penalised likelihood, checked by its gradient.
    s = bradley_terry(3, outcomes, prior=1.0)
    for k in range(3):
        gradient = -s[k]
        for i, j, y in outcomes:
            p = 1 / (1 + math.exp(s[j] - s[i]))
            gradient += (y - p) * ((k == i) - (k == j))
        assert gradient == pytest.approx(0, abs=1e-9)


def test_bradley_terry_equals_choix() -> None:
    choix = pytest.importorskip("choix", reason="choix is not installed")
    data = [(0, 1), (0, 1), (1, 0), (1, 2), (2, 1), (0, 2)]
    ours = bradley_terry(3, [(w, loser, 1.0) for w, loser in data], prior=1e-6)
    theirs = choix.opt_pairwise(3, data)
    assert ours == pytest.approx(list(theirs - theirs.mean()), abs=1e-3)


def test_an_unbeaten_entrant_stays_finite() -> None:
    s = bradley_terry(3, [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)])
    assert s[0] > s[1] > s[2]
    assert all(math.isfinite(x) for x in s)
    rates = expected_win_rates(s)
    assert sum(rates) == pytest.approx(1.5)
    assert win_rates(4, [(0, 1, 1.0)])[2:] == [None, None]


# --- The reward


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("mode", ["soft", "hard", "agree"])
@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("rounds", [1, 3])
def test_a_pure_first_position_judge_rewards_all_alike(
    schedule: Any, aggregate: Any, mode: Any, size: int, rounds: int
) -> None:
    reward = TournamentReward(
        Rule(always_first), schedule=schedule, rounds=rounds, aggregate=aggregate, mode=mode
    )
    answers = ["x" * (i + 1) for i in range(size)]
    assert values(reward, group(*answers)) == pytest.approx([0.5] * size)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_sensible_judge_orders_the_group(schedule: Any, aggregate: Any) -> None:
    reward = TournamentReward(Rule(longer_wins), schedule=schedule, aggregate=aggregate)
    sizes = [3, 9, 1, 30, 17, 60]
    got = values(reward, group(*("x" * size for size in sizes)))
    best, worst = got.index(max(g or 0 for g in got)), got.index(min(g or 0 for g in got))
    assert (sizes[best], sizes[worst]) == (60, 1)
    if schedule == "all":
        assert sorted(range(6), key=lambda i: got[i] or 0) == sorted(
            range(6), key=lambda i: sizes[i]
        )


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("size", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_every_entrant_meets_somebody(schedule: Any, size: int, rounds: int) -> None:
    reward = TournamentReward(Rule(longer_wins), schedule=schedule, rounds=rounds)
    scores = reward.evaluate(group(*("x" * (i + 1) for i in range(size))))
    assert all(score.status == "scored" and score.info["meetings"] for score in scores)


def test_sitting_out_is_neutral() -> None:
    """Of three, one sits out; it must not be taken for a loser in the next round."""
    field = TournamentReward(Rule(longer_wins), schedule="swiss", rounds=2, mode="hard")
    # Round 1: 0 beats 1, 2 sits out. Round 2: 0 has +.5, 2 has 0 and 1 has -.5: 0 meets 2.
    scores = field.evaluate(group("xxx", "x", "xx"))
    assert [score.info["meetings"] for score in scores] == [2, 1, 1]


def test_thousands_of_rollouts_in_a_group() -> None:
    reward = TournamentReward(Rule(longer_wins), schedule="swiss", rounds=2)
    got = values(reward, group(*(f"{i}" for i in range(2500))))
    assert len(got) == 2500 and None not in got


def test_win_rate_by_hand() -> None:
    reward = TournamentReward(Rule(longer_wins), mode="hard")
    scores = reward.evaluate(group("xxx", "x", "xx"))
    assert [score.value for score in scores] == [1.0, 0.0, 0.5]
    assert scores[0].info["meetings"] == 2
    assert scores[0].info["order_gap"] > 0


@pytest.mark.parametrize("schedule", ["all", "swiss"])
def test_rollout_order_and_other_groups_change_nothing(schedule: Any) -> None:
    reward = TournamentReward(Rule(longer_wins), schedule=schedule, rounds=5)
    one, two = group("x", "xxx", "xx", "xxxx"), group("a", "aa", "aaa", uid="v")
    mixed = [one[0], two[0], one[1], two[1], two[2], one[2], one[3]]
    got = values(reward, mixed)
    assert [got[i] for i in (0, 2, 5, 6)] == pytest.approx(values(reward, one))
    assert [got[i] for i in (1, 3, 4)] == pytest.approx(values(reward, two))
    assert values(reward, one[::-1])[::-1] == pytest.approx(values(reward, one))


def test_identical_rollouts_share_a_reward() -> None:
    reward = TournamentReward(Rule(longer_wins), mode="hard")
    assert values(reward, group("xx", "x", "xx")) == [1.0, 0.0, 1.0]
    assert values(reward, group("same", "same")) == [0.5, 0.5]
    (alone,) = reward.evaluate(group("x"))
    assert alone.status == "abstained"
    assert "only rollout" in alone.note


def test_no_verdict_is_no_number() -> None:
    scores = TournamentReward(Rule(never)).evaluate(group("x", "xx"))
    assert [score.status for score in scores] == ["abstained", "abstained"]
    assert scores[0].note == "cannot tell"


def test_messages() -> None:
    with pytest.raises(ConfigError, match="schedule must be one of .*, got 'random'"):
        TournamentReward(Rule(never), schedule="random")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="aggregate must be one of"):
        TournamentReward(Rule(never), aggregate="elo")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rounds must be >= 1, got 0"):
        TournamentReward(Rule(never), rounds=0)
    with pytest.raises(DataError, match="add a dataset column `uid`"):
        TournamentReward(Rule(never))(completions=["a", "b"], prompts=["q", "q"])


def reward_for_grpo() -> TournamentReward:
    return TournamentReward(model("slot"))


def grpo_log() -> dict[str, float]:
    """Four rollouts of one prompt, two on each rank."""
    from tests.rewards.small_models import grpo

    return grpo(reward_for_grpo(), per_device_train_batch_size=2)


def test_grpo_on_one_process() -> None:
    pytest.importorskip("trl")
    from tests.rewards.small_models import grpo

    log = grpo(reward_for_grpo())
    assert log["tournament/scored"] == 8
    assert log["reward"] == pytest.approx(0.5, abs=1e-6)  # the mean of win rates, always
    assert log["reward_std"] > 0
    assert log["tournament/order_gap_size"] >= abs(log["tournament/order_gap"])
    assert 0 <= log["tournament/flip_rate"] <= 1


@pytest.mark.slow
def test_grpo_on_two_processes_with_a_group_split_over_both() -> None:
    first, _ = run_ranks("tests.rewards.test_tournament:grpo_log")
    assert first["tournament/scored"] == 2
    assert first["reward"] == pytest.approx(0.5, abs=1e-6)
