"""JavaScript trees in the neutral form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    ForEach,
    Function,
    Index,
    Items,
    Jump,
    Member,
    Name,
    New,
    Node,
    Num,
    Spread,
)
from assay.judges.complexity.lowering import Lowering, class_of, function_of

if TYPE_CHECKING:
    from tree_sitter import Node as Tree


class JavaScriptLowering(Lowering):
    """Handlers of JavaScript's grammar."""

    interpolations = frozenset({"template_substitution"})

    def aliases(self) -> dict[str, str]:
        """Types of tree nodes that another method takes."""
        return {
            "import_statement": "nothing",
            "export_statement": "last",
            "true": "truth",
            "false": "falsehood",
            "null": "no_number",
            "undefined": "no_number",
            "regex": "no_number",
            "string": "text",
            "template_string": "text",
            "template_substitution": "first",
            "this": "name",
            "property_identifier": "name",
            "shorthand_property_identifier": "name",
            "shorthand_property_identifier_pattern": "name",
            "binary_expression": "binary",
            "unary_expression": "unary",
            "update_expression": "update",
            "assignment_expression": "assignment",
            "augmented_assignment_expression": "assignment",
            "ternary_expression": "conditional",
            "parenthesized_expression": "first",
            "expression_statement": "first",
            "sequence_expression": "block",
            "statement_block": "block",
            "else_clause": "last",
            "for_statement": "for_loop",
            "lexical_declaration": "block",
            "variable_declaration": "block",
            "throw_statement": "throw",
            "array": "as_list",
            "array_pattern": "as_tuple",
            "object_pattern": "as_tuple",
            "spread_element": "spread",
            "rest_pattern": "spread",
            "function_declaration": "function",
            "function_expression": "function",
            "generator_function_declaration": "function",
            "arrow_function": "function",
            "method_definition": "function",
            "await_expression": "first",
            "yield_expression": "first",
            "class": "on_class_declaration",
            "empty_statement": "nothing",
            "labeled_statement": "last",
        }

    def on_number(self, node: Tree) -> Node:
        """Lower `number`."""
        return self.number(node)

    def as_list(self, node: Tree) -> Node:
        """Lower nodes of the kind `as_list`."""
        return Items("list", self.many(node.named_children), self.line(node))

    def as_tuple(self, node: Tree) -> Node:
        """Lower nodes of the kind `as_tuple`."""
        return Items("tuple", self.many(node.named_children), self.line(node))

    def spread(self, node: Tree) -> Node:
        """Lower nodes of the kind `spread`."""
        return Spread(self.first(node) or Num(None, self.line(node)), self.line(node))

    def on_object(self, node: Tree) -> Node:
        """Lower `object`."""
        values = [self.field(c, "value") for c in node.named_children if c.type == "pair"]
        return Items("map", values, self.line(node))

    def on_variable_declarator(self, node: Tree) -> Node:
        """Lower `variable_declarator`."""
        value = node.child_by_field_name("value")
        line = self.line(node)
        made = self.one(value)
        target = self.field(node, "name")
        if isinstance(made, Function) and type(target) is Name:
            made.name = target.id
        return Assign(target, made or Num(None, line), line)

    def on_call_expression(self, node: Tree) -> Node:
        """Lower `call_expression`."""
        arguments = node.child_by_field_name("arguments")
        given = self.arguments(arguments) if arguments is not None else []
        return Call(self.field(node, "function"), given, self.line(node))

    def on_member_expression(self, node: Tree) -> Node:
        """Lower `member_expression`."""
        name = self.spelling(node.child_by_field_name("property"))
        return Member(self.field(node, "object"), name, self.line(node))

    def on_subscript_expression(self, node: Tree) -> Node:
        """Lower `subscript_expression`."""
        return Index(self.field(node, "object"), self.field(node, "index"), self.line(node))

    def on_new_expression(self, node: Tree) -> Node:
        """Lower `new_expression`."""
        kind = self.spelling(node.child_by_field_name("constructor"))
        arguments = self.arguments(node.child_by_field_name("arguments"))
        return New(kind, arguments, self.line(node))

    def function(self, node: Tree) -> Node:
        """Lower nodes of the kind `function`."""
        body = node.child_by_field_name("body")
        line = self.line(node)
        statements = self.body(body)
        if body is not None and body.type != "statement_block":
            statements = [Jump("return", self.need(body), line)]
        return function_of(
            self.spelling(node.child_by_field_name("name")),
            self._parameters(node),
            statements,
            line,
        )

    def _parameters(self, node: Tree) -> list[tuple[str, str]]:
        single = node.child_by_field_name("parameter")
        if single is not None:
            return [(self.spelling(single), "")]
        found = []
        given = node.child_by_field_name("parameters")
        for child in given.named_children if given is not None else ():
            inner = child.child_by_field_name("left") or child
            if inner.type == "rest_pattern":
                inner = inner.named_children[0]
            found.append((self.spelling(inner), ""))
        return found

    def on_class_declaration(self, node: Tree) -> Node:
        """Lower `class_declaration`."""
        body = node.child_by_field_name("body")
        members = self.many(body.named_children) if body is not None else []
        name = self.spelling(node.child_by_field_name("name"))
        for member in members:
            if isinstance(member, Function) and member.name == "constructor":
                member.name = name
        return class_of(name, members, [], self.line(node))

    def on_field_definition(self, node: Tree) -> Node | None:
        """Lower `field_definition`."""
        value = node.child_by_field_name("value")
        line = self.line(node)
        target = Member(Name("this", line), self.spelling(node.named_children[0]), line)
        return Assign(target, self.one(value), line)

    def on_for_in_statement(self, node: Tree) -> Node:
        """Lower `for_in_statement`."""
        body = self.body(node.child_by_field_name("body"))
        return ForEach(self.field(node, "left"), self.field(node, "right"), body, self.line(node))

    def on_switch_statement(self, node: Tree) -> Node:
        """Lower `switch_statement`."""
        groups = []
        body = node.child_by_field_name("body")
        for child in body.named_children if body is not None else ():
            parts = self.many(child.children_by_field_name("body"))
            groups.append((child.type == "switch_default", parts))
        return self.cases(self.field(node, "value"), groups, self.line(node))

    def on_try_statement(self, node: Tree) -> Node:
        """Lower `try_statement`."""
        from assay.judges.complexity.ir import If

        line = self.line(node)
        made = self.body(node.child_by_field_name("body"))
        handler = node.child_by_field_name("handler")
        caught = self.body(handler.child_by_field_name("body")) if handler is not None else []
        return Block([*made, If(Num(None, line), caught, [], line)], line)
