"""The interface: what is refused at the boundary, TRL's contract, diagnostics, dataset checks."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from assay.errors import ContractError, DataError, RewardError
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.rewards import Clip, Mapped, Route, Term, WeightedSum
from tests.samples import Broken, FromColumn, RankInGroup, sample


@dataclass(frozen=True)
class Returns(Reward):
    """Returns whatever it is told, to break the contract."""

    what: Any = None
    name: str = "returns"
    range = (0.0, 1.0)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.what  # type: ignore[no-any-return]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_score_refuses_non_finite(value: float) -> None:
    with pytest.raises(ContractError, match="must be finite"):
        Score.of(value)
    with pytest.raises(ContractError, match=r"Score\.turns must be finite"):
        Score.of(0.0, turns=[value])


@pytest.mark.parametrize("value", ["1", b"1", 1j, None, [1.0], {}])
def test_score_refuses_non_numbers(value: Any) -> None:
    with pytest.raises(ContractError, match="must be a number"):
        Score.of(value)


@pytest.mark.parametrize(
    "value", [1, True, np.float64(1), np.float32(1), np.int64(1), np.array(1.0), Decimal(1)]
)
def test_score_takes_any_real_number(value: Any) -> None:
    score = Score.of(value)
    assert score.value == 1.0
    assert type(score.value) is float


def test_score_takes_tensors_of_one_element_only() -> None:
    torch = pytest.importorskip("torch")
    assert Score.of(torch.tensor(0.5)).value == 0.5
    with pytest.raises(ContractError, match="must be one number"):
        Score.of(torch.zeros(8))


def test_missing_score_has_no_value() -> None:
    for score in (Score.skip("a"), Score.gate("a"), Score.abstain("a"), Score.fail("a")):
        assert score.value is None
    with pytest.raises(ContractError, match="has no value"):
        Score(0.0, "failed")
    with pytest.raises(ContractError, match="must be one of"):
        Score(None, "unknown")  # type: ignore[arg-type]


def test_passed_is_a_bool_numpys_included() -> None:
    assert Score.of(1, passed=np.bool_(True)).passed is True  # type: ignore[arg-type]
    with pytest.raises(ContractError, match="True, False or None"):
        Score.of(1, passed=1)  # type: ignore[arg-type]


def test_samples_scores_and_rewards_compare_but_do_not_hash() -> None:
    pairs = [(sample(), sample()), (Score.of(1), Score.of(1)), (FromColumn(), FromColumn())]
    for one, other in pairs:
        assert one == other
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (0.5, "must return a list with one Score per sample, got float"),
        ([Score.of(1.0)], "returned 1 scores for 8 samples"),
        ([1.0] * 8, "must return Score objects, got float for sample 0; wrap a number"),
        ([Score.of(2.0)] * 8, "outside its declared range"),
        (None, "got NoneType"),
    ],
)
def test_contract_is_checked_and_the_component_named(what: Any, message: str) -> None:
    with pytest.raises(ContractError, match="'returns'") as error:
        Returns(what)(completions=["x"] * 8)
    assert message in str(error.value)


def test_a_broken_contract_inside_a_sum_is_raised_not_swallowed() -> None:
    reward = WeightedSum({"a": Term(Returns([])), "b": Term(FromColumn())})
    with pytest.raises(ContractError, match="'returns' returned 0 scores"):
        reward(completions=["x"], x=[1.0])


def test_unexpected_exceptions_propagate_with_the_component_named() -> None:
    with pytest.raises(ValueError, match="poisoned") as error:
        RankInGroup()(completions=["x"], uid=["u"], poison=[True])
    assert "rank_in_group" in "".join(error.value.__notes__)


def test_service_errors_become_failed_scores_and_too_many_raise() -> None:
    scores = Broken().evaluate([sample(), sample()])
    assert [s.status for s in scores] == ["failed", "failed"]
    assert scores[0].note == "JudgeError: no answer from the judge"
    with pytest.raises(RewardError, match="'broken' failed on 2 of the 2 rows"):
        Broken()(completions=["a", "b"])


def test_error_rate_is_counted_per_leaf_over_the_rows_it_was_asked() -> None:
    reward = WeightedSum(
        {
            "code": Term(FromColumn("code")),
            "chat": Term(FromColumn("chat")),
        }
    )
    code = ["failed"] * 8 + ["skipped"] * 56
    chat = ["skipped"] * 8 + [1.0] * 56
    with pytest.raises(RewardError, match="'reward/code' failed on 8 of the 8"):
        reward(completions=["x"] * 64, code=code, chat=chat)
    half = ["failed"] * 4 + [1.0] * 4 + ["skipped"] * 56
    values = reward(completions=["x"] * 64, code=half, chat=chat)
    assert values[:4] == [None] * 4
    assert values[4:] == [1.0] * 60


def test_trl_keyword_contract() -> None:
    reward = FromColumn()
    values = reward(
        prompts=["p", [{"role": "user", "content": "p"}]],
        completions=["c", [{"role": "assistant", "content": "c"}]],
        completion_ids=[[1, 2], [3]],
        x=[1, "abstained"],
        trainer_state=object(),
        log_extra=lambda column, values: None,
        log_metric=lambda name, value: None,
        environments=[object()] * 2,
    )
    assert values == [1.0, None]
    assert reward(completions=["c"], prompts=["p"], completion_ids=[[1]], x=[2.0]) == [2.0]
    assert reward(completions=[], prompts=[], x=[]) == []


def test_columns_are_checked_at_the_first_batch_by_name() -> None:
    with pytest.raises(DataError, match=r"needs columns \['x'\]; the row has \['y'\]"):
        FromColumn()(completions=["a"], y=[1])
    with pytest.raises(DataError, match="2 completions, but {'x': 1}"):
        FromColumn()(completions=["a", "b"], x=[1])
    with pytest.raises(DataError, match="column 'x' must be a list"):
        FromColumn()(completions=["a"], x="1")
    with pytest.raises(DataError, match="{'prompts': 2}"):
        FromColumn()(completions=["a"], prompts=["a", "b"], x=[1.0])


class Metrics:
    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.columns: dict[str, list[Any]] = {}

    def call(self, reward: Reward, **kwargs: Any) -> list[float | None]:
        self.metrics, self.columns = {}, {}
        return reward(
            log_metric=self.metrics.__setitem__, log_extra=self.columns.__setitem__, **kwargs
        )


def test_every_leaf_is_logged_with_the_same_keys_but_no_mean_without_a_value() -> None:
    reward = WeightedSum(
        {
            "a": Term(FromColumn("a")),
            "b": Term(FromColumn("b", low=0), weight=0.5, gate="a", on_missing="zero"),
        }
    )
    log = Metrics()
    log.call(reward, completions=["x"] * 2, a=[(1, True), (0, False)], b=[0.5, 0.5])
    assert log.metrics["reward/a/mean"] == 0.5
    assert log.metrics["reward/b/mean"] == 0.5
    assert log.metrics["reward/b/weighted_mean"] == 0.25
    assert log.metrics["reward/b/scored"] == 1
    assert log.metrics["reward/b/gated"] == 1
    assert log.metrics["reward/a/seconds"] > 0
    assert log.columns["reward/b"] == [0.5, None]
    assert log.columns["reward/b/note"] == ["", "gate 'a' closed"]
    counts = {key for key in log.metrics if not key.endswith("mean")}
    log.call(reward, completions=["x"] * 2, a=[(1, True), (0, False)], b=["abstained", 0.5])
    assert {key for key in log.metrics if not key.endswith("mean")} == counts
    assert "reward/b/mean" not in log.metrics
    assert log.metrics["reward/b/zeroed"] == 1
    assert log.metrics["reward/b/abstained"] == 1


def test_leaf_alone_is_logged_under_its_name() -> None:
    log = Metrics()
    log.call(FromColumn(name="mine"), completions=["x"], x=[2.0])
    assert log.metrics["mine/mean"] == 2.0
    assert log.columns["mine"] == [2.0]


def test_two_instances_of_one_class_keep_their_own_metrics() -> None:
    reward = WeightedSum({"plus": FromColumn("p"), "minus": FromColumn("m")})  # type: ignore[dict-item]
    log = Metrics()
    assert log.call(reward, completions=["x"], p=[1.0], m=[-1.0]) == [0.0]
    assert (log.metrics["reward/plus/mean"], log.metrics["reward/minus/mean"]) == (1.0, -1.0)


def test_truncated_from_column_else_from_eos_ids_else_false() -> None:
    ids = (1, 2)
    assert Sample.of("p", "c", completion_ids=ids, eos_token_ids=(9,)).truncated
    assert not Sample.of("p", "c", completion_ids=ids, eos_token_ids=(2,)).truncated
    assert not Sample.of("p", "c", completion_ids=ids).truncated
    assert not Sample.of("p", "c", completion_ids=(), eos_token_ids=(2,)).truncated
    row = {"truncated": False}
    assert not Sample.of("p", "c", row, completion_ids=ids, eos_token_ids=(9,)).truncated


def test_eos_ids_of_the_outermost_reward_decide() -> None:
    seen: list[bool] = []

    class Sees(Reward):
        def score(self, samples: Sequence[Sample]) -> list[Score]:
            seen.extend(s.truncated for s in samples)
            return [Score.of(0) for _ in samples]

    WeightedSum({"sees": Term(Sees())}, eos_token_ids=(7,))(
        completions=["a", "b"], completion_ids=[[1, 7], [1, 2]]
    )
    assert seen == [False, True]


def test_check_refuses_reserved_and_names_missing_columns() -> None:
    with pytest.raises(DataError, match=r"\['prompts'\] have names that the trainer fills"):
        FromColumn().check({"x": [1], "prompts": [1]})
    with pytest.raises(DataError, match=r"needs dataset columns \['x'\]"):
        FromColumn().check([{"y": 1}])
    with pytest.raises(DataError, match="give every row a `uid`"):
        RankInGroup().check({"prompt": ["p"]})
    FromColumn().check({"x": [1], "prompt": ["p"]})
    datasets = pytest.importorskip("datasets")
    with pytest.raises(DataError, match="log_metric"):
        FromColumn().check(datasets.Dataset.from_dict({"x": [1], "log_metric": [1]}))


def test_group_scope_asks_for_uid() -> None:
    with pytest.raises(DataError, match="add a dataset column `uid`"):
        RankInGroup()(completions=["a", "b"])


def test_duplicate_prompts_with_different_uid_are_different_groups() -> None:
    values = RankInGroup()(
        prompts=["same"] * 4, completions=["a", "bb", "ccc", "d"], uid=["1", "1", "2", "2"]
    )
    assert values == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "reward", [FromColumn(), WeightedSum({"a": Term(FromColumn())}), RankInGroup()]
)
def test_rewards_pickle_and_say_their_configuration(reward: Reward) -> None:
    again = pickle.loads(pickle.dumps(reward))
    assert again == reward
    assert again.fingerprint() == reward.fingerprint()
    assert again.range == reward.range
    assert repr(again) == repr(reward)


def test_name_defaults_to_the_class_in_snake_case() -> None:
    class MyFirstReward(Reward):
        def score(self, samples: Sequence[Sample]) -> list[Score]:
            return [Score.of(1) for _ in samples]

    assert MyFirstReward().name == MyFirstReward().__name__ == "my_first_reward"


def test_score_to_json_is_plain() -> None:
    score = Score.of(1, passed=True, turns=[None, 2], parts={"a": Score.skip("n")}, note="x")
    assert score.to_json() == {
        "value": 1.0,
        "status": "scored",
        "passed": True,
        "turns": [None, 2.0],
        "parts": {
            "a": {
                "value": None,
                "status": "skipped",
                "passed": None,
                "turns": None,
                "parts": {},
                "note": "n",
                "info": {},
            }
        },
        "note": "x",
        "info": {},
    }


@pytest.mark.parametrize(
    "wrong",
    ["two", b"two", {"role": "user"}, {"a", "b"}, (c for c in "ab"), None, np.array("one")],
)
def test_a_batch_and_its_columns_must_be_lists(wrong: Any) -> None:
    for arguments in (
        {"completions": wrong},
        {"completions": ["a", "b"], "prompts": wrong},
        {"completions": ["a", "b"], "x": wrong},
        {"completions": ["a", "b"], "completion_ids": wrong},
    ):
        if wrong is None and {"prompts", "completion_ids"} & arguments.keys():
            continue
        with pytest.raises(DataError, match="must be a list with one value per completion"):
            FromColumn()(**({"x": [1, 2]} | arguments))


def test_columns_are_read_by_position_not_by_a_label() -> None:
    """A pandas Series that was sorted or filtered keeps its labels: values[0] is not its first."""

    class Labelled:
        labels, values = (2, 0), ("first", "second")

        def __len__(self) -> int:
            return 2

        def __iter__(self) -> Any:
            return iter(self.values)

        def __getitem__(self, label: int) -> str:
            return self.values[self.labels.index(label)]

    samples = FromColumn()._samples(Labelled(), None, {"x": np.array([1, 2])})  # type: ignore[arg-type]
    assert [s.completion[0].content for s in samples] == ["first", "second"]
    assert FromColumn()(completions=["a"], x=[1], self=["a column's name"]) == [1.0]


def test_a_dataset_dict_is_checked_by_its_splits() -> None:
    @dataclass
    class Splits:
        column_names: dict[str, list[str]]

    with pytest.raises(DataError, match=r"\['prompts'\] have names"):
        FromColumn().check(Splits({"train": ["x", "prompts"], "test": ["x"]}))
    with pytest.raises(DataError, match=r"needs dataset columns \['x'\]"):
        FromColumn().check(Splits({"train": ["x"], "test": ["y"]}))


def test_a_failed_route_is_not_held_against_the_routes_it_passed_by() -> None:
    route = Route("domain", {"code": Broken(), "chat": FromColumn()}, max_error_rate=0.9)
    seen = Metrics()
    domains = ["code"] * 8 + ["chat"] * 2
    with pytest.raises(RewardError, match=r"'route/code' failed on 8 of the 8"):
        route(
            completions=["c"] * 10, x=[1] * 10, domain=domains, log_metric=seen.metrics.__setitem__
        )
    counts = {
        state: seen.metrics[f"route/chat/{state}"] for state in ("failed", "skipped", "scored")
    }
    assert counts == {"failed": 0, "skipped": 8, "scored": 2}


def test_zeroed_is_counted_for_leaves_below_the_term() -> None:
    seen = Metrics()
    bonus = Mapped(WeightedSum({"inner": Term(Returns([Score.abstain("?")]))}), Clip(0, 1))
    total = WeightedSum(
        {"x": Term(FromColumn()), "bonus": Term(bonus, on_missing="zero")}, max_error_rate=1.0
    )
    assert total(completions=["c"], x=[1], log_metric=seen.metrics.__setitem__) == [1.0]
    assert seen.metrics["reward/bonus/reward/inner/zeroed"] == 1
    assert seen.metrics["reward/x/zeroed"] == 0
