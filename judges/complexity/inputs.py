"""Where sizes come from: what is read, and what declarations and parameters promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.judges.complexity import cost, library
from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.ir import Call, Index, Member, Name, Node
from assay.judges.complexity.machine import Machine
from assay.judges.complexity.values import CHARACTER, CONSTANT, Value

_NUMBERS = frozenset(
    [
        "int",
        "long",
        "short",
        "byte",
        "double",
        "float",
        "usize",
        "isize",
        "i32",
        "i64",
        "u32",
        "u64",
        "u8",
        "i128",
        "f64",
        "int64",
        "int32",
        "uint",
        "uint64",
        "ll",
        "unsigned",
        "number",
        "BigInteger",
        "Integer",
        "Long",
        "Double",
        "size_t",
        "auto",
        "bool",
        "boolean",
    ]
)
_TEXTS = frozenset(["String", "string", "str", "&str", "StringBuilder", "&String", "CharSequence"])


class Inputs(Machine):
    """Readers of input, declarations and parameters."""

    if TYPE_CHECKING:

        def value(self, node: Node) -> Value: ...  # noqa: D102

        def bind(  # noqa: D102
            self, target: Node, value: Value, *, fresh: bool = False
        ) -> None: ...

    def read_input(self, name: str, node: Call, owner: Node | None) -> Value:
        """What a reader of the library gives."""
        kind = library.READERS[name]
        if self.language == "python" and kind in ("token", "number", "char"):
            if name == "next" and node.arguments:
                return Value("any")
            kind = "line"
        if not self.quiet:
            self.lines_read += 1
        if kind == "number":
            return self.input_number(node)
        if kind == "char":
            return CHARACTER
        if kind == "token":
            return self.token(node)
        if kind == "line":
            for argument in node.arguments:  # read_line(&mut text), getline(cin, text)
                if type(argument) is Name and self.language in ("rust", "cpp"):
                    self.bind(
                        argument, Value("line", self.line_length(argument), element=CHARACTER)
                    )
            return self.line_read(node)
        if kind == "lines":
            line = self.line_read(node)
            line.row = True
            return Value("list", self.fresh(node, "lines"), element=line, depth=len(self.stack))
        return Value("line", self.fresh(node, "all"), element=CHARACTER)

    def line_read(self, node: Node) -> Value:
        """A line of input, one of many where a loop reads it."""
        line = Value("line", self.line_length(node), element=CHARACTER)
        line.read = True
        line.row = any(not cost.is_constant(count) for count in self.stack)
        return line

    def scan(self, node: Call) -> Value:
        """`scanf`, `cin >> a >> b`, `fmt.Scan`: every variable becomes input."""
        for argument in node.arguments:
            if not isinstance(argument, Name | Index | Call | Member):
                continue
            old = self.quietly(argument)
            if old is not None and old.kind in ("text", "line", "token"):
                length = self.line_length(argument)
                self.bind(argument, Value("text", length, element=CHARACTER))
                continue
            if old is not None and old.is_collection and type(argument) is Name:
                old.size = cost.plus(old.size, self.line_length(argument))
                continue
            self.bind(argument, self.input_number(argument))
        return CONSTANT

    def quietly(self, node: Node) -> Value:
        """A value without its cost."""
        self.quiet += 1
        try:
            return self.value(node)
        finally:
            self.quiet -= 1

    def size_of(self, node: Node) -> Cost:
        """The size of an expression's value, if it is a number."""
        value = self.quietly(node)
        return value.size if value.kind == "num" else ONE

    def declared(self, kind: str, node: Node, given: Value | None = None) -> Value:
        """The value of a declaration without a value (a number, an empty collection)."""
        kind = kind.strip()
        depth = len(self.stack)
        if "[]" in kind or kind.startswith(("[]", "[")):
            return (
                given if given is not None and given.is_collection else Value("list", depth=depth)
            )
        base = kind.split("<")[0].split("::")[-1].strip("&* ")
        if base in _TEXTS:
            return Value("text", ONE, element=CHARACTER, depth=depth)
        if (base in library.CONSTRUCTORS or base == "map") and base not in _NUMBERS:
            made = Value(self.kind_made(base), depth=depth)
            if given is not None:
                made.size = given.size
            return made
        if given is not None and given.kind == "any":
            return Value("num", given.size) if base in _NUMBERS else given
        if base in ("char", "byte"):
            return CHARACTER
        return CONSTANT if base in _NUMBERS else Value("any")

    def kind_made(self, name: str) -> str:
        """The kind of collection that a constructor makes in this language."""
        special = library.KINDS_IN.get(self.language, {})
        return special.get(name) or library.CONSTRUCTORS[name]

    def parameter(self, kind: str, node: Node, index: int) -> Value:
        """The value of a parameter of a function that is judged by itself."""
        size = self.fresh(node, f"parameter {index}")
        text = kind.strip()
        base = text.split("<")[0].split("[")[0].split("::")[-1].strip("&* ").removeprefix("const ")
        inner = Value("any", self.fresh(node, f"inner {index}"))
        if text.count("[") > 1 or text.lower().count("list") + text.count("vector") > 1:
            row = Value("list", self.fresh(node, f"row {index}"), element=inner)
            return Value("list", size, element=row)
        if "[" in text or base.lower() in ("list", "vec", "vector", "sequence", "iterable"):
            return Value("list", size, element=inner)
        if base in library.CONSTRUCTORS and base not in _TEXTS and base not in ("int",):
            return Value(self.kind_made(base), size, element=inner)
        if base in _TEXTS:
            return Value("text", size, element=CHARACTER)
        if base in ("boolean", "bool", "char"):
            return CONSTANT
        if base in _NUMBERS:
            return Value("num", size)
        return Value("any", size)
