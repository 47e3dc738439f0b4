"""What the text of a loop or function says by itself: how its names change, where it may end."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.judges.complexity.changes import Change, changes_of, is_rounding, pairs_of
from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    ForEach,
    Function,
    If,
    Index,
    Jump,
    Loop,
    Member,
    Name,
    Node,
    Num,
    Operation,
)
from assay.judges.complexity.library import PUTS, READS, TAKES
from assay.judges.complexity.traversal import key_of, names_in, walk

_SMALL = 100  # bounds up to this do not grow with the input
_SILENT = frozenset({Name, Num, Operation, Index, Member})  # most nodes; none of them acts


@dataclass(slots=True)
class LoopFacts:
    """Changes by name, and conditions under which the loop goes on."""

    changes: dict[str, list[Change]] = field(default_factory=dict)
    tests: list[Node] = field(default_factory=list)
    breaks: list[Node] = field(default_factory=list)
    takes: set[str] = field(default_factory=set)
    puts: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    once: bool = False
    reads: bool = False


def loop_facts(loop: Loop) -> LoopFacts:
    """Facts of a `while` or C `for`."""
    facts = LoopFacts()
    if loop.test is not None:
        facts.tests.append(loop.test)
        _note(walk([loop.test]), facts)
    _note(walk([*loop.body, *loop.update]), facts)
    _find_breaks(loop.body, facts, [])
    facts.once = ends_at_once(loop.body)
    for name, changes in facts.changes.items():
        facts.changes[name] = [_as_remainder(change, name, facts) for change in changes]
    return facts


def _as_remainder(change: Change, name: str, facts: LoopFacts) -> Change:
    """`a - a // b * b` is `a % b`; the quotient may have been put in a name."""
    value, start = change.value, name
    if change.kind == "set" and type(value) is Operation and value.sign == "-":
        if len(value.operands) == 2:
            start, value = key_of(value.operands[0]), value.operands[1]
    elif change.kind != "shrink":
        return change
    if not start or type(value) is not Operation or value.sign != "*" or len(value.operands) != 2:
        return change
    for quotient, divisor in (value.operands, value.operands[::-1]):
        for whole in _values_of(quotient, facts):
            above, below = whole.operands
            if key_of(above) == start and key_of(below) == key_of(divisor) != "":
                return Change("mod", divisor)
    return change


def _values_of(node: Node, facts: LoopFacts) -> list[Operation]:
    """The quotients that an expression is, or that the loop gives to the name that it is."""
    nodes: list[Node | None] = [node]
    if type(node) is Name:
        nodes = [change.value for change in facts.changes.get(node.id, ())]
    found: list[Operation] = []
    for inner in nodes:
        while type(inner) is Call and len(inner.arguments) == 1 and is_rounding(inner.callee):
            inner = inner.arguments[0]
        if type(inner) is Operation and inner.sign in ("/", "//") and len(inner.operands) == 2:
            found.append(inner)
    return found


def ends_at_once(body: list[Node]) -> bool:
    """Whether the last statement of a loop's body always leaves the loop."""
    last = body[-1] if body else None
    if type(last) is not Jump or last.kind not in ("break", "return", "throw"):
        return False
    return not any(type(n) is Jump and n.kind == "continue" for n in walk(body))


def assigned(nodes: list[Node]) -> set[str]:
    """Names that statements set anew rather than advance."""
    found: set[str] = set()
    for node in walk(nodes):
        if type(node) is Assign:
            for name, change in changes_of(node):
                if change.kind in ("set", "read"):
                    found.add(name)
        elif type(node) is ForEach:
            found |= names_in(node.target)
        elif type(node) is Call:
            name = key_of(node.callee).lstrip(".")
            if name in ("fill", "memset", "assign", "clear") and type(node.callee) is Member:
                found.add(key_of(node.callee.owner))
            if name in ("fill", "memset") and node.arguments:
                found.add(key_of(node.arguments[0]))
    return found


def _note(nodes: list[Node], facts: LoopFacts) -> None:
    for node in nodes:
        if type(node) in _SILENT:
            continue
        if type(node) is Assign:
            for name, change in changes_of(node):
                facts.changes.setdefault(name, []).append(change)
                facts.reads |= change.kind == "read"
        elif type(node) is ForEach:
            for name in names_in(node.target):
                facts.changes.setdefault(name, []).append(Change("set"))
        elif type(node) is Call:
            _note_call(node, facts)


