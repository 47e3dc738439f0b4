"""Declarations of C and C++ in the neutral form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.judges.complexity.ir import Assign, Block, Items, Name, New, Node
from assay.judges.complexity.lowering import Lowering

if TYPE_CHECKING:
    from tree_sitter import Node as Tree

_DECLARATORS = frozenset(
    {"pointer_declarator", "reference_declarator", "parenthesized_declarator", "init_declarator",
     "array_declarator", "function_declarator", "attributed_declarator"}
)  # fmt: skip


class CDeclarations(Lowering):
    """Handlers of declarations and parameters."""

    def parameters(self, node: Tree | None) -> list[tuple[str, str]]:
        """Names and types of parameters."""
        found: list[tuple[str, str]] = []
        for child in node.named_children if node is not None else ():
            if child.type in ("parameter_declaration", "optional_parameter_declaration"):
                kind = self.spelling(child.child_by_field_name("type"))
                declarator = child.child_by_field_name("declarator")
                name, depth = self.named(declarator)
                if name:
                    found.append((name, kind + "[]" * depth))
        return found

    def named(self, node: Tree | None) -> tuple[str, int]:
        """The name in a declarator, and how many array dimensions it has."""
        depth = 0
        while node is not None and node.type in _DECLARATORS:
            depth += node.type in ("array_declarator", "pointer_declarator")
            node = node.child_by_field_name("declarator") or (
                node.named_children[-1] if node.named_children else None
            )
        return self.spelling(node), depth

    def on_declaration(self, node: Tree) -> Node | None:
        """Lower `declaration`."""
        type_node = node.child_by_field_name("type")
        kind = self.spelling(type_node)
        made: list[Node] = []
        if type_node is not None and type_node.type.endswith("_specifier"):
            defined = self.one(type_node)
            if defined is not None and type_node.child_by_field_name("body") is not None:
                made.append(defined)
        for child in node.children_by_field_name("declarator"):
            if (one := self._declared(child, kind)) is not None:
                made.append(one)
        return made[0] if len(made) == 1 else Block(made, self.line(node))

    def _declared(self, node: Tree, kind: str) -> Node | None:
        line = self.line(node)
        value: Node | None = None
        if node.type == "init_declarator":
            given = node.child_by_field_name("value")
            value = self.one(given)
            if given is not None and given.type == "argument_list":
                value = New(base_of(kind), self.arguments(given), line)
            elif isinstance(value, Items) and base_of(kind) != kind and len(value.items) < 1:
                value = None
            node = node.child_by_field_name("declarator") or node
        sizes: list[Node] = []
        while node.type in ("array_declarator", "pointer_declarator", "reference_declarator"):
            if node.type == "array_declarator":
                sizes.insert(0, self.field(node, "size"))
            node = node.child_by_field_name("declarator") or node.named_children[-1]
        if node.type == "function_declarator":  # `vector<int> v(n, 0)` reads as a function
            return self._most_vexing(node, kind)
        target = Name(self.spelling(node), line)
        if sizes and value is None:
            value = self._array(kind, sizes, line)
        return Assign(target, value, line, "", kind)

    def _array(self, kind: str, sizes: list[Node], line: int) -> Node:
        return New(base_of(kind), [], line, sizes=sizes)

    def _most_vexing(self, node: Tree, kind: str) -> Node | None:
        if "<" not in kind and base_of(kind) != "string":
            return None
        line = self.line(node)
        parameters = node.child_by_field_name("parameters")
        arguments: list[Node] = []
        for child in parameters.named_children if parameters is not None else ():
            inner = child.child_by_field_name("type")
            declarator = child.child_by_field_name("declarator")
            if declarator is not None and declarator.type == "abstract_function_declarator":
                given = declarator.child_by_field_name("parameters")
                sizes = [
                    Name(self.spelling(c.child_by_field_name("type")), line)
                    for c in (given.named_children if given is not None else ())
                ]
                arguments.append(New(base_of(self.spelling(inner)), list(sizes), line))
            elif inner is not None:
                arguments.append(Name(self.spelling(inner), line))
        target = Name(self.spelling(node.child_by_field_name("declarator")), line)
        return Assign(target, New(base_of(kind), arguments, line), line, "", kind)


def base_of(kind: str) -> str:
    """`vector` of `const std::vector<int>&`."""
    return kind.split("<")[0].split("::")[-1].strip("&* ").removeprefix("const ").strip()
