"""Credit of turns against numbers worked by hand, and the traps of turn-level credit."""

from __future__ import annotations

import math
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.policy.credit_assignment import MODES, Rollout, TurnAdvantages, TurnCredit


def advantages(credit: TurnCredit, *group: Rollout) -> list[list[float]]:
    return [[round(a, 4) for a in given(row).advantages] for row in credit.assign(group)]


def given(row: TurnAdvantages | None) -> TurnAdvantages:
    assert row is not None
    return row


# Two trajectories of one prompt: the first wins, with a failing second turn; the second loses.
WINNER = Rollout(1.0, (0.0, -0.5, 0.0))
LOSER = Rollout(-1.0, (-0.5, 0.0))


def test_trajectory() -> None:
    assert advantages(TurnCredit("trajectory"), WINNER, LOSER) == [[1, 1, 1], [-1, -1]]


def test_mask() -> None:
    rows = TurnCredit("mask").assign([WINNER, LOSER])
    assert [given(row).kept for row in rows] == [(True, False, True), (False, True)]
    assert [given(row).advantages for row in rows] == [(1, 1, 1), (-1, -1)]


def test_negative_is_the_default() -> None:
    # A_it = A_i + w z_it with w = 2: 1 + 2 x -.5 = 0; -1 + 2 x -.5 = -2
    assert TurnCredit().mode == "negative"
    assert advantages(TurnCredit(), WINNER, LOSER) == [[1, 0.5, 1], [-1.5, -1]]
    assert advantages(TurnCredit(weight=2), WINNER, LOSER) == [[1, 0, 1], [-2, -1]]


def test_negative_takes_no_praise() -> None:
    with pytest.raises(DataError, match=r"<= 0 .*got 1\.0; use mode 'return' or 'additive'"):
        TurnCredit().assign([Rollout(0.0, (1.0,))])


def test_additive() -> None:
    # Non-final turns: 0, -.5 | -.5. Mean -1/3, sample std sqrt((1/9 + 1/36 + 1/36) / 2) = .288675.
    # 0 -> (1/3) / .288775 = 1.1543; -.5 -> (-1/6) / .288775 = -.5772. Final turns: A_i.
    assert advantages(TurnCredit("additive"), WINNER, LOSER) == [
        [2.1543, 0.4228, 1.0],
        [-1.5772, -1.0],
    ]
    half = advantages(TurnCredit("additive", weight=0.5), WINNER, LOSER)
    assert half == [[1.5772, 0.7114, 1.0], [-1.2886, -1.0]]


def test_mt_grpo() -> None:
    # First turns: 0 and -.5; mean -.25, sample std .353553; +-.25 / .353653 = +-.7069.
    assert advantages(TurnCredit("mt_grpo"), WINNER, LOSER) == [[1.7069, 1, 1], [-1.7069, -1]]


def test_gigpo() -> None:
    # gamma .5. Returns: winner (O = 1): turn 2: 0 + 1 = 1; turn 1: -.5 + .5 = 0; turn 0: 0.
    # Loser (O = 0): turn 1: 0; turn 0: -.5. Anchor "start" holds 0 and -.5: mean -.25, std .353553:
    # +-.7069. Anchor "b" holds 0 (winner's turn 1) and 0 (loser's turn 1): 0. "c" is met once: 0.
    group = [
        Rollout(1.0, WINNER.turns, ("start", "b", "c"), outcome=1.0),
        Rollout(-1.0, LOSER.turns, ("start", "b"), outcome=0.0),
    ]
    credit = TurnCredit("gigpo", gamma=0.5)
    assert advantages(credit, *group) == [[1.7069, 1, 1], [-1.7069, -1]]


def test_gigpo_discounts_the_outcome_by_its_distance() -> None:
    # All turns pass: returns at "start" are .95^2 = .9025 (won after three turns) and 0.
    # mean .45125, sample std .638164: +-.45125 / .638264 = +-.7070
    group = [
        Rollout(1.0, (0.0, 0.0, 0.0), ("start", "x", "y"), outcome=1.0),
        Rollout(-1.0, (0.0,), ("start",), outcome=0.0),
    ]
    assert advantages(TurnCredit("gigpo"), *group) == [[1.7070, 1, 1], [-1.7070]]


def test_gigpo_leaves_out_a_trajectory_without_an_outcome() -> None:
    group = [
        Rollout(1.0, (0.0,), ("start",), outcome=1.0),
        Rollout(0.0, (-1.0,), ("start",), outcome=None),
    ]
    assert advantages(TurnCredit("gigpo"), *group) == [[1.0], [0.0]]


