"""How an assignment changes a name: a step, a factor, a remainder, something that is read."""

from __future__ import annotations

from dataclasses import dataclass

from assay.judges.complexity.ir import (
    Assign,
    Call,
    Index,
    Items,
    Member,
    Name,
    New,
    Node,
    Num,
    Operation,
)
from assay.judges.complexity.library import READS
from assay.judges.complexity.traversal import key_of, names_in, walk


@dataclass(slots=True)
class Change:
    """How a loop changes a name: up, down, mul, div, mod, and, grow, shrink, set, read, chase."""

    kind: str
    value: Node | None = None


def changes_of(node: Assign) -> list[tuple[str, Change]]:
    """Names that an assignment changes, and how; elements of collections are left out."""
    if isinstance(node.changes, list):
        return node.changes
    found = [
        (name, change_of(node, name, value))
        for target, value in pairs_of(node)
        if type(target) is not Index and (name := key_of(target))
    ]
    node.changes = found
    return found


def pairs_of(node: Assign) -> list[tuple[Node, Node | None]]:
    """Each target of an assignment with its value, if that is known."""
    if type(node.target) is Items:
        if type(node.value) is Items and len(node.value.items) == len(node.target.items):
            return list(zip(node.target.items, node.value.items, strict=True))
        return [(target, None) for target in node.target.items]
    return [(node.target, node.value)]


_BY_SIGN = {
    "*": "mul", "<<": "mul", "/": "div", "//": "div", ">>": "div", "%": "mod", "&": "and",
    "**": "mul",
}  # fmt: skip


def change_of(node: Assign, name: str, value: Node | None) -> Change:
    """How an assignment changes a name."""
    if value is None:
        return Change("set", None)
    if node.sign:
        return _by_sign(node.sign, value, name)
    while type(value) is Call and len(value.arguments) == 1 and is_rounding(value.callee):
        value = value.arguments[0]
    if type(value) is Operation and len(value.operands) == 2:
        left, right = value.operands
        if key_of(left) == name and type(left) is not Index:
            return _by_sign(value.sign, right, name)
        if key_of(right) == name and type(right) is not Index:
            if value.sign in ("+", "*", "&"):
                return _by_sign(value.sign, left, name)
            if value.sign == "%":
                return Change("mod", left)
        if value.sign == "%":
            return Change("mod", right)
        inner = left
        if (
            type(inner) is Operation
            and len(inner.operands) == 2
            and value.sign in ("/", "//", ">>")
        ):
            first = inner.operands[0]
            if key_of(first) == name and inner.sign in ("+", "-") and type(first) is not Index:
                return Change("div", right)  # x = (x - y) / 2
    if type(value) is Operation and value.sign in ("&", "-", "+") and _masks(value, name):
        return Change("and", value)
    if _reads(value):
        return Change("read", value)
    if type(value) is Index and name in names_in(value.at):
        return Change("chase", value)
    if type(value) is Member and key_of(value.owner) == name:
        return Change("chase", value)
    return Change("set", value)


def _by_sign(sign: str, value: Node, name: str) -> Change:
    if sign in ("+", "-"):
        if _masks(value, name):
            return Change("and", value)
        halved = type(value) is Operation and value.sign in ("/", "//", ">>")
        if halved and sign == "-" and name in names_in(value):
            return Change("div", value)
        constant = type(value) is Num
        if type(value) is Num and value.value is not None and value.value < 0:
            sign = "-" if sign == "+" else "+"
        if sign == "+":
            return Change("up" if constant else "grow", value)
        return Change("down" if constant else "shrink", value)
    return Change(_BY_SIGN.get(sign, "set"), value)


def _masks(value: Node, name: str) -> bool:
    """Whether an expression picks bits of the name: `x & -x`."""
    return any(
        type(part) is Operation and part.sign == "&" and name in names_in(part)
        for part in walk([value])
    )


def is_rounding(callee: Node) -> bool:
    """Whether a callee only rounds or converts a number."""
    name = callee.id if type(callee) is Name else callee.name if type(callee) is Member else ""
    return name in ("int", "floor", "round", "float", "trunc", "ceil", "parseInt", "Number")


def _reads(value: Node) -> bool:
    for part in walk([value]):
        if type(part) is Call:
            name = key_of(part.callee).lstrip(".")
            if name in READS:
                return True
        elif type(part) is New and part.type in ("StringTokenizer", "StreamTokenizer"):
            return True
    return False
