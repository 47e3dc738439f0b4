"""Words that describe a program for the learned estimator: short paths in its neutral form.

A word says what a node is (an operator, a call of a library function, a loop, the magnitude of a
constant), alone, under its parent, under its grandparent, and inside how many loops; and what the
static estimator found. Names that the program chose appear in no word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from assay.judges.complexity import cost
from assay.judges.complexity.interpreter import Interpreter
from assay.judges.complexity.ir import (
    Assign,
    Call,
    Class,
    Comprehension,
    ForEach,
    Function,
    Items,
    Jump,
    Loop,
    Member,
    Name,
    New,
    Node,
    Num,
    Operation,
)
from assay.judges.complexity.traversal import children, walk

_LOOPS = (Loop, ForEach, Comprehension)
_SHORTEST = 3  # letters of a library's name; shorter ones are mostly aliases that someone chose
_MAGNITUDES = (32.0, 100.0, 1e3, 1e5, 2e6, 2e9)


def terms_of(nodes: list[Node], machine: Interpreter, own: Set[str]) -> Counter[str]:
    """Words of a program with their counts.

    Args:
        nodes: The program.
        machine: What read it; functions that it did not read are left out.
        own: `own_names` of the program.
    """
    found: Counter[str] = Counter()
    for place, body in enumerate(bodies_read(nodes, machine)):
        _count(body, ("function" if place else "top", ""), 0, own, found)
    for amount, _, why in machine.notes:
        exponentials, power, logs = cost.degree(amount)
        found[f"because {why}"] += 1
        found[f"because {why}: {exponentials:.0f} {power:.1f} {logs:.0f}"] += 1
    return found


def bodies_read(nodes: list[Node], machine: Interpreter) -> list[list[Node]]:
    """The statements outside functions, then the body of each function that was read."""
    outside = [node for node in nodes if not isinstance(node, Function | Class)]
    return [outside, *(function.body for function in machine.functions_read.values())]


def _count(
    nodes: list[Node], above: tuple[str, str], depth: int, own: Set[str], found: Counter[str]
) -> None:
    parent, grandparent = above
    for node in nodes:
        word = _word(node, own)
        found[word] += 1
        found[f"{parent} > {word}"] += 1
        found[f"{grandparent} > {parent} > {word}"] += 1
        if depth:
            found[f"{min(depth, 3)} loops: {word}"] += 1
        inner = depth + isinstance(node, _LOOPS)
        _count(children(node), (word, parent), inner, own, found)


def _word(node: Node, own: Set[str]) -> str:
    kind = type(node)
    if isinstance(node, Operation):
        return node.sign
    if isinstance(node, Assign):
        return f"{node.sign}="
    if isinstance(node, Num):
        return _magnitude(node.value)
    if isinstance(node, Call):
        callee = node.callee
        name = callee.name if type(callee) is Member else callee.id if type(callee) is Name else ""
        return "own call" if name in own else f"{_public(name)}()"
    if isinstance(node, New):
        name = "own" if node.type in own else _public(node.type)
        return f"new {name} {len(node.sizes or ())}"
    if isinstance(node, Jump):
        return node.kind
    return node.kind if isinstance(node, Items) else kind.__name__


def _public(name: str) -> str:
    return name if len(name) >= _SHORTEST else "?"


def _magnitude(value: float | None) -> str:
    if value is None:
        return "number"
    size = abs(value)
    if size <= 10 and value == int(value):
        return str(int(value))
    for bound in _MAGNITUDES:
        if size < bound:
            return f"number < {bound:g}"
    return "number, large"


def own_names(nodes: list[Node], machine: Interpreter) -> set[str]:
    """Names that the program binds, in what was read of it."""
    own: set[str] = set()
    bodies = bodies_read(nodes, machine)
    definitions: list[Node] = [*nodes, *machine.functions_read.values()]
    while definitions:
        node = definitions.pop()
        if isinstance(node, Function):
            own.update((node.name, *node.parameters))
        elif isinstance(node, Class):
            own.add(node.name)
            definitions += [*node.methods, *node.fields]
            bodies.append(node.fields)
    for node in (part for body in bodies for part in walk(body)):
        if isinstance(node, Function):
            own.update((node.name, *node.parameters))
        elif isinstance(node, Assign | ForEach):
            _bind(node.target, own)
        elif isinstance(node, Comprehension):
            for target, _ in node.clauses:
                _bind(target, own)
    return own


def _bind(target: Node, own: set[str]) -> None:
    if type(target) is Name:
        own.add(target.id)
    elif type(target) is Member:
        own.add(target.name)
    elif isinstance(target, Items):
        for item in target.items:
            _bind(item, own)
