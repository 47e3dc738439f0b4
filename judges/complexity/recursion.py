"""The cost of a recursive function from one run of its body and the calls to itself in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.judges.complexity import cost
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.facts import FunctionFacts, function_facts
from assay.judges.complexity.ir import (
    Assign,
    Function,
    Index,
    Member,
    Name,
    Node,
    Num,
    Operation,
    Slice,
)
from assay.judges.complexity.library import CACHES
from assay.judges.complexity.traversal import key_of, names_in, walk
from assay.judges.complexity.values import Value

if TYPE_CHECKING:
    from assay.judges.complexity.inputs import Inputs

Path = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Again:
    """A call of a function to itself: how often it happens in one run, and with what."""

    multiple: Cost
    arguments: list[Node]
    path: Path
    row: Cost | None = None  # the call passes on a neighbour; this many neighbours in all


@dataclass(slots=True)
class Frame:
    """A call that is being read."""

    function: Function
    arguments: list[Value]
    again: list[Again] = field(default_factory=list)
    shared: Cost = frozenset()


@dataclass(slots=True)
class Solution:
    """Total cost of a recursion and why."""

    total: Cost
    why: str
    sure: float = 1.0
    tables: frozenset[str] = frozenset()


def solve(frame: Frame, local: Cost, run: Inputs) -> Solution:
    """The total cost over all calls."""
    function = frame.function
    facts = function_facts(function)
    if facts.reads and not any(again.arguments for again in frame.again):
        return Solution(local, "tries to read once more", 0.9)
    if frame.again and all(_passes_on(function, again) for again in frame.again):
        return Solution(local, "passes its own arguments on", 0.8)
    turned = [again for again in frame.again if _turns(function, again)]
    if len(turned) < len(frame.again):  # those that only swap arguments lead nowhere by themselves
        frame.again = [again for again in frame.again if again not in turned]
    kinds = [_kind(function, again) for again in frame.again]
    calls, looped = _most(frame.again)
    kept = _kept(function, facts)
    if any(name in CACHES for name in function.decorators) or kept == "memo":
        states = _states(frame, facts, run, kinds)
        tables = frozenset(name for name, *_ in facts.stores) & facts.tables
        total = cost.times(states, local)
        return Solution(total, "keeps results: states times work in one", 0.85, tables)
    rows = [again.row for again in frame.again if again.row is not None]
    if kept == "visited" or (rows and kept != "backtracking"):
        states = _visited(facts, run)
        for row in rows:
            states = cost.plus(states, row)
        tables = frozenset(name for name, *_ in facts.stores) & facts.tables
        total = cost.plus(cost.times(states, local), frame.shared)
        return Solution(total, "visits each state once", 0.85, tables)
    size = _size(frame, facts, run, kinds)
    if kinds and all(kind in ("half", "split") for kind in kinds) and not looped:
        return _divided(max(calls, 1), size, local)
    if kinds and all(kind == "child" for kind in kinds):
        return Solution(cost.times(run.universe(), local), "visits a tree")
    if "mul" in kinds and not looped:
        depth = cost.log(size)
        total = depth if calls <= 1 else cost.exponential(depth)
        return Solution(cost.times(total, local), "argument multiplies", 0.8)
    if looped:
        return Solution(
            cost.times(cost.exponential(size, "!" if kept == "backtracking" else "^"), local),
            "calls itself in a loop without keeping results",
            0.7,
        )
    if calls <= 1:
        sure = 0.9 if "step" in kinds else 0.6
        return Solution(cost.times(size, local), "one call with a smaller argument", sure)
    if "half" in kinds:
        return _divided(calls, size, local)
    return Solution(
        cost.times(cost.exponential(size), local), f"branches {calls} ways at every step", 0.8
    )


def _passes_on(function: Function, again: Again) -> bool:
    """Whether a call has the very same arguments, as to another object's method."""
    names = [key_of(a) if type(a) is Name else "" for a in again.arguments]
    return bool(names) and names == function.parameters[: len(names)]


def _turns(function: Function, again: Again) -> bool:
    """Whether a call has the same arguments in another order, as Euclid's where a < b."""
    names = [key_of(a) if type(a) is Name else "" for a in again.arguments]
    mine = function.parameters[: len(names)]
    return names != mine and sorted(names) == sorted(mine) and cost.is_constant(again.multiple)


