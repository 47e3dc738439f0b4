"""Java trees in the neutral form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    ForEach,
    Function,
    Index,
    Jump,
    Member,
    Name,
    New,
    Node,
    Num,
)
from assay.judges.complexity.lowering import Lowering, class_of, function_of

if TYPE_CHECKING:
    from tree_sitter import Node as Tree


class JavaLowering(Lowering):
    """Handlers of Java's grammar."""

    def aliases(self) -> dict[str, str]:
        """Types of tree nodes that another method takes."""
        return {
            "import_declaration": "nothing",
            "package_declaration": "nothing",
            "modifiers": "nothing",
            "decimal_integer_literal": "number",
            "hex_integer_literal": "number",
            "octal_integer_literal": "number",
            "binary_integer_literal": "number",
            "decimal_floating_point_literal": "number",
            "character_literal": "no_number",
            "null_literal": "no_number",
            "true": "truth",
            "false": "falsehood",
            "string_literal": "text",
            "this": "name",
            "super": "name",
            "binary_expression": "binary",
            "unary_expression": "unary",
            "update_expression": "update",
            "assignment_expression": "assignment",
            "ternary_expression": "conditional",
            "parenthesized_expression": "first",
            "expression_statement": "first",
            "block": "block",
            "constructor_body": "block",
            "for_statement": "c_for",
            "local_variable_declaration": "variables",
            "field_declaration": "variables",
            "throw_statement": "throw",
            "enum_declaration": "type",
            "class_declaration": "type",
            "interface_declaration": "type",
            "record_declaration": "type",
            "constructor_declaration": "method",
            "method_declaration": "method",
            "array_initializer": "literal",
            "try_statement": "attempt",
            "try_with_resources_statement": "attempt",
            "switch_expression": "switch",
            "switch_statement": "switch",
            "labeled_statement": "last",
            "yield_statement": "first",
            "static_initializer": "first",
            "type_identifier": "nothing",
            "integral_type": "nothing",
            "generic_type": "nothing",
            "array_type": "nothing",
            "method_reference": "no_number",
            "catch_formal_parameter": "nothing",
            "marker_annotation": "nothing",
            "annotation": "nothing",
        }

    def variables(self, node: Tree) -> Node:
        """Lower nodes of the kind `variables`."""
        kind = self.spelling(node.child_by_field_name("type"))
        made: list[Node] = []
        for child in node.children_by_field_name("declarator"):
            value = child.child_by_field_name("value")
            dimensions = self.spelling(child.child_by_field_name("dimensions"))
            line = self.line(child)
            target = Name(self.spelling(child.child_by_field_name("name")), line)
            made.append(Assign(target, self.one(value), line, "", kind + dimensions))
        return made[0] if len(made) == 1 else Block(made, self.line(node))

    def c_for(self, node: Tree) -> Node:
        """Lower nodes of the kind `c_for`."""
        from assay.judges.complexity.ir import Loop

        start = self._parts(node.children_by_field_name("init"))
        update = self._parts(node.children_by_field_name("update"))
        test = self.one(node.child_by_field_name("condition"))
        body = self.body(node.child_by_field_name("body"))
        return Loop(start, test, update, body, self.line(node))

    def _parts(self, nodes: list[Tree]) -> list[Node]:
        made = self.many(nodes)
        return made[0].items if len(made) == 1 and type(made[0]) is Block else made

    def on_enhanced_for_statement(self, node: Tree) -> Node:
        """Lower `enhanced_for_statement`."""
        target = self.name(node.child_by_field_name("name") or node)
        body = self.body(node.child_by_field_name("body"))
        return ForEach(target, self.field(node, "value"), body, self.line(node))

    def on_method_invocation(self, node: Tree) -> Node:
        """Lower `method_invocation`."""
        line = self.line(node)
        name = self.spelling(node.child_by_field_name("name"))
        owner = self.one(node.child_by_field_name("object"))
        callee: Node = Name(name, line)
        if owner is not None and not (type(owner) is Name and owner.id in ("this", "super")):
            callee = Member(owner, name, line)
        return Call(callee, self.arguments(node.child_by_field_name("arguments")), line)

    def on_explicit_constructor_invocation(self, node: Tree) -> Node:
        """Lower `explicit_constructor_invocation`."""
        return Block(self.arguments(node.child_by_field_name("arguments")), self.line(node))

    def on_field_access(self, node: Tree) -> Node:
        """Lower `field_access`."""
        name = self.spelling(node.child_by_field_name("field"))
        return Member(self.field(node, "object"), name, self.line(node))

    def on_array_access(self, node: Tree) -> Node:
        """Lower `array_access`."""
        return Index(self.field(node, "array"), self.field(node, "index"), self.line(node))

    def on_cast_expression(self, node: Tree) -> Node:
        """Lower `cast_expression`."""
        return self.field(node, "value")

    def on_instanceof_expression(self, node: Tree) -> Node:
        """Lower `instanceof_expression`."""
        return Block([self.field(node, "left"), Num(None, self.line(node))], self.line(node))

    def on_array_creation_expression(self, node: Tree) -> Node:
        """Lower `array_creation_expression`."""
        value = node.child_by_field_name("value")
        if value is not None:
            return self.need(value)
        sizes = [
            self.first(child) or Num(None, self.line(child))
            for child in node.children_by_field_name("dimensions")
            if child.type == "dimensions_expr"
        ]
        kind = self.spelling(node.child_by_field_name("type"))
        return New(kind, [], self.line(node), sizes=sizes)

    def on_object_creation_expression(self, node: Tree) -> Node:
        """Lower `object_creation_expression`."""
        kind = self.spelling(node.child_by_field_name("type")).split("<")[0].split(".")[-1]
        arguments = self.arguments(node.child_by_field_name("arguments"))
        methods: list[Function] | None = None
        for child in node.named_children:
            if child.type == "class_body":
                made = [self.one(c) for c in child.named_children]
                methods = [m for m in made if isinstance(m, Function)]
        return New(kind, arguments, self.line(node), body=methods)

    def on_lambda_expression(self, node: Tree) -> Node:
        """Lower `lambda_expression`."""
        parameters: list[tuple[str, str]] = []
        given = node.child_by_field_name("parameters")
        if given is not None and given.type == "identifier":
            parameters = [(self.spelling(given), "")]
        elif given is not None and given.type == "inferred_parameters":
            parameters = [(self.spelling(c), "") for c in given.named_children]
        elif given is not None:
            parameters = self._parameters(given)
        body = node.child_by_field_name("body")
        line = self.line(node)
        statements = self.body(body)
        if body is not None and body.type != "block":
            statements = [Jump("return", self.need(body), line)]
        return function_of("", parameters, statements, line)

    def method(self, node: Tree) -> Function:
        """Lower nodes of the kind `method`."""
        kind = self.spelling(node.child_by_field_name("type"))
        return function_of(
            self.spelling(node.child_by_field_name("name")),
            self._parameters(node.child_by_field_name("parameters")),
            lambda: self.body(node.child_by_field_name("body")),
            self.line(node),
            result=kind or "void",
        )

    def _parameters(self, node: Tree | None) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for child in node.named_children if node is not None else ():
            if child.type == "formal_parameter":
                kind = self.spelling(child.child_by_field_name("type"))
                kind += self.spelling(child.child_by_field_name("dimensions"))
                found.append((self.spelling(child.child_by_field_name("name")), kind))
            elif child.type == "spread_parameter":
                found.append((self.spelling(child.named_children[-1]), "[]"))
        return found

    def type(self, node: Tree) -> Node:
        """Lower nodes of the kind `type`."""
        members = self.body(node.child_by_field_name("body"))
        flat: list[Node] = []
        for part in members:
            flat.extend(part.items if type(part) is Block else [part])
        name = self.spelling(node.child_by_field_name("name"))
        return class_of(name, flat, [], self.line(node))

    def on_class_body(self, node: Tree) -> Node:
        """Lower `class_body`."""
        return self.block(node)

    def attempt(self, node: Tree) -> Node:
        """Lower nodes of the kind `attempt`."""
        from assay.judges.complexity.ir import If

        line = self.line(node)
        made: list[Node] = []
        resources = node.child_by_field_name("resources")
        for child in resources.named_children if resources is not None else ():
            name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
            if name is not None:
                made.append(Assign(self.name(name), self.one(value), self.line(child)))
        made.extend(self.body(node.child_by_field_name("body")))
        for child in node.named_children:
            if child.type == "catch_clause":
                caught = self.body(child.child_by_field_name("body"))
                made.append(If(Num(None, line), caught, [], line))
            elif child.type == "finally_clause":
                made.extend(self.many(child.named_children))
        return Block(made, line)

    def switch(self, node: Tree) -> Node:
        """Lower nodes of the kind `switch`."""
        groups: list[tuple[bool, list[Node]]] = []
        body = node.child_by_field_name("body")
        for child in body.named_children if body is not None else ():
            labels = [c for c in child.named_children if c.type == "switch_label"]
            rest = [c for c in child.named_children if c.type != "switch_label"]
            default = any(c.named_child_count == 0 for c in labels)
            groups.append((default, self.many(rest)))
        return self.cases(self.field(node, "condition"), groups, self.line(node))
