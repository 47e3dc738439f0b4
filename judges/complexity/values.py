"""What the static estimator knows of a value: its kind, how large it is, and what is inside."""

from __future__ import annotations

from assay.judges.complexity.cost import ONE, Cost
from assay.judges.complexity.ir import Function, Node

#: Kinds of collections.
COLLECTIONS = frozenset(
    {
        "list",
        "text",
        "set",
        "map",
        "tree",
        "heap",
        "deque",
        "tuple",
        "range",
        "lazy",
        "line",
        "token",
    }
)


class Value:
    """An abstract value.

    Attributes:
        kind: num, char, any, none, function, object, or one of `COLLECTIONS`.
        size: An upper bound of a number; the length of a collection.
        number: The number, where it is one constant.
        element: What a collection holds.
        items: The values of a tuple, where each is known.
        depth: How many loops were open when a collection was made.
        ragged: The size is the total over all rows of the collection around this one.
        read: It is input as it was read; converting it is not charged.
        row: It is one of many lines of input; library calls on it count as constant.
        owner: The class of an object of the program.
        cap: A length that a loop keeps it below.
        alias: The function of the library that it stands for.
        function: What a call runs.
        scopes: The scopes in which the function was made.
    """

    __slots__ = (
        "alias",
        "cap",
        "depth",
        "element",
        "function",
        "items",
        "kind",
        "number",
        "owner",
        "ragged",
        "read",
        "row",
        "scopes",
        "size",
    )

    def __init__(
        self,
        kind: str,
        size: Cost = ONE,
        number: float | None = None,
        element: Value | None = None,
        items: list[Value] | None = None,
        depth: int = 0,
    ) -> None:
        self.kind = kind
        self.size = size
        self.number = number
        self.element = element
        self.items = items
        self.depth = depth
        self.cap: Cost | None = None
        self.alias: Node | None = None
        self.ragged = False
        self.read = False
        self.row = False
        self.owner = ""
        self.function: Function | None = None
        self.scopes: list[dict[str, Value]] | None = None

    @property
    def is_collection(self) -> bool:
        """Whether it has a length."""
        return self.kind in COLLECTIONS

    def like(self, kind: str, size: Cost | None = None, depth: int = 0) -> Value:
        """Another collection with the same elements."""
        made = Value(kind, self.size if size is None else size, None, self.element, None, depth)
        made.ragged, made.read, made.row = self.ragged, self.read, self.row
        return made


CONSTANT = Value("num")
NONE = Value("none")
CHARACTER = Value("char")


def number(value: float | None) -> Value:
    """A constant number."""
    return Value("num", ONE, value) if value is not None else CONSTANT