def _divided(calls: int, size: Cost, local: Cost) -> Solution:
    """Master theorem for `calls` parts of half the size."""
    exponent = math.log2(calls)
    branching = ONE
    if calls == 2:
        branching = size
    elif calls > 2:
        branching = cost.root(size, 1.0 / exponent)
    power = cost.degree(local)[1] + cost.degree(local)[2] * 0.01
    single = cost.degree(size)[1] or 1.0
    why = f"divides in halves, {calls} call{'s' if calls > 1 else ''}"
    if power < exponent * single - 1e-6:
        return Solution(branching, why)
    if abs(cost.degree(local)[1] - exponent * single) < 1e-6:
        return Solution(cost.times(cost.plus(local, branching), cost.log(size)), why)
    return Solution(local, why)


def _most(calls: list[Again]) -> tuple[int, bool]:
    """The most calls that one run can make, and whether any is in a loop that grows."""
    looped = any(not cost.is_constant(again.multiple) for again in calls)
    best = 0
    paths = [dict(again.path) for again in calls[:10]]
    for first in range(len(paths)):
        chosen = [paths[first]]
        for other in range(len(paths)):
            if other != first and all(_together(paths[other], path) for path in chosen):
                chosen.append(paths[other])
        best = max(best, len(chosen))
    return best + max(len(calls) - 10, 0), looped


def _together(left: dict[int, int], right: dict[int, int]) -> bool:
    return all(right.get(branch, side) == side for branch, side in left.items())


def _kept(function: Function, facts: FunctionFacts) -> str:
    """Whether a table that is tested is also written: memo, visited, backtracking or nothing."""
    calls = [
        position for position, node in enumerate(walk(function.body)) if _calls(node, function.name)
    ]
    if not calls or not facts.stores:
        return ""
    tested = {name for name, *_ in facts.stores} & facts.tables
    if not tested and not any(name in facts.tables for name, *_ in facts.stores):
        return ""
    before = [s for s in facts.stores if s[3] < calls[0] and s[0] in tested]
    after = [s for s in facts.stores if s[3] >= calls[0] and s[0] in tested]
    undone = [s for s in after if type(s[2]) is Num and not s[2].value]
    removed = {"remove", "discard", "pop", "delete", "erase"} & facts.calls
    if before and (undone or (removed and any(s[2] is None for s in before))):
        return "backtracking"
    if before:
        return "visited"
    return "memo" if after else ""


def _calls(node: Node, name: str) -> bool:
    from assay.judges.complexity.ir import Call

    return type(node) is Call and key_of(node.callee).lstrip(".") == name


def _kind(function: Function, again: Again) -> str:
    """How the arguments of a call differ from the parameters."""
    halves = _half_names(function)
    kinds: list[str] = []
    parameters = function.parameters
    for position, argument in enumerate(again.arguments):
        mine = parameters[position] if position < len(parameters) else ""
        kinds.append(_argument_kind(argument, mine, set(parameters), halves))
    for kind in ("half", "child", "mul", "step"):
        if kind in kinds:
            return kind
    if _splits(function, again):
        return "split"
    return "other"


def _argument_kind(argument: Node, mine: str, parameters: set[str], halves: set[str]) -> str:
    if type(argument) is Name:
        return "half" if argument.id in halves else "same" if argument.id == mine else "other"
    names = names_in(argument)
    if names & halves:
        return "half"
    if type(argument) is Member and key_of(argument.owner) in parameters:
        return "child"
    if type(argument) is Slice:
        return "step" if key_of(argument) in parameters or names & parameters else "other"
    if type(argument) is Operation and names & parameters:
        if argument.sign == "%" and type(argument.operands[-1]) is Num:
            return "other"
        if argument.sign in ("/", "//", ">>", "%"):
            return "half"
        if any(type(p) is Operation and p.sign in ("/", "//", ">>") for p in walk([argument])):
            return "half"
        if argument.sign in ("+", "-"):
            if any(type(p) is Operation and p.sign in ("*", "<<") for p in argument.operands):
                return "mul"
            return "step"
        if argument.sign in ("*", "<<"):
            return "mul"
    return "other"


