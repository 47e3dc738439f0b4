"""Going through programs in the neutral form: parts, all that is below, names in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    Class,
    Comprehension,
    ForEach,
    Function,
    If,
    Index,
    Items,
    Jump,
    Loop,
    Member,
    Name,
    New,
    Node,
    Num,
    Operation,
    Slice,
    Spread,
    Text,
)

_LEAVES = frozenset({Name, Num, Function, Class})
_NOTHING: frozenset[str] = frozenset()


def children(node: Node) -> list[Node]:
    """Direct parts of a node, in order of the text; bodies of nested functions are not entered."""
    parts = _PARTS.get(type(node))
    return [] if parts is None else parts(node)


def walk(nodes: Sequence[Node]) -> list[Node]:
    """All nodes below and including these, without bodies of nested functions."""
    found: list[Node] = []
    for node in nodes:
        found.append(node)
        if type(node) not in _LEAVES:
            found += _below(node)
    return found


def _below(node: Node) -> list[Node]:
    kept = node.below
    if kept is None:
        kept = []
        for part in _PARTS[type(node)](node):
            kept.append(part)
            if type(part) not in _LEAVES:
                kept += part.below or _below(part)
        node.below = kept
    return kept


def key_of(node: Node | None) -> str:
    """The name by which a variable, a field or an element of one is known, or nothing."""
    while node is not None:
        if type(node) is Name:
            return node.id
        if type(node) is Member:
            return "." + node.name
        if type(node) is not Index:
            return ""
        node = node.owner
    return ""


def names_in(node: Node) -> frozenset[str]:
    """Names and fields read in an expression."""
    if type(node) is Name:
        return _alone(node.id)
    if type(node) in _LEAVES:
        return _NOTHING
    found = node.names
    if found is None:
        parts = [names for part in _PARTS[type(node)](node) if (names := names_in(part))]
        if type(node) is Member:
            parts.append(_alone("." + node.name))
        found = parts[0] if len(parts) == 1 else _NOTHING.union(*parts)
        node.names = found
    return found


@lru_cache(maxsize=16384)
def _alone(name: str) -> frozenset[str]:
    return frozenset((name,))


def _call(node: Call) -> list[Node]:
    extra = list(node.keywords.values()) if node.keywords else []
    return [node.callee, *node.arguments, *extra]


def _some(*nodes: Node | None) -> list[Node]:
    return [node for node in nodes if node is not None]


_PARTS: dict[type, Callable[[Any], list[Node]]] = {
    Operation: lambda n: n.operands,
    Text: lambda n: n.parts,
    Call: _call,
    Member: lambda n: [n.owner],
    Index: lambda n: [n.owner, n.at],
    Slice: lambda n: _some(n.owner, n.low, n.high),
    Items: lambda n: n.items,
    Spread: lambda n: [n.value],
    Comprehension: lambda n: [
        *(part for clause in n.clauses for part in clause),
        *n.conditions,
        *n.body,
    ],
    New: lambda n: [*n.arguments, *(n.sizes or [])],
    Assign: lambda n: _some(n.target, n.value),
    If: lambda n: [n.test, *n.then, *n.other],
    Loop: lambda n: [*n.start, *_some(n.test), *n.update, *n.body],
    ForEach: lambda n: [n.target, n.over, *n.body],
    Jump: lambda n: _some(n.value),
    Block: lambda n: n.items,
}
