"""C and C++ trees in the neutral form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.judges.complexity.declarations_c import CDeclarations, base_of
from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    ForEach,
    Index,
    Items,
    Member,
    Name,
    New,
    Node,
    Num,
    Operation,
)
from assay.judges.complexity.lowering import class_of, function_of

if TYPE_CHECKING:
    from tree_sitter import Node as Tree

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PLACES = (Name, Index, Member)


def _reads(node: Tree, parts: list[Node]) -> bool:
    """Whether `x >> a >> b` reads from a stream: the value of a shift would be used."""
    parent = node.parent
    if parent is None or not all(isinstance(part, _PLACES) for part in parts):
        return False
    if parent.type == "condition_clause":
        return parent.parent is not None and parent.parent.type == "while_statement"
    return parent.type in ("expression_statement", "comma_expression")


class CLowering(CDeclarations):
    """Handlers of the grammars of C and C++."""

    def aliases(self) -> dict[str, str]:
        """Types of tree nodes that another method takes."""
        return {
            "preproc_include": "nothing",
            "preproc_ifdef": "block",
            "preproc_if": "block",
            "preproc_function_def": "nothing",
            "preproc_call": "nothing",
            "using_declaration": "nothing",
            "type_definition": "nothing",
            "alias_declaration": "nothing",
            "type_identifier": "name",
            "primitive_type": "nothing",
            "number_literal": "number",
            "char_literal": "no_number",
            "null": "no_number",
            "true": "truth",
            "false": "falsehood",
            "string_literal": "text",
            "raw_string_literal": "text",
            "concatenated_string": "text",
            "this": "name",
            "field_identifier": "name",
            "unary_expression": "unary",
            "update_expression": "update",
            "assignment_expression": "assignment",
            "conditional_expression": "conditional",
            "parenthesized_expression": "first",
            "condition_clause": "last",
            "expression_statement": "first",
            "compound_statement": "block",
            "translation_unit": "block",
            "declaration_list": "block",
            "for_statement": "for_loop",
            "field_declaration": "on_declaration",
            "call_expression": "call",
            "pointer_expression": "pointer",
            "cast_expression": "cast",
            "sizeof_expression": "no_number",
            "struct_specifier": "type",
            "class_specifier": "type",
            "union_specifier": "type",
            "enum_specifier": "nothing",
            "initializer_list": "literal",
            "throw_statement": "throw",
            "labeled_statement": "last",
            "goto_statement": "nothing",
            "else_clause": "last",
            "access_specifier": "nothing",
            "namespace_definition": "last",
            "template_declaration": "last",
            "comma_expression": "block",
            "try_statement": "block",
            "catch_clause": "nothing",
            "linkage_specification": "last",
        }

    def on_preproc_def(self, node: Tree) -> Node | None:
        """Lower `preproc_def`."""
        value = _COMMENT.sub("", self.spelling(node.child_by_field_name("value"))).strip()
        try:
            number = float(value.rstrip("lLuU"))
        except ValueError:
            number = None
        line = self.line(node)
        name = self.spelling(node.child_by_field_name("name"))
        return Assign(Name(name, line), Num(number, line), line) if number is not None else None

    def on_binary_expression(self, node: Tree) -> Node:
        """Lower `binary_expression`."""
        made = self.binary(node)
        if isinstance(made, Operation) and made.sign == ">>":
            root, parts = _chain(made)
            if isinstance(root, Call) and type(root.callee) is Name and root.callee.id == "cin":
                return Call(root.callee, [*root.arguments, *parts], made.line)
            if type(root) is Name and _reads(node, parts):
                return Call(Name("cin", made.line), parts, made.line)
        if isinstance(made, Operation) and made.sign == "<<":
            root, parts = _chain(made)
            if isinstance(root, Block):
                return Block([*root.items, *parts], made.line)
            if type(root) is Name and root.id in ("cout", "cerr", "fout"):
                return Block(parts, made.line)
        return made

    def on_qualified_identifier(self, node: Tree) -> Node | None:
        """Lower `qualified_identifier`."""
        inner = node.child_by_field_name("name")
        return self.one(inner) if inner is not None else self.name(node)

    def on_template_function(self, node: Tree) -> Node:
        """Lower `template_function`."""
        return self.field(node, "name")

    def on_template_type(self, node: Tree) -> Node:
        """Lower `template_type`."""
        return self.field(node, "name")

    def pointer(self, node: Tree) -> Node:
        """Lower nodes of the kind `pointer`."""
        return self.field(node, "argument")

    def cast(self, node: Tree) -> Node:
        """Lower nodes of the kind `cast`."""
        return self.field(node, "value")

    def call(self, node: Tree) -> Node:
        """Lower nodes of the kind `call`."""
        function = node.child_by_field_name("function")
        arguments = self.arguments(node.child_by_field_name("arguments"))
        line = self.line(node)
        if function is not None and function.type in ("primitive_type", "template_type"):
            kind = base_of(self.spelling(function))
            if function.type == "primitive_type":
                return arguments[0] if arguments else Num(None, line)
            return New(kind, arguments, line)
        return Call(self.need(function), arguments, line)

    def on_compound_literal_expression(self, node: Tree) -> Node:
        """Lower `compound_literal_expression`."""
        kind = base_of(self.spelling(node.child_by_field_name("type")))
        value = self.one(node.child_by_field_name("value"))
        items = value.items if isinstance(value, Items) else []
        return New(kind, items, self.line(node))

    def on_field_expression(self, node: Tree) -> Node:
        """Lower `field_expression`."""
        name = self.spelling(node.child_by_field_name("field"))
        owner = self.field(node, "argument")
        if type(owner) is Name and owner.id == "this":
            return Name(name, self.line(node))
        return Member(owner, name, self.line(node))

    def on_subscript_expression(self, node: Tree) -> Node:
        """Lower `subscript_expression`."""
        at = node.child_by_field_name("index") or node.child_by_field_name("indices")
        inner = self.one(at)
        return Index(self.field(node, "argument"), inner or Num(None, 0), self.line(node))

    def on_subscript_argument_list(self, node: Tree) -> Node | None:
        """Lower `subscript_argument_list`."""
        return self.first(node)

    def on_new_expression(self, node: Tree) -> Node:
        """Lower `new_expression`."""
        kind = base_of(self.spelling(node.child_by_field_name("type")))
        sized = node.child_by_field_name("declarator")
        if sized is not None:
            return New(kind, [], self.line(node), sizes=[self.field(sized, "length")])
        return New(kind, self.arguments(node.child_by_field_name("arguments")), self.line(node))

    def on_lambda_expression(self, node: Tree) -> Node:
        """Lower `lambda_expression`."""
        declarator = node.child_by_field_name("declarator")
        parameters = declarator.child_by_field_name("parameters") if declarator else None
        body = self.body(node.child_by_field_name("body"))
        return function_of("", self.parameters(parameters), body, self.line(node))

    def on_function_definition(self, node: Tree) -> Node | None:
        """Lower `function_definition`."""
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator") or (
                declarator.named_children[-1] if declarator.named_children else None
            )
        if declarator is None:
            return None
        name = self.spelling(declarator.child_by_field_name("declarator")).split("::")[-1]
        return function_of(
            name,
            self.parameters(declarator.child_by_field_name("parameters")),
            lambda: self._statements(node),
            self.line(node),
            result=self.spelling(node.child_by_field_name("type")),
        )

    def _statements(self, node: Tree) -> list[Node]:
        body: list[Node] = []
        for child in node.named_children:
            if child.type == "field_initializer_list":
                body.extend(self._initializers(child))
        return [*body, *self.body(node.child_by_field_name("body"))]

    def _initializers(self, node: Tree) -> list[Node]:
        made: list[Node] = []
        for child in node.named_children:
            parts = child.named_children
            if len(parts) == 2:
                values = self.many(parts[1].named_children)
                if values:
                    line = self.line(child)
                    made.append(Assign(Name(self.spelling(parts[0]), line), values[0], line))
        return made

    def on_for_range_loop(self, node: Tree) -> Node:
        """Lower `for_range_loop`."""
        line = self.line(node)
        declarator = node.child_by_field_name("declarator")
        target: Node
        if declarator is not None and declarator.type == "structured_binding_declarator":
            target = Items("tuple", self.many(declarator.named_children), line)
        else:
            target = Name(self.named(declarator)[0], line)
        body = self.body(node.child_by_field_name("body"))
        return ForEach(target, self.field(node, "right"), body, line)

    def type(self, node: Tree) -> Node | None:
        """Lower nodes of the kind `type`."""
        body = node.child_by_field_name("body")
        if body is None:
            return None
        members: list[Node] = []
        for part in self.many(body.named_children):
            members.extend(part.items if type(part) is Block else [part])
        name = self.spelling(node.child_by_field_name("name"))
        return class_of(name, members, [], self.line(node))

    def on_switch_statement(self, node: Tree) -> Node:
        """Lower `switch_statement`."""
        groups: list[tuple[bool, list[Node]]] = []
        body = node.child_by_field_name("body")
        for child in body.named_children if body is not None else ():
            if child.type == "case_statement":
                value = child.child_by_field_name("value")
                rest = [c for c in child.named_children if value is None or c.id != value.id]
                groups.append((value is None, self.many(rest)))
        return self.cases(self.field(node, "condition"), groups, self.line(node))


def _chain(node: Operation) -> tuple[Node, list[Node]]:
    """The left end of `a >> b >> c`, and the rest."""
    parts: list[Node] = []
    current: Node = node
    while isinstance(current, Operation) and current.sign == node.sign:
        parts.insert(0, current.operands[1])
        current = current.operands[0]
    return current, parts
