from __future__ import annotations

from typing import Any

import pytest

from assay.errors import ContractError, DataError, JudgeError
from assay.judges.serving import isolation
from assay.judges.serving.isolation import answer_apart


class Call:
    """Doubles; does something else for some items. Remembers what it was called with."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []

    def __call__(self, items: list[Any]) -> list[Any]:
        self.calls.append(list(items))
        if "all fail" in items:
            return ["failed"] * len(items)
        for index, item in enumerate(items):
            if item == "bad":
                raise DataError("bad row", index)
            if item == "bad somewhere":
                raise DataError("a bad row")
            if item == "crash":
                raise KeyError("boom")
            if item == "down":
                raise JudgeError("down")
        return [item * 2 for item in items]


def answers(*requests: list[Any]) -> tuple[list[Any], Call]:
    call = Call()
    return answer_apart(call, lambda one: one == "failed", list(requests)), call


def test_one_call_where_nothing_goes_wrong() -> None:
    found, call = answers([1, 2], [3], [4, 5])
    assert found == [[2, 4], [6], [8, 10]]
    assert len(call.calls) == 1


def test_a_bad_row_is_its_requests_alone() -> None:
    found, call = answers([1], [2, "bad"], [3], ["bad"], [4])
    assert found[0] == [2] and found[2] == [6] and found[4] == [8]
    assert isinstance(found[1], DataError) and found[1].index == 1  # its own count, not the batch's
    assert isinstance(found[3], DataError) and found[3].index == 0
    assert call.calls[-1] == [1, 3, 4]


@pytest.mark.parametrize(
    ("item", "kind"), [("bad somewhere", DataError), ("crash", KeyError), ("down", JudgeError)]
)
def test_an_error_that_names_no_row(item: str, kind: type[Exception]) -> None:
    found, _ = answers([1], [item], [3])
    assert found[0] == [2] and found[2] == [6]
    assert isinstance(found[1], kind)


def test_a_row_that_takes_the_whole_call_down() -> None:
    found, _ = answers([1], ["all fail"], [3])
    assert found == [[2], ["failed"], [6]]


def test_a_slow_failure_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "QUICK_S", 0.0)
    found, call = answers([1], ["down"], [3])
    assert [type(one) for one in found] == [JudgeError] * 3
    found, call = answers([1], ["all fail"])
    assert found == [["failed"], ["failed"]]
    assert len(call.calls) == 1


def test_a_broken_contract_is_looked_for_request_by_request() -> None:
    def call(items: list[Any]) -> list[Any]:
        if 2 in items:
            raise ContractError("wrong")
        return items

    found = answer_apart(call, lambda one: False, [[1], [2], [3]])
    assert found[0] == [1] and found[2] == [3] and isinstance(found[1], ContractError)


def test_an_index_outside_the_batch() -> None:
    def call(items: list[Any]) -> list[Any]:
        raise DataError("bad", 99)

    found = answer_apart(call, lambda one: False, [[1], [2]])
    assert [type(one) for one in found] == [DataError] * 2
