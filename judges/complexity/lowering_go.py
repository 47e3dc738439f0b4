"""Go trees in the neutral form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    ForEach,
    Index,
    Items,
    Loop,
    Member,
    Name,
    New,
    Node,
    Num,
    Slice,
)
from assay.judges.complexity.lowering import Lowering, function_of

if TYPE_CHECKING:
    from tree_sitter import Node as Tree


class GoLowering(Lowering):
    """Handlers of Go's grammar."""

    def aliases(self) -> dict[str, str]:
        """Types of tree nodes that another method takes."""
        return {
            "package_clause": "nothing",
            "import_declaration": "nothing",
            "type_declaration": "nothing",
            "int_literal": "number",
            "float_literal": "number",
            "rune_literal": "no_number",
            "nil": "no_number",
            "true": "truth",
            "false": "falsehood",
            "interpreted_string_literal": "text",
            "raw_string_literal": "text",
            "field_identifier": "name",
            "binary_expression": "binary",
            "parenthesized_expression": "first",
            "expression_statement": "first",
            "block": "block",
            "statement_list": "block",
            "var_declaration": "block",
            "var_spec_list": "block",
            "const_declaration": "block",
            "const_spec": "on_var_spec",
            "short_var_declaration": "assign",
            "assignment_statement": "assign",
            "inc_statement": "update",
            "dec_statement": "update",
            "function_declaration": "function",
            "method_declaration": "function",
            "func_literal": "function",
            "go_statement": "first",
            "defer_statement": "first",
            "labeled_statement": "last",
            "expression_switch_statement": "switch",
            "type_switch_statement": "switch",
            "slice_type": "nothing",
            "map_type": "nothing",
            "array_type": "nothing",
            "type_identifier": "nothing",
        }

    def on_unary_expression(self, node: Tree) -> Node | None:
        """Lower `unary_expression`."""
        return self.unary(node)

    def on_expression_list(self, node: Tree) -> Node:
        """Lower `expression_list`."""
        parts = self.many(node.named_children)
        return parts[0] if len(parts) == 1 else Items("tuple", parts, self.line(node))

    def assign(self, node: Tree) -> Node:
        """Lower nodes of the kind `assign`."""
        made = self.assignment(node)
        assert isinstance(made, Assign)
        return made

    def on_var_spec(self, node: Tree) -> Node:
        """Lower `var_spec`."""
        line = self.line(node)
        given = node.child_by_field_name("type")
        value = self.one(node.child_by_field_name("value"))
        names = node.children_by_field_name("name")
        if value is not None and len(names) > 1:
            return Assign(Items("tuple", [self.name(c) for c in names], line), value, line)
        made: list[Node] = []
        for child in names:
            one = value
            if one is None and given is not None and given.type == "array_type":
                one = New("int", [], line, sizes=[self.field(given, "length")])
            made.append(Assign(self.name(child), one, line, "", self.spelling(given)))
        return made[0] if len(made) == 1 else Block(made, line)

    def on_call_expression(self, node: Tree) -> Node:
        """Lower `call_expression`."""
        line = self.line(node)
        function = node.child_by_field_name("function")
        given = node.child_by_field_name("arguments")
        arguments = self.arguments(given)
        if function is not None and self.spelling(function) == "make" and given is not None:
            kind = self.spelling(given.named_children[0]) if given.named_children else ""
            if kind.startswith("map"):
                return New("Map", [], line)
            return New("int", [], line, sizes=arguments[:1])
        if function is not None and function.type in ("slice_type", "parenthesized_type"):
            return arguments[0] if arguments else Num(None, line)
        return Call(self.need(function), arguments, line)

    def on_selector_expression(self, node: Tree) -> Node:
        """Lower `selector_expression`."""
        name = self.spelling(node.child_by_field_name("field"))
        return Member(self.field(node, "operand"), name, self.line(node))

    def on_index_expression(self, node: Tree) -> Node:
        """Lower `index_expression`."""
        return Index(self.field(node, "operand"), self.field(node, "index"), self.line(node))

    def on_slice_expression(self, node: Tree) -> Node:
        """Lower `slice_expression`."""
        low = self.one(node.child_by_field_name("start"))
        high = self.one(node.child_by_field_name("end"))
        return Slice(self.field(node, "operand"), low, high, self.line(node))

    def on_composite_literal(self, node: Tree) -> Node:
        """Lower `composite_literal`."""
        kind = self.spelling(node.child_by_field_name("type"))
        body = node.child_by_field_name("body")
        items = self.many(body.named_children) if body is not None else []
        line = self.line(node)
        return Items("map", items, line) if kind.startswith("map") else Items("list", items, line)

    def on_literal_element(self, node: Tree) -> Node | None:
        """Lower `literal_element`."""
        return self.last(node)

    def on_keyed_element(self, node: Tree) -> Node | None:
        """Lower `keyed_element`."""
        return self.last(node)

    def function(self, node: Tree) -> Node:
        """Lower nodes of the kind `function`."""
        name = self.spelling(node.child_by_field_name("name"))
        return function_of(
            name,
            self._parameters(node.child_by_field_name("parameters")),
            lambda: self.body(node.child_by_field_name("body")),
            self.line(node),
            result=self.spelling(node.child_by_field_name("result")),
        )

    def _parameters(self, node: Tree | None) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for child in node.named_children if node is not None else ():
            kind = self.spelling(child.child_by_field_name("type"))
            found.extend(
                (self.spelling(name), kind) for name in child.children_by_field_name("name")
            )
        return found

    def on_for_statement(self, node: Tree) -> Node:
        """Lower `for_statement`."""
        line = self.line(node)
        body = self.body(node.child_by_field_name("body"))
        head = next((c for c in node.named_children if c.type not in ("block", "comment")), None)
        if head is None:
            return Loop([], None, [], body, line)
        if head.type == "for_clause":
            start = self.one(head.child_by_field_name("initializer"))
            update = self.one(head.child_by_field_name("update"))
            test = self.one(head.child_by_field_name("condition"))
            return Loop([start] if start else [], test, [update] if update else [], body, line)
        if head.type == "range_clause":
            over = self.field(head, "right")
            left = head.child_by_field_name("left")
            names = self.many(left.named_children) if left is not None else []
            if len(names) > 1:
                pairs = Call(Name("enumerate", line), [over], line)
                return ForEach(Items("tuple", names, line), pairs, body, line)
            target = names[0] if names else Name("_", line)
            indices = Call(Name("range", line), [Call(Name("len", line), [over], line)], line)
            return ForEach(target, indices, body, line)
        return Loop([], self.one(head), [], body, line)

    def switch(self, node: Tree) -> Node:
        """Lower nodes of the kind `switch`."""
        groups = []
        for child in node.named_children:
            if child.type in ("expression_case", "type_case", "default_case"):
                value = child.child_by_field_name("value")
                rest = [c for c in child.named_children if value is None or c.id != value.id]
                parts: list[Node] = []
                for made in self.many(rest):
                    parts.extend(made.items if type(made) is Block else [made])
                groups.append((child.type == "default_case", parts))
        tested = self.one(node.child_by_field_name("value"))
        return self.cases(tested or Num(None, self.line(node)), groups, self.line(node))