def _note_call(call: Call, facts: LoopFacts) -> None:
    callee = call.callee
    facts.calls.add(key_of(callee).lstrip("."))
    if type(callee) is Member:
        owner = key_of(callee.owner)
        if callee.name in TAKES:
            facts.takes.add(owner)
            if call.arguments:
                facts.takes.add(key_of(call.arguments[0]))  # heapq.heappop(heap)
        if callee.name in PUTS:
            facts.puts.add(owner)
            if call.arguments:
                facts.puts.add(key_of(call.arguments[0]))
        facts.reads |= callee.name in READS
    elif type(callee) is Name:
        if callee.id in TAKES and call.arguments:
            facts.takes.add(key_of(call.arguments[0]))
        if callee.id in PUTS and call.arguments:
            facts.puts.add(key_of(call.arguments[0]))
        facts.reads |= callee.id in READS


def _find_breaks(body: list[Node], facts: LoopFacts, path: list[Node]) -> None:
    """Conditions of `if ...: break` in this loop, not in loops inside it."""
    for node in body:
        if type(node) is If:
            if any(type(n) is Jump and n.kind in ("break", "return", "throw") for n in node.then):
                facts.breaks.append(node.test)
            elif any(type(n) is Jump and n.kind in ("break", "return") for n in node.other):
                facts.tests.append(node.test)
            _find_breaks([*node.then, *node.other], facts, path)
        elif type(node) is Block:
            _find_breaks(node.items, facts, path)


def small_in(test: Node) -> tuple[str, bool, bool]:
    """A name that a test compares with a small constant; whether it is small if so, and if not."""
    if type(test) is Operation and len(test.operands) == 2:
        left, right = test.operands
        bound = right.value if type(right) is Num else None
        if type(left) is Name and bound is not None and abs(bound) <= _SMALL:
            return left.id, test.sign in ("<", "<=", "=="), test.sign in (">", ">=", "!=")
    return "", False, False


def marked_tables(body: list[Node]) -> set[str]:
    """Collections that a loop's body both tests and marks, as a visit does."""
    tested: set[str] = set()
    stored: set[str] = set()
    for node in walk(body):
        if type(node) is If:
            for part in walk([node.test]):
                if type(part) is Index:
                    tested.add(key_of(part))
                elif type(part) is Operation and part.sign in ("in", "not in"):
                    tested.add(key_of(part.operands[1]))
        elif type(node) is Assign:
            stored |= {key_of(target) for target, _ in pairs_of(node) if type(target) is Index}
        elif type(node) is Call and type(node.callee) is Member and node.callee.name == "add":
            stored.add(key_of(node.callee.owner))
    return tested & stored


@dataclass(slots=True)
class FunctionFacts:
    """Facts of a function's text."""

    calls: set[str]
    reads: bool
    stores: list[tuple[str, Node, Node | None, int]]  # table, index, value, position
    tables: set[str]  # collections tested in conditions with a parameter in their index
    guards: list[Node]  # comparisons of parameters
    loops: bool


def function_facts(function: Function) -> FunctionFacts:
    """Facts of a function, found once."""
    if isinstance(function.facts, FunctionFacts):
        return function.facts
    nodes = walk(function.body)
    facts = FunctionFacts(set(), False, [], set(), [], False)
    derived = set(function.parameters)
    for position, node in enumerate(nodes):
        if type(node) in _SILENT:
            continue
        if type(node) is Call:
            name = key_of(node.callee).lstrip(".")
            facts.calls.add(name)
            facts.reads |= name in READS
            if name in ("add", "append", "put", "set", "insert") and type(node.callee) is Member:
                for argument in node.arguments[:1]:
                    if names_in(argument) & derived:
                        owner = key_of(node.callee.owner)
                        facts.stores.append((owner, argument, None, position))
        elif type(node) is Assign:
            for target, value in pairs_of(node):
                if type(target) is Index and names_in(target) & derived:
                    facts.stores.append((key_of(target), target, value, position))
                elif type(target) is Name and value is not None and names_in(value) & derived:
                    derived.add(target.id)
        elif type(node) is If:
            _guards(node.test, derived, facts)
        elif type(node) is ForEach:
            facts.loops = True
            derived |= names_in(node.target)
        elif type(node) is Loop:
            facts.loops = True
            derived |= {key_of(s.target) for s in node.start if type(s) is Assign}
            if node.test is not None:
                _guards(node.test, derived, facts)
    function.facts = facts
    return facts


def _guards(test: Node, derived: set[str], facts: FunctionFacts) -> None:
    for part in walk([test]):
        if type(part) is Index and names_in(part.at) & derived:
            facts.tables.add(key_of(part))
        elif type(part) is Operation and part.sign in ("in", "not in"):
            if names_in(part.operands[0]) & derived:
                facts.tables.add(key_of(part.operands[1]))
        elif type(part) is Call and type(part.callee) is Member:
            if part.callee.name in ("contains", "containsKey", "has", "count", "get", "find"):
                facts.tables.add(key_of(part.callee.owner))
        elif type(part) is Operation and len(part.operands) == 2:
            facts.guards.append(part)
