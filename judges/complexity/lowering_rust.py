"""Rust trees in the neutral form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    ForEach,
    Function,
    If,
    Index,
    Items,
    Jump,
    Loop,
    Member,
    Name,
    New,
    Node,
    Num,
    Operation,
    Slice,
)
from assay.judges.complexity.lowering import Lowering, class_of, function_of

if TYPE_CHECKING:
    from tree_sitter import Node as Tree


class RustLowering(Lowering):
    """Handlers of Rust's grammar."""

    def aliases(self) -> dict[str, str]:
        """Types of tree nodes that another method takes."""
        return {
            "use_declaration": "nothing",
            "attribute_item": "nothing",
            "struct_item": "nothing",
            "enum_item": "nothing",
            "type_item": "nothing",
            "type_identifier": "name",
            "integer_literal": "number",
            "float_literal": "number",
            "char_literal": "no_number",
            "string_literal": "text",
            "self": "name",
            "field_identifier": "name",
            "binary_expression": "binary",
            "assignment_expression": "assignment",
            "compound_assignment_expr": "assignment",
            "parenthesized_expression": "first",
            "reference_expression": "reference",
            "unary_expression": "negation",
            "try_expression": "first",
            "type_cast_expression": "first",
            "expression_statement": "first",
            "block": "block",
            "else_clause": "last",
            "unsafe_block": "last",
            "mod_item": "last",
            "declaration_list": "block",
            "if_expression": "conditional",
            "while_expression": "on_while_statement",
            "return_expression": "on_return_statement",
            "break_expression": "on_break_statement",
            "continue_expression": "on_continue_statement",
            "tuple_expression": "as_tuple",
            "tuple_pattern": "as_tuple",
            "tuple_struct_pattern": "last",
            "reference_pattern": "first",
            "mut_pattern": "last",
            "array_expression": "as_list",
            "mutable_specifier": "nothing",
            "const_item": "constant",
            "static_item": "constant",
            "closure_expression": "closure",
            "function_item": "function",
            "label": "nothing",
        }

    def on_boolean_literal(self, node: Tree) -> Node:
        """Lower `boolean_literal`."""
        return Num(1.0 if self.spelling(node) == "true" else 0.0, self.line(node))

    def reference(self, node: Tree) -> Node:
        """Lower nodes of the kind `reference`."""
        return self.field(node, "value")

    def negation(self, node: Tree) -> Node | None:
        """Lower nodes of the kind `negation`."""
        inner = self.last(node)
        if self.spelling(node).startswith("-") and type(inner) is Num and inner.value is not None:
            return Num(-inner.value, inner.line)
        if self.spelling(node).startswith("!"):
            return Operation("not", [inner or Num(None, 0)], self.line(node))
        return inner

    def as_tuple(self, node: Tree) -> Node:
        """Lower nodes of the kind `as_tuple`."""
        return Items("tuple", self.many(node.named_children), self.line(node))

    def as_list(self, node: Tree) -> Node:
        """Lower nodes of the kind `as_list`."""
        return Items("list", self.many(node.named_children), self.line(node))

    def on_scoped_identifier(self, node: Tree) -> Node:
        """Lower `scoped_identifier`."""
        path = node.child_by_field_name("path")
        name = self.spelling(node.child_by_field_name("name"))
        line = self.line(node)
        if path is None or path.type in ("self", "crate"):
            return Name(name, line)
        owner = self.spelling(path).split("::<")[0].split("<")[0].split("::")[-1]
        return Member(Name(owner, line), name, line)

    def on_generic_function(self, node: Tree) -> Node:
        """Lower `generic_function`."""
        return self.field(node, "function")

    def on_call_expression(self, node: Tree) -> Node:
        """Lower `call_expression`."""
        callee = self.field(node, "function")
        arguments = self.arguments(node.child_by_field_name("arguments"))
        line = self.line(node)
        if isinstance(callee, Member) and type(callee.owner) is Name:
            owner = callee.owner.id
            if callee.name in ("new", "with_capacity", "from", "from_iter", "default"):
                given = arguments if callee.name.startswith("from") else []
                return New(owner, given, line)
        if type(callee) is Name and callee.id in ("Some", "Ok", "Box", "Rc", "Reverse"):
            return arguments[0] if arguments else Num(None, line)
        return Call(callee, arguments, line)

    def on_field_expression(self, node: Tree) -> Node:
        """Lower `field_expression`."""
        name = self.spelling(node.child_by_field_name("field"))
        return Member(self.field(node, "value"), name, self.line(node))

    def on_index_expression(self, node: Tree) -> Node:
        """Lower `index_expression`."""
        parts = node.named_children
        owner, line = self.need(parts[0]), self.line(node)
        if len(parts) > 1 and parts[1].type == "range_expression":
            low, high = self._ends(parts[1])
            return Slice(owner, low, high, line)
        return Index(owner, self.need(parts[-1]), line)

    def _ends(self, node: Tree) -> tuple[Node | None, Node | None]:
        low: Node | None = None
        high: Node | None = None
        after = False
        for child in node.children:
            if child.type in ("..", "..="):
                after = True
            elif child.is_named and after:
                high = self.one(child)
            elif child.is_named:
                low = self.one(child)
        return low, high

    def on_range_expression(self, node: Tree) -> Node:
        """Lower `range_expression`."""
        low, high = self._ends(node)
        line = self.line(node)
        given = [low or Num(0.0, line), high] if high is not None else []
        return Call(Name("range", line), [n for n in given if n is not None], line)

    def on_let_declaration(self, node: Tree) -> Node:
        """Lower `let_declaration`."""
        line = self.line(node)
        kind = self.spelling(node.child_by_field_name("type"))
        target = self.field(node, "pattern")
        return Assign(target, self.one(node.child_by_field_name("value")), line, "", kind)

    def constant(self, node: Tree) -> Node:
        """Lower nodes of the kind `constant`."""
        line = self.line(node)
        return Assign(self.field(node, "name"), self.field(node, "value"), line)

    def on_let_condition(self, node: Tree) -> Node:
        """Lower `let_condition`."""
        line = self.line(node)
        return Assign(self.field(node, "pattern"), self.field(node, "value"), line)

    def on_macro_invocation(self, node: Tree) -> Node | None:
        """Lower `macro_invocation`."""
        name = self.spelling(node.child_by_field_name("macro"))
        tokens = next((c for c in node.named_children if c.type == "token_tree"), None)
        line = self.line(node)
        if tokens is None:
            return None
        if name == "vec":
            return self._vector(tokens, line)
        return None

    def _vector(self, tokens: Tree, line: int) -> Node:
        """`vec![value; count]`, also nested."""
        value: Node | None = None
        count: list[Node] = []
        after = False
        children = tokens.children[1:-1]
        position = 0
        while position < len(children):
            child = children[position]
            if child.type == ";":
                after = True
            elif after:
                if child.is_named:
                    made = self.one(child)
                    if made is not None:
                        count.append(made)
            elif child.type == "identifier" and self.spelling(child) == "vec":
                inner = children[position + 2] if position + 2 < len(children) else child
                if inner.type == "token_tree":
                    value = self._vector(inner, line)
                position += 2
            position += 1
        if not after:
            return Items("list", [], line)
        size = count[0] if len(count) == 1 else Operation("+", count[:2], line)
        if isinstance(value, New) and value.sizes is not None:
            return New("int", [], line, sizes=[size, *value.sizes])
        return New("int", [], line, sizes=[size])

    def closure(self, node: Tree) -> Node:
        """Lower nodes of the kind `closure`."""
        parameters: list[tuple[str, str]] = []
        given = node.child_by_field_name("parameters")
        for child in given.named_children if given is not None else ():
            inner = child.child_by_field_name("pattern") or child
            parameters.append((self.spelling(inner).lstrip("&"), ""))
        body = node.child_by_field_name("body")
        line = self.line(node)
        statements = self.body(body)
        if body is not None and body.type != "block":
            statements = [Jump("return", self.need(body), line)]
        return function_of("", parameters, statements, line)

    def function(self, node: Tree) -> Function:
        """Lower nodes of the kind `function`."""
        parameters: list[tuple[str, str]] = []
        given = node.child_by_field_name("parameters")
        for child in given.named_children if given is not None else ():
            if child.type == "parameter":
                name = self.spelling(child.child_by_field_name("pattern")).removeprefix("mut ")
                parameters.append((name, _kind(self.spelling(child.child_by_field_name("type")))))
        body = self.body(node.child_by_field_name("body"))
        line = self.line(node)
        if body and not isinstance(body[-1], Loop | ForEach | Jump | If | Assign):
            body = [*body[:-1], Jump("return", body[-1], line)]
        return function_of(
            self.spelling(node.child_by_field_name("name")),
            parameters,
            body,
            line,
            result=self.spelling(node.child_by_field_name("return_type")),
        )

    def on_impl_item(self, node: Tree) -> Node:
        """Lower `impl_item`."""
        name = self.spelling(node.child_by_field_name("type")).split("<")[0]
        body = node.child_by_field_name("body")
        members = self.many(body.named_children) if body is not None else []
        return class_of(name, members, [], self.line(node))

    def on_for_expression(self, node: Tree) -> Node:
        """Lower `for_expression`."""
        body = self.body(node.child_by_field_name("body"))
        return ForEach(
            self.field(node, "pattern"), self.field(node, "value"), body, self.line(node)
        )

    def on_loop_expression(self, node: Tree) -> Node:
        """Lower `loop_expression`."""
        return Loop([], None, [], self.body(node.child_by_field_name("body")), self.line(node))

    def on_match_expression(self, node: Tree) -> Node:
        """Lower `match_expression`."""
        groups = []
        body = node.child_by_field_name("body")
        for arm in body.named_children if body is not None else ():
            if arm.type == "match_arm":
                value = self.one(arm.child_by_field_name("value"))
                parts = value.items if isinstance(value, Block) else [value] if value else []
                pattern = self.spelling(arm.child_by_field_name("pattern"))
                groups.append((pattern == "_", parts))
        return self.cases(self.field(node, "value"), groups, self.line(node))


def _kind(text: str) -> str:
    return text.replace("&mut ", "").replace("&", "").strip()
