"""Reading a row's tests: the forms of column `tests`, and HumanEval's check(candidate)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay.errors import DataError
from assay.rewards.humaneval import check_tests
from assay.rewards.problem_tests import Tests
from assay.sandbox.job import AssertTest, FunctionTest, StdioTest


@pytest.mark.parametrize("as_text", [False, True])
def test_the_three_forms(as_text: bool) -> None:
    def read(tests: Any, **columns: Any) -> Any:
        return Tests.from_row({"tests": json.dumps(tests) if as_text else tests, **columns}).cases

    assert read([{"stdin": "1\n", "expected": "2\n"}]) == (StdioTest("1\n", "2\n"),)
    assert read([{"args": [1, [2]], "expected": None}], entry_point="f") == (
        FunctionTest("f", (1, [2]), None),
    )
    assert read([{"entry": "g", "kwargs": {"a": 1}, "expected": 2}], entry_point="f") == (
        FunctionTest("g", (), 2, {"a": 1}),
    )
    assert read(["assert f(1) == 2"], test_setup="import math") == (
        AssertTest("assert f(1) == 2", "import math"),
    )


def test_arrow_fills_sibling_keys_with_none() -> None:
    row = {"stdin": None, "args": [1], "kwargs": None, "entry": None, "expected": 2}
    assert Tests.from_row({"tests": [row], "entry_point": "f"}).cases == (
        FunctionTest("f", (1,), 2),
    )
    row = {"stdin": "1", "args": None, "kwargs": None, "entry": None, "expected": "2"}
    assert Tests.from_row({"tests": [row]}).cases == (StdioTest("1", "2"),)


@pytest.mark.parametrize("columns", [{}, {"tests": None}, {"tests": []}, {"tests": "[]"}])
def test_no_tests(columns: dict[str, Any]) -> None:
    assert Tests.from_row(columns).cases == ()


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("{not json", "is text but not JSON"),
        ("[" * 100_000, "is text but not JSON"),
        (5, "or an object with 'cases', got int"),
        ({"stdin": ["1"]}, "or an object with 'cases', got dict"),
        ([3], "test 0 must be text or an object, got int"),
        ([{"stdin": "1"}], "test 0: 'stdin' and 'expected' must be text"),
        ([{"stdin": 1, "expected": "1"}], "test 0: 'stdin' and 'expected' must be text"),
        ([{"args": [1], "expected": 1}], "name the function in column 'entry_point'"),
        ([{"args": "ab", "expected": 1, "entry": "f"}], "'args' must be a list, got str"),
        ([{"args": [1], "kwargs": [1], "expected": 1, "entry": "f"}], "'kwargs' must be an object"),
        ([{"args": [1], "entry": "f"}], "key 'expected' is missing"),
        ([{"input": "1", "output": "2"}], r"test 0 needs 'stdin' and 'expected', or 'args'"),
        ([{"stdin": "", "expected": ""}, "assert f()"], "mixes kinds of tests"),
    ],
)
def test_unreadable_tests_say_where_and_what(tests: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Tests.from_row({"tests": tests})


CHECK = """
METADATA = {"author": "x"}
def check(candidate):
    '''Not a test.'''
    assert True, "This prints if this assert fails 1"
    import math
    assert candidate(1) == 2, "one"
    limit = 3
    for x in range(limit):
        assert abs(candidate(x) - x) < 2
    assert math.isfinite(candidate(5))
"""


def test_each_top_level_assert_of_a_check_is_one_test() -> None:
    tests = check_tests(CHECK, "f")
    assert [t.source.splitlines()[0] for t in tests] == [
        "assert f(1) == 2, 'one'",
        "for x in range(limit):",
        "assert math.isfinite(f(5))",
    ]
    assert tests[0].setup.splitlines()[-1] == "import math"
    assert "limit = 3" in tests[1].setup
    assert "limit = 3" not in tests[0].setup


def test_a_check_that_asserts_nothing_is_one_test() -> None:
    (test,) = check_tests("def check(candidate):\n    verify(candidate)", "f")
    assert test.source == "def check(candidate):\n    verify(candidate)\ncheck(f)"


PROMPT = '''
import math
def helper(x):
    return x + 1

def f(x):
    """Docstring."""
'''


def test_helpers_of_the_prompt_stand_beside_the_test() -> None:
    row = Tests.from_row(
        {"test": "def check(c):\n    assert helper(c(1)) == 3", "entry_point": "f"}, PROMPT
    )
    assert row.prelude == PROMPT
    (test,) = row.cases
    assert isinstance(test, AssertTest)
    assert "def helper" in test.setup
    assert "import math" in test.setup
    assert "def f" not in test.setup


def test_a_chat_prompt_is_no_prelude() -> None:
    row = Tests.from_row({"test": CHECK, "entry_point": "f"}, "Write a function f, please.")
    assert row.prelude == ""


@pytest.mark.parametrize(
    ("test", "entry", "message"),
    [
        ("def check(:", "f", "column 'test' is not Python"),
        ("def verify(c): pass", "f", r"must define check\(candidate\)"),
        ("def check(): pass", "f", r"must define check\(candidate\)"),
        (1, "f", "must be text"),
    ],
)
def test_unreadable_checks(test: Any, entry: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Tests.from_row({"test": test, "entry_point": entry})


def test_a_null_byte_or_a_very_deep_check_is_a_data_error() -> None:
    for test in ("def check(c):\0 pass", "def check(c):\n    assert " + "(" * 5000 + ")" * 5000):
        with pytest.raises(DataError, match="is not Python"):
            check_tests(test, "f")
