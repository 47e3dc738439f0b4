"""Brings tree-sitter trees into the language-neutral form of `ir`: what the languages share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    Class,
    Function,
    If,
    Index,
    Items,
    Jump,
    Loop,
    Member,
    Name,
    Node,
    Num,
    Operation,
    Text,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Tree

Handler = Callable[["Tree"], Node | None]
_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "ERROR"})
_SIGNS = {"&&": "and", "||": "or", "!": "not", "===": "==", "!==": "!=", ">>>": ">>", "<>": "!="}


class Lowering:
    """Base of every language; a subclass adds handlers by type of tree node in `table`."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        for name in dir(self):
            if name.startswith("on_"):
                self.handlers[name[3:]] = getattr(self, name)
        for kind, name in self.aliases().items():
            self.handlers[kind] = getattr(self, name)

    def aliases(self) -> dict[str, str]:
        """Types of tree nodes that another type's handler, or a method, takes."""
        return {}

    def program(self, root: Tree) -> list[Node]:
        """The statements of a whole program."""
        return self.many(root.named_children)

    # -- plumbing -------------------------------------------------------------------------------

    def one(self, node: Tree | None) -> Node | None:
        """A tree node in the neutral form; None for what has no running time."""
        if node is None:
            return None
        kind = node.type
        handler = self.handlers.get(kind)
        if handler is not None:
            return handler(node)
        if kind in _COMMENTS:
            return None
        inner = self.many(node.named_children)
        return inner[0] if len(inner) == 1 else Block(inner, self.line(node)) if inner else None

    def need(self, node: Tree | None) -> Node:
        """Like `one`, with a number of no value where there is nothing."""
        if node is None:
            return Num(None, 0)
        handler = self.handlers.get(node.type)
        made = self.one(node) if handler is None else handler(node)
        return made or Num(None, self.line(node))

    def many(self, nodes: list[Tree]) -> list[Node]:
        """Each of these that is something."""
        found: list[Node] = []
        handlers, one = self.handlers, self.one
        for node in nodes:
            handler = handlers.get(node.type)
            made = one(node) if handler is None else handler(node)
            if made is not None:
                found.append(made)
        return found

    def body(self, node: Tree | None) -> list[Node]:
        """Statements of a block, or the one statement that stands for it."""
        if node is None:
            return []
        made = self.one(node)
        return [] if made is None else made.items if type(made) is Block else [made]

    def field(self, node: Tree, name: str) -> Node:
        """A field's node, lowered."""
        return self.need(node.child_by_field_name(name))

    def spelling(self, node: Tree | None) -> str:
        """The text of a name or type."""
        text = None if node is None else node.text
        return "" if text is None else text.decode()

    def line(self, node: Tree) -> int:
        """Line, from 1."""
        return node.start_point[0] + 1

    # -- what most grammars call the same -------------------------------------------------------

    def name(self, node: Tree) -> Node:
        """Lower nodes of the kind `name`."""
        return Name(self.spelling(node), self.line(node))

    def on_identifier(self, node: Tree) -> Node:
        """Lower `identifier`."""
        return Name(self.spelling(node), node.start_point[0] + 1)

    def nothing(self, _: Tree) -> None:
        """Lower nodes of the kind `nothing`."""
        return None

    def number(self, node: Tree) -> Node:
        """Lower nodes of the kind `number`."""
        return Num(_number(self.spelling(node)), self.line(node))

    def no_number(self, node: Tree) -> Node:
        """Lower nodes of the kind `no_number`."""
        return Num(None, self.line(node))

    def truth(self, node: Tree) -> Node:
        """Lower nodes of the kind `truth`."""
        return Num(1.0, self.line(node))

    def falsehood(self, node: Tree) -> Node:
        """Lower nodes of the kind `falsehood`."""
        return Num(0.0, self.line(node))

    def literal(self, node: Tree) -> Node:
        """Lower nodes of the kind `literal`."""
        return Items("list", self.many(node.named_children), self.line(node))

    def text(self, node: Tree) -> Node:
        """Lower nodes of the kind `text`."""
        parts = [self.need(c) for c in node.named_children if c.type in self.interpolations]
        return Text(node.end_byte - node.start_byte - 2, parts, self.line(node))

    interpolations: frozenset[str] = frozenset()

    def first(self, node: Tree) -> Node | None:
        """Lower nodes of the kind `first`."""
        for child in node.named_children:
            kind = child.type
            handler = self.handlers.get(kind)
            if handler is not None:
                return handler(child)
            if kind not in _COMMENTS:
                return self.one(child)
        return None

    def last(self, node: Tree) -> Node | None:
        """Lower nodes of the kind `last`."""
        inner = [c for c in node.named_children if c.type not in _COMMENTS]
        return self.one(inner[-1]) if inner else None

    def block(self, node: Tree) -> Node:
        """Lower nodes of the kind `block`."""
        return Block(self.many(node.named_children), self.line(node))

    def binary(self, node: Tree) -> Node:
        """Lower nodes of the kind `binary`."""
        operator = node.child_by_field_name("operator")
        sign = operator.type if operator is not None else ""
        left, right = self.field(node, "left"), self.field(node, "right")
        return Operation(_SIGNS.get(sign, sign), [left, right], self.line(node))

    def unary(self, node: Tree) -> Node | None:
        """Lower nodes of the kind `unary`."""
        sign = self.spelling(node.child_by_field_name("operator"))
        operand = self.last(node)
        if sign in ("-", "!", "~", "not"):
            operand = operand or Num(None, self.line(node))
            if sign == "-" and type(operand) is Num and operand.value is not None:
                return Num(-operand.value, operand.line)
            return Operation(_SIGNS.get(sign, sign), [operand], self.line(node))
        return operand

    def assignment(self, node: Tree) -> Node:
        """Lower nodes of the kind `assignment`."""
        operator = node.child_by_field_name("operator")
        sign = operator.type.rstrip("=") if operator is not None else ""
        sign = _SIGNS.get(sign, sign).strip(":")
        target, value = self.field(node, "left"), self.field(node, "right")
        return Assign(target, value, self.line(node), sign)

    def update(self, node: Tree) -> Node:
        """Lower nodes of the kind `update`."""
        line = self.line(node)
        target = self.first(node) or Num(None, line)
        sign = "-" if b"--" in (node.text or b"") else "+"
        return Assign(target, Num(1.0, line), line, sign)

    def call(self, node: Tree) -> Node:
        """Lower nodes of the kind `call`."""
        callee = self.field(node, "function")
        return Call(callee, self.arguments(node.child_by_field_name("arguments")), self.line(node))

    def arguments(self, node: Tree | None) -> list[Node]:
        """Lower nodes of the kind `arguments`."""
        return [] if node is None else self.many(node.named_children)

    def on_if_statement(self, node: Tree) -> Node:
        """Lower `if_statement`."""
        start = self.one(node.child_by_field_name("initializer"))
        made: Node = If(
            self.field(node, "condition"),
            self.body(node.child_by_field_name("consequence")),
            self.body(node.child_by_field_name("alternative")),
            self.line(node),
        )
        return made if start is None else Block([start, made], self.line(node))

    def conditional(self, node: Tree) -> Node:
        """Lower nodes of the kind `conditional`."""
        return self.on_if_statement(node)

    def on_while_statement(self, node: Tree) -> Node:
        """Lower `while_statement`."""
        test = self.one(node.child_by_field_name("condition"))
        body = self.body(node.child_by_field_name("body"))
        return Loop([], _unless_true(test), [], body, self.line(node))

    def on_do_statement(self, node: Tree) -> Node:
        """Lower `do_statement`."""
        made = self.on_while_statement(node)
        assert isinstance(made, Loop)
        made.late = True
        return made

    def for_loop(self, node: Tree) -> Node:
        """Lower nodes of the kind `for_loop`."""
        start = self.one(node.child_by_field_name("initializer"))
        test = self.one(node.child_by_field_name("condition"))
        update = self.one(
            node.child_by_field_name("update") or node.child_by_field_name("increment")
        )
        body = self.body(node.child_by_field_name("body"))
        return Loop(_items(start), _unless_true(test), _items(update), body, self.line(node))

    def on_return_statement(self, node: Tree) -> Node:
        """Lower `return_statement`."""
        return Jump("return", self.first(node), self.line(node))

    def on_break_statement(self, node: Tree) -> Node:
        """Lower `break_statement`."""
        return Jump("break", None, self.line(node))

    def on_continue_statement(self, node: Tree) -> Node:
        """Lower `continue_statement`."""
        return Jump("continue", None, self.line(node))

    def throw(self, node: Tree) -> Node:
        """Lower nodes of the kind `throw`."""
        return Jump("throw", self.first(node), self.line(node))

    def cases(self, test: Node, groups: list[tuple[bool, list[Node]]], line: int) -> Node:
        """A switch as a chain of branches; `groups` pairs whether a case is the default."""
        other: list[Node] = []
        for default, statements in reversed(groups):
            body = [s for s in statements if not (isinstance(s, Jump) and s.kind == "break")]
            other = body if default and not other else [If(test, body, other, line)]
        return other[0] if len(other) == 1 else Block(other, line)


