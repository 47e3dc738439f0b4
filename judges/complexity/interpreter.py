"""Reads a program in the neutral form and adds up what its statements cost.

Values are sizes (`values`), loops multiply, calls are read again with the sizes of their arguments.
Only what is called is read, so dead code costs nothing.
"""

from __future__ import annotations

from typing import Any, ClassVar

from assay.judges.complexity import cost, library
from assay.judges.complexity.cost import ONE
from assay.judges.complexity.facts import small_in
from assay.judges.complexity.ir import (
    Assign,
    Block,
    Class,
    ForEach,
    Function,
    If,
    Index,
    Items,
    Jump,
    Loop,
    Member,
    Name,
    Node,
    Spread,
)
from assay.judges.complexity.loops import Loops
from assay.judges.complexity.traversal import key_of
from assay.judges.complexity.values import Value


class Interpreter(Loops):
    """Statements; loops, expressions and calls are in the bases."""

    def read(self, nodes: list[Node]) -> None:
        """Read statements in order, stopping after a jump."""
        depth = len(self.paths)
        statements = self.statements
        for node in nodes:
            self.step()
            handler = statements.get(type(node))
            if handler is None:
                self.value(node)
                continue
            handler(self, node)
            if type(node) is Jump:
                break
        del self.paths[depth:]

    def statement(self, node: Node) -> None:
        """Read one statement."""
        handler = self.statements.get(type(node))
        if handler is None:
            self.value(node)
        else:
            handler(self, node)

    # -- definitions ----------------------------------------------------------------------------

    def on_function(self, node: Function) -> None:
        """Bind a function to its name."""
        made = Value("function")
        made.function = node
        made.scopes = list(self.scopes)
        self.made_in.append(self.scopes[0])
        self.scopes[0][node.name] = made

    def on_class(self, node: Class) -> None:
        """Note the methods of a class and run its fields."""
        self.classes[node.name] = node
        for method in node.methods:
            self.methods.setdefault(method.name, []).append(method)
        for part in node.fields:
            if type(part) is Class:
                self.on_class(part)
            else:
                self.statement(part)

    # -- plain statements -----------------------------------------------------------------------

    def on_block(self, node: Block) -> None:
        """Statements in a row."""
        self.read(node.items)

    def on_if(self, node: If) -> None:
        """A branch: both sides are read."""
        self.value(node.test)
        self.branch += 1
        self.paths.append((id(node), 0))
        name, low, high = small_in(node.test)
        self.read_branch(node.then, name if low else "")
        self.paths[-1] = (id(node), 1)
        self.read_branch(node.other, name if high else "")
        self.branch -= 1
        if not (node.then and _leaves(node.then[-1])):
            self.paths.pop()  # else what follows is the other side of this branch

    def read_branch(self, nodes: list[Node], small: str) -> None:
        """Read one side of a branch, in which a number is small that the test bounds."""
        scope = next((s for s in self.scopes if small in s), None) if small and nodes else None
        old = scope[small] if scope is not None else None
        if scope is None or old is None or old.kind != "num" or cost.is_constant(old.size):
            self.read(nodes)
            return
        meant = scope[small] = Value("num")
        self.read(nodes)
        if scope.get(small) is meant:
            scope[small] = old

    def on_jump(self, node: Jump) -> None:
        """A return keeps its value."""
        if node.value is not None:
            value = self.value(node.value)
            if node.kind == "return":
                self.returned = _joined(self.returned, value)

    def on_assign(self, node: Assign) -> None:
        """An assignment or declaration."""
        if node.value is None:
            self.bind(node.target, self.declared(node.type, node))
            return
        if node.sign:
            self.augment(node)
            return
        value = self.value(node.value)
        if node.type and value.kind in ("any", "none"):
            value = self.declared(node.type, node, value)
        self.bind(node.target, value)
        self.keep_alias(node.target, node.value)

    def keep_alias(self, target: Node, value: Node) -> None:
        """`read = input`: a name that stands for a function of the library."""
        if type(target) is Items and type(value) is Items:
            for part, one in zip(target.items, value.items, strict=False):
                self.keep_alias(part, one)
            return
        if type(target) is not Name or type(value) not in (Name, Member):
            return
        name = key_of(value).lstrip(".")
        if name == target.id or name not in library.CALLABLE or target.id in library.CALLABLE:
            return
        held = self.lookup(name) if type(value) is Name else None
        if held is None or held.alias is not None:
            made = Value("any")
            made.alias = value if held is None else held.alias
            self.bind(target, made)

    # -- binding --------------------------------------------------------------------------------

    def bind(self, target: Node, value: Value, *, fresh: bool = False) -> None:
        """Give a value to a name, field, element or several of them."""
        if isinstance(target, Name):
            self.set_name(target.id, value)
        elif isinstance(target, Member):
            self.globals["." + target.name] = value
            if target.name in self.globals:
                self.globals[target.name] = value
        elif isinstance(target, Items):
            self.unpack(target.items, value)
        elif isinstance(target, Index):
            self.store(target, value)
        elif isinstance(target, Spread):
            self.bind(target.value, value if value.is_collection else Value("list", value.size))

    def unpack(self, targets: list[Node], value: Value) -> None:
        """Give the parts of a value to several names."""
        items = value.items
        if items is not None and len(items) == len(targets):
            for target, item in zip(targets, items, strict=True):
                self.bind(target, item)
            return
        for target in targets:
            element = value.element
            if type(target) is Spread:
                self.bind(target.value, value.like("list", depth=len(self.loops)))
            elif value.kind == "line" or (element is None and value.read):
                self.bind(target, self.token(target))
            elif element is None:
                self.bind(target, Value("any"))
            elif element.kind in ("token", "num") and not cost.is_constant(element.size):
                self.bind(
                    target,
                    self.input_number(target) if element.kind == "num" else self.token(target),
                )
            else:
                self.bind(target, element)

    def store(self, target: Index, value: Value) -> None:
        """`owner[at] = value`."""
        owner = self.value(target.owner)
        self.value(target.at)
        if owner.kind in ("map", "tree", "any"):
            self.grow(owner, ONE)
            self.charge_key(owner, target.line)
        if owner.is_collection:
            owner.element = _joined(owner.element, value)

    statements: ClassVar[dict[type, Any]] = {}


Interpreter.statements = {
    Function: Interpreter.on_function,
    Class: Interpreter.on_class,
    Block: Interpreter.on_block,
    If: Interpreter.on_if,
    Jump: Interpreter.on_jump,
    Assign: Interpreter.on_assign,
    ForEach: Interpreter.on_for_each,
    Loop: Interpreter.on_loop,
}


def _joined(old: Value | None, new: Value) -> Value:
    """What a value is that may be either."""
    if old is None or old.kind in ("none", "any") or old is new:
        return new
    if new.kind in ("none", "any"):
        return old
    if old.kind == "num" and new.kind == "num":
        if old.number == new.number and old.number is not None:
            return old
        return Value("num", cost.plus(old.size, new.size))
    if old.is_collection and new.is_collection:
        made = new.like(new.kind, cost.plus(old.size, new.size), new.depth)
        made.ragged = old.ragged or new.ragged
        if made.element is None:
            made.element = old.element
        return made
    return new


def _leaves(node: Node) -> bool:
    return type(node) is Jump and node.kind in ("return", "throw", "continue", "break")
