"""Reads loops: what they contain is multiplied by how often they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assay.judges.complexity import cost
from assay.judges.complexity.cost import ONE, ZERO, Cost
from assay.judges.complexity.expressions import Expressions
from assay.judges.complexity.facts import (
    LoopFacts,
    assigned,
    ends_at_once,
    function_facts,
    loop_facts,
    marked_tables,
)
from assay.judges.complexity.ir import (
    Assign,
    Call,
    ForEach,
    Function,
    Index,
    Items,
    Loop,
    Member,
    Name,
    Node,
    Operation,
)
from assay.judges.complexity.library import PUTS, READS
from assay.judges.complexity.sharing import capped, carried
from assay.judges.complexity.traversal import key_of, names_in, walk
from assay.judges.complexity.trips import trips_of
from assay.judges.complexity.values import Value
from assay.judges.complexity.worklists import Trips


class _OpenLoop:
    """A loop that is being read."""

    __slots__ = ("before", "carried", "count", "resets", "targets")

    def __init__(
        self,
        before: Cost,
        count: Cost,
        resets: set[str],
        targets: frozenset[str],
        carried: frozenset[str],
    ) -> None:
        self.before = before  # how often the loop as a whole runs within its function
        self.count = count
        self.resets = resets
        self.targets = targets
        self.carried = carried  # counters that an inner loop moves on over all runs together


class Loops(Expressions):
    """Loops of every kind; statements are read by the interpreter."""

    if TYPE_CHECKING:

        def read(self, nodes: list[Node]) -> None: ...  # noqa: D102

    def on_for_each(self, node: ForEach) -> None:
        """A loop over a collection."""
        over = self.value(node.over)
        count, element = self.iteration(over, node.over)
        if ends_at_once(node.body):
            count = ONE
        if type(node.over) is Name and node.over.id in self.layers:
            count = ONE  # the loop around counts what all layers hold together
        is_test = over.kind == "range" and self.is_test_loop(node, over, count)
        why = "runs over its range" if over.kind == "range" else "runs over a collection"
        trips = Trips(count, why)
        targets = names_in(node.target)
        with self.open_loop(trips, node.body, targets, over, node.line, is_test):
            self.bind(node.target, element, fresh=True)
            if over.ragged or type(node.over) is Index or over.kind == "any":
                self.rows.append((targets, over.size))
                self.read(node.body)
                self.rows.pop()
            else:
                self.read(node.body)

    def on_loop(self, node: Loop) -> None:
        """A `while` or C `for`."""
        for part in node.start:
            self.statement(part)
        facts = self.facts_of(node)
        outer_loop, self.reading_loop = self.reading_loop, node
        trips = trips_of(node, facts, self)
        self.reading_loop = outer_loop
        if trips.sure < 0.99:
            self.doubts.append(trips.sure)
        is_test = self.is_test_loop(node, None, trips.count)
        over = self.row_of(node.test)
        targets = frozenset(key_of(s.target) for s in node.start if type(s) is Assign)
        body = [*node.body, *node.update]
        before = {name: self.lookup(name) for name in facts.changes}
        if trips.layer:
            self.layers.add(trips.layer)
        with self.open_loop(trips, body, targets, over, node.line, is_test):
            if node.test is not None:
                self.value(node.test)
            self.bound_counters(facts, trips, before)
            self.read(node.body)
            for part in node.update:
                self.statement(part)
        self.layers.discard(trips.layer)

    def bound_counters(
        self, facts: LoopFacts, trips: Trips, before: dict[str, Value | None]
    ) -> None:
        """A counter is no larger than where it starts and how far it goes."""
        for name, changes in facts.changes.items():
            old = before[name]
            if old is None or old.kind != "num":
                continue
            kinds = {change.kind for change in changes}
            if kinds <= {"up", "down"}:
                count = trips.count if cost.is_constant(trips.count) is False else self.loop_bound
                self.set_name(name, Value("num", cost.plus(old.size, count)))
            elif kinds <= {"mul", "grow"} and trips.why.startswith("multiplies"):
                self.set_name(name, Value("num", self.loop_bound))
            elif old.number is not None:
                self.set_name(name, Value("num", old.size))

    @contextmanager
    def open_loop(
        self,
        trips: Trips,
        body: list[Node],
        targets: frozenset[str],
        over: Value | None,
        line: int,
        is_test: bool,
    ) -> Iterator[None]:
        """Everything read inside is multiplied by the trips."""
        count = trips.count
        before = self.multiple
        resets = self.resets_of(body)
        outer = before
        if trips.advancing and self.loops and not trips.graph:
            for loop in reversed(self.loops):
                anew = trips.advancing in loop.resets or trips.advancing in loop.targets
                if anew and trips.advancing not in loop.carried:
                    break
                outer = loop.before
        elif trips.graph and self.loops:
            tables = marked_tables(body)
            for loop in reversed(self.loops) if tables else ():
                if tables & loop.resets:
                    break
                outer = loop.before
        elif over is not None and over.ragged and self.loops:
            innermost = self.loops[-1]
            if not cost.is_constant(innermost.count):
                outer = innermost.before
        elif over is not None and over.ragged and self.active:
            frame = self.active[-1]
            if frame.function.name in function_facts(frame.function).calls:
                frame.shared = cost.plus(frame.shared, count)
                count = ONE
        if is_test:
            outer_sum, outer_multiple = self.sum, self.multiple
            self.sum = ZERO
            self.multiple = ONE
        inside = cost.times(outer, count)
        if is_test:
            inside = ONE
        self.multiple = inside
        bound_before, self.loop_bound = self.loop_bound, count
        self.charge_once(inside, line, trips.why)
        shared = self.carried_by(body) if over is None and not targets else frozenset()
        self.loops.append(
            _OpenLoop(outer if trips.graph else before, count, resets, targets, shared)
        )
        caps = self.cap(body)
        self.stack.append(ONE if is_test else count)
        if not self.quiet and not cost.is_constant(count):
            self.grow_ahead(body)
        try:
            yield
        finally:
            for value, bound in caps:
                value.cap = bound
            self.loops.pop()
            self.stack.pop()
            self.multiple = before
            self.loop_bound = bound_before
            if is_test:
                body_cost = self.sum
                self.sum, self.multiple = outer_sum, outer_multiple
                if cost.is_constant(body_cost):
                    body_cost = count
                    self.note(count, line, "runs over the cases of the input")
                    self.doubts.append(0.6)  # constant in each, or linear in all of them
                else:
                    self.doubts.append(0.9)
                    self.flag("the number of test cases is left out")
                self.charge_once(cost.times(before, body_cost), line, "")

    def carried_by(self, body: list[Node]) -> frozenset[str]:
        """Counters whose sweeps go on over all runs of a loop, found once."""
        key = id(body[0]) if body else 0
        if key not in self.carried_cache:
            self.carried_cache[key] = carried(body)
        return self.carried_cache[key]

    def cap(self, body: list[Node]) -> list[tuple[Value, Cost | None]]:
        """Hold collections at the length that a loop's body keeps; gives what held before."""
        key = id(body[0]) if body else 0
        if key not in self.cap_cache:
            self.cap_cache[key] = capped(body)
        before: list[tuple[Value, Cost | None]] = []
        for name, bound in self.cap_cache[key]:
            value = self.lookup(name)
            if value is not None and value.is_collection:
                limit = self.quietly(bound)
                if limit.kind == "num":
                    before.append((value, value.cap))
                    value.cap = limit.size
        return before

    def grow_ahead(self, body: list[Node]) -> None:
        """Collections that a loop fills are long in its later runs already."""
        key = id(body[0]) if body else 0
        if key not in self.put_cache:
            self.put_cache[key] = [
                part.callee.owner.id
                for part in walk(body)
                if type(part) is Call
                and type(part.callee) is Member
                and part.callee.name in PUTS
                and type(part.callee.owner) is Name
            ]
        for name in self.put_cache[key]:
            value = self.lookup(name)
            if value is not None and value.depth < len(self.stack):
                self.grow(value, ONE)

    def resets_of(self, body: list[Node]) -> set[str]:
        """Names that a loop's body sets anew."""
        key = id(body[0]) if body else 0
        if key not in self.reset_cache:
            self.reset_cache[key] = assigned(body)
        return self.reset_cache[key]

    def facts_of(self, node: Loop) -> LoopFacts:
        """Facts of a loop, found once."""
        if id(node) not in self.loop_cache:
            self.loop_cache[id(node)] = loop_facts(node)
        return self.loop_cache[id(node)]

    def row_of(self, test: Node | None) -> Value | None:
        """The length of a row that bounds a C loop, if the rows share their total."""
        if type(test) is Operation and len(test.operands) == 2:
            for operand in test.operands:
                if type(operand) in (Call, Member):
                    value = self.quietly(operand)
                    if value.ragged:
                        return value
        return None

    def is_test_loop(self, node: Loop | ForEach, over: Value | None, count: Cost) -> bool:
        """Whether a loop runs over test cases: its count is all that was read before it."""
        if self.quiet or self.stack or len(self.numbers) != 1 or self.lines_read > 1:
            return False
        if count != cost.of(self.numbers[0]):
            return False
        if self.reads_scalar(node.body, 3):
            self.numbers.clear()
            self.header.clear()
            return True
        return False

    def reads_scalar(self, body: list[Node], depth: int) -> bool:
        """Whether statements, or functions that they call, read something into a name."""
        for part in walk(body):
            if (
                type(part) is Assign
                and type(part.target) in (Name, Items)
                and part.value is not None
            ):
                for inner in walk([part.value]):
                    if type(inner) is Call:
                        name = key_of(inner.callee).lstrip(".")
                        if name in READS or self.is_reader(name):
                            return True
            elif type(part) is Call and depth:
                for function in self.functions_named(key_of(part.callee).lstrip(".")):
                    if self.reads_scalar(function.body, depth - 1):
                        return True
        return False

    def functions_named(self, name: str) -> list[Function]:
        """Functions and methods of the program with this name."""
        value = self.lookup(name)
        if value is not None and value.function is not None:
            return [value.function]
        return self.methods.get(name, [])
