"""Ranges, maps, choices: what gives many values, and the numbers that bound them."""

from __future__ import annotations

from assay.judges.complexity import cost, library
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.invocation import Invocation
from assay.judges.complexity.ir import Call, Member, Name, Node
from assay.judges.complexity.traversal import key_of, names_in
from assay.judges.complexity.values import CHARACTER, CONSTANT, NONE, Value


class Sequences(Invocation):
    """What a program goes through, and conversions to numbers."""

    def harmonic(self, step: Node, bound: Cost) -> Cost | None:
        """Trips of a loop whose step is the counter of a loop around it: n/1 + n/2 + ..."""
        used = names_in(step)
        for loop in reversed(self.loops):
            if used & loop.targets and len(loop.count) == 1 and loop.count != ONE:
                (term,) = loop.count
                inverse = frozenset({tuple((n, -p, -q) for n, p, q in term)})
                relative = cost.times(cost.times(bound, inverse), cost.log(bound))
                return relative
        for name in used:
            value = self.lookup(name)
            if value is None or value.kind != "num" or cost.is_constant(value.size):
                return None
        return None

    def ranged(self, node: Call, arguments: list[Value]) -> Value:
        """`range(low, high, step)`."""
        nodes = node.arguments
        if not arguments:
            return Value("range", self.fresh(node, "range"), element=CONSTANT)
        if len(arguments) == 1:
            size = arguments[0].size
            return Value("range", size, element=Value("num", size))
        ends = [0, 1]
        step = arguments[2].number if len(arguments) > 2 else None
        if step is not None and step < 0:  # downwards from what is the larger end
            ends = [1, 0]
        low, high = (arguments[place] for place in ends)
        size = high.size if not cost.is_constant(high.size) else low.size
        gap = self.gap(*(nodes[place] for place in ends))
        if gap is not None:
            size = gap
        if len(arguments) > 2 and arguments[2].number is None:
            relative = self.harmonic(nodes[2], size)
            if relative is not None:
                size = relative
            elif len(arguments[2].size) == 1:
                size = cost.over_root(size, arguments[2].size)
        return Value("range", size, element=Value("num", cost.plus(low.size, high.size)))

    def extreme(self, name: str, arguments: list[Value]) -> Value:
        """`max` or `min` of several values."""
        if any(a.kind not in ("num", "any", "char") for a in arguments):
            return arguments[0]
        if name == "min":
            return min(arguments, key=lambda a: cost.degree(a.size))
        size = ONE
        for argument in arguments:
            size = cost.plus(size, argument.size)
        return Value("num", size)

    def powered(self, node: Call, arguments: list[Value]) -> Value:
        """`pow(base, exponent)`, with a modulus or without."""
        if len(arguments) < 2:
            return CONSTANT
        base, exponent = arguments[0], arguments[1]
        if exponent.number is not None:
            if base.number is not None:
                return CONSTANT
            size = ONE
            for _ in range(int(min(max(exponent.number, 0), 4))):
                size = cost.times(size, base.size)
            if exponent.number in (0.5,):
                size = cost.root(base.size, 2.0)
            return Value("num", size)
        if self.language == "python" or type(node.callee) is Name:
            is_math = type(node.callee) is Member
            if not is_math:
                self.charge(cost.log(exponent.size), node.line, "raises to a power")
        return Value("num", ONE if len(arguments) > 2 else cost.exponential(exponent.size))

    def mapped(self, name: str, node: Call, arguments: list[Value]) -> Value:
        """`map(f, items)`."""
        function, items = arguments[0], arguments[1]
        count, element = self.iteration(items, None)
        result = self.converted(node.arguments[0], element, node)
        if function.function is not None:
            result = self.repeat(function, [element], count, node)
        if name == "filter":
            result = element
        made = items.like("lazy", count) if items.is_collection else Value("lazy", count)
        made.element, made.ragged = result, False
        return made

    def converted(self, function: Node, element: Value, node: Node) -> Value:
        """An element after a conversion that is passed by name."""
        name = key_of(function).lstrip(".")
        if name in library.NUMBERS:
            if element.kind == "char":
                return CONSTANT
            made = Value("num", self.fresh(node, "values"))
            made.read = True
            return made
        return element

    def repeat(self, function: Value, arguments: list[Value], count: Cost, node: Node) -> Value:
        """Call a function value once for each of so many elements."""
        if function.function is None:
            return Value("any")
        self.stack.append(count)
        before, self.multiple = self.multiple, cost.times(self.multiple, count)
        self.charge_once(self.multiple, node.line, "calls a function for each element")
        try:
            return self.invoke(function.function, arguments, node, function.scopes)
        finally:
            self.multiple = before
            self.stack.pop()

    def combined_choices(self, name: str, node: Call, arguments: list[Value]) -> Value:
        """Iterators over orders, subsets and tuples."""
        pool = arguments[0] if arguments else NONE
        count = arguments[1].number if len(arguments) > 1 else None
        repeat = (node.keywords or {}).get("repeat")
        size = pool.size
        if name == "product":
            total = ONE
            for argument in arguments:
                total = cost.times(total, argument.size)
            if repeat is not None:
                times = self.quietly(repeat)
                total = (
                    cost.exponential(times.size) if times.number is None
                    else _to_power(size, times.number)
                )  # fmt: skip
        elif count is not None:
            total = _to_power(size, count)
        elif name == "permutations":
            total = cost.exponential(size, "!")
        else:
            total = cost.exponential(size)
        return Value("lazy", total, element=Value("tuple", size, element=pool.element))

    def to_number(self, value: Value, node: Node) -> Value:
        """`int(...)` of something."""
        if value.kind in ("token", "line"):
            return self.input_number(node)
        if value.kind == "text":
            return Value("num", self.fresh(node, "number")) if value.size != ONE else CONSTANT
        if value.kind == "char":
            return CONSTANT
        if value.is_collection:
            return Value("num", value.size)
        return value

    def iteration(self, over: Value, node: Node | None) -> tuple[Cost, Value]:
        """How many elements a value gives, and what they are."""
        if over.is_collection:
            if over.items is not None:
                return ONE, over.element or Value("any")
            element = over.element
            if over.kind in ("text", "line", "token"):
                element = CHARACTER
            if element is None:
                element = Value("any")
            if element.kind == "token":
                element = self.token(node)
            return over.size, element
        if over.kind == "num":
            return over.size, Value("num", over.size)
        if not cost.is_constant(over.size):
            if over.element is None:
                over.element = Value("any", self.fresh(node, "inner"))
            return over.size, over.element
        self.doubts.append(0.7)
        return self.fresh(node, "items"), Value("any")


def _to_power(size: Cost, exponent: float) -> Cost:
    result = ONE
    for _ in range(int(min(max(exponent, 0), 6))):
        result = cost.times(result, size)
    return result
