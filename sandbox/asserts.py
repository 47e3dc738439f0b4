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

from assay.sandbox.compare import shown
from assay.sandbox.evaluator import SAFE, EvaluationError, bind, dotted, evaluate
from assay.sandbox.job import AssertTest

_MOST_CASES = 2000
_PROBE = "_probe_"
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
            names = {f"{_PROBE}{check.first + i}": value for i, value in enumerate(taken)}
            if not evaluate(check.expression, names):
                return f"{check.text}: got {', '.join(map(shown, taken))}"
        return ""


class _CannotRewrite(Exception):
    pass


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
        rewriter = _Rewriter(own, body)
        for statement in body:
            rewriter.statement(statement)
    except (SyntaxError, ValueError, RecursionError, MemoryError, _CannotRewrite, EvaluationError):
        return None
    if not rewriter.checks or not any(check.count for check in rewriter.checks):
        return None
    return Plan(setup, tuple(rewriter.steps), tuple(rewriter.checks))


def _defined(source: str) -> set[str]:
    """Names among the safe ones that a source defines itself: functions, classes, assignments."""
    return set(_DEFINITION.findall(source))


class _Rewriter:
    def __init__(self, own: frozenset[str], body: Sequence[ast.stmt]) -> None:
        self.own = own
        self.steps: list[tuple[str, str]] = []
        self.checks: list[Check] = []
        self.values = 0
        self.known: dict[str, Any] = {}
        self.constants = _constants(body)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assert):
            self._assert(node)
        elif isinstance(node, ast.For) and _has_assert(node):
            self._loop(node)
        elif _has_assert(node):
            raise _CannotRewrite
        else:
            self._run(node)

    def _run(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id in self.constants:
                self.known[target.id] = self._outside(node.value)
        self.steps.append(("run", ast.unparse(self._filled(node))))

    def _loop(self, node: ast.For) -> None:
        if node.orelse:
            raise _CannotRewrite
        cases = list(self._outside(node.iter))
        if len(cases) > _MOST_CASES:
            raise _CannotRewrite
        before = dict(self.known)
        for case in cases:
            bind(node.target, case, self.known)
            for one in node.body:
                if not isinstance(one, ast.Assert | ast.For):
                    raise _CannotRewrite
                self.statement(one)
            if len(self.steps) > _MOST_CASES:
                raise _CannotRewrite
        self.known = before

    def _outside(self, node: ast.expr) -> Any:
        """The value of an expression that needs nothing of the program."""
        if any(self._needs_program(one) for one in ast.walk(node)):
            raise _CannotRewrite
        return evaluate(node, self.known)

    def _needs_program(self, node: ast.AST) -> bool:
        """Whether a node names something that only the program's process has."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id in self.known:
                return False
            return node.id not in SAFE or node.id in self.own
        return False

    def _assert(self, node: ast.Assert) -> None:
        first = self.values
        expression = _Taker(self).visit(copy.deepcopy(node.test))
        expression = self._filled(ast.fix_missing_locations(expression))
        if _both_sides(expression):  # an expected value would come from the program's process
            raise _CannotRewrite
        text = ast.unparse(self._filled(node.test))
        self.checks.append(Check(expression, first, self.values - first, text[:200]))

    def take(self, node: ast.expr) -> ast.expr:
        """Make a probe of an expression; returns the name that stands for its value."""
        source = ast.unparse(self._filled(node))
        name = f"{_PROBE}{self.values}"
        self.steps.append(("value", source))
        self.values += 1
        return ast.Name(name, ast.Load())

    def _filled(self, node: Any) -> Any:
        """A copy with the values of loop variables and constants written in."""
        if not self.known:
            return node
        return ast.fix_missing_locations(_Filler(self.known).visit(copy.deepcopy(node)))


class _Filler(ast.NodeTransformer):
    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.known:
            return _literal(self.known[node.id])
        return node


def _literal(value: Any) -> ast.expr:
    try:
        text = repr(value)
        if ast.literal_eval(text) != value:
            raise _CannotRewrite
        return ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError):
        raise _CannotRewrite from None


class _Taker(ast.NodeTransformer):
    """Replaces the parts of an expression that need the program by probes, outermost first."""

    def __init__(self, rewriter: _Rewriter) -> None:
        self.rewriter = rewriter
        self.bound: set[str] = set()

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Lambda | ast.NamedExpr | ast.Await | ast.Yield | ast.JoinedStr):
            raise _CannotRewrite
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.bound or not self.rewriter._needs_program(node):
            return node
        return self.rewriter.take(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return node if dotted(node) in SAFE else self._whole(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = dotted(node.func)
        safe = name in SAFE and name not in self.rewriter.own and name not in self.rewriter.known
        if not safe:
            return self._whole(node)
        if name in ("all", "any") and len(node.args) == 1:
            unrolled = self._unrolled(name, node.args[0])
            if unrolled is not None:
                return unrolled
        if any(one.arg is None or one.arg == "key" for one in node.keywords):
            return self._whole(node)
        node.args = [self.visit(one) for one in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def _whole(self, node: ast.expr) -> ast.expr:
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if names & self.bound:
            raise _CannotRewrite
        return self.rewriter.take(node)

    def _unrolled(self, name: str, node: ast.expr) -> ast.expr | None:
        """`all(f(x) == y for x, y in cases)` as a conjunction, if the cases are literal."""
        if not isinstance(node, ast.GeneratorExp | ast.ListComp) or len(node.generators) != 1:
            return None
        generator = node.generators[0]
        needs = self.rewriter._needs_program
        inner = {one.id for one in ast.walk(generator.target) if isinstance(one, ast.Name)}
        calls = any(
            needs(one) and getattr(one, "id", "") not in inner for one in ast.walk(node.elt)
        )
        if not calls or generator.ifs or any(needs(one) for one in ast.walk(generator.iter)):
            return None
        parts: list[ast.expr] = []
        before = dict(self.rewriter.known)
        for item in list(self.rewriter._outside(generator.iter))[: _MOST_CASES + 1]:
            bind(generator.target, item, self.rewriter.known)
            part = self.visit(copy.deepcopy(node.elt))
            parts.append(self.rewriter._filled(part))
        self.rewriter.known = before
        if len(parts) > _MOST_CASES:
            raise _CannotRewrite
        if not parts:
            return ast.Constant(name == "all")
        return ast.BoolOp(ast.And() if name == "all" else ast.Or(), parts)

    def _comprehension(self, node: Any) -> ast.expr:
        before = set(self.bound)
        for generator in node.generators:
            generator.iter = self.visit(generator.iter)
            self.bound |= {
                one.id for one in ast.walk(generator.target) if isinstance(one, ast.Name)
            }
            generator.ifs = [self.visit(one) for one in generator.ifs]
        node.elt = self.visit(node.elt)
        self.bound = before
        return node  # type: ignore[no-any-return]

    visit_ListComp = visit_SetComp = visit_GeneratorExp = _comprehension

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        raise _CannotRewrite


def _both_sides(expression: ast.expr) -> bool:
    """Whether some comparison has values of the program on every side."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if all(_has_probe(side) for side in sides):
                return True
    return False


def _has_probe(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Name) and one.id.startswith(_PROBE) for one in ast.walk(node))


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
