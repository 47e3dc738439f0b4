"""Turns assert tests into calls whose values are compared outside the program's process.

`assert f(1) == 2` becomes the call `f(1)`, run in the program's process, and the comparison of its
value with 2, done by `evaluator` in ours. Any expression goes: calls (and names, attributes,
methods) that need the program become probes, the rest stays outside. Loops and `all(...)` over
literal cases are unrolled. What cannot be rewritten returns None and runs in the program's process
with a token, which the program can forge.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from assay.sandbox.evaluator import bind, evaluate
from assay.sandbox.job import AssertTest
from assay.sandbox.probes import (
    MOST_CASES,
    PROBE,
    CannotRewriteError,
    Filler,
    Taker,
    both_sides,
)
from assay.sandbox.safe_names import SAFE, EvaluationError
from assay.sandbox.values import shown

_WORDS = "|".join(re.escape(name) for name in SAFE if "." not in name)
_DEFINITION = re.compile(
    rf"^\s*(?:(?:async\s+)?def\s+|class\s+)?({_WORDS})\s*(?:\(|:|=[^=])", re.MULTILINE
)


@dataclass(frozen=True)
class Check:
    """One assert: an expression over the probes' values, and how it reads for people."""

    expression: ast.expr
    first: int
    count: int
    text: str


@dataclass(frozen=True)
class Plan:
    """An assert test, taken apart.

    Attributes:
        setup: Statements to run after the program.
        steps: In order: ("run", source) a statement, or ("value", source) an expression whose
            value is sent out.
        checks: What has to hold for the values.
    """

    setup: str
    steps: tuple[tuple[str, str], ...]
    checks: tuple[Check, ...]

    def failed(self, values: Sequence[Any]) -> str:
        """The first check that does not hold for the probes' values, as text; "" if all hold.

        Raises:
            EvaluationError: A check cannot be evaluated on such values.
        """
        for check in self.checks:
            taken = values[check.first : check.first + check.count]
            names = {f"{PROBE}{check.first + i}": value for i, value in enumerate(taken)}
            if not evaluate(check.expression, names):
                return f"{check.text}: got {', '.join(map(shown, taken))}"
        return ""


def rewrite(test: AssertTest, source: str) -> Plan | None:
    """The plan of a test, or None where it has to run in the program's process.

    A program cannot choose to be checked in its own process by defining a `set` or `len` of its
    own: such names count as the program's only where the test calls nothing else of it.

    Args:
        test: The test.
        source: The program's text.

    >>> plan = rewrite(AssertTest("assert f(1) == 2"), "def f(x): return x + 1")
    >>> plan.steps, ast.unparse(plan.checks[0].expression)
    ((('value', 'f(1)'),), '_probe_0 == 2')
    """
    ours = frozenset(_defined(test.setup))
    plan = _plan(test.source, test.setup, ours)
    if plan is None:
        own = ours | _defined(source)
        plan = _plan(test.source, test.setup, own) if own != ours else None
    return plan


@lru_cache(maxsize=8192)
def _plan(source: str, setup: str, own: frozenset[str]) -> Plan | None:
    try:
        body = ast.parse(source).body
        rewriter = Rewriter(own, body)
        for statement in body:
            rewriter.statement(statement)
    except (
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
        CannotRewriteError,
        EvaluationError,
    ):
        return None
    if not rewriter.checks or not any(check.count for check in rewriter.checks):
        return None
    return Plan(setup, tuple(rewriter.steps), tuple(rewriter.checks))


def _defined(source: str) -> set[str]:
    """Names among the safe ones that a source defines itself: functions, classes, assignments."""
    return set(_DEFINITION.findall(source))


class Rewriter:
    """Collects steps and checks, statement by statement."""

    def __init__(self, own: frozenset[str], body: Sequence[ast.stmt]) -> None:
        self.own = own
        self.steps: list[tuple[str, str]] = []
        self.checks: list[Check] = []
        self.values = 0
        self.known: dict[str, Any] = {}
        self.constants = _constants(body)

    def statement(self, node: ast.stmt) -> None:
        """Take one statement of the test."""
        if isinstance(node, ast.Assert):
            self._assert(node)
        elif isinstance(node, ast.For) and _has_assert(node):
            self._loop(node)
        elif _has_assert(node):
            raise CannotRewriteError
        else:
            self._run(node)

    def _run(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id in self.constants:
                self.known[target.id] = self.outside(node.value)
        self.steps.append(("run", ast.unparse(self.filled(node))))

    def _loop(self, node: ast.For) -> None:
        if node.orelse:
            raise CannotRewriteError
        cases = list(self.outside(node.iter))
        if len(cases) > MOST_CASES:
            raise CannotRewriteError
        before = dict(self.known)
        for case in cases:
            bind(node.target, case, self.known)
            for one in node.body:
                if not isinstance(one, ast.Assert | ast.For):
                    raise CannotRewriteError
                self.statement(one)
            if len(self.steps) > MOST_CASES:
                raise CannotRewriteError
        self.known = before

    def outside(self, node: ast.expr) -> Any:
        """The value of an expression that needs nothing of the program."""
        if any(self.needs_program(one) for one in ast.walk(node)):
            raise CannotRewriteError
        return evaluate(node, self.known)

    def needs_program(self, node: ast.AST) -> bool:
        """Whether a node names something that only the program's process has."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in self.known:
                return False
            return node.id not in SAFE or node.id in self.own
        return False

    def _assert(self, node: ast.Assert) -> None:
        first = self.values
        expression = Taker(self).visit(copy.deepcopy(node.test))
        expression = self.filled(ast.fix_missing_locations(expression))
        if both_sides(expression):  # an expected value would come from the program's process
            raise CannotRewriteError
        text = ast.unparse(self.filled(node.test))
        self.checks.append(Check(expression, first, self.values - first, text[:200]))

    def take(self, node: ast.expr) -> ast.expr:
        """Make a probe of an expression; returns the name that stands for its value."""
        source = ast.unparse(self.filled(node))
        name = f"{PROBE}{self.values}"
        self.steps.append(("value", source))
        self.values += 1
        return ast.Name(name, ast.Load())

    def filled(self, node: Any) -> Any:
        """A copy with the values of loop variables and constants written in."""
        if not self.known:
            return node
        return ast.fix_missing_locations(Filler(self.known).visit(copy.deepcopy(node)))


def _has_assert(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Assert) for one in ast.walk(node))


def _constants(body: Sequence[ast.stmt]) -> set[str]:
    """Names that are assigned once and used in comparisons only: their values can stay outside."""
    stores: dict[str, int] = {}
    loads: dict[str, int] = {}
    operands: dict[str, int] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                table = loads if isinstance(node.ctx, ast.Load) else stores
                table[node.id] = table.get(node.id, 0) + 1
            elif isinstance(node, ast.Compare):
                for side in (node.left, *node.comparators):
                    if isinstance(side, ast.Name):
                        operands[side.id] = operands.get(side.id, 0) + 1
    literal = {
        statement.targets[0].id
        for statement in body
        if isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and _is_literal(statement.value)
    }
    return {
        name
        for name in literal
        if stores.get(name) == 1 and loads.get(name, 0) == operands.get(name, 0)
    }


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