def test_gigpo_needs_an_anchor_for_each_turn() -> None:
    with pytest.raises(DataError, match="got 1 anchors for 2 turns"):
        TurnCredit("gigpo").assign([Rollout(0.0, (0.0, 0.0), ("start",), 0.0)])


def test_return() -> None:
    # gamma 0: the turn's own value. gamma .5: -.25 + ... = 0 + .5 x -.5, -.5, 0.
    assert advantages(TurnCredit("return"), WINNER, LOSER) == [[1, 0.5, 1], [-1.5, -1]]
    credit = TurnCredit("return", gamma=0.5)
    assert advantages(credit, WINNER, LOSER) == [[0.75, 0.5, 1], [-1.5, -1]]
    # gamma 1: the plain sum of what follows; signed values are welcome.
    credit = TurnCredit("return", gamma=1.0)
    assert advantages(credit, Rollout(0.0, (1.0, -2.0, 4.0))) == [[3, 2, 4]]


def test_a_trajectory_without_turn_values_keeps_its_advantage_elsewhere() -> None:
    for mode in MODES:
        credit = TurnCredit(mode)
        group = [Rollout(0.5, None), Rollout(1.0, (0.0,), ("start",), 1.0)]
        rows = credit.assign(group)
        assert rows[0] is None
        assert given(rows[1]).advantages == (1.0,)


@pytest.mark.parametrize("mode", MODES)
def test_empty_groups_and_empty_trajectories(mode: Any) -> None:
    assert TurnCredit(mode).assign([]) == []
    assert given(TurnCredit(mode).assign([Rollout(0.3, (), (), 0.0)])[0]).advantages == ()


# Trap (a): centring values of 0 and -c only.


def rare(failures: int, turns: int = 100) -> Rollout:
    """Failing turns first; one more turn at the end, which additive leaves out."""
    return Rollout(0.0, (*[-1.0] * failures, *[0.0] * (turns - failures), 0.0))


def test_trap_a_centring_explodes_rare_failures_and_negative_does_not() -> None:
    # 6 of 100: share q = .06; population +sqrt(q/(1-q)) = .2526, -sqrt((1-q)/q) = -3.9581;
    # sample std + 1e-4: +.2513 / -3.9366.
    row = given(TurnCredit("additive").assign([rare(6)])[0])
    assert [round(row.terms[i], 4) for i in (99, 0)] == [0.2513, -3.9366]
    row = given(TurnCredit("negative").assign([rare(6)])[0])
    assert (row.terms[99], row.terms[0]) == (0.0, -1.0)


@pytest.mark.parametrize(("failures", "turns"), [(6, 100), (10, 100), (30, 100)])
def test_trap_a_follows_the_formula(failures: int, turns: int) -> None:
    q = failures / turns
    row = given(TurnCredit("additive", eps=0.0).assign([rare(failures, turns)])[0])
    shrink = math.sqrt((turns - 1) / turns)  # sample instead of population deviation
    assert row.terms[turns - 1] == pytest.approx(shrink * math.sqrt(q / (1 - q)))
    assert row.terms[0] == pytest.approx(-shrink * math.sqrt((1 - q) / q))


def test_trap_a_turn_cap_bounds_it() -> None:
    row = given(TurnCredit("additive", turn_cap=1.0).assign([rare(6)])[0])
    assert row.terms[0] == -1.0 and round(row.terms[99], 4) == 0.2513


# Trap (b): sums of turn terms grow with the number of turns.


def test_trap_b_per_turn_mean_and_cap() -> None:
    long = Rollout(1.0, (-1.0,) * 600)
    assert sum(given(TurnCredit().assign([long])[0]).terms) == -600
    mean = given(TurnCredit(per_turn_mean=True).assign([long])[0])
    assert sum(mean.terms) == pytest.approx(-1)
    capped = given(TurnCredit(cap=3.0).assign([long])[0])
    assert sum(capped.terms) == pytest.approx(-3)
    assert capped.terms[0] == pytest.approx(-1 / 200)
    short = given(TurnCredit(cap=3.0).assign([Rollout(1.0, (-1.0, 0.0))])[0])
    assert short.terms == (-1.0, 0.0)


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("mode", ["trajectory", "mask", "negative", "return"])
def test_trap_b_duplicated_passing_turns_change_no_passing_turn(mode: Any, mean: bool) -> None:
    credit = TurnCredit(mode, per_turn_mean=mean, cap=10.0)
    once = given(credit.assign([Rollout(0.7, (0.0, -1.0, 0.0)), LOSER])[0])
    often = given(credit.assign([Rollout(0.7, (*[0.0] * 50, -1.0, *[0.0] * 50)), LOSER])[0])
    passing = [a for i, a in enumerate(often.advantages) if i != 50]
    assert set(passing) == {once.advantages[0]} == {0.7}


