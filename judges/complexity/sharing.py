"""What a loop's text says about all its runs together: lengths it keeps bounded, shared sweeps."""

from __future__ import annotations

from collections.abc import Iterator

from assay.judges.complexity.changes import Change, changes_of
from assay.judges.complexity.ir import Assign, Call, If, Loop, Member, Name, Node, Num, Operation
from assay.judges.complexity.library import PUTS, TAKES
from assay.judges.complexity.traversal import key_of, names_in, walk

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_LENGTHS = frozenset({"len", "size", "length"})


def carried(body: list[Node]) -> frozenset[str]:
    """Counters whose inner sweeps go on where the last one stopped, so that all runs share one.

    Either `j = i; while ...: j += 1; i = j`, or `c = 1; while ...: c += 1; i += c`.
    """
    changes: dict[str, list[Change]] = {}
    for node in walk(body):
        if type(node) is Assign:
            for name, change in changes_of(node):
                changes.setdefault(name, []).append(change)
    found: set[str] = set()
    for name, mine in changes.items():
        for change in mine:
            source = _base(change.value) if change.kind in ("set", "grow", "shrink") else ""
            if source not in changes or source == name:
                continue
            theirs = [c for c in changes[source] if c.kind not in ("up", "grow")]
            if not theirs or any(c.kind != "set" for c in theirs):
                continue
            if change.kind == "set":
                back = all(_base(c.value) == name for c in theirs)
                onward = all(
                    c.kind in ("up", "grow") or (c.kind == "set" and _base(c.value) == source)
                    for c in mine
                )
            else:
                back = all(_is_constant(c.value) for c in theirs)
                one_way = ("up", "grow") if change.kind == "grow" else ("down", "shrink")
                onward = all(c.kind in one_way for c in mine)
            if back and onward:
                found.add(source)
    return frozenset(found)


def _base(value: Node | None) -> str:
    """`x` of `x` and of `x + 1`."""
    if type(value) is Operation and value.sign == "+" and type(value.operands[-1]) is Num:
        value = value.operands[0]
    return value.id if type(value) is Name else ""


def _is_constant(value: Node | None) -> bool:
    while type(value) is Assign:  # `a = b = 1`
        value = value.value
    return type(value) is Num


def capped(body: list[Node]) -> list[tuple[str, Node]]:
    """Collections that a loop's body keeps at a length, and the expression that bounds it.

    As in `if len(heap) > k: heappop(heap)` and in `if len(heap) < k: heappush(heap, x)`.
    """
    nodes = walk(body)
    found: list[tuple[str, Node]] = []
    for node in nodes:
        if type(node) is If:
            inside = node.then
        elif type(node) is Loop:
            inside = node.body
        else:
            continue
        for name, sign, bound in _lengths_in(node.test):
            if sign in (">", ">=", "=="):
                kept = name in _used(walk(inside), TAKES)
            else:
                puts = _used(walk(inside), PUTS).count(name)
                kept = 0 < puts == _used(nodes, PUTS).count(name)
            if kept and not names_in(bound) & _assigned(nodes):
                found.append((name, bound))
    return found


def _lengths_in(test: Node | None) -> Iterator[tuple[str, str, Node]]:
    """Comparisons of a collection's length: its name, the sign, and the other side."""
    if type(test) is Operation and test.sign in _MIRRORED and len(test.operands) == 2:
        left, right = test.operands
        if name := _measured(left):
            yield name, test.sign, right
        if name := _measured(right):
            yield name, _MIRRORED[test.sign], left


def _measured(node: Node) -> str:
    """The collection whose length an expression is, or nothing."""
    if type(node) is Call and type(node.callee) is Name:
        single = node.callee.id == "len" and len(node.arguments) == 1
        return key_of(node.arguments[0]) if single else ""
    place = node.callee if type(node) is Call else node
    return key_of(place.owner) if type(place) is Member and place.name in _LENGTHS else ""


def _used(nodes: list[Node], methods: frozenset[str]) -> list[str]:
    """Collections on which one of these is called, as a method or as a function."""
    found: list[str] = []
    for node in nodes:
        if type(node) is not Call:
            continue
        callee = node.callee
        if key_of(callee).lstrip(".") in methods:
            owner = key_of(callee.owner) if type(callee) is Member else ""
            first = key_of(node.arguments[0]) if node.arguments else ""
            found += [name for name in {owner, first} if name]
    return found


def _assigned(nodes: list[Node]) -> set[str]:
    return {name for node in nodes if type(node) is Assign for name, _ in changes_of(node)}
