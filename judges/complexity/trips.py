"""How often a `while` or C `for` loop runs, from how its names change and when it ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from assay.judges.complexity import cost
from assay.judges.complexity.changes import Change, change_of
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.facts import LoopFacts
from assay.judges.complexity.ir import Assign, Call, Index, Loop, Member, Name, Node, Operation
from assay.judges.complexity.sharing import carried
from assay.judges.complexity.traversal import key_of, names_in, walk
from assay.judges.complexity.values import Value
from assay.judges.complexity.worklists import Trips, bisection, emptied, emptying, layer_of

if TYPE_CHECKING:
    from assay.judges.complexity.loops import Loops

_COMPARES = frozenset({"<", "<=", ">", ">=", "!=", "=="})


def trips_of(loop: Loop, facts: LoopFacts, run: Loops) -> Trips:
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


def _indexing(loop: Loop, facts: LoopFacts, run: Loops) -> list[Trips]:
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


def _is_read(change: Change, run: Loops) -> bool:
    """Whether a name gets something from the input, perhaps through a function that reads."""
    if change.kind == "read":
        return True
    return change.value is not None and any(
        type(part) is Call and run.is_reader(key_of(part.callee).lstrip("."))
        for part in walk([change.value])
    )


def _conjuncts(test: Node, holds: bool, facts: LoopFacts, run: Loops) -> list[Trips]:
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


def _atom(test: Node, holds: bool, facts: LoopFacts, run: Loops) -> list[Trips]:
    collection = emptied(test, facts)
    if collection:
        return [emptying(collection, facts, run)]
    names = [name for name in sorted(names_in(test)) if name in facts.changes]
    if not names:
        return []
    if (found := bisection(test, names, facts, run)) is not None:
        return [found]
    names = [name for name in names if name.strip(".")]
    results = [_by_change(test, name, facts, run) for name in names]
    return [trip for trip in results if trip is not None]


def _goes_on(name: str, changes: list[Change], run: Loops) -> bool:
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


def _by_change(test: Node, name: str, facts: LoopFacts, run: Loops) -> Trips | None:
    changes = facts.changes[name]
    kinds = {change.kind for change in changes}
    if kinds <= {"read", "set"} and any(_is_read(change, run) for change in changes):
        lines = any(_reads_line(change) for change in changes)
        if lines:
            return Trips(run.fresh(test, "lines"), "runs over the lines of the input", sure=0.7)
        return Trips(ONE, "reads one token", sure=0.8)
    if (layer := layer_of(name, changes, facts, run)) is not None:
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


def _growing(
    change: Change, name: str, bound: Cost, advancing: str, facts: LoopFacts, run: Loops
) -> Trips:
    return _stepped(change, bound, "counts up to its bound", advancing, facts, run)


def _stepped(
    change: Change, bound: Cost, why: str, advancing: str, facts: LoopFacts, run: Loops
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


def _exponential(value: Node, facts: LoopFacts, run: Loops) -> bool:
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
    run: Loops,
) -> Trips | None:
    size = cost.plus(start, bound)
    if cost.is_constant(size):
        return None
    return Trips(size, "is set anew each time; taken as linear", "", 0.5)


def _chasing(test: Node, name: str, run: Loops) -> Trips:
    """`x = parent[x]` until a root: a union-find is almost constant, a chain is linear."""
    for part in walk([test]):
        if type(part) is Index and name in names_in(part.at):
            return Trips(ONE, "climbs to the root of a union-find tree", sure=0.7)
    return Trips(run.universe(), "follows links", name, 0.6)


def _other_side(test: Node, name: str, run: Loops) -> Cost:
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