def _half_names(function: Function) -> set[str]:
    """Locals that are set to half of something."""
    found: set[str] = set()
    for node in walk(function.body):
        if type(node) is Assign and type(node.target) is Name and node.value is not None:
            for part in walk([node.value]):
                if type(part) is Operation and part.sign in ("/", "//", ">>", "%"):
                    right = part.operands[-1]
                    if type(right) is Num and right.value in (1, 2, 3, 10):
                        found.add(node.target.id)
                elif type(part) is Slice and names_in(part) & found:
                    found.add(node.target.id)
            if node.sign in ("/", "//", ">>", "%"):
                found.add(node.target.id)
    return found


def _splits(function: Function, again: Again) -> bool:
    """Quick sort: collections or ends that are made in the function go on."""
    local = {
        node.target.id
        for node in walk(function.body)
        if type(node) is Assign and type(node.target) is Name
    } - set(function.parameters)
    used = {name for argument in again.arguments for name in names_in(argument)}
    return bool(used & local)


def _size(frame: Frame, facts: FunctionFacts, run: Inputs, kinds: list[str]) -> Cost:
    """What the recursion runs down: sizes of arguments that change, else bounds in its tests."""
    size = ONE
    for position, value in enumerate(frame.arguments):
        known = position < len(frame.function.parameters)
        sized = value.kind in ("num", "any") or value.is_collection
        if known and sized and _changes(frame, position):
            size = cost.plus(size, value.size)
    if cost.is_constant(size):
        for guard in _guarding(frame, facts, range(len(frame.arguments))):
            size = cost.plus(size, _other_size(guard, frame, run))
    known = any(v.kind == "num" and v.number is not None for v in frame.arguments)
    if cost.is_constant(size) and not (known and facts.guards):
        return run.universe()
    return size


def _changes(frame: Frame, position: int) -> bool:
    mine = frame.function.parameters[position]
    return any(
        position < len(again.arguments)
        and not (
            type(again.arguments[position]) is Name and key_of(again.arguments[position]) == mine
        )
        for again in frame.again
    )


def _guarding(frame: Frame, facts: FunctionFacts, positions: range) -> list[Operation]:
    names = {
        frame.function.parameters[p]
        for p in positions
        if p < len(frame.function.parameters) and _changes(frame, p)
    }
    return [g for g in facts.guards if type(g) is Operation and names_in(g) & names]


def _other_size(guard: Node, frame: Frame, run: Inputs) -> Cost:
    size = ONE
    for name in names_in(guard) - set(frame.function.parameters):
        value = run.lookup(name)
        if value is not None and (value.kind in ("num", "any") or value.is_collection):
            size = cost.plus(size, value.size)
    for position, name in enumerate(frame.function.parameters):
        if name in names_in(guard) and not _changes(frame, position):
            value = frame.arguments[position] if position < len(frame.arguments) else None
            if value is not None:
                size = cost.plus(size, value.size)
    return size


def _states(frame: Frame, facts: FunctionFacts, run: Inputs, kinds: list[str]) -> Cost:
    """Different arguments: the product of the sizes of those that change."""
    if kinds and all(kind == "half" for kind in kinds):
        return cost.log(_size(frame, facts, run, kinds))
    states = ONE
    for position, value in enumerate(frame.arguments):
        if position >= len(frame.function.parameters) or not _changes(frame, position):
            continue
        size = value.size if value.kind in ("num", "any") else ONE
        if cost.is_constant(size):
            for guard in _guarding(frame, facts, range(position, position + 1)):
                size = cost.plus(size, _other_size(guard, frame, run))
            for again in frame.again if cost.is_constant(size) else ():
                if position < len(again.arguments):  # where it goes from a constant start
                    size = cost.plus(size, run.size_of(again.arguments[position]))
            if cost.is_constant(size) and value.number is None:
                size = run.universe()
        states = cost.times(states, size)
    return states if not cost.is_constant(states) else run.universe()


def _visited(facts: FunctionFacts, run: Inputs) -> Cost:
    """Size of the smallest table that marks what has been visited."""
    found: list[Cost] = []
    dimensions = 1
    for _, target, _, _ in facts.stores:
        if isinstance(target, Index):
            found.extend(run.tables_in(target))
            depth, owner = 1, target.owner
            while isinstance(owner, Index):
                depth, owner = depth + 1, owner.owner
            dimensions = max(dimensions, depth)
    growing = [size for size in found if not cost.is_constant(size)]
    if growing:
        return min(growing, key=cost.degree)
    states = ONE
    for _ in range(min(dimensions, 4)):
        states = cost.times(states, run.largest_table())
    return states
