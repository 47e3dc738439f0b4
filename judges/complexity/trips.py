"""How often a `while` or C `for` loop runs, from how its names change and when it ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.judges.complexity import cost
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.facts import Change, LoopFacts, change_of
from assay.judges.complexity.ir import (
    Assign,
    Call,
    ForEach,
    Index,
    Loop,
    Member,
    Name,
    Node,
    Num,
    Operation,
)
from assay.judges.complexity.library import PUTS
from assay.judges.complexity.sharing import carried
from assay.judges.complexity.traversal import key_of, names_in, walk
from assay.judges.complexity.values import Value

if TYPE_CHECKING:
    from assay.judges.complexity.interpreter import Interpreter

_COMPARES = frozenset({"<", "<=", ">", ">=", "!=", "=="})


@dataclass(slots=True)
class Trips:
    """A count of iterations.

    Attributes:
        count: How often the body runs.
        why: For the evidence.
        advancing: A name that only moves on, so that loops around that do not reset it share the
            count; or nothing.
        sure: In [0, 1].
        graph: The loop empties a collection that it also fills.
        layer: The collection of one layer of a search, which a loop inside goes through.
    """

    count: Cost
    why: str
    advancing: str = ""
    sure: float = 1.0
    graph: bool = False
    layer: str = ""


def trips_of(loop: Loop, facts: LoopFacts, run: Interpreter) -> Trips:
    """The trips of a loop, before its body is read."""
    if facts.once:
        return Trips(ONE, "leaves at the end of its first run")
    if not loop.update and any(run.reads_characters(name) for name in facts.calls):
        return Trips(ONE, "reads one token letter by letter", sure=0.9)
    if "fstat" in facts.calls:
        return Trips(ONE, "reads input ahead", sure=0.9)
    found: list[Trips] = []
    for test in facts.tests:
        found.extend(_conjuncts(test, True, facts, run))
    if not found or loop.test is None:
        for test in facts.breaks:
            found.extend(_conjuncts(test, False, facts, run))
    if found and all(cost.degree(trip.count) >= (0.0, 0.5, 0.0) for trip in found):
        found.extend(_indexing(loop, facts, run))
    if found:
        return min(
            found,
            key=lambda trip: (-(trip.sure >= 0.6), cost.degree(trip.count), not trip.advancing),
        )
    if facts.reads:
        if any(c.kind == "read" for changes in facts.changes.values() for c in changes):
            lines = any(_reads_line(c) for cs in facts.changes.values() for c in cs)
            if not lines or loop.test is not None:
                return Trips(ONE, "reads one token", sure=0.8)
        return Trips(run.fresh(loop, "lines"), "runs over the lines of the input", sure=0.7)
    return Trips(run.fresh(loop, "unknown"), "bound not understood, taken as linear", sure=0.4)


def _indexing(loop: Loop, facts: LoopFacts, run: Interpreter) -> list[Trips]:
    """A counter that every run moves on, and that indexes a collection, stays within it."""
    found: list[Trips] = []
    for node in loop.body:
        if type(node) is not Assign or type(node.target) is not Name:
            continue
        name = node.target.id
        if {change.kind for change in facts.changes.get(name, ())} != {"up"}:
            continue
        for part in walk(loop.body):
            if type(part) is Index and type(part.at) is Name and part.at.id == name:
                value = run.quietly(part.owner)
                if value.is_collection and not cost.is_constant(value.size):
                    why = "moves an index on through a collection"
                    found.append(Trips(value.size, why, name, 0.95))
    return found


def _reads_line(change: Change) -> bool:
    value = change.value
    return type(value) is Call and key_of(value.callee).lstrip(".") in (
        "readLine", "readline", "nextLine", "input",
    )  # fmt: skip


def _is_read(change: Change, run: Interpreter) -> bool:
    """Whether a name gets something from the input, perhaps through a function that reads."""
    if change.kind == "read":
        return True
    return change.value is not None and any(
        type(part) is Call and run.is_reader(key_of(part.callee).lstrip("."))
        for part in walk([change.value])
    )


def _conjuncts(test: Node, holds: bool, facts: LoopFacts, run: Interpreter) -> list[Trips]:
    """Bounds from a condition that must hold (or fail) for the loop to go on."""
    if type(test) is Operation:
        if test.sign == "not":
            return _conjuncts(test.operands[0], not holds, facts, run)
        if test.sign in ("and", "or"):
            parts = [_conjuncts(part, holds, facts, run) for part in test.operands]
            if (test.sign == "and") == holds:
                return [trip for part in parts for trip in part]
            if not all(parts):
                return [trip for part in parts for trip in part if trip.sure < 0.6]
            best = [min(part, key=lambda trip: cost.degree(trip.count)) for part in parts]
            total = ONE
            for trip in best:
                total = cost.plus(total, trip.count)
            return [Trips(total, best[0].why, "", min(trip.sure for trip in best))]
    return _atom(test, holds, facts, run)


def _atom(test: Node, holds: bool, facts: LoopFacts, run: Interpreter) -> list[Trips]:
    collection = _emptied(test, facts)
    if collection:
        return [_emptying(collection, facts, run)]
    names = [name for name in sorted(names_in(test)) if name in facts.changes]
    if not names:
        return []
    if (found := _bisection(test, names, facts, run)) is not None:
        return [found]
    names = [name for name in names if name.strip(".")]
    results = [_by_change(test, name, facts, run) for name in names]
    return [trip for trip in results if trip is not None]


def _emptied(test: Node, facts: LoopFacts) -> str:
    """The collection whose size a condition tests and that the body takes from."""
    for part in walk([test]):
        name = key_of(part)
        if name and name in facts.takes:
            return name
    return ""


def _emptying(name: str, facts: LoopFacts, run: Interpreter) -> Trips:
    value = run.lookup(name)
    size = value.size if value is not None and value.is_collection else ONE
    if name not in facts.puts:
        if value is None or cost.is_constant(size):
            size = run.universe()
        return Trips(size, "takes from a collection until it is empty", name)
    return Trips(
        cost.plus(run.universe(), size), "visits what it puts in a queue or stack", name, 0.8, True
    )


def _bisection(test: Node, names: list[str], facts: LoopFacts, run: Interpreter) -> Trips | None:
    """Two ends of which one is set to what lies half-way between them."""
    halves: set[str] = set()
    for name, changes in facts.changes.items():
        for change in changes:
            value = change.value
            if value is None or change.kind not in ("set", "div", "grow"):
                continue
            for part in walk([value]):
                if type(part) is Operation and part.sign in ("/", "//", ">>", "*"):
                    inside = names_in(part)
                    if len(inside & facts.changes.keys()) >= 2 and _halves(part):
                        halves.add(name)
    if not halves:
        return None
    ends = [
        name
        for name in names
        if any(
            c.value is not None and (names_in(c.value) & halves or name in halves)
            for c in facts.changes[name]
        )
    ]
    if not ends:
        return None
    size = ONE
    for name in names:
        if (end := run.lookup(name)) is not None:
            size = cost.plus(size, end.size)
    for part in walk([test]):
        if type(part) is Name and (end := run.lookup(part.id)) is not None:
            size = cost.plus(size, end.size)
    if cost.is_constant(size):
        return Trips(run.bisected(size), "halves a range of numbers", sure=0.8)
    return Trips(cost.log(size), "halves a range")


def _halves(part: Operation) -> bool:
    right = part.operands[-1]
    value = right.value if type(right) is Num else None
    if part.sign == ">>":
        return value == 1
    return value in (2, 3, 0.5)


def _goes_on(name: str, changes: list[Change], run: Interpreter) -> bool:
    """Whether a counter is only set to where a sweep inside the loop has come."""
    if run.reading_loop is None or any(
        change.kind not in ("set", "up", "grow") for change in changes
    ):
        return False
    shared = carried(run.reading_loop.body)
    return any(change.kind == "set" for change in changes) and all(
        change.kind != "set" or key_of(_first(change.value)) in shared for change in changes
    )


def _first(value: Node | None) -> Node | None:
    return value.operands[0] if type(value) is Operation else value


_RANK = {
    "mul": 5, "div": 5, "and": 5, "mod": 5, "grow": 3, "shrink": 3, "up": 2, "down": 2,
    "chase": 1, "set": 0, "read": 0,
}  # fmt: skip


def _by_change(test: Node, name: str, facts: LoopFacts, run: Interpreter) -> Trips | None:
    changes = facts.changes[name]
    kinds = {change.kind for change in changes}
    if kinds <= {"read", "set"} and any(_is_read(change, run) for change in changes):
        lines = any(_reads_line(change) for change in changes)
        if lines:
            return Trips(run.fresh(test, "lines"), "runs over the lines of the input", sure=0.7)
        return Trips(ONE, "reads one token", sure=0.8)
    if (layer := _layer(name, changes, facts, run)) is not None:
        return layer
    if _goes_on(name, changes, run):
        return Trips(_other_side(test, name, run), "goes on where an inner loop stopped", name)
    changes = [_resolved(change, name, facts) for change in changes]
    kinds = {change.kind for change in changes}
    initial = run.lookup(name)
    start = initial.size if initial is not None else ONE
    bound = _other_side(test, name, run)
    steady = [c for c in changes if c.kind not in ("set", "read")]
    if not steady:
        return _by_setting(test, name, changes, start, bound, run)
    best = min(steady, key=lambda c: -_RANK[c.kind])
    always = len(steady) == len(changes)
    advancing = name if always else ""
    if best.kind in ("up", "grow") and {"down", "shrink"} & kinds:
        return Trips(cost.plus(start, bound), "steps both ways", sure=0.5)
    if best.kind in ("mul",):
        size = bound if not cost.is_constant(bound) else ONE
        return Trips(cost.log(size), "multiplies up to its bound", advancing)
    if best.kind == "div":
        size = start
        if cost.is_constant(size) and initial is not None and initial.kind == "any":
            size = run.fresh(test, "number")
        return Trips(cost.log(size), "divides down", advancing)
    if best.kind in ("mod", "and"):
        size = cost.plus(start, bound)
        return Trips(cost.log(size), "drops bits or takes remainders", advancing)
    equality = type(test) is Operation and test.sign in ("==", "!=")
    if best.kind in ("up", "grow") and equality and cost.is_constant(bound):
        return None  # leaving at a special value bounds nothing
    if best.kind in ("up", "grow"):
        return _growing(best, name, bound, advancing, facts, run)
    if best.kind in ("down", "shrink"):
        size = start if not cost.is_constant(start) else ONE
        return _stepped(best, size, "counts down", advancing, facts, run)
    if best.kind == "chase":
        return _chasing(test, name, run)
    return None


def _resolved(change: Change, name: str, facts: LoopFacts) -> Change:
    """`y = 2 * x; x = y` read as `x *= 2`."""
    if change.kind == "set" and type(change.value) is Name:
        for other in facts.changes.get(change.value.id, ()):
            if other.kind == "mod":
                return other
            if other.kind == "set" and other.value is not None:
                return change_of(Assign(Name(name, 0), other.value, 0), name, other.value)
    return change


def _passes(part: Node, name: str, following: Sequence[Node | None]) -> bool:
    """Whether a loop over a collection puts its own elements into the one that follows it."""
    return (
        type(part) is ForEach
        and key_of(part.over) == name
        and any(
            type(call) is Call
            and type(call.callee) is Member
            and call.callee.name in PUTS
            and key_of(call.callee.owner) in {key_of(one) for one in following}
            and bool(call.arguments)
            and key_of(call.arguments[0]) in names_in(part.target)
            for call in walk(part.body)
        )
    )


def _layer(name: str, changes: list[Change], facts: LoopFacts, run: Interpreter) -> Trips | None:
    """`while layer: following = []; for x in layer: ...; layer = following`."""
    values = [c.value for c in changes]
    if not all(type(v) is Name and v.id in facts.puts for v in values):
        return None
    value = run.lookup(name)
    if value is None or not value.is_collection:
        return None
    body = run.reading_loop.body if run.reading_loop is not None else []
    if any(_passes(part, name, values) for part in walk(body)):
        size = value.size if not cost.is_constant(value.size) else run.universe()
        return Trips(size, "goes through what is left", "", 0.7)
    size = cost.plus(run.universe(), value.size)
    return Trips(size, "visits layer by layer", "", 0.8, True, name)


def _growing(
    change: Change, name: str, bound: Cost, advancing: str, facts: LoopFacts, run: Interpreter
) -> Trips:
    return _stepped(change, bound, "counts up to its bound", advancing, facts, run)


def _stepped(
    change: Change, bound: Cost, why: str, advancing: str, facts: LoopFacts, run: Interpreter
) -> Trips:
    if change.kind in ("grow", "shrink") and change.value is not None:
        indexed = {n for p in walk([change.value]) if type(p) is Index for n in names_in(p)}
        stepping = [n for n in names_in(change.value) - indexed if n in facts.changes]
        kinds = {c.kind for n in stepping for c in facts.changes[n]}
        if _exponential(change.value, facts, run):
            return Trips(cost.log(bound), f"{why} by steps that grow exponentially", advancing)
        if "mul" in kinds:
            return Trips(cost.log(bound), f"{why} by steps that double", advancing)
        if kinds and kinds <= {"up", "grow"}:
            return Trips(cost.root(bound, 2.0), f"{why} by growing steps", advancing)
        if not stepping:
            relative = run.harmonic(change.value, bound)
            if relative is not None:
                return Trips(relative, f"{why} by the step of an outer loop (harmonic)")
    return Trips(bound, why, advancing)


def _exponential(value: Node, facts: LoopFacts, run: Interpreter) -> bool:
    """Whether a step holds a counter of the loop in an exponent, perhaps through a local."""
    values = [value]
    for name in names_in(value):
        values.extend(c.value for c in facts.changes.get(name, ()) if c.value is not None)
    counters = [n for n, cs in facts.changes.items() if any(c.kind == "up" for c in cs)]
    return any(run.power_of(part, name) == math.inf for part in values for name in counters)


def _by_setting(
    test: Node,
    name: str,
    changes: list[Change],
    start: Cost,
    bound: Cost,
    run: Interpreter,
) -> Trips | None:
    size = cost.plus(start, bound)
    if cost.is_constant(size):
        return None
    return Trips(size, "is set anew each time; taken as linear", "", 0.5)


def _chasing(test: Node, name: str, run: Interpreter) -> Trips:
    """`x = parent[x]` until a root: a union-find is almost constant, a chain is linear."""
    for part in walk([test]):
        if type(part) is Index and name in names_in(part.at):
            return Trips(ONE, "climbs to the root of a union-find tree", sure=0.7)
    return Trips(run.universe(), "follows links", name, 0.6)


def _other_side(test: Node, name: str, run: Interpreter) -> Cost:
    """What bounds a name in a comparison, with roots and logarithms undone."""
    if type(test) is not Operation or test.sign not in _COMPARES or len(test.operands) != 2:
        return run.reach(test, name)
    left, right = test.operands
    in_left, in_right = name in names_in(left), name in names_in(right)
    mine, other = (left, right) if in_left else (right, left)
    if in_left and in_right:
        return run.quietly(other).size
    value = run.quietly(other)
    bound = value.size
    if type(mine) is Name and mine.id == name:
        return bound
    if any(type(p) is Index and name in names_in(p.at) for p in walk([mine])):
        return run.reach(mine, name)
    power = run.power_of(mine, name)
    if power == math.inf:
        return cost.log(bound)
    if power > 1:
        return cost.root(bound, power)
    if cost.is_constant(bound):
        for inner in walk([mine]):
            if type(inner) in (Name, Member) and key_of(inner) != name:
                found: Value | None = run.lookup(key_of(inner))
                if found is not None and found.kind == "num":
                    bound = cost.plus(bound, found.size)
    return bound
