"""Numbers that describe a program's structure for the learned estimator.

They come from the tree that the static estimator read and from what it found; identifiers, strings
and comments enter nowhere, and functions that nobody calls are left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.judges.complexity import cost
from assay.judges.complexity.expression import CLASSES, Expression
from assay.judges.complexity.facts import function_facts
from assay.judges.complexity.interpreter import Interpreter
from assay.judges.complexity.ir import (
    Assign,
    Call,
    Comprehension,
    ForEach,
    Function,
    If,
    Index,
    Loop,
    Member,
    New,
    Node,
    Num,
    Operation,
    Slice,
)
from assay.judges.complexity.library import COMBINATIONS, NUMBERS, READERS
from assay.judges.complexity.terms import own_names, terms_of
from assay.judges.complexity.traversal import children, key_of, walk

Vector = npt.NDArray[np.float32]

_GROUPS: dict[str, frozenset[str]] = {
    "sort": frozenset({"sort", "sorted", "Sort", "Slice", "Ints", "sort_by", "parallelSort"}),
    "heap": frozenset({"heappush", "heappop", "heapify", "PriorityQueue", "poll", "offer"}),
    "tree": frozenset({"TreeMap", "TreeSet", "BTreeMap", "floorKey", "higher", "lower", "ceiling"}),
    "hash": frozenset({"HashMap", "HashSet", "Counter", "defaultdict", "set", "dict", "Map"}),
    "bisect": frozenset({"bisect", "bisect_left", "bisect_right", "lower_bound", "binarySearch"}),
    "power": frozenset({"pow", "modPow", "sqrt", "log", "log2", "log10", "exp"}),
    "gcd": frozenset({"gcd", "lcm", "__gcd"}),
    "digits": frozenset({"bin", "bit_length", "toBinaryString", "bitCount", "str", "hex"}),
    "extreme": frozenset({"max", "min", "abs"}),
    "total": frozenset({"sum", "len", "count", "size", "length"}),
    "find": frozenset({"index", "indexOf", "find", "contains", "count", "lastIndexOf", "replace"}),
    "cut": frozenset({"substring", "substr", "split", "join", "strip", "toCharArray"}),
    "append": frozenset({"append", "add", "push", "push_back", "put", "insert", "addLast"}),
    "take": frozenset({"pop", "remove", "popleft", "poll", "removeFirst", "pollFirst"}),
    "print": frozenset({"print", "println", "write", "printf", "format"}),
    "fill": frozenset({"fill", "memset", "copyOf", "asList"}),
    "factorial": frozenset({"factorial", "comb", "perm", *COMBINATIONS}),
    "number": NUMBERS,
    "reader": frozenset(READERS),
}
_KINDS: dict[str, type[Node]] = {
    "assign": Assign,
    "call": Call,
    "comprehension": Comprehension,
    "each": ForEach,
    "if": If,
    "index": Index,
    "loop": Loop,
    "member": Member,
    "new": New,
    "num": Num,
    "operation": Operation,
    "slice": Slice,
}
_SIGNS = ("%", "*", "//", "/", "<<", ">>", "&", "|", "^", "**", "and", "in", "==", "<")
_WHYS = (
    "runs over its range", "runs over a collection", "counts up", "counts down", "halves",
    "divides down", "multiplies", "drops bits", "takes from", "visits", "reads one",
    "not understood",
    "is set anew", "sorts", "sorted range", "balanced tree", "copies", "goes through",
    "searches or",
    "raises to", "recursion: divides", "recursion: keeps", "recursion: one call",
    "recursion: branches", "recursion: calls itself", "harmonic", "cases of the input", "prints",
    "fills", "builds", "comprehension", "Euclid", "searches a list", "climbs",
)  # fmt: skip


def _names() -> list[str]:
    return [
        *(f"static {name}" for name in (*CLASSES, "none")),
        "exponentials", "power", "logs", "variables", "doubt", "test loop", "numbers read",
        "lines read", "functions", "recursive", "depth", "loop depth", "nodes", "big numbers",
        "known trips", "deepest growing", "dimensions",
        *(f"kind {name}" for name in _KINDS),
        *(f"call {name}" for name in _GROUPS),
        *(f"sign {name}" for name in _SIGNS),
        *(f"why {name}" for name in _WHYS),
        *(f"growth {name}" for name in _WHYS),
        *(f"loops at {depth}" for depth in range(5)),
    ]  # fmt: skip


NAMES = tuple(_names())


@dataclass(frozen=True, slots=True)
class Description:
    """A program as the learned estimator sees it.

    Attributes:
        numbers: In the order of `NAMES`.
        words: `terms.terms_of`, with counts.
    """

    numbers: Vector
    words: Mapping[str, int]

    __hash__ = None  # type: ignore[assignment]


def describe(
    nodes: list[Node], machine: Interpreter, total: cost.Cost | None, expression: Expression | None
) -> Description:
    """Numbers and words of a program that was read."""
    own = own_names(nodes, machine)
    numbers = _numbers(nodes, machine, total, expression, own)
    return Description(numbers, terms_of(nodes, machine, own))


def _numbers(
    nodes: list[Node],
    machine: Interpreter,
    total: cost.Cost | None,
    expression: Expression | None,
    own: Set[str],
) -> Vector:
    functions = list(machine.functions_read.values())
    everything = walk([n for n in nodes if not isinstance(n, Function)])
    for function in functions:
        everything.extend(walk(function.body))
    kinds = Counter(type(node) for node in everything)
    calls = Counter(
        name
        for node in everything
        if isinstance(node, Call | New)
        for name in [node.type if isinstance(node, New) else key_of(node.callee).lstrip(".")]
        if name not in own
    )
    signs = Counter(
        node.sign for node in everything if isinstance(node, Operation | Assign) and node.sign
    )
    bodies = [[n for n in nodes if not isinstance(n, Function)], *(f.body for f in functions)]
    depths: Counter[int] = Counter()
    for body in bodies:
        _depths(body, 0, depths)
    found = expression.to_class() if expression is not None else None
    degree = cost.degree(total) if total else (0.0, 0.0, 0.0)
    whys: Counter[str] = Counter()
    growth: dict[str, float] = {}
    for amount, _, why in machine.notes:
        for name in _WHYS:
            if name in why:
                whys[name] += 1
                exponentials, power, logs = cost.degree(amount)
                growth[name] = max(growth.get(name, 0.0), 4 * exponentials + power + 0.3 * logs)
    big = sum(
        isinstance(n, Num) and n.value is not None and abs(n.value) >= 1e4 for n in everything
    )
    return np.array(
        [
            *(float((found or "none") == name) for name in (*CLASSES, "none")),
            *degree,
            float(len(cost.names(total))) if total else 0.0,
            1.0 - math.prod(sorted(machine.doubts)[:4]),
            float("the number of test cases is left out" in machine.flags),
            float(len(machine.numbers)),
            float(machine.lines_read),
            float(len(functions)),
            float(sum(f.name in function_facts(f).calls for f in functions)),
            float(_deepest(bodies, children)),
            float(max(depths, default=0)),
            math.log1p(len(everything)),
            float(big),
            float(len(machine.sizes)),
            max(growth.values(), default=0.0),
            float(max((len(n.sizes or ()) for n in everything if isinstance(n, New)), default=0)),
            *(math.log1p(kinds[kind]) for kind in _KINDS.values()),
            *(math.log1p(sum(calls[n] for n in names)) for names in _GROUPS.values()),
            *(math.log1p(signs[sign]) for sign in _SIGNS),
            *(math.log1p(whys[name]) for name in _WHYS),
            *(growth.get(name, 0.0) for name in _WHYS),
            *(float(depths[depth]) for depth in range(5)),
        ],
        dtype=np.float32,
    )


def _depths(nodes: list[Node], depth: int, found: Counter[int]) -> None:
    """Count loops by how many loops are around them."""
    for node in nodes:
        inner = depth
        if isinstance(node, Loop | ForEach):
            found[depth] += 1
            inner = depth + 1
        elif isinstance(node, Comprehension):
            found[depth] += 1
            inner = depth + len(node.clauses)
        _depths(children(node), inner, found)


def _deepest(bodies: list[list[Node]], parts: Callable[[Node], list[Node]]) -> int:
    deepest = 0
    stack = [(node, 1) for body in bodies for node in body]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in parts(node))
    return deepest
