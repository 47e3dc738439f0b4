r"""The tests of a problem: what a dataset row holds, in the forms that data sets use.

Column `tests` holds one of these, as a value or as a JSON string (Arrow merges struct columns, so
strings are safer in mixed datasets):

- stdin and stdout: `[{"stdin": "1 2\n", "expected": "3\n"}, ...]`
- function calls: `[{"args": [1, 2], "expected": 3}, ...]`, the function's name in column
  `entry_point` or in each test as `entry`; keyword arguments as `kwargs`
- asserts: `["assert f(1, 2) == 3", ...]`, with statements that come first in column `test_setup`
- an object `{"cases": [...], ...}` around one of these lists, with any of `comparison` (`exact`,
  `tokens`, `floats`, `unordered`, `json`), `checker` and `interactor`
  (`{"source": ..., "language": ...}`, programs as `assay.sandbox.JudgeProgram` describes them)

Rows without it may be rows of HumanEval, MBPP, APPS, TACO, CodeContests or LiveCodeBench as they
are on the hub (`assay.rewards.row_formats`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from assay.errors import DataError
from assay.sandbox import AssertTest, FunctionTest, JudgeProgram, StdioTest
from assay.sandbox.job import Comparison, Test


@dataclass(frozen=True)
class Tests:
    """Tests of one problem, and how their outputs are judged.

    Attributes:
        cases: All of one kind; empty where a row has none.
        prelude: Code the problem gives (HumanEval's prompt: imports, helper functions).
        comparison: How outputs are compared, or None for the reward's own choice.
        checker: A program that decides instead of a comparison.
        interactor: A program that talks with the solution.

    Example:
        >>> Tests.function("add", [([1, 2], 3)]).cases[0].expected
        3
    """

    __test__ = False  # not a pytest class

    cases: tuple[Test, ...] = ()
    prelude: str = ""
    comparison: Comparison | None = None
    checker: JudgeProgram | None = None
    interactor: JudgeProgram | None = None

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def stdio(cls, pairs: Sequence[tuple[str, str]], **rest: Any) -> Tests:
        """Tests by (stdin, expected stdout)."""
        return cls(tuple(StdioTest(stdin, expected) for stdin, expected in pairs), **rest)

    @classmethod
    def function(cls, entry: str, pairs: Sequence[tuple[Sequence[Any], Any]], **rest: Any) -> Tests:
        """Tests by (arguments, expected value) of the function `entry`."""
        return cls(tuple(FunctionTest(entry, tuple(a), expected) for a, expected in pairs), **rest)

    @classmethod
    def asserts(cls, sources: Sequence[str], setup: str = "", **rest: Any) -> Tests:
        """Tests by statements, usually one `assert` each."""
        return cls(tuple(AssertTest(source, setup) for source in sources), **rest)

    @classmethod
    def from_row(cls, row: Mapping[str, Any], prompt: str = "", column: str = "tests") -> Tests:
        """Read the tests of a dataset row.

        Args:
            row: The row.
            prompt: The prompt's text, for HumanEval rows.
            column: Name of the tests column.

        Returns:
            The tests; no cases if the row has none.

        Raises:
            DataError: The tests are there but cannot be read; says where and what was expected.

        >>> Tests.from_row({"tests": '[{"stdin": "1", "expected": "2"}]'}).cases
        (StdioTest(stdin='1', expected='2'),)
        """
        value = row.get(column)
        if isinstance(value, cls):
            return value
        if value is None:
            from assay.rewards.row_formats import hub_tests

            return hub_tests(row, prompt) or cls()
        value = parsed(value, column)
        settings: dict[str, Any] = {}
        if isinstance(value, Mapping) and "cases" in value:
            settings = _settings(value, column)
            value = value["cases"]
        if isinstance(value, Mapping) or not isinstance(value, Sequence):
            raise DataError(
                f"column {column!r} must be a list of tests or an object with 'cases', got "
                f"{type(value).__name__}"
            )
        entry, setup = row.get("entry_point"), row.get("test_setup") or ""
        cases = tuple(_case(item, i, entry, setup) for i, item in enumerate(value))
        if len({type(case) for case in cases}) > 1:
            raise DataError(f"column {column!r} mixes kinds of tests; all must be of one kind")
        return cls(cases, **settings)


def parsed(value: Any, column: str) -> Any:
    """`value`, read as JSON if it is text.

    Raises:
        DataError: Text that is not JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise DataError(f"column {column!r} is text but not JSON: {error}") from None


def _case(item: Any, index: int, entry: Any, setup: Any) -> Test:
    where = f"test {index}"
    if isinstance(item, str):
        if not isinstance(setup, str):
            raise DataError(f"column 'test_setup' must be text, got {type(setup).__name__}")
        return AssertTest(item, setup)
    if not isinstance(item, Mapping):
        raise DataError(f"{where} must be text or an object, got {type(item).__name__}")
    # Arrow fills the keys of sibling rows with None.
    keys = {key for key, value in item.items() if value is not None or key == "expected"}
    if "stdin" in keys:
        stdin, expected = item["stdin"], item.get("expected")
        if not isinstance(stdin, str) or not isinstance(expected, str):
            raise DataError(f"{where}: 'stdin' and 'expected' must be text")
        return StdioTest(stdin, expected)
    if "args" in keys or "kwargs" in keys:
        name = item.get("entry") or entry
        args, kwargs = item.get("args") or [], item.get("kwargs") or {}
        if not isinstance(name, str) or not name:
            raise DataError(f"{where}: name the function in column 'entry_point' or key 'entry'")
        if isinstance(args, str | Mapping) or not isinstance(args, Sequence):
            raise DataError(f"{where}: 'args' must be a list, got {type(args).__name__}")
        if not isinstance(kwargs, Mapping):
            raise DataError(f"{where}: 'kwargs' must be an object, got {type(kwargs).__name__}")
        if "expected" not in item:
            raise DataError(f"{where}: key 'expected' is missing")
        return FunctionTest(name, tuple(args), item["expected"], dict(kwargs))
    raise DataError(
        f"{where} needs 'stdin' and 'expected', or 'args' and 'expected', got keys {sorted(item)}"
    )


def _settings(value: Mapping[str, Any], column: str) -> dict[str, Any]:
    known = {"cases", "comparison", "checker", "interactor"}
    if unknown := sorted(set(value) - known):
        raise DataError(f"column {column!r}: unknown keys {unknown}; known are {sorted(known)}")
    comparison = value.get("comparison")
    if comparison is not None and comparison not in get_args(Comparison):
        raise DataError(
            f"column {column!r}: 'comparison' must be one of {set(get_args(Comparison))}, got "
            f"{comparison!r}"
        )
    settings: dict[str, Any] = {"comparison": comparison}
    for key in ("checker", "interactor"):
        given = value.get(key)
        if given is None:
            continue
        if not isinstance(given, Mapping) or not isinstance(given.get("source"), str):
            raise DataError(f"column {column!r}: {key!r} must be an object with 'source' text")
        settings[key] = JudgeProgram(given["source"], str(given.get("language") or "python"))
    return settings
