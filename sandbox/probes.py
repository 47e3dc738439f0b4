"""Which parts of an assert's expression need the program, and what stands in their place."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, Any

from assay.sandbox.evaluator import bind, dotted
from assay.sandbox.safe_names import SAFE

if TYPE_CHECKING:
    from assay.sandbox.asserts import Rewriter

MOST_CASES = 2000
PROBE = "_probe_"


class CannotRewriteError(Exception):
    """The test has to run in the program's process."""


class Filler(ast.NodeTransformer):
    """Writes known values in the place of names."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A literal, where the value is known."""
        if isinstance(node.ctx, ast.Load) and node.id in self.known:
            return literal(self.known[node.id])
        return node


def literal(value: Any) -> ast.expr:
    """The expression that makes a plain value.

    Raises:
        CannotRewriteError: There is none.
    """
    try:
        text = repr(value)
        if ast.literal_eval(text) != value:
            raise CannotRewriteError
        return ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError):
        raise CannotRewriteError from None


class Taker(ast.NodeTransformer):
    """Replaces the parts of an expression that need the program by probes, outermost first."""

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter
        self.bound: set[str] = set()

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Refuse what cannot be split; else look below."""
        if isinstance(node, ast.Lambda | ast.NamedExpr | ast.Await | ast.Yield | ast.JoinedStr):
            raise CannotRewriteError
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A probe, unless the name is ours."""
        if node.id in self.bound or not self.rewriter.needs_program(node):
            return node
        return self.rewriter.take(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """A probe, unless it names a safe function."""
        return node if dotted(node) in SAFE else self._whole(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A probe as a whole, unless a safe function is called."""
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
            raise CannotRewriteError
        return self.rewriter.take(node)

    def _unrolled(self, name: str, node: ast.expr) -> ast.expr | None:
        """`all(f(x) == y for x, y in cases)` as a conjunction, if the cases are literal."""
        if not isinstance(node, ast.GeneratorExp | ast.ListComp) or len(node.generators) != 1:
            return None
        generator = node.generators[0]
        needs = self.rewriter.needs_program
        inner = {one.id for one in ast.walk(generator.target) if isinstance(one, ast.Name)}
        calls = any(
            needs(one) and getattr(one, "id", "") not in inner for one in ast.walk(node.elt)
        )
        if not calls or generator.ifs or any(needs(one) for one in ast.walk(generator.iter)):
            return None
        parts: list[ast.expr] = []
        before = dict(self.rewriter.known)
        for item in list(self.rewriter.outside(generator.iter))[: MOST_CASES + 1]:
            bind(generator.target, item, self.rewriter.known)
            part = self.visit(copy.deepcopy(node.elt))
            parts.append(self.rewriter.filled(part))
        self.rewriter.known = before
        if len(parts) > MOST_CASES:
            raise CannotRewriteError
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
        """Not supported."""
        raise CannotRewriteError


def both_sides(expression: ast.expr) -> bool:
    """Whether some comparison has values of the program on every side."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if all(_has_probe(side) for side in sides):
                return True
    return False


def _has_probe(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Name) and one.id.startswith(PROBE) for one in ast.walk(node))