# Trap (c): a critic that abstains fails nobody.


@pytest.mark.parametrize("mode", MODES)
def test_trap_c_an_abstained_turn_keeps_the_outcome_and_is_in_no_statistic(mode: Any) -> None:
    def row(*turns: float | None) -> Rollout:
        return Rollout(0.4, turns, ("s",) * len(turns), 1.0)

    abstained = row(None, 0.0, -1.0, 0.0)
    credit = TurnCredit(mode)
    found = given(credit.assign([abstained, row(0.0, -1.0, 0.0)])[0])
    assert found.advantages[0] == 0.4 and found.kept[0]
    if mode == "additive":  # pooled over 0, -1 | 0, -1: the abstained turn is not a 0
        other = given(credit.assign([row(0.0, -1.0, 0.0), row(0.0, -1.0, 0.0)])[0])
        assert found.advantages[1:] == other.advantages


def test_trap_c_an_abstained_turn_can_leave_the_loss() -> None:
    row = given(TurnCredit(on_abstain="mask").assign([Rollout(1.0, (None, 0.0, -1.0))])[0])
    assert row.kept == (False, True, True)
    assert row.advantages == (1.0, 1.0, 0.0)


# Trap (d): failing turns of winners, and turns that mend an earlier failure.


def test_trap_d_a_failing_turn_of_a_winner_can_be_pushed_down() -> None:
    row = given(TurnCredit(weight=3).assign([Rollout(1.0, (-0.5, 0.0))])[0])
    assert row.advantages == (-0.5, 1.0)


@pytest.mark.parametrize("mode", ["mask", "negative", "return"])
def test_trap_d_the_turn_that_corrects_stays_trainable(mode: Any) -> None:
    row = given(TurnCredit(mode).assign([Rollout(1.0, (-1.0, 0.0))])[0])
    assert row.kept[1] and row.advantages[1] == 1.0


# Trap (g): nothing is normalised by turn index.


@pytest.mark.parametrize("mode", ["negative", "additive", "return", "mask", "trajectory"])
def test_trap_g_credit_follows_the_turn_and_not_its_index(mode: Any) -> None:
    credit = TurnCredit(mode)
    other = Rollout(-1.0, (0.0, 0.0, 0.0, -1.0, 0.0))
    one = given(credit.assign([Rollout(1.0, (-1.0, 0.0, 0.0, 0.0)), other])[0])
    two = given(credit.assign([Rollout(1.0, (0.0, 0.0, -1.0, 0.0)), other])[0])
    assert one.advantages[0] == two.advantages[2]
    assert one.advantages[1:3] == two.advantages[:2]


def test_trap_g_stopping_early_moves_no_baseline() -> None:
    # Per-index statistics would praise the only trajectory that still runs at index 2, or blame
    # it, according to who stopped before. Here its turn there is worth the same either way.
    credit = TurnCredit("additive")
    long = Rollout(0.0, (0.0, -1.0, -1.0, 0.0))
    stopped = given(credit.assign([long, Rollout(0.0, (-1.0, 0.0, 0.0))])[0])
    assert stopped.terms[1] == stopped.terms[2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "sum"}, "TurnCredit.mode must be one of"),
        ({"weight": -1}, "TurnCredit.weight must be a finite number >= 0"),
        ({"gamma": 0.5}, "read by modes 'return' and 'gigpo' only, got 0.5 with mode 'negative'"),
        ({"mode": "return", "gamma": 1.5}, "TurnCredit.gamma must be .* <= 1"),
        ({"cap": -1}, "TurnCredit.cap"),
        ({"turn_cap": math.nan}, "TurnCredit.turn_cap"),
        ({"on_abstain": "fail"}, "TurnCredit.on_abstain must be one of"),
        ({"per_turn_mean": 1}, "TurnCredit.per_turn_mean"),
        ({"eps": -1}, "TurnCredit.eps"),
    ],
)
def test_settings_that_are_none(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TurnCredit(**settings)
