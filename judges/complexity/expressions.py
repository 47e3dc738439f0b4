"""Reads expressions: the size of their values, and what computing them costs."""

from __future__ import annotations

from typing import Any, ClassVar

from assay.judges.complexity import cost
from assay.judges.complexity.arithmetic import folded, linear, power, quotient
from assay.judges.complexity.calls import Calls
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    Comprehension,
    Function,
    If,
    Index,
    Items,
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
from assay.judges.complexity.machine import MOST_STEPS, TooLarge
from assay.judges.complexity.traversal import names_in, walk
from assay.judges.complexity.values import CHARACTER, CONSTANT, NONE, Value, number

_SEARCHED = frozenset({"list", "text", "tuple", "line", "token", "deque", "lazy"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"})


class Expressions(Calls):
    """Values of expressions."""

    readers: ClassVar[dict[type, Any]] = {}

    def value(self, node: Node) -> Value:
        """The value of an expression; its cost is charged."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLarge
        if type(node) is Name:
            held = self.lookup(node.id)
            return held if held is not None else Value("any")
        reader = self.readers.get(type(node))
        if reader is None:
            self.statement(node)
            return CONSTANT
        found: Value = reader(self, node)
        return found

    def statement(self, node: Node) -> None:
        """Read one statement; the interpreter does."""
        raise NotImplementedError

    def power_of(self, node: Node, name: str) -> float:
        """The power in which a name enters an expression; infinite where it is an exponent."""
        scope = self.scopes[0]
        old = scope.get(name)
        scope[name] = Value("num", cost.of("@"))
        try:
            return max(cost.power_in(self.quietly(node).size, "@"), 0.0)
        finally:
            if old is None:
                del scope[name]
            else:
                scope[name] = old

    def reach(self, test: Node, name: str) -> Cost:
        """How far a name may go where a condition uses it: lengths of what it indexes."""
        size = ONE
        for part in walk([test]):
            if type(part) is Index and name in names_in(part.at):
                size = cost.plus(size, self.quietly(part.owner).size)
        if size != ONE:
            return size
        for other in names_in(test):
            value = self.lookup(other)
            if other != name and value is not None:
                size = cost.plus(size, value.size)
        value = self.lookup(name)
        if value is not None:
            size = cost.plus(size, value.size)
        return size if size != ONE else self.fresh(test, "reach")

    # -- leaves ---------------------------------------------------------------------------------

    def on_num(self, node: Num) -> Value:
        """A constant."""
        return number(node.value)

    def on_text(self, node: Text) -> Value:
        """A string; the expressions inside it are read."""
        for part in node.parts:
            self.value(part)
        return Value("text", ONE, element=CHARACTER) if node.length != 1 else CHARACTER

    def on_member(self, node: Member) -> Value:
        """A field, or a length."""
        if node.name in ("MAX_VALUE", "MIN_VALUE"):
            return number(2.0**31)
        if node.name == "nval":  # of Java's StreamTokenizer
            return self.input_number(node)
        owner = self.value(node.owner)
        if node.name == "length" and owner.is_collection:
            return Value("num", owner.size)
        found = self.lookup("." + node.name)
        if found is not None:
            return found
        if node.name in ("first", "second") and owner.is_collection and owner.element:
            return owner.element
        return Value("any") if owner.kind != "any" else owner

    def on_index(self, node: Index) -> Value:
        """An element."""
        owner = self.value(node.owner)
        at = self.value(node.at)
        self.charge_key(owner, node.line)
        if owner.items is not None and at.number is not None:
            position = int(at.number)
            if -len(owner.items) <= position < len(owner.items):
                return owner.items[position]
        if owner.kind in ("text", "line", "token"):
            return CHARACTER
        element = owner.element
        if owner.is_collection and element is None:
            element = owner.element = Value("any")
        if element is not None and element.kind in ("token", "line"):
            return self.token(node)
        if element is not None and element.read and at.number is not None:
            return self.number_at(element, at.number)
        if element is None and owner.kind == "any":
            return Value("any", owner.size)
        return element or Value("any")

    def on_slice(self, node: Slice) -> Value:
        """A copy of a part."""
        owner = self.value(node.owner)
        low = self.value(node.low) if node.low is not None else number(0.0)
        high = self.value(node.high) if node.high is not None else None
        size = owner.size
        if high is not None and high.kind == "num":
            if high.number is not None and high.number >= 0:
                size = ONE
            elif node.low is not None and node.high is not None:
                gap = self.gap(node.low, node.high)
                if gap is not None:
                    size = gap
                elif low.number is not None and not cost.is_constant(high.size):
                    size = high.size
            elif high.number is None and not cost.is_constant(high.size):
                size = high.size
        elif node.low is not None and low.number is not None and low.number < 0:
            size = ONE
        if self.language != "go" and not owner.row:
            self.charge(size, node.line, "copies a slice")
        kind = owner.kind if owner.is_collection else "any"
        made = owner.like("text" if kind in ("line", "token") else kind, size, len(self.stack))
        return made

    # -- compound -------------------------------------------------------------------------------

    def on_operation(self, node: Operation) -> Value:
        """Arithmetic, comparison or logic."""
        values = [self.value(operand) for operand in node.operands]
        sign = node.sign
        if sign == "-" and len(values) == 1:
            return values[0]
        if sign in ("in", "not in"):
            owner = values[1]
            if owner.kind in _SEARCHED and not owner.row:
                self.charge(owner.size, node.line, "searches a list or text from its start")
            self.charge_key(owner, node.line)
            return CONSTANT
        if sign not in _ARITHMETIC or len(values) != 2:
            return CONSTANT
        left, right = values
        if left.kind in ("set", "map") and sign in ("&", "|", "-", "^"):
            self.charge(cost.plus(left.size, right.size), node.line, "combines sets")
            return left.like("set", cost.plus(left.size, right.size), len(self.stack))
        if left.is_collection or right.is_collection:
            return self.combined(sign, left, right, node)
        return self.arithmetic(sign, left, right, node)

    def combined(self, sign: str, left: Value, right: Value, node: Operation) -> Value:
        """`list + list`, `list * n`, and texts."""
        owner = left if left.is_collection else right
        other = right if owner is left else left
        if sign == "*":
            size = cost.times(owner.size, other.size if other.kind == "num" else ONE)
        elif sign == "%":
            return Value("text", owner.size, element=CHARACTER)
        elif sign == "+":
            size = cost.plus(owner.size, other.size if other.is_collection else ONE)
        elif sign in ("<<", ">>"):
            return owner
        else:
            return CONSTANT
        if not owner.row:
            self.charge(size, node.line, "builds a list or text")
        kind = "text" if owner.kind in ("line", "token") else owner.kind
        return owner.like(kind, size, len(self.stack))

    def arithmetic(self, sign: str, left: Value, right: Value, node: Operation) -> Value:
        """The size of a number."""
        if left.number is not None and right.number is not None:
            return number(folded(sign, left.number, right.number))
        if sign == "-":
            gap = self.gap(node.operands[1], node.operands[0])
            if gap is not None and cost.is_constant(gap):
                return CONSTANT
            return Value("num", left.size if left.number is None else right.size)
        if sign == "*":
            return Value("num", cost.times(left.size, right.size))
        if sign in ("/", "//"):
            return Value("num", quotient(left.size, right.size))
        if sign == ">>":
            return Value("num", left.size)
        if sign in ("%", "&"):
            return Value("num", right.size if sign == "%" else left.size)
        if sign == "<<":
            if right.number is not None:
                return Value("num", left.size)
            return Value("num", cost.times(left.size, cost.exponential(right.size)))
        if sign == "**":
            if right.number is not None:
                return Value("num", power(left.size, right.number))
            self.charge(cost.log(right.size), node.line, "raises to a power")
            return Value("num", cost.exponential(right.size))
        return Value("num", cost.plus(left.size, right.size))

    def gap(self, low: Node, high: Node) -> Cost | None:
        """Size of `high - low` where both are sums of the same names; else None."""
        left, right = linear(low), linear(high)
        if left is None or right is None:
            return None
        for name, factor in left.items():
            right[name] = right.get(name, 0.0) - factor
        rest = [name for name, factor in right.items() if factor and name]
        if len(rest) < len([n for n in left if n]) + 1 or not rest:
            size = ONE
            for name in rest:
                value = self.lookup(name)
                size = cost.plus(size, value.size if value is not None else ONE)
            return size
        return None

    def on_items(self, node: Items) -> Value:
        """A literal collection."""
        values = [self.value(item) for item in node.items]
        if len(values) == 1 and type(node.items[0]) is Spread and node.kind in ("list", "set"):
            return self.collection(node.kind, node, values)  # `[*items]` is `list(items)`
        element: Value | None = None
        for item in values:
            if element is None or item.is_collection or item.kind == "num":
                element = item
        spread = [v.size for n, v in zip(node.items, values, strict=True) if type(n) is Spread]
        size = ONE
        for part in spread:
            size = cost.plus(size, part)
            self.charge(part, node.line, "copies elements")
        kind = "list" if node.kind == "list" else node.kind
        items = values if not spread and node.kind in ("tuple", "list") else None
        return Value(kind, size, None, element, items if node.kind == "tuple" else None,
                     len(self.stack))  # fmt: skip

    def on_spread(self, node: Spread) -> Value:
        """The collection that is spread."""
        return self.value(node.value)

    def on_conditional(self, node: If) -> Value:
        """Either of two values."""
        self.value(node.test)
        self.branch += 1
        results = [self.last_of(part) for part in (node.then, node.other) if part]
        self.branch -= 1
        if not results:
            return CONSTANT
        if len(results) == 2 and results[0].kind == results[1].kind == "num":
            return Value("num", cost.plus(results[0].size, results[1].size))
        return results[0] if results[0].kind not in ("none", "any") else results[-1]

    def last_of(self, nodes: list[Node]) -> Value:
        """Value of the last of several nodes."""
        result = NONE
        for node in nodes:
            result = self.value(node)
        return result

    def on_group(self, node: Block) -> Value:
        """The last of several values."""
        return self.last_of(node.items)

    def on_assigning(self, node: Assign) -> Value:
        """An assignment as an expression."""
        self.statement(node)
        return self.quietly(node.target)

    def on_function_value(self, node: Function) -> Value:
        """A lambda or a function as a value."""
        made = Value("function")
        made.function = node
        made.scopes = list(self.scopes)
        self.made_in.append(self.scopes[0])
        if node.name:
            self.scopes[0][node.name] = made
        return made

    def on_call(self, node: Call) -> Value:
        """A call."""
        return self.call(node)

    def on_new(self, node: New) -> Value:
        """A construction."""
        return self.construct(node)

    def on_comprehension(self, node: Comprehension) -> Value:
        """A comprehension."""
        return self.comprehend(node, 0, Value("list", ONE, depth=len(self.stack)))


Expressions.readers = {
    Num: Expressions.on_num,
    Text: Expressions.on_text,
    Member: Expressions.on_member,
    Index: Expressions.on_index,
    Slice: Expressions.on_slice,
    Operation: Expressions.on_operation,
    Items: Expressions.on_items,
    Spread: Expressions.on_spread,
    If: Expressions.on_conditional,
    Block: Expressions.on_group,
    Assign: Expressions.on_assigning,
    Function: Expressions.on_function_value,
    Call: Expressions.on_call,
    New: Expressions.on_new,
    Comprehension: Expressions.on_comprehension,
}
