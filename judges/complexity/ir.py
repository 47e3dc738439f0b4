"""A small language-neutral form of programs: what matters for their running time, and no more.

Every language of `lowering` is brought into these nodes; `interpreter` reads them. Names, strings
and comments carry nothing: a string keeps its length, a name is only compared with other names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Node:
    """A piece of a program; `line` counts from 1."""

    __slots__ = ("line", "names", "parts_below")
    line: int
    names: frozenset[str]  # what `facts.names_in` found, kept
    parts_below: list[Node]  # what `walk` found, kept


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


class Member(Node):
    """`owner.name`."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Node, name: str, line: int) -> None:
        self.owner = owner
        self.name = name
        self.line = line


class Index(Node):
    """`owner[at]`."""

    __slots__ = ("at", "owner")

    def __init__(self, owner: Node, at: Node, line: int) -> None:
        self.owner = owner
        self.at = at
        self.line = line


class Slice(Node):
    """`owner[low:high]`."""

    __slots__ = ("high", "low", "owner")

    def __init__(self, owner: Node, low: Node | None, high: Node | None, line: int) -> None:
        self.owner = owner
        self.low = low
        self.high = high
        self.line = line


class Items(Node):
    """A literal collection or tuple; `kind` is list, tuple, set or map."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: str, items: list[Node], line: int) -> None:
        self.kind = kind
        self.items = items
        self.line = line


class Spread(Node):
    """`*items` in a call or literal."""

    __slots__ = ("value",)

    def __init__(self, value: Node, line: int) -> None:
        self.value = value
        self.line = line


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


class Assign(Node):
    """`target = value`, or `target sign= value`; `type` is the declared type, where written."""

    __slots__ = ("sign", "target", "type", "value")

    def __init__(
        self, target: Node, value: Node | None, line: int, sign: str = "", type: str = ""
    ) -> None:
        self.target = target
        self.value = value
        self.sign = sign
        self.type = type
        self.line = line


class If(Node):
    """A branch; also conditional expressions and switches, as chains."""

    __slots__ = ("other", "test", "then")

    def __init__(self, test: Node, then: list[Node], other: list[Node], line: int) -> None:
        self.test = test
        self.then = then
        self.other = other
        self.line = line


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


class ForEach(Node):
    """A loop over a collection, range or iterator."""

    __slots__ = ("body", "over", "target")

    def __init__(self, target: Node, over: Node, body: list[Node], line: int) -> None:
        self.target = target
        self.over = over
        self.body = body
        self.line = line


class Jump(Node):
    """`return`, `break`, `continue` or `throw`."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Node | None, line: int) -> None:
        self.kind = kind
        self.value = value
        self.line = line


class Block(Node):
    """Statements in a row; also several expressions of which the last counts."""

    __slots__ = ("items",)

    def __init__(self, items: list[Node], line: int) -> None:
        self.items = items
        self.line = line


def children(node: Node) -> list[Node]:
    """Direct parts of a node, in order of the text; bodies of nested functions are not entered."""
    kind = type(node)
    if kind is Name or kind is Num or kind is Function or kind is Class:
        return []
    parts: list[Node] = _PARTS[kind](node)
    return parts


def _call(node: Call) -> list[Node]:
    extra = list(node.keywords.values()) if node.keywords else []
    return [node.callee, *node.arguments, *extra]


def _some(*nodes: Node | None) -> list[Node]:
    return [node for node in nodes if node is not None]


_PARTS: dict[type, Any] = {
    Operation: lambda n: n.operands,
    Text: lambda n: n.parts,
    Call: _call,
    Member: lambda n: [n.owner],
    Index: lambda n: [n.owner, n.at],
    Slice: lambda n: _some(n.owner, n.low, n.high),
    Items: lambda n: n.items,
    Spread: lambda n: [n.value],
    Comprehension: lambda n: [
        *(part for clause in n.clauses for part in clause),
        *n.conditions,
        *n.body,
    ],
    New: lambda n: [*n.arguments, *(n.sizes or [])],
    Assign: lambda n: _some(n.target, n.value),
    If: lambda n: [n.test, *n.then, *n.other],
    Loop: lambda n: [*n.start, *_some(n.test), *n.update, *n.body],
    ForEach: lambda n: [n.target, n.over, *n.body],
    Jump: lambda n: _some(n.value),
    Block: lambda n: n.items,
}


def walk(nodes: Sequence[Node]) -> list[Node]:
    """All nodes below and including these, without bodies of nested functions; do not change."""
    if len(nodes) == 1:
        return _below(nodes[0])
    found: list[Node] = []
    for node in nodes:
        found += _below(node)
    return found


def _below(node: Node) -> list[Node]:
    try:
        return node.parts_below
    except AttributeError:
        found = [node]
        for part in children(node):
            found += _below(part)
        node.parts_below = found
        return found
