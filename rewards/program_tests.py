r"""The tests of a dataset row: column `tests`, or HumanEval's `test` and `entry_point`.

Column `tests` holds one of these, as a value or as a JSON string (Arrow merges struct columns, so
strings are safer in mixed datasets):

- stdin and stdout: `[{"stdin": "1 2\n", "expected": "3\n"}, ...]`
- function calls: `[{"args": [1, 2], "expected": 3}, ...]`, the function's name in column
  `entry_point` or in each test as `entry`; keyword arguments as `kwargs`
- asserts: `["assert f(1, 2) == 3", ...]`, with statements that come first in column `test_setup`
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import DataError
from assay.sandbox.job import AssertTest, FunctionTest, StdioTest, Test


@dataclass(frozen=True)
class ProgramTests:
    """Tests of one row, and the code that the row puts before the program.

    Attributes:
        tests: All of one kind; empty where the row has none.
        prelude: Code the problem gives (HumanEval's prompt: imports, helper functions).
    """

    tests: tuple[Test, ...]
    prelude: str = ""

    __hash__ = None  # type: ignore[assignment]


def read_tests(columns: Mapping[str, Any], prompt: str = "", column: str = "tests") -> ProgramTests:
    """Read the tests of a row.

    Args:
        columns: The dataset row.
        prompt: The prompt's text, for HumanEval rows.
        column: Name of the tests column.

    Raises:
        DataError: The tests are there but cannot be read; says where and what was expected.

    >>> read_tests({"tests": '[{"stdin": "1", "expected": "2"}]'}).tests
    (StdioTest(stdin='1', expected='2'),)
    """
    value = columns.get(column)
    if value is None and columns.get("test") is not None and columns.get("entry_point") is not None:
        entry, test = columns["entry_point"], columns["test"]
        if not isinstance(entry, str) or not isinstance(test, str):
            raise DataError("HumanEval's `test` and `entry_point` must be text")
        return ProgramTests(check_tests(test, entry, prompt), prelude=_prelude(prompt))
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise DataError(f"column {column!r} is text but not JSON: {error}") from None
    if value is None:
        return ProgramTests(())
    if isinstance(value, Mapping) or not isinstance(value, Sequence):
        raise DataError(f"column {column!r} must be a list of tests, got {type(value).__name__}")
    entry = columns.get("entry_point")
    setup = columns.get("test_setup") or ""
    tests = tuple(_read_test(item, i, entry, setup) for i, item in enumerate(value))
    if len({type(test) for test in tests}) > 1:
        raise DataError(f"column {column!r} mixes kinds of tests; all of a row must be of one kind")
    return ProgramTests(tests)


def check_tests(test: str, entry_point: str, prompt: str = "") -> tuple[AssertTest, ...]:
    r"""HumanEval's `check(candidate)` as one test per top-level assert.

    Each statement of `check` that asserts something is a test (a loop of asserts is one); what
    stands before it and asserts nothing becomes its setup. `assert True` tests nothing and is
    dropped. Helper functions that the prompt gives are defined again beside the test, so that a
    program which replaces them is not tested against its own.

    Raises:
        DataError: Not Python, or no function `check` with one parameter.

    >>> tests = check_tests("def check(candidate):\n    assert candidate(1) == 2", "f")
    >>> tests[0].source
    'assert f(1) == 2'
    """
    try:
        module = ast.parse(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"column 'test' is not Python: {error}") from None
    checks = [n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == "check"]
    if not checks or len(checks[-1].args.args) != 1:
        raise DataError("column 'test' must define check(candidate), as HumanEval does")
    check = checks[-1]
    whole = f"{ast.unparse(check)}\ncheck({entry_point})"
    rename = _Rename(check.args.args[0].arg, entry_point)
    shared = [node for node in module.body if node is not check]
    setup = [*_helpers(prompt, entry_point), *shared]
    tests = []
    for statement in check.body:
        asserts = [n for n in ast.walk(statement) if isinstance(n, ast.Assert)]
        if asserts and all(_constant_true(node) for node in asserts):
            continue
        statement = rename.visit(statement)
        if asserts:
            tests.append(
                AssertTest(ast.unparse(statement), setup="\n".join(map(ast.unparse, setup)))
            )
        elif not _docstring(statement):
            setup.append(statement)
    if not tests:
        return (AssertTest(whole, setup="\n".join(map(ast.unparse, setup))),)
    return tuple(tests)


def _read_test(item: Any, index: int, entry: Any, setup: Any) -> Test:
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


def _prelude(prompt: str) -> str:
    try:
        ast.parse(prompt)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return prompt


def _helpers(prompt: str, entry_point: str) -> list[ast.stmt]:
    body = ast.parse(_prelude(prompt)).body
    functions = [n for n in body if isinstance(n, ast.FunctionDef) and n.name != entry_point]
    if not functions:
        return []
    imports = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom)]
    return [*imports, *functions]


def _constant_true(node: ast.Assert) -> bool:
    return isinstance(node.test, ast.Constant) and bool(node.test.value)


def _docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Rename(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return (
            ast.copy_location(ast.Name(self.new, node.ctx), node) if node.id == self.old else node
        )
