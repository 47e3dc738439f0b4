"""Loops that run until something is used up: a queue, a layer of a search, a range in halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.judges.complexity import cost
from assay.judges.complexity.changes import Change
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.facts import LoopFacts
from assay.judges.complexity.ir import Call, ForEach, Member, Name, Node, Num, Operation
from assay.judges.complexity.library import PUTS
from assay.judges.complexity.traversal import key_of, names_in, walk

if TYPE_CHECKING:
    from assay.judges.complexity.loops import Loops


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


def emptied(test: Node, facts: LoopFacts) -> str:
    """The collection whose size a condition tests and that the body takes from."""
    for part in walk([test]):
        name = key_of(part)
        if name and name in facts.takes:
            return name
    return ""


def emptying(name: str, facts: LoopFacts, run: Loops) -> Trips:
    """Trips of a loop that takes from a collection until nothing is left."""
    value = run.lookup(name)
    size = value.size if value is not None and value.is_collection else ONE
    if name not in facts.puts:
        if value is None or cost.is_constant(size):
            size = run.universe()
        return Trips(size, "takes from a collection until it is empty", name)
    return Trips(
        cost.plus(run.universe(), size), "visits what it puts in a queue or stack", name, 0.8, True
    )


def layer_of(name: str, changes: list[Change], facts: LoopFacts, run: Loops) -> Trips | None:
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


def bisection(test: Node, names: list[str], facts: LoopFacts, run: Loops) -> Trips | None:
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
