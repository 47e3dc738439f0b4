"""Evaluates small Python expressions on plain data, outside the program's process.

Values that a program gave stand in it as names. Nothing here calls an object of the program, and
work is bounded: numbers, repetitions and the count of steps.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.sandbox.safe_names import SAFE, EvaluationError

_MOST_STEPS = 300_000
_MOST_BITS = 20_000
_MOST_ITEMS = 4_000_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
    ast.Is: lambda one, other: _same(one, other),
    ast.IsNot: lambda one, other: not _same(one, other),
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` for a chain of names, else None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression.

    Args:
        node: Its syntax tree.
        names: Plain values.

    Raises:
        EvaluationError: It raises, takes too long, or uses something that is not allowed.
    """
    try:
        return _Evaluator(names).value(node)
    except EvaluationError:
        raise
    except Exception as error:
        raise EvaluationError(f"{type(error).__name__}: {error}") from None


def _same(one: Any, other: Any) -> bool:
    """`is` for plain values: the same type and, where the language shares objects, value."""
    if one is None or other is None or isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, str, type)):
        return type(one) is type(other) and bool(one == other)
    return False


class _Evaluator:
    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = dict(names)
        self.steps = 0

    def value(self, node: ast.expr) -> Any:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise EvaluationError("too many steps")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise EvaluationError(f"{type(node).__name__} is not supported")
        return method(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in SAFE:
            return SAFE[node.id]
        raise EvaluationError(f"unknown name {node.id!r}")

    def _attribute(self, node: ast.Attribute) -> Any:
        name = dotted(node)
        if name in SAFE:
            return SAFE[name]
        raise EvaluationError(f"attribute {node.attr!r} is not supported")

    def _list(self, node: ast.List) -> list[Any]:
        return self._items(node.elts)

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._items(node.elts))

    def _set(self, node: ast.Set) -> set[Any]:
        return set(self._items(node.elts))

    def _items(self, nodes: list[ast.expr]) -> list[Any]:
        items: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items.extend(self.value(node.value))
            else:
                items.append(self.value(node))
        return items

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self.value(value))
            else:
                result[self.value(key)] = self.value(value)
        return result

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](self.value(node.operand))

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        action = _BINARY.get(type(node.op))
        if action is None:
            raise EvaluationError(f"{type(node.op).__name__} is not supported")
        for one in (left, right):
            if isinstance(one, int) and one.bit_length() > _MOST_BITS:
                raise EvaluationError("a number is too large")
        if isinstance(node.op, ast.Mult):
            for one, other in ((left, right), (right, left)):
                size = len(other) if hasattr(other, "__len__") else 0
                if isinstance(one, int) and one * size > _MOST_ITEMS:
                    raise EvaluationError("a repetition is too long")
        power = isinstance(node.op, ast.Pow) and isinstance(left, int) and isinstance(right, int)
        if power and left.bit_length() * abs(right) > _MOST_BITS:
            raise EvaluationError("a power is too large")
        if isinstance(node.op, ast.Mod) and isinstance(left, str | bytes):
            raise EvaluationError("formatting is not supported")
        return action(left, right)

    def _boolop(self, node: ast.BoolOp) -> Any:
        result: Any = None
        for one in node.values:
            result = self.value(one)
            if bool(result) is isinstance(node.op, ast.Or):
                break
        return result

    def _compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for kind, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            if not _COMPARE[type(kind)](left, right):
                return False
            left = right
        return True

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part) for part in parts))

    def _call(self, node: ast.Call) -> Any:
        name = dotted(node.func)
        if name is None or name not in SAFE or name in self.names:
            raise EvaluationError(f"call of {ast.unparse(node.func)!r} is not supported")
        keywords = {one.arg: self.value(one.value) for one in node.keywords if one.arg}
        return SAFE[name](*self._items(node.args), **keywords)

    def _listcomp(self, node: ast.ListComp) -> list[Any]:
        return list(self._comprehension(node.elt, node.generators))

    def _generatorexp(self, node: ast.GeneratorExp) -> list[Any]:
        return list(self._comprehension(node.elt, node.generators))

    def _setcomp(self, node: ast.SetComp) -> set[Any]:
        return set(self._comprehension(node.elt, node.generators))

    def _comprehension(
        self, element: ast.expr, generators: list[ast.comprehension]
    ) -> Iterator[Any]:
        first, *rest = generators
        for item in self.value(first.iter):
            bind(first.target, item, self.names)
            if all(self.value(one) for one in first.ifs):
                if rest:
                    yield from self._comprehension(element, rest)
                else:
                    yield self.value(element)


def bind(target: ast.expr, value: Any, names: dict[str, Any]) -> None:
    """Assign `value` to a loop target: a name or a tuple of targets.

    Raises:
        EvaluationError: The shapes differ, or the target is something else.
    """
    if isinstance(target, ast.Name):
        names[target.id] = value
        return
    if isinstance(target, ast.Tuple | ast.List):
        items = list(value)
        if len(items) != len(target.elts):
            raise EvaluationError("cannot unpack")
        for one, item in zip(target.elts, items, strict=True):
            bind(one, item, names)
        return
    raise EvaluationError("such a target is not supported")