def function_of(
    name: str,
    parameters: list[tuple[str, str]],
    body: list[Node] | Callable[[], list[Node]],
    line: int,
    **rest: Any,
) -> Function:
    """A function from pairs of parameter name and type."""
    types = [kind for _, kind in parameters]
    return Function(name, [p for p, _ in parameters], body, line, types=types, **rest)


def class_of(name: str, members: list[Node], bases: list[str], line: int) -> Class:
    """A class: functions become methods, the rest is run as fields."""
    methods = [m for m in members if isinstance(m, Function)]
    for method in methods:
        method.owner = method.owner or name
    return Class(name, methods, [m for m in members if not isinstance(m, Function)], bases, line)


def member(owner: Node, name: str, line: int) -> Member:
    """`owner.name`."""
    return Member(owner, name, line)


def index(owner: Node, at: Node, line: int) -> Index:
    """`owner[at]`."""
    return Index(owner, at, line)


def _items(node: Node | None) -> list[Node]:
    return [] if node is None else node.items if type(node) is Block else [node]


def _unless_true(test: Node | None) -> Node | None:
    """None for a condition that always holds."""
    if type(test) is Num and (test.value is None or test.value != 0):
        return None
    return test


@lru_cache(maxsize=4096)
def _number(text: str) -> float | None:
    digits = text.replace("_", "").replace("'", "").rstrip("lLuUfFdDnj")
    try:
        based = digits[:1] == "0" and len(digits) > 1
        return float(int(digits, 0)) if based else float(digits)
    except (ValueError, OverflowError):
        return _loose_number(digits)


def _loose_number(text: str) -> float | None:
    digits = text.lower().lstrip("0") or "0"
    for suffix in ("i32", "i64", "u32", "u64", "usize", "isize", "f64", "u8", "i128", "u128"):
        digits = digits.removesuffix(suffix)
    try:
        return float(digits)
    except ValueError:
        return None
