"""Rows as the data sets on the hub have them, nesting and all."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

import pytest

from assay.errors import DataError
from assay.rewards import Tests
from assay.sandbox import AssertTest, FunctionTest, StdioTest

LIVE = [
    {"input": "1 2\n", "output": "3\n", "testtype": "stdin"},
    {"input": "3 4\n", "output": "7\n", "testtype": "stdin"},
]
CALLS = [{"input": "[1, 2]\n3", "output": "true", "testtype": "functional"}]
SOLUTION = "class Solution:\n    def f(self, nums: List[int], k: int) -> bool:\n        "


def packed(value: Any) -> str:
    """LiveCodeBench's private tests: base64 of zlib of a pickled JSON string."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(value)))).decode()


def cases(**row: Any) -> tuple[Any, ...]:
    return Tests.from_row(row).cases


def test_mbpp() -> None:
    assert cases(test_list=["assert f(1) == 2"], test_setup_code="import math") == (
        AssertTest("assert f(1) == 2", "import math"),
    )
    assert cases(test_list=["assert f(1) == 2"], test_imports=["import re", "import os"]) == (
        AssertTest("assert f(1) == 2", "import re\nimport os"),
    )


def test_apps_and_taco_stdio() -> None:
    value = {"inputs": ["1 2\n", ["3", "4"]], "outputs": ["3\n", ["7"]]}
    assert cases(input_output=json.dumps(value)) == (
        StdioTest("1 2\n", "3\n"),
        StdioTest("3\n4", "7"),
    )


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([[3], [7]], [3, 7]),  # wrapped, as most rows have them
        ([3, 7], [3, 7]),
        ([[[1, 2]], [[3]]], [[1, 2], [3]]),  # wrapped lists
        ([[1, 2], [3]], [[1, 2], [3]]),  # bare lists: not all of length one
    ],
)
def test_apps_calls(outputs: list[Any], expected: list[Any]) -> None:
    value = {"fn_name": "add", "inputs": [[1, 2], [3, 4]], "outputs": outputs}
    found = cases(input_output=json.dumps(value), starter_code="def add(a, b):\n")
    assert [c.expected for c in found] == expected
    assert found[0] == FunctionTest("add", (1, 2), expected[0])


def test_leetcode_starter_code_names_the_class_and_brings_its_imports() -> None:
    value = {"fn_name": "f", "inputs": [[[1], 2]], "outputs": [[True]]}
    tests = Tests.from_row({"input_output": value, "starter_code": SOLUTION})
    assert tests.cases == (FunctionTest("Solution.f", ([1], 2), True),)
    assert "from typing import *" in tests.prelude


def test_code_contests() -> None:
    row = {
        "public_tests": {"input": ["1"], "output": ["2"]},
        "private_tests": {"input": [], "output": []},
        "generated_tests": {"input": ["3", "5"], "output": ["4", "6"]},
    }
    assert [c.stdin for c in cases(**row)] == ["1", "3", "5"]
    assert cases(public_tests=[{"input": "1", "output": "2"}]) == (StdioTest("1", "2"),)


def test_live_code_bench() -> None:
    assert cases(public_test_cases=json.dumps(LIVE), private_test_cases=packed(LIVE[:1])) == (
        StdioTest("1 2\n", "3\n"),
        StdioTest("3 4\n", "7\n"),
        StdioTest("1 2\n", "3\n"),
    )
    found = cases(
        public_test_cases=json.dumps(CALLS),
        metadata=json.dumps({"func_name": "f"}),
        starter_code=SOLUTION,
    )
    assert found == (FunctionTest("Solution.f", ([1, 2], 3), True),)


class Evil:
    def __reduce__(self) -> Any:
        return print, ("loaded",)


def test_a_pickle_that_would_run_something_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    evil = base64.b64encode(zlib.compress(pickle.dumps(Evil()))).decode()
    with pytest.raises(DataError, match="it would load builtins.print"):
        cases(private_test_cases=evil)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("broken", [b"", b"\x80\x05h\x01.", b"\x80\x05r", b"(.", b"e.", b"\xff"])
def test_a_broken_pickle_is_a_data_error(broken: bytes) -> None:
    with pytest.raises(DataError, match="neither JSON nor LiveCodeBench's packed form"):
        cases(private_test_cases=base64.b64encode(zlib.compress(broken)).decode())


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"test_list": "assert f()"}, "is text but not JSON"),
        ({"test_list": [1]}, "must hold texts only"),
        ({"test_list": [], "test_setup_code": 3}, "'test_setup_code' must be text"),
        ({"input_output": "[1]"}, "must be an object, got list"),
        ({"input_output": {"inputs": ["1"]}}, "needs lists 'inputs' and 'outputs'"),
        ({"input_output": {"inputs": ["1"], "outputs": []}}, "1 inputs, 0 outputs"),
        ({"public_tests": {"input": ["1"], "output": 3}}, "needs lists 'input' and 'output'"),
        ({"public_test_cases": "!!"}, "neither JSON nor LiveCodeBench's packed form"),
        ({"public_test_cases": "[3]"}, "each test must be an object with text 'input'"),
        ({"public_test_cases": json.dumps(CALLS)}, "`metadata` has no func_name"),
        (
            {"public_test_cases": json.dumps(LIVE + CALLS), "metadata": '{"func_name": "f"}'},
            "mixes stdin and function tests",
        ),
    ],
)
def test_unreadable_rows_say_which_column_and_why(row: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Tests.from_row(row)


@pytest.mark.parametrize("row", [{"input_output": ""}, {"input_output": "{}"}, {"test_list": []}])
def test_rows_with_empty_tests_have_none(row: dict[str, Any]) -> None:
    assert Tests.from_row(row).cases == ()
