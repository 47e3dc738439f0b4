"""Composition: gates, missing scores, ordering, ranges, routes, nesting, turns, split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError, ContractError, DataError
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards import (
    Calibrated,
    Clip,
    Ensemble,
    Mapped,
    Route,
    Sigmoid,
    Standardise,
    Term,
    WeightedSum,
)
from tests.samples import Broken, FromColumn, RankInGroup, sample


def bonus(column: str) -> FromColumn:
    return FromColumn(column, low=0.0, high=1.0)


CODE = WeightedSum(
    {
        "format": Term(bonus("format")),
        "tests": Term(bonus("tests"), gate="format"),
        "time": Term(bonus("time"), weight=0.5, gate="tests", on_missing="zero"),
    }
)


def one(reward: Any, **columns: Any) -> Score:
    (score,) = reward.evaluate([sample(**columns)])
    return score


@pytest.mark.parametrize(
    ("fmt", "tests", "time", "value", "passed"),
    [
        ((1, True), (1, True), 1, 2.5, True),  # 1 + 1 + .5 * 1
        ((1, True), (1, True), 0, 2.0, True),
        ((1, True), (0.75, False), 1, 1.75, False),  # time does not run
        ((0.5, True), (1, True), 1, 2.0, True),  # a gate keeps its partial credit
        ((0, False), (1, True), 1, 0.0, False),  # nothing behind a closed gate
        ((1, True), (1, True), "abstained", 2.0, True),  # on_missing="zero"
        ((1, True), (1, True), "failed", 2.0, True),
        ((1, True), (1, None), 1, 2.0, True),  # only passed is True opens a gate
        ((1, True), "skipped", 1, 1.0, True),
    ],
)
def test_gated_sum_by_hand(fmt: Any, tests: Any, time: Any, value: float, passed: bool) -> None:
    score = one(CODE, format=fmt, tests=tests, time=time)
    assert score.status == "scored"
    assert score.value == pytest.approx(value)
    assert score.passed is passed


@pytest.mark.parametrize("status", ["abstained", "failed"])
def test_missing_term_makes_the_sum_missing_never_zero(status: str) -> None:
    score = one(CODE, format=(1, True), tests=status, time=1)
    assert (score.value, score.status) == (None, status)
    assert score.note == f"tests: {status} on purpose"
    assert score.parts["format"].value == 1.0
    assert score.parts["time"].status == "gated"


def test_failed_wins_over_abstained_in_the_status() -> None:
    reward = WeightedSum({"a": Term(bonus("a")), "b": Term(bonus("b"))})
    assert one(reward, a="abstained", b="failed").status == "failed"


def test_gated_terms_do_not_run() -> None:
    reward = WeightedSum({"a": Term(bonus("a")), "b": Term(Broken(), gate="a")})
    assert one(reward, a=(0, False)).value == 0.0
    assert one(reward, a=(1, True)).status == "failed"


def test_a_failing_part_costs_only_its_own_rows() -> None:
    reward = WeightedSum({"a": Term(bonus("a")), "b": Term(Broken(), gate="a")})
    scores = reward.evaluate([sample(a=(0, False)), sample(a=(1, True))])
    assert [s.value for s in scores] == [0.0, None]


def test_skipped_terms_add_nothing_and_all_skipped_skips_the_sum() -> None:
    reward = WeightedSum({"a": Term(bonus("a")), "b": Term(bonus("b"), weight=2)})
    assert one(reward, a="skipped", b=0.5).value == 1.0
    score = one(reward, a="skipped", b="skipped")
    assert (score.value, score.status) == (None, "skipped")
    gated = WeightedSum({"a": Term(bonus("a")), "b": Term(bonus("b"), gate="a")})
    assert one(gated, a="skipped", b=1).status == "skipped"


def test_passed_of_a_sum() -> None:
    reward = WeightedSum({"a": Term(bonus("a")), "b": Term(bonus("b"))})
    assert one(reward, a=(1, True), b=0.5).passed is True  # b reports nothing
    assert one(reward, a=(1, True), b=(0.5, False)).passed is False
    assert one(reward, a=1, b=0).passed is None


unit = st.floats(0, 1)


@given(
    weight=st.floats(0, 10),
    fmt=unit,
    one_time=unit,
    other=st.integers(0, 9),
    other_time=unit,
)
def test_every_correct_solution_outranks_every_other_at_equal_format(
    weight: float, fmt: float, one_time: float, other: int, other_time: float
) -> None:
    """For every R_time and every weight >= 0; passed is decided on integers, 10 of 10 tests."""
    terms = dict(CODE.terms) | {"time": Term(bonus("time"), weight, "tests", "zero")}
    reward = replace(CODE, terms=terms)
    right = one(reward, format=(fmt, True), tests=(1.0, True), time=one_time).value
    wrong = one(reward, format=(fmt, True), tests=(other / 10, False), time=other_time).value
    assert right is not None and wrong is not None
    assert right > wrong


@given(st.lists(st.tuples(unit, st.booleans(), unit), min_size=1, max_size=8))
def test_order_of_the_batch_does_not_matter(rows: list[tuple[float, bool, float]]) -> None:
    samples = [sample(format=(f, p), tests=(f, p), time=t) for f, p, t in rows]
    assert CODE.evaluate(samples)[::-1] == CODE.evaluate(samples[::-1])
    assert [CODE.evaluate([s])[0] for s in samples] == CODE.evaluate(samples)


def test_opening_a_gate_must_not_be_able_to_cost_anything() -> None:
    with pytest.raises(ConfigError, match=r"'b' can lower the sum.*\[-10\.0, 10\.0\]"):
        WeightedSum({"a": Term(bonus("a")), "b": Term(FromColumn("b"), gate="a")})
    with pytest.raises(ConfigError, match="can lower"):
        WeightedSum({"a": Term(bonus("a")), "b": Term(bonus("b"), weight=-1, gate="a")})
    penalty = FromColumn("b", low=-1.0, high=0.0)
    assert WeightedSum({"a": Term(bonus("a")), "b": Term(penalty, weight=-1, gate="a")})


def test_gates_are_checked_at_construction() -> None:
    with pytest.raises(ConfigError, match=r"'b' is gated by 'c', which is no term; have \['b'\]"):
        WeightedSum({"b": Term(bonus("b"), gate="c")})
    with pytest.raises(ConfigError, match=r"\['a', 'b'\] form a cycle"):
        WeightedSum(
            {
                "a": Term(bonus("a"), gate="b"),
                "b": Term(bonus("b"), gate="a"),
                "c": Term(bonus("c")),
            }
        )
    with pytest.raises(ConfigError, match="cycle"):
        WeightedSum({"a": Term(bonus("a"), gate="a")})


@pytest.mark.parametrize("terms", [{}, None, {"": Term(Broken())}, {"a/b": Term(Broken())}, {1: 2}])
def test_bad_terms(terms: Any) -> None:
    with pytest.raises(ConfigError, match=r"WeightedSum\.terms"):
        WeightedSum(terms)


@pytest.mark.parametrize("weight", [math.nan, math.inf, "1", True, None])
def test_bad_weights(weight: Any) -> None:
    with pytest.raises(ConfigError, match=r"Term\.weight"):
        Term(Broken(), weight)


def test_bad_term_options() -> None:
    with pytest.raises(ConfigError, match="needs a Reward, got function"):
        Term(lambda completions: [1.0])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be one of {'propagate', 'zero'}, got 'drop'"):
        Term(Broken(), on_missing="drop")  # type: ignore[arg-type]


def test_range_covers_what_a_term_can_add() -> None:
    reward = WeightedSum(
        {"a": Term(bonus("a")), "b": Term(FromColumn("b", low=2, high=4), weight=-1)}
    )
    assert reward.range == (-4.0, 1.0)  # b may be skipped: 0 is possible, +1 from a
    assert WeightedSum({"a": Term(FromColumn(low=-math.inf), weight=0)}).range == (0.0, 0.0)


def test_sums_nest_and_report_every_leaf() -> None:
    outer = WeightedSum({"code": Term(CODE, weight=2), "extra": Term(bonus("extra"))})
    score = one(outer, format=(1, True), tests=(1, True), time=1, extra=0.5)
    assert score.value == pytest.approx(2 * 2.5 + 0.5)
    assert score.passed is True
    assert set(outer.leaves()) == {"code/format", "code/tests", "code/time", "extra"}


def test_turns_add_up_and_abstain_together() -> None:
    reward = WeightedSum({"a": Term(FromColumn("a"), weight=2), "b": Term(FromColumn("b"))})
    score = one(reward, a=(1, None, [1.0, None, 0.0]), b=(1, None, [0.5, 0.5, 0.5]))
    assert score.turns == (2.5, None, 0.5)
    assert one(reward, a=(1, None, [1.0]), b=3).turns == (2.0,)  # b has no turns
    with pytest.raises(ContractError, match=r"number of assistant turns: {'a': 1, 'b': 2}"):
        one(reward, a=(1, None, [1.0]), b=(1, None, [1.0, 2.0]))


def test_split_gives_parts_and_weights() -> None:
    reward = WeightedSum({"a": Term(FromColumn("a"), weight=2), "b": Term(FromColumn("b"))})
    rewards, weights = reward.split()
    assert weights == [2, 1.0]
    assert [r.__name__ for r in rewards] == ["reward/a", "reward/b"]
    assert rewards[0](completions=["x"], a=[3.0], b=[1.0]) == [3.0]
    with pytest.raises(ConfigError, match="'tests' is gated by 'format'"):
        CODE.split()
    with pytest.raises(ConfigError, match="'a' counts a missing score as 0"):
        WeightedSum({"a": Term(bonus("a"), on_missing="zero")}).split()


def test_scope_and_columns_come_from_the_leaves() -> None:
    reward = WeightedSum({"a": Term(bonus("a")), "g": Term(RankInGroup())})
    assert reward.scope == "group"
    assert reward.columns == {"a"}
    assert Route("d", {"x": reward}).scope == "group"
    assert Mapped(RankInGroup(), Clip(0, 1)).scope == "group"


ROUTE = Route("domain", {"code": CODE, "chat": FromColumn("rm")})


def test_route_scores_each_row_by_its_own_reward() -> None:
    samples = [
        sample(domain="chat", rm=-3.0),
        sample(domain="code", format=(1, True), tests=(0.5, False), time=0),
        sample(domain="chat", rm="abstained"),
    ]
    scores = ROUTE.evaluate(samples)
    assert [s.value for s in scores] == [-3.0, 1.5, None]
    assert scores[1].passed is False
    assert set(scores[0].parts) == {"chat"}
    assert set(ROUTE.leaves()) == {"code/format", "code/tests", "code/time", "chat"}
    assert ROUTE.range == (-10.0, 10.0)


def test_route_needs_a_known_value() -> None:
    with pytest.raises(DataError, match="'poem', which names no route") as error:
        ROUTE.evaluate([sample(domain="chat", rm=1), sample(domain="poem")])
    assert error.value.index == 1
    with pytest.raises(DataError, match="None, which names no route"):
        ROUTE.evaluate([sample(domain=None)])
    with_default = Route("domain", {"chat": FromColumn("rm")}, default=FromColumn("other"))
    assert one(with_default, domain=["unhashable"], other=2).value == 2.0
    assert one(with_default, domain="chat", rm=1).value == 1.0


def test_route_checks_columns_on_its_own_rows_only() -> None:
    with pytest.raises(DataError, match=r"'from_column' needs columns \['rm'\]") as error:
        ROUTE.evaluate(
            [sample(domain="code", format=(0, False), tests=0, time=0), sample(domain="chat")]
        )
    assert error.value.index == 1  # of the batch, not of the route's own rows
    with pytest.raises(DataError, match=r"needs columns \['domain'\]"):
        ROUTE.evaluate([sample(rm=1)])


def test_mapped_bounds_value_and_turns_and_keeps_the_rest() -> None:
    reward = Mapped(FromColumn(), Clip(-1, 1))
    assert reward.range == (-1.0, 1.0)
    score = one(reward, x=(5, True, [3.0, None]))
    assert (score.value, score.passed, score.turns) == (1.0, True, (1.0, None))
    assert one(reward, x="abstained").status == "abstained"
    assert one(Mapped(FromColumn(), Standardise(1, 2)), x=5).value == 2.0
    assert Mapped(FromColumn(low=-math.inf, high=math.inf), Sigmoid()).range == (0.0, 1.0)


def test_mapped_takes_any_fitted_calibrator() -> None:
    sklearn = pytest.importorskip("sklearn.isotonic")
    iso = sklearn.IsotonicRegression(out_of_bounds="clip").fit([0.0, 1.0, 2.0], [0.0, 0.5, 1.0])
    assert one(Mapped(FromColumn(), iso), x=1.0).value == pytest.approx(0.5)
    with pytest.raises(ConfigError, match=r"or a fitted calibrator with predict\(\), got int"):
        Mapped(FromColumn(), 3)


def test_calibrated_is_mapped_by_a_calibrator() -> None:
    sklearn = pytest.importorskip("sklearn.isotonic")
    iso = sklearn.IsotonicRegression(out_of_bounds="clip").fit([0.0, 1.0, 2.0], [0.0, 0.5, 1.0])
    reward = Calibrated(FromColumn(low=-math.inf, high=math.inf), iso)
    assert reward.range == (0.0, 1.0)
    score = one(reward, x=(1.0, True, [2.0, None]))
    assert (score.value, score.passed, score.turns) == (pytest.approx(0.5), True, (1.0, None))
    assert one(reward, x="abstained").status == "abstained"
    assert len(reward.fingerprint()) == 64
    with pytest.raises(ConfigError, match=r"fitted object with predict\(\), got int"):
        Calibrated(FromColumn(), 3)


def test_bad_transforms() -> None:
    for make in (lambda: Clip(1, 1), lambda: Sigmoid(0), lambda: Standardise(0, 0)):
        with pytest.raises(ConfigError):
            make()


MEMBERS = [FromColumn("a", "a"), FromColumn("b", "b")]


@pytest.mark.parametrize(
    ("reduce", "value"),
    [("mean", 3.0), ("min", 1.0), ("mean_minus_std", 1.0)],  # values 1 and 5: std 2
)
def test_ensemble_reduces(reduce: Any, value: float) -> None:
    score = one(Ensemble(MEMBERS, reduce), a=1, b=5)
    assert score.value == pytest.approx(value)
    assert score.info["std"] == 2.0
    turns = one(Ensemble(MEMBERS, reduce), a=(1, None, [1.0, None]), b=(5, None, [5.0, 1.0])).turns
    assert turns == (pytest.approx(value), None)


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=2), st.floats(0, 3))
def test_ensemble_stays_in_its_range(values: list[float], penalty: float) -> None:
    for reduce in ("mean", "min", "mean_minus_std"):
        one(Ensemble(MEMBERS, reduce, penalty), a=values[0], b=values[1])  # type: ignore[arg-type]


def test_ensemble_states() -> None:
    reward = Ensemble(MEMBERS)
    assert one(reward, a=1, b="failed").status == "failed"
    assert one(reward, a="abstained", b=1).status == "abstained"
    assert one(reward, a="skipped", b=2).value == 2.0
    assert one(reward, a="skipped", b="skipped").status == "skipped"


def test_ensemble_is_checked() -> None:
    with pytest.raises(ConfigError, match="different names"):
        Ensemble([FromColumn("a"), FromColumn("b")])
    with pytest.raises(ConfigError, match="at least two"):
        Ensemble([FromColumn()])
    with pytest.raises(ConfigError, match="must be one of"):
        Ensemble(MEMBERS, "max")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="penalty"):
        Ensemble(MEMBERS, penalty=-1)


@dataclass(frozen=True)
class Undecided(Reward):
    """Full marks by its own word, but no score."""

    status: Any = "abstained"
    name: str = "undecided"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [Score(None, self.status, passed=True) for _ in samples]


@pytest.mark.parametrize("status", ["abstained", "failed", "skipped"])
def test_a_missing_score_opens_no_gate_whatever_it_says_of_passed(status: str) -> None:
    gate = Term(Undecided(status), on_missing="zero")
    reward = WeightedSum({"gate": gate, "bonus": Term(bonus("b"), gate="gate")})
    assert one(reward, b=(1, True)).parts["bonus"].status == "gated"


def test_route_checks_each_route_on_its_own_rows() -> None:
    route = Route("domain", {"code": FromColumn("tests"), "chat": FromColumn("reference")})
    rows = [{"domain": "code", "tests": 1}, {"domain": "chat", "reference": 1}]
    route.check(rows)
    with pytest.raises(DataError, match=r"needs dataset columns \['reference'\]"):
        route.check([*rows, {"domain": "chat"}])
    with pytest.raises(DataError, match=r"\['prompts'\]"):
        route.check([*rows, {"domain": "chat", "reference": 1, "prompts": "x"}])
    with pytest.raises(DataError, match=r"needs dataset columns \['domain'\]"):
        route.check([{"tests": 1}])


class Drops(Clip):
    def __call__(self, values: Sequence[float]) -> list[float]:
        return list(values)[1:]

    def image(self, span: tuple[float, float]) -> tuple[float, float]:
        return span


def test_a_transform_gives_one_value_for_each() -> None:
    with pytest.raises(ContractError, match="Drops mapped 2 values to 1"):
        Mapped(FromColumn(), Drops(0, 1)).evaluate([sample(x=1), sample(x=0)])
