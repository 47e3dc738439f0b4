"""Reads calls of the program's own functions, each with the sizes of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.judges.complexity import cost, library
from assay.judges.complexity.cost import ONE, ZERO, Cost
from assay.judges.complexity.facts import function_facts
from assay.judges.complexity.ir import Call, Function, New, Node
from assay.judges.complexity.methods import Methods
from assay.judges.complexity.recursion import Again, Frame, solve
from assay.judges.complexity.traversal import key_of, names_in
from assay.judges.complexity.values import CONSTANT, NONE, Value

_DEEPEST = 24
_SCALARS = frozenset({"int", "long", "double", "float", "Integer", "Long", "BigInteger"})


class Invocation(Methods):
    """Calls of functions, methods and lambdas."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self.active: list[Frame] = []
        self.paths: list[tuple[int, int]] = []
        self.results: dict[tuple[object, ...], tuple[Cost, Value, frozenset[str]]] = {}
        self.rows: list[tuple[frozenset[str], Cost]] = []
        self.called = False
        self.functions_read: dict[int, Function] = {}
        self.tables: frozenset[str] = frozenset()

    if TYPE_CHECKING:

        def read(self, nodes: list[Node]) -> None: ...  # noqa: D102

    def invoke_method(
        self, name: str, arguments: list[Value], node: Node, owner: str = ""
    ) -> Value:
        """Call a method by name: one of the owner's class, or with as many parameters, or all."""
        methods = self.methods[name]
        methods = [m for m in methods if m.owner == owner] or methods
        own = 1 if self.language == "python" else 0
        fitting = [m for m in methods if len(m.parameters) - self.receivers(m) == len(arguments)]
        result: Value = NONE
        active = {id(frame.function) for frame in self.active}
        if len(fitting) > 1 and name == "run":
            fitting = [m for m in fitting if id(m) not in active] or fitting
        for method in (fitting or methods)[:3]:
            given = arguments
            if self.receivers(method) and own:
                itself = Value("object")
                itself.owner = method.owner
                given = [itself, *arguments]
            result = self.invoke(method, given, node, None)
        return result

    def receivers(self, method: Function) -> int:
        """1 if the first parameter is the object itself."""
        if self.language == "python":
            return 0 if "staticmethod" in method.decorators or not method.owner else 1
        return 0

    def invoke(
        self,
        function: Function,
        arguments: list[Value],
        node: Node,
        scopes: list[dict[str, Value]] | None,
    ) -> Value:
        """Call a function: charge what its body costs with these arguments."""
        self.step()
        for frame in reversed(self.active):
            if frame.function is function:
                self.recurse(frame, node)
                return Value("any") if function.result not in _SCALARS else CONSTANT
        if len(self.active) >= _DEEPEST:
            return Value("any")
        facts = function_facts(function)
        key = (id(function), *(_summary(argument) for argument in arguments), bool(self.quiet))
        if not facts.reads and key in self.results:
            total, result, tables = self.results[key]
            self.charge_call(total, tables, node, function)
            return result
        total, result = self.run(function, arguments, node, scopes)
        reads = self.reads_input(function)
        number = result.kind == "num" and self.language != "python"
        scalar = function.result in _SCALARS and result.kind in ("num", "any")
        if reads and cost.is_constant(total) and (scalar or number):
            result = self.input_number(node)
        if not reads:
            self.results[key] = (total, result, self.tables)
        self.charge_call(total, self.tables, node, function)
        return result

    def charge_call(
        self, total: Cost, tables: frozenset[str], node: Node, function: Function
    ) -> None:
        """Charge a call; calls that share what they have visited share their cost."""
        if not tables or not self.loops:
            self.charge(total, node.line, "calls a function")
            return
        arguments = node.arguments if isinstance(node, Call) else []
        shared = set(tables)
        for position, name in enumerate(function.parameters):
            if name in tables and position < len(arguments):
                shared.add(key_of(arguments[position]))
        outer = self.multiple
        for loop in reversed(self.loops):
            if loop.resets & shared:
                break
            outer = loop.before
        self.charge_once(cost.times(outer, total), node.line, "visits what is left")
        self.charge(ONE, node.line, "")

    def reads_input(self, function: Function | None, depth: int = 4) -> bool:
        """Whether a function, or one that it calls, reads input."""
        if function is None:
            return False
        facts = function_facts(function)
        if facts.reads or depth == 0:
            return facts.reads
        for name in facts.calls:
            for method in self.methods.get(name, ()):
                if method is not function and self.reads_input(method, depth - 1):
                    return True
            value = self.globals.get(name)
            if value is not None and key_of(value.alias).lstrip(".") in library.READS:
                return True
            inner = value.function if value is not None else None
            if inner not in (None, function) and self.reads_input(inner, depth - 1):
                return True
        return False

    def reads_characters(self, name: str, depth: int = 3) -> bool:
        """Whether a name is a function, without loops of its own, that reads one character."""
        value = self.lookup(name)
        found = [value.function] if value is not None and value.function else []
        functions = found or self.methods.get(name, [])
        if not functions:
            return name in ("getchar", "getc", "read") and self.language != "python"
        for function in functions:
            if function is None:
                continue
            facts = function_facts(function)
            if (
                not facts.loops
                and depth
                and any(
                    self.reads_characters(inner, depth - 1)
                    for inner in facts.calls - {function.name}
                )
            ):
                return True
            if (
                not facts.loops
                and facts.calls & {"read", "getchar"}
                and function.name in facts.calls
            ):
                return True
        return False

    def is_reader(self, name: str) -> bool:
        """Whether a name is a function of the program that reads input."""
        value = self.lookup(name)
        if value is not None and value.alias is not None:
            return key_of(value.alias).lstrip(".") in library.READS
        if value is not None and value.function is not None:
            return self.reads_input(value.function)
        return any(self.reads_input(method) for method in self.methods.get(name, ()))

    def run(
        self,
        function: Function,
        arguments: list[Value],
        node: Node,
        scopes: list[dict[str, Value]] | None,
    ) -> tuple[Cost, Value]:
        """Read a function's body in a scope of its own."""
        self.called = True
        self.functions_read[id(function)] = function
        local: dict[str, Value] = {}
        for position, name in enumerate(function.parameters):
            given = arguments[position] if position < len(arguments) else Value("any")
            if given.kind in ("any", "none") and position < len(function.types):
                kind = function.types[position]
                given = self.declared(kind, function, given) if kind else given
            local[name] = given
        saved = (
            self.scopes, self.sum, self.multiple, self.loops, self.branch, self.returned,
            self.path, self.outer, self.paths, self.loop_bound, self.rows,
        )  # fmt: skip
        outer_frame = self.active
        self.outer = cost.times(self.outer, self.multiple)
        self.scopes = [local, *(scopes or [self.globals])]
        self.sum, self.multiple, self.loops, self.branch = ZERO, ONE, [], 0
        self.returned, self.path, self.paths, self.rows = None, (*self.path, id(node)), [], []
        frame = Frame(function, arguments)
        self.active = [*outer_frame, frame]
        try:
            self.read(function.body)
            total = self.sum or ONE
            self.tables = frozenset()
            if frame.again:
                solution = solve(frame, total, self)
                total = solution.total
                self.tables = solution.tables
                self.doubts.append(solution.sure)
                self.notes.append((cost.times(self.outer, total), function.line,
                                   f"recursion: {solution.why}"))  # fmt: skip
            result = self.returned or NONE
            if result.kind == "none" and function.result:
                result = self.declared(function.result, function)
        finally:
            (
                self.scopes, self.sum, self.multiple, self.loops, self.branch, self.returned,
                self.path, self.outer, self.paths, self.loop_bound, self.rows,
            ) = saved  # fmt: skip
            self.active = outer_frame
        return total, result

    def recurse(self, frame: Frame, node: Node) -> None:
        """Note that an active function is called again."""
        arguments = node.arguments if isinstance(node, Call | New) else []
        if self.quiet:
            return
        row: Cost | None = None
        multiple = self.multiple
        for targets, size in self.rows:
            if any(names_in(argument) & targets for argument in arguments):
                row = size
        own = 1 if frame.function.owner and self.language == "python" else 0
        if own:
            from assay.judges.complexity.ir import Num

            arguments = [Num(None, node.line), *arguments]
        frame.again.append(Again(multiple, arguments, tuple(self.paths), row))


def _summary(value: Value) -> tuple[object, ...]:
    element = value.element
    return (
        value.kind,
        value.size,
        value.number,
        id(value.function) if value.function else None,
        (element.kind, element.size) if element is not None else None,
    )
