"""Reads what makes collections and adds to them: constructors, comprehensions, assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.judges.complexity import cost, library
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.inputs import Inputs
from assay.judges.complexity.ir import Assign, Call, Comprehension, Index, New, Node, Operation
from assay.judges.complexity.values import CHARACTER, NONE, Value


class Constructions(Inputs):
    """Making and changing collections."""

    if TYPE_CHECKING:

        def iteration(self, over: Value, node: Node | None) -> tuple[Cost, Value]: ...  # noqa: D102

        def by_table(self, entry: tuple[str, str], owner: Value, node: Node) -> Value: ...  # noqa: D102

        def to_number(self, value: Value, node: Node) -> Value: ...  # noqa: D102

        def repeat(  # noqa: D102
            self, function: Value, arguments: list[Value], count: Cost, node: Node
        ) -> Value: ...

        def open_loop(self, *rest: Any) -> Any: ...  # noqa: D102

        def invoke_method(  # noqa: D102
            self, name: str, arguments: list[Value], node: Node, owner: str = ""
        ) -> Value: ...

        def gap(self, low: Node, high: Node) -> Cost | None: ...  # noqa: D102

    def construct(self, node: New) -> Value:
        """`new T(...)`, `new T[n][m]`, `T(...)`."""
        if node.sizes is not None:
            return self.array(node)
        arguments = [self.value(argument) for argument in node.arguments]
        for method in node.body or ():
            self.methods.setdefault(method.name, []).append(method)
        if node.type in self.classes:
            constructor = "__init__" if self.language == "python" else node.type
            if constructor in self.methods:
                self.invoke_method(constructor, arguments, node, node.type)
            made = Value("object")
            made.owner = node.type
            return made
        if node.type == "StringTokenizer" and arguments:
            return Value("line", arguments[0].size, element=CHARACTER)
        if node.type in library.CONSTRUCTORS or (node.type == "map" and self.language == "cpp"):
            return self.collection(node.type, node, arguments)
        if node.type in library.NUMBERS and arguments:
            return self.to_number(arguments[0], node)
        return Value("object")

    def array(self, node: New) -> Value:
        """An array of known sizes; making it costs their product."""
        sizes = [self.value(size) for size in node.sizes or ()]
        element: Value | None = Value("num") if not node.type[:1].isupper() else None
        if node.type in library.CONSTRUCTORS:
            element = Value(self.kind_made(node.type), depth=len(self.stack))
        if node.type in ("String", "string"):
            element = Value("text", self.line_length(node), element=CHARACTER)
        total = ONE
        made = Value("list")
        for size in reversed(sizes):
            made = Value("list", size.size, None, element, None, len(self.stack))
            total = cost.times(total, size.size)
            element = made
        self.charge(total, node.line, "fills an array")
        return made

    def collection(self, name: str, node: Node, arguments: list[Value]) -> Value:
        """A collection of the library from nothing, a size, or another collection."""
        kind = self.kind_made(name)
        depth = len(self.stack)
        collections = [a for a in arguments if a.is_collection]
        if collections and name not in ("vector",):
            source = collections[0]
            size = source.size
            amount = cost.times(size, cost.log(size)) if kind == "tree" else size
            if source.row or (source.read and kind in ("list", "deque")):
                amount = ONE
            self.charge(amount, node.line, "copies a collection")
            element = source.element
            if source.kind in ("line", "text", "token"):
                element = CHARACTER
            return Value(kind, size, None, element, None, depth)
        if (
            arguments
            and self.language in ("cpp", "rust", "javascript")
            and arguments[0].kind
            in (
                "num",
                "any",
            )
        ):
            size = arguments[0].size
            self.charge(size, node.line, "fills a collection")
            element = arguments[1] if len(arguments) > 1 else None
            if element is not None and element.is_collection:
                self.charge(cost.times(size, element.size), node.line, "fills a table")
            return Value(kind, size, None, element, None, depth)
        element = CHARACTER if kind == "text" else None
        if arguments and arguments[0].function is not None:  # defaultdict(list)
            element = None
        return Value(kind, ONE, None, element, None, depth)

    def made(self, node: Call, arguments: list[Value]) -> Value:
        """Go's `make`, JavaScript's `Array(n)`."""
        numbers = [a for a in arguments if a.kind in ("num", "any") and a.kind != "none"]
        size = numbers[0].size if numbers else ONE
        self.charge(size, node.line, "fills a collection")
        return Value("list", size, None, None, None, len(self.stack))

    def comprehend(self, node: Comprehension, at: int, made: Value) -> Value:
        """A comprehension, clause by clause."""
        if at == len(node.clauses):
            for condition in node.conditions:
                self.value(condition)
            element = NONE
            for part in node.body:
                element = self.value(part)
            made.element = element
            return made
        target, over_node = node.clauses[at]
        over = self.value(over_node)
        count, element = self.iteration(over, over_node)
        self.stack.append(count)
        before, self.multiple = self.multiple, cost.times(self.multiple, count)
        scope = dict(self.scopes[0])
        self.bind(target, element, fresh=True)
        try:
            self.comprehend(node, at + 1, made)
        finally:
            self.stack.pop()
            inside, self.multiple = self.multiple, before
            for name, value in scope.items():
                self.scopes[0][name] = value
        if at == 0 and (over.row or (over.read and len(node.clauses) == 1)):
            made.read, made.row = True, over.row
        elif at == len(node.clauses) - 1:
            self.charge_once(inside, node.line, "comprehension")
        made.size = cost.times(made.size, count)
        if at == 0:
            made.kind = node.kind
            made.depth = len(self.stack)
        return made

    def augment(self, node: Assign) -> None:
        """`target sign= value`."""
        assert node.value is not None
        value = self.value(node.value)
        target = self.value(node.target)
        if target.is_collection and node.sign == "+":
            if target.kind in ("text", "line", "token"):
                grown = target.like("text", target.size, target.depth)
                self.grow(grown, value.size if value.is_collection else ONE)
                if self.language == "java" and self.stack:
                    self.charge(grown.size, node.line, "copies a text to lengthen it")
                self.bind(node.target, grown)
                return
            self.charge(value.size, node.line, "appends a collection")
            self.grow(target, value.size)
            target.element = target.element or value.element
            return
        if type(node.target) is Index:
            owner = self.quietly(node.target.owner)
            if owner is not None and owner.kind in ("map", "tree"):
                self.grow(owner, ONE)
                self.charge_key(owner, node.line)
            return
        if target.kind != "num":
            return
        operation = Operation(node.sign, [node.target, node.value], node.line)
        base = Value("num", ONE) if target.number is not None and self.loops else target
        if node.sign in ("+", "*", "-"):
            amount = value.size
            if node.sign == "+":
                for count in self.stack:
                    amount = cost.times(amount, count)
                size = (
                    cost.plus(base.size, amount) if self.stack else cost.plus(base.size, value.size)
                )
            elif node.sign == "-":
                size = base.size
            else:
                size = base.size if self.loops else cost.times(base.size, value.size)
            number = None
            if not self.stack and target.number is not None and value.number is not None:
                self.bind(node.target, self.value(operation))
                return
            self.bind(node.target, Value("num", size, number))
        elif node.sign == "<<" and not self.loops:
            self.bind(node.target, self.value(operation))
