"""Groups across two ranks joined by gloo: split groups, closed gates, failures, missing uid."""

from __future__ import annotations

import os
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.rewards import AsyncReward, Route, Term, WeightedSum
from tests.ranks import run_ranks
from tests.samples import FromColumn, RankInGroup

pytest.importorskip("accelerate")


def _rank() -> int:
    return int(os.environ["RANK"])


def every_case() -> dict[str, Any]:
    """All cases below in one pair of processes; an exception becomes its name and text."""
    results: dict[str, Any] = {}
    for case in CASES:
        try:
            results[case.__name__] = case()
        except Exception as error:
            results[case.__name__] = {"error": type(error).__name__, "message": str(error)}
    return results


@pytest.fixture(scope="module")
def ranks() -> list[dict[str, Any]]:
    return run_ranks("tests.assay.test_groups:every_case")


def split_group() -> list[float | None]:
    """Six rollouts of one prompt, three on each rank, and a whole group on each."""
    answers = [["a", "bb", "ccc", "d", "ee"], ["dddd", "ee", "f", "gg", "h"]][_rank()]
    uid = ["split", "split", "split", f"own{_rank()}", f"own{_rank()}"]
    return RankInGroup()(completions=answers, uid=uid)


def test_a_split_group_is_scored_once_and_rows_come_home(ranks: list[dict[str, Any]]) -> None:
    assert [results["split_group"] for results in ranks] == [
        [0.0, 0.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, 1.0, 0.0],
    ]


def gates_closed_on_one_rank() -> list[float | None]:
    """The group-scoped term is behind a gate that is closed for every row of rank 1."""
    reward = WeightedSum(
        {
            "ok": Term(FromColumn("ok")),
            "rank": Term(RankInGroup(), gate="ok"),
        }
    )
    first = _rank() == 0
    return reward(
        completions=["aa", "b"],
        uid=[f"{_rank()}"] * 2,
        ok=[(1, True), (1, True)] if first else [(0, False), (0, False)],
    )


def test_closed_gates_on_one_rank_do_not_hang_the_other(ranks: list[dict[str, Any]]) -> None:
    results = [results["gates_closed_on_one_rank"] for results in ranks]
    assert results == [[2.0, 1.0], [0.0, 0.0]]


def one_rank_is_poisoned() -> list[float | None]:
    return RankInGroup()(completions=["a"], uid=[str(_rank())], poison=[_rank() == 1])


def test_an_exception_on_one_rank_is_raised_on_both(ranks: list[dict[str, Any]]) -> None:
    first, second = [results["one_rank_is_poisoned"] for results in ranks]
    assert first["error"] == "RewardError"
    assert "raised on rank 1: ValueError: poisoned group" in first["message"]
    assert second["error"] == "ValueError"


def one_rank_lacks_uid() -> list[float | None]:
    columns: dict[str, Any] = {"uid": ["a"]} if _rank() == 0 else {}
    return RankInGroup()(completions=["a"], **columns)


def test_missing_uid_on_one_rank_is_said_on_both(ranks: list[dict[str, Any]]) -> None:
    for result in [results["one_rank_lacks_uid"] for results in ranks]:
        assert result["error"] == "DataError"
        assert "add a dataset column `uid`" in result["message"]


def one_rank_cannot_read_its_rows() -> list[float | None]:
    completion: Any = "a" if _rank() == 0 else 3
    return RankInGroup()(completions=[completion], uid=["a"])


def test_unreadable_rows_on_one_rank_are_said_on_both(ranks: list[dict[str, Any]]) -> None:
    for result in [results["one_rank_cannot_read_its_rows"] for results in ranks]:
        assert result["error"] == "DataError"
        assert "expected text or a list of messages, got int" in result["message"]


def failures_on_one_rank() -> list[float | None]:
    """All rows of rank 1 fail, none of rank 0: half of all rows, which is not too many."""
    reward = WeightedSum({"rank": Term(RankInGroup()), "x": Term(FromColumn("x"))})
    x: list[Any] = [1.0, 1.0] if _rank() == 0 else ["failed", "failed"]
    return reward(completions=["aa", "b"], uid=[str(_rank())] * 2, x=x)


def test_failures_are_counted_over_all_ranks(ranks: list[dict[str, Any]]) -> None:
    results = [results["failures_on_one_rank"] for results in ranks]
    assert results == [[2.0, 1.0], [None, None]]


def mixed_domains() -> list[float | None]:
    route = Route("domain", {"pair": RankInGroup(), "plain": FromColumn("x")})
    if _rank() == 0:
        return route(
            completions=["aa", "b"], uid=["g", "c"], domain=["pair", "plain"], x=[None, 5.0]
        )
    return route(completions=["a", "b"], uid=["g", "d"], domain=["pair", "plain"], x=[None, 7.0])


def test_route_over_mixed_domains_gathers_only_at_the_outside(ranks: list[dict[str, Any]]) -> None:
    results = [results["mixed_domains"] for results in ranks]
    assert results == [[1.0, 5.0], [0.0, 7.0]]


def async_group() -> Any:
    import asyncio

    return asyncio.run(AsyncReward(RankInGroup())(completions=["a"], uid=["g"]))


def test_async_refuses_group_rewards_under_several_ranks_only(ranks: list[dict[str, Any]]) -> None:
    assert async_group() == [1.0]
    for result in [results["async_group"] for results in ranks]:
        assert result["error"] == "ConfigError"
        assert "cannot run on a side thread" in result["message"]


def test_async_reward_is_a_thin_checked_wrapper() -> None:
    import asyncio
    import pickle

    reward = AsyncReward(FromColumn(name="mine"))
    assert reward.__name__ == "mine"
    assert pickle.loads(pickle.dumps(reward)) == reward
    assert asyncio.run(reward(completions=["a"], x=[2.0])) == [2.0]
    with pytest.raises(ConfigError, match="needs a Reward, got int"):
        AsyncReward(3)  # type: ignore[arg-type]


CASES = (
    split_group,
    gates_closed_on_one_rank,
    one_rank_is_poisoned,
    one_rank_lacks_uid,
    one_rank_cannot_read_its_rows,
    failures_on_one_rank,
    mixed_domains,
    async_group,
)
