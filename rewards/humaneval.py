r"""HumanEval's `check(candidate)`, taken apart into single tests."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from assay.errors import DataError
from assay.rewards.statement_names import bound, outside_scopes, read
from assay.sandbox import AssertTest

_ESCAPES = (
    ast.Return,
    ast.Raise,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.Global,
    ast.Nonlocal,
)


def check_tests(test: str, entry_point: str, prompt: str = "") -> tuple[AssertTest, ...]:
    r"""HumanEval's `check(candidate)` as one test per top-level assert.

    Each statement of `check` that asserts something is a test (a loop of asserts is one); what
    stands before it and asserts nothing becomes its setup. `assert True` tests nothing and is
    dropped. Helper functions that the prompt gives are defined again beside the test, so that a
    program which replaces them is not tested against its own.

    A `check` that does not mean the same when it is taken apart is one test as a whole: asserts
    inside functions of its own, `raise`, `return`, a test that needs what an earlier one left.

    Returns:
        The tests; none where `check` tests nothing.

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
    parameters = [*checks[-1].args.posonlyargs, *checks[-1].args.args] if checks else []
    if len(parameters) != 1:
        raise DataError("column 'test' must define check(candidate), as HumanEval does")
    check, candidate = checks[-1], parameters[0].arg
    # Some rows call `check` themselves, at the end of the module.
    shared = [node for node in module.body if node is not check and "check" not in read(node)]
    setup = [*_helpers(prompt, entry_point), *shared]
    body = [node for node in check.body if not (_true(node) or _docstring(node))]
    if all(isinstance(node, ast.Pass) for node in body):
        return ()
    if not _comes_apart(body, candidate, _asserting([*shared, *body])):
        whole = f"{ast.unparse(check)}\ncheck({entry_point})"
        return (AssertTest(whole, setup="\n".join(map(ast.unparse, setup))),)
    rename = _Rename(candidate, entry_point)
    tests = []
    for statement in body:
        is_test = _asserts(statement)
        statement = rename.visit(statement)
        if is_test:
            tests.append(
                AssertTest(ast.unparse(statement), setup="\n".join(map(ast.unparse, setup)))
            )
        else:
            setup.append(statement)
    return tuple(tests)


def _comes_apart(body: Sequence[ast.stmt], candidate: str, asserting: set[str]) -> bool:
    """Whether the statements of `check` mean the same as single tests, run one by one."""
    if not any(map(_asserts, body)):
        return False
    imports = (ast.Import, ast.ImportFrom)
    local = set().union(*(bound(one) for one in body if not isinstance(one, imports)))
    left: set[str] = set()  # names that tests so far have bound or may have changed
    touched: set[str] = set()  # names that tests so far have handed to the candidate
    for statement in body:
        needed = read(statement)
        calls_candidate = candidate in needed
        if _rebinds(statement, candidate) or needed & (left | asserting) or _leaves(statement):
            return False
        if not _asserts(statement):
            continue
        if not calls_candidate and needed & touched:
            return False
        left |= bound(statement) | (_changed(statement) & local)
        touched |= needed & local if calls_candidate else set()
    trailing = body[max(i for i, one in enumerate(body) if _asserts(one)) + 1 :]
    return not any(isinstance(one, ast.Call) for last in trailing for one in outside_scopes(last))


def _asserts(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Assert) for node in outside_scopes(statement))


def _asserting(statements: Sequence[ast.stmt]) -> set[str]:
    """Functions and classes that may raise on purpose."""
    return {
        statement.name
        for statement in statements
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(statement))
    }


def _leaves(statement: ast.stmt) -> bool:
    """Whether it raises, returns, calls an `assert...` function, or is bound to its function."""
    for node in outside_scopes(statement):
        if isinstance(node, _ESCAPES):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name.lower().startswith(("assert", "_assert", "fail")):
                return True
    return False


def _rebinds(statement: ast.stmt, name: str) -> bool:
    return any(
        name in bound(node) or (isinstance(node, ast.arg) and node.arg == name)
        for node in ast.walk(statement)
    )


def _changed(statement: ast.stmt) -> set[str]:
    """Names whose objects it may change: by a method, an item or an attribute."""
    return {
        node.value.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute | ast.Subscript)
        and isinstance(node.value, ast.Name)
        and (isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load))
    }


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


def _true(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assert):
        return False
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
