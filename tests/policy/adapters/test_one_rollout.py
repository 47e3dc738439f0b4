import math

import pytest

from assay.errors import ConfigError, RewardError
from assay.policy.adapters.one_rollout import (
    check_on_missing,
    group_levels,
    number_of,
    require_alone,
    row_columns,
)
from assay.reward import Score
from tests.policy.adapters.rewards_under_test import longest, politeness


def test_a_missing_score_is_an_error_unless_the_user_names_a_number() -> None:
    score = Score.fail("the judge is down")
    with pytest.raises(RewardError, match=r"no number .* failed: the judge is down.*on_missing"):
        number_of(score, politeness, "raise")
    assert math.isnan(number_of(score, politeness, "nan"))
    assert number_of(score, politeness, -0.5) == -0.5


def test_on_missing_is_checked() -> None:
    for value in ("zero", math.inf, None):
        with pytest.raises(ConfigError, match="on_missing"):
            check_on_missing(value)


def test_group_rewards_are_refused_where_rollouts_come_alone() -> None:
    with pytest.raises(ConfigError, match=r"'longest' compares the rollouts.*score_group"):
        require_alone(longest, "X")
    with pytest.raises(ConfigError, match="needs an assay Reward, got function"):
        require_alone(lambda: 1, "X")  # type: ignore[arg-type]


def test_columns_from_json_text_mappings_and_bare_values() -> None:
    assert row_columns('{"tests": [1]}', {"uid": "a"}, name="answer") == {
        "answer": '{"tests": [1]}',
        "tests": [1],
        "uid": "a",
    }
    assert row_columns("{not json", name="answer") == {"answer": "{not json"}
    assert row_columns(None, "text") == {}


def test_levels_leave_out_what_is_missing() -> None:
    # mean 1/2, sample standard deviation 1/sqrt(2)
    found = group_levels([1.0, None, 0.0])
    assert found[1] is None
    assert found[0] == pytest.approx(0.5 / (math.sqrt(0.5) + 1e-4))
    assert group_levels([None, None]) == [None, None]
    assert group_levels([3.0]) == [0.0]
