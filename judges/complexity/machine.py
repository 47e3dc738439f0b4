"""State of a reading: scopes, sizes of the input, what has been charged, and why."""

from __future__ import annotations

from typing import Any

from assay.judges.complexity import cost
from assay.judges.complexity.cost import ONE, ZERO, Cost
from assay.judges.complexity.facts import LoopFacts
from assay.judges.complexity.ir import Call, Class, Function, If, Index, Loop, Node
from assay.judges.complexity.traversal import names_in, walk
from assay.judges.complexity.values import Value

#: More steps than this and the program is too much for us.
MOST_STEPS = 25_000


class TooLarge(Exception):
    """The program needs more steps to read than are allowed."""


class Machine:
    """Shared state; the readers of expressions and statements build on it."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.globals: dict[str, Value] = {}
        self.scopes: list[dict[str, Value]] = [self.globals]
        self.ever: dict[str, Value] = {}
        self.classes: dict[str, Class] = {}
        self.methods: dict[str, list[Function]] = {}
        self.sum: Cost = ZERO
        self.multiple: Cost = ONE
        self.outer: Cost = ONE
        self.loop_bound: Cost = ONE
        self.loops: list[Any] = []
        self.stack: list[Cost] = []
        self.branch = 0
        self.steps = 0
        self.returned: Value | None = None
        self.path: tuple[int, ...] = ()
        self.sizes: dict[tuple[object, ...], str] = {}
        self.numbers: list[str] = []
        self.header: list[str] = []
        self.lines_read = 0
        self.notes: list[tuple[Cost, int, str]] = []
        self.flags: list[str] = []
        self.doubts: list[float] = []
        self.quiet = 0
        self.reset_cache: dict[int, set[str]] = {}
        self.loop_cache: dict[int, LoopFacts] = {}
        self.meant_calls: dict[tuple[int, int], Call] = {}
        self.put_cache: dict[int, list[str]] = {}
        self.carried_cache: dict[int, frozenset[str]] = {}
        self.cap_cache: dict[int, list[tuple[str, Node]]] = {}
        self.layers: set[str] = set()
        self.reading_loop: Loop | None = None
        self.first_numbers: set[str] = set()
        self.made_in: list[dict[str, Value]] = []

    def forget(self) -> None:
        """Let go of all scopes: functions hold those that they were made in, which is a cycle."""
        for scope in self.made_in:
            scope.clear()

    # -- names ----------------------------------------------------------------------------------

    def lookup(self, name: str) -> Value | None:
        """The value of a name in the nearest scope, or the last one it had anywhere."""
        for scope in self.scopes:
            found = scope.get(name)
            if found is not None:
                return found
        if name[:1] == "." and (field := self.globals.get(name[1:])) is not None:
            return field
        return self.ever.get(name)

    def set_name(self, name: str, value: Value) -> None:
        """Bind a name; in a branch or loop the old value stays possible."""
        scope = self.scopes[0]
        old = scope.get(name)
        if old is None and name in self.globals:
            scope = self.globals
            old = scope[name]
        if (
            old is not None
            and (self.branch or self.loops)
            and old.kind == "num" == value.kind
            and old.size != value.size
        ):
            value = Value("num", cost.plus(old.size, value.size))
        scope[name] = value
        self.ever[name] = value

    # -- sizes of the input ---------------------------------------------------------------------

    def fresh(self, node: Node | None, hint: str) -> Cost:
        """A size of its own for this place of the program."""
        key = (*self.path, id(node), hint)
        if key not in self.sizes:
            self.sizes[key] = f"v{len(self.sizes)}"
        return cost.of(self.sizes[key])

    def input_number(self, node: Node | None) -> Value:
        """A number that is read."""
        size = self.fresh(node, "number")
        ((factor,),) = size
        if factor[0] not in self.numbers and not self.quiet:
            self.numbers.append(factor[0])
            if not self.loops:
                self.header.append(factor[0])
        return Value("num", size)

    def number_at(self, element: Value, place: float) -> Value:
        """One of the numbers of the input, by its place: `data[0]` and `data[1]` are two sizes."""
        key = ("at", element.size, place)
        if key not in self.sizes:
            self.sizes[key] = f"v{len(self.sizes)}"
            if place == 0:
                self.first_numbers.add(self.sizes[key])
        return Value("num", cost.of(self.sizes[key]))

    def settled(self, total: Cost) -> Cost:
        """A total without what reading all of the input costs, where a first number tells that.

        Of `n, k = data[:2]`, n is how many numbers follow or at least a factor of that. So next to
        n k the length of the input counts for nothing, and next to that length n does not.
        """
        inputs = {name for key, name in self.sizes.items() if key[-1] == "all"}
        lengths = total & _linear(inputs)
        if not lengths or not self.first_numbers:
            return total
        if any(
            name in self.first_numbers and cost.degree(frozenset({term})) > (0.0, 1.0, 0.0)
            for term in total
            for name, _, _ in term
        ):
            self.doubts.append(0.95)
            return total - lengths
        return total - _linear(self.first_numbers)

    def token(self, node: Node | None) -> Value:
        """A word of the input: a number if it is converted, or a text."""
        return Value("token", self.line_length(node), element=Value("char"))

    def line_length(self, node: Node | None) -> Cost:
        """Length of a line that is read: a number read before, if there is one."""
        used = {name for count in self.stack for name in cost.names(count)}
        for name in self.header:
            if name not in used:
                return cost.of(name)
        if self.header:
            return cost.of(self.header[0])
        return self.fresh(node, "line")

    def universe(self, at: int = 1) -> Cost:
        """How many things there are to visit: tables that a loop's conditions look into."""
        found: list[Cost] = []
        body = self.reading_loop.body if self.reading_loop is not None else []
        for node in walk(body):
            if type(node) is If:
                found.extend(self.tables_in(node.test))
        growing = [size for size in found if not cost.is_constant(size)]
        if growing:
            return min(growing, key=cost.degree)
        return self.largest_table()

    def tables_in(self, test: Node) -> list[Cost]:
        """Sizes of the tables that a condition looks into."""
        found: list[Cost] = []
        parts = [part for part in walk([test]) if type(part) is Index]
        rows = {id(part.owner) for part in parts}  # of `table[i][j]` the whole counts, not its row
        for part in parts:
            if id(part) not in rows:
                depth, owner = 1, part.owner
                while type(owner) is Index:
                    depth, owner = depth + 1, owner.owner
                names = names_in(owner)
                value = self.lookup(next(iter(names))) if len(names) == 1 else None
                size = ONE
                while value is not None and depth and value.is_collection:
                    size = value.size if value.ragged else cost.times(size, value.size)
                    value, depth = value.element, depth - 1
                found.append(size)
        return found

    def largest_table(self) -> Cost:
        """Length of the longest collection in scope, or a size of its own."""
        best = ONE
        for scope in (self.scopes[0], self.globals):
            for value in scope.values():
                if value.is_collection and not value.ragged and value.kind != "range":
                    best = max(best, value.size, key=cost.degree)
        if not cost.is_constant(best) and cost.degree(best)[0] == 0:
            return best
        if self.header:
            return cost.of(self.header[0])
        return self.fresh(None, "universe")

    def bisected(self, _: Cost) -> Cost:
        """Steps of a bisection between constants, as they stand for a range of the input."""
        return cost.log(self.fresh(None, "range"))

    # -- charging -------------------------------------------------------------------------------

    def charge(self, amount: Cost, line: int, why: str) -> None:
        """Add a cost, times the loops around it."""
        if self.quiet:
            return
        total = cost.times(self.multiple, amount)
        self.sum = cost.plus(self.sum, total)
        if amount != ONE and why:
            self.note(total, line, why)

    def charge_once(self, total: Cost, line: int, why: str) -> None:
        """Add a cost that already counts the loops around it."""
        if self.quiet:
            return
        self.sum = cost.plus(self.sum, total)
        if why and total != ONE:
            self.note(total, line, why)

    def note(self, total: Cost, line: int, why: str) -> None:
        """Keep a line of evidence."""
        self.notes.append((cost.times(self.outer, total), line, why))

    def flag(self, text: str) -> None:
        """Something that a reader of the estimate should know."""
        if text not in self.flags:
            self.flags.append(text)

    def step(self) -> None:
        """Count one step of reading.

        Raises:
            TooLarge: Too many.
        """
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLarge

    # -- growth ---------------------------------------------------------------------------------

    def grow(self, owner: Value, amount: Cost) -> None:
        """A collection gets more elements, as often as the loops since it was made run."""
        if self.quiet or not owner.is_collection:
            return
        for count in self.stack[owner.depth :]:
            amount = cost.times(amount, count)
        owner.size = cost.plus(owner.size, amount if owner.cap is None else owner.cap)

    def charge_key(self, owner: Value, line: int) -> None:
        """Looking a key up in a tree or heap."""
        if owner.kind in ("tree", "heap"):
            size = owner.size
            if cost.is_constant(size):
                return
            self.charge(cost.log(size), line, "searches a balanced tree or heap")


def _linear(names: set[str]) -> Cost:
    return frozenset(((name, 1.0, 0.0),) for name in names)
