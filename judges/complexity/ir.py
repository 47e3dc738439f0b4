"""A small language-neutral form of programs: what matters for their running time, and no more.

Every language of `lowering` is brought into these nodes; `interpreter` reads them. Names, strings
and comments carry nothing: a string keeps its length, a name is only compared with other names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Node:
    """A piece of a program; `line` counts from 1.

    What `traversal` finds is kept in the node: the names used in it, and all that is below it.
    """

    __slots__ = ("below", "line", "names")
    line: int
    names: frozenset[str] | None
    below: list[Node] | None


class Num(Node):
    """A number; None where it has no value known here (a character, a truth value)."""

    __slots__ = ("value",)

    def __init__(self, value: float | None, line: int) -> None:
        self.value = value
        self.line = line


class Text(Node):
    """A string literal with the expressions inside it."""

    __slots__ = ("length", "parts")

    def __init__(self, length: int, parts: list[Node], line: int) -> None:
        self.length = length
        self.parts = parts
        self.line = line
        self.names = self.below = None


class Name(Node):
    """A use of a name."""

    __slots__ = ("id",)

    def __init__(self, id: str, line: int) -> None:
        self.id = id
        self.line = line


class Operation(Node):
    """An operator over operands; comparisons and logic included."""

    __slots__ = ("operands", "sign")

    def __init__(self, sign: str, operands: list[Node], line: int) -> None:
        self.sign = sign
        self.operands = operands
        self.line = line
        self.names = self.below = None


class Call(Node):
    """A call; `callee` is a Name, a Member, or any expression."""

    __slots__ = ("arguments", "callee", "keywords")

    def __init__(
        self,
        callee: Node,
        arguments: list[Node],
        line: int,
        keywords: dict[str, Node] | None = None,
    ) -> None:
        self.callee = callee
        self.arguments = arguments
        self.keywords = keywords
        self.line = line
        self.names = self.below = None


class Member(Node):
    """`owner.name`."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Node, name: str, line: int) -> None:
        self.owner = owner
        self.name = name
        self.line = line
        self.names = self.below = None


class Index(Node):
    """`owner[at]`."""

    __slots__ = ("at", "owner")

    def __init__(self, owner: Node, at: Node, line: int) -> None:
        self.owner = owner
        self.at = at
        self.line = line
        self.names = self.below = None


class Slice(Node):
    """`owner[low:high]`."""

    __slots__ = ("high", "low", "owner")

    def __init__(self, owner: Node, low: Node | None, high: Node | None, line: int) -> None:
        self.owner = owner
        self.low = low
        self.high = high
        self.line = line
        self.names = self.below = None


class Items(Node):
    """A literal collection or tuple; `kind` is list, tuple, set or map."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: str, items: list[Node], line: int) -> None:
        self.kind = kind
        self.items = items
        self.line = line
        self.names = self.below = None


class Spread(Node):
    """`*items` in a call or literal."""

    __slots__ = ("value",)

    def __init__(self, value: Node, line: int) -> None:
        self.value = value
        self.line = line
        self.names = self.below = None


class Comprehension(Node):
    """A comprehension; `clauses` pairs targets with what they run over. Generators are lazy."""

    __slots__ = ("body", "clauses", "conditions", "kind")

    def __init__(
        self,
        kind: str,
        body: list[Node],
        clauses: list[tuple[Node, Node]],
        conditions: list[Node],
        line: int,
    ) -> None:
        self.kind = kind
        self.body = body
        self.clauses = clauses
        self.conditions = conditions
        self.line = line
        self.names = self.below = None


class Function(Node):
    """A function, method or lambda; `types` are spellings of parameter types, where written.

    Its body is brought into this form only when something asks for it: nobody reads dead code.
    """

    __slots__ = (
        "_body",
        "decorators",
        "facts",
        "name",
        "owner",
        "parameters",
        "result",
        "types",
    )

    def __init__(
        self,
        name: str,
        parameters: list[str],
        body: list[Node] | Callable[[], list[Node]],
        line: int,
        *,
        types: list[str] | None = None,
        result: str = "",
        owner: str = "",
        decorators: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.parameters = parameters
        self._body = body
        self.types = types or [""] * len(parameters)
        self.result = result
        self.owner = owner
        self.decorators = decorators
        self.facts: object = None
        self.line = line

    @property
    def body(self) -> list[Node]:
        """Its statements."""
        if not isinstance(self._body, list):
            self._body = self._body()
        return self._body


class Class(Node):
    """A class with its methods; `fields` are assignments that run when it is made or loaded."""

    __slots__ = ("bases", "fields", "methods", "name")

    def __init__(
        self, name: str, methods: list[Function], fields: list[Node], bases: list[str], line: int
    ) -> None:
        self.name = name
        self.methods = methods
        self.fields = fields
        self.bases = bases
        self.line = line


class New(Node):
    """Construction: `type` with arguments, or an array with the sizes of its dimensions."""

    __slots__ = ("arguments", "body", "sizes", "type")

    def __init__(
        self,
        type: str,
        arguments: list[Node],
        line: int,
        sizes: list[Node] | None = None,
        body: list[Function] | None = None,
    ) -> None:
        self.type = type
        self.arguments = arguments
        self.sizes = sizes
        self.body = body
        self.line = line
        self.names = self.below = None


class Assign(Node):
    """`target = value`, or `target sign= value`; `type` is the declared type, where written."""

    __slots__ = ("changes", "sign", "target", "type", "value")

    def __init__(
        self, target: Node, value: Node | None, line: int, sign: str = "", type: str = ""
    ) -> None:
        self.target = target
        self.value = value
        self.sign = sign
        self.type = type
        self.changes: object = None  # what `facts` says of it, kept
        self.line = line
        self.names = self.below = None


class If(Node):
    """A branch; also conditional expressions and switches, as chains."""

    __slots__ = ("other", "test", "then")

    def __init__(self, test: Node, then: list[Node], other: list[Node], line: int) -> None:
        self.test = test
        self.then = then
        self.other = other
        self.line = line
        self.names = self.below = None


class Loop(Node):
    """`while` and C's `for`; `test` is None where it never ends by itself."""

    __slots__ = ("body", "late", "start", "test", "update")

    def __init__(
        self,
        start: list[Node],
        test: Node | None,
        update: list[Node],
        body: list[Node],
        line: int,
        late: bool = False,
    ) -> None:
        self.start = start
        self.test = test
        self.update = update
        self.body = body
        self.late = late
        self.line = line
        self.names = self.below = None


class ForEach(Node):
    """A loop over a collection, range or iterator."""

    __slots__ = ("body", "over", "target")

    def __init__(self, target: Node, over: Node, body: list[Node], line: int) -> None:
        self.target = target
        self.over = over
        self.body = body
        self.line = line
        self.names = self.below = None


class Jump(Node):
    """`return`, `break`, `continue` or `throw`."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Node | None, line: int) -> None:
        self.kind = kind
        self.value = value
        self.line = line
        self.names = self.below = None


class Block(Node):
    """Statements in a row; also several expressions of which the last counts."""

    __slots__ = ("items",)

    def __init__(self, items: list[Node], line: int) -> None:
        self.items = items
        self.line = line
        self.names = self.below = None
