r"""HumanEval's `check(candidate)`, taken apart into single tests."""

from __future__ import annotations

import ast

from assay.errors import DataError
from assay.sandbox import AssertTest


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


def prelude_of(prompt: str) -> str:
    """The prompt where it is Python code, else nothing."""
    try:
        ast.parse(prompt)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return prompt


def _helpers(prompt: str, entry_point: str) -> list[ast.stmt]:
    body = ast.parse(prelude_of(prompt)).body
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
