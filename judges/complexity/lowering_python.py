"""Python trees in the neutral form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.judges.complexity.ir import (
    Assign,
    Block,
    Call,
    Comprehension,
    ForEach,
    Function,
    If,
    Index,
    Items,
    Jump,
    Member,
    Node,
    Num,
    Operation,
    Slice,
    Spread,
)
from assay.judges.complexity.lowering import Lowering, class_of, function_of

if TYPE_CHECKING:
    from tree_sitter import Node as Tree


class PythonLowering(Lowering):
    """Handlers of Python's grammar."""

    interpolations = frozenset({"interpolation"})

    def aliases(self) -> dict[str, str]:
        """Types of tree nodes that another method takes."""
        return {
            "import_statement": "imports",
            "import_from_statement": "imports",
            "future_import_statement": "nothing",
            "global_statement": "nothing",
            "nonlocal_statement": "nothing",
            "pass_statement": "nothing",
            "type": "nothing",
            "integer": "number",
            "float": "number",
            "true": "truth",
            "false": "falsehood",
            "none": "no_number",
            "string": "text",
            "binary_operator": "binary",
            "boolean_operator": "binary",
            "unary_operator": "negation",
            "not_operator": "inversion",
            "augmented_assignment": "assignment",
            "set_comprehension": "comprehension",
            "list_comprehension": "comprehension",
            "generator_expression": "comprehension",
            "dictionary_comprehension": "comprehension",
            "expression_list": "as_tuple",
            "pattern_list": "as_tuple",
            "tuple_pattern": "as_tuple",
            "list_pattern": "as_tuple",
            "tuple": "as_tuple",
            "list": "as_list",
            "set": "as_set",
            "dictionary": "dictionary",
            "list_splat": "spread",
            "list_splat_pattern": "spread",
            "dictionary_splat": "spread",
            "raise_statement": "throw",
            "parenthesized_expression": "first",
            "await": "first",
            "yield": "first",
            "interpolation": "first",
            "block": "block",
            "else_clause": "clause",
            "finally_clause": "block",
            "named_expression": "walrus",
            "print_statement": "as_print",
        }

    def on_expression_statement(self, node: Tree) -> Node | None:
        """Lower `expression_statement`."""
        return self.first(node) if node.named_child_count == 1 else self.as_tuple(node)

    def imports(self, _: Tree) -> None:
        """Lower nodes of the kind `imports`."""
        return None

    def negation(self, node: Tree) -> Node | None:
        """Lower nodes of the kind `negation`."""
        return self.unary(node)

    def inversion(self, node: Tree) -> Node:
        """Lower nodes of the kind `inversion`."""
        return Operation("not", [self.field(node, "argument")], self.line(node))

    def on_assignment(self, node: Tree) -> Node | None:
        """Lower `assignment`."""
        right = node.child_by_field_name("right")
        if right is None:
            return None
        return Assign(self.field(node, "left"), self.need(right), self.line(node))

    def walrus(self, node: Tree) -> Node:
        """Lower nodes of the kind `walrus`."""
        return Assign(self.field(node, "name"), self.field(node, "value"), self.line(node))

    def on_comparison_operator(self, node: Tree) -> Node:
        """Lower `comparison_operator`."""
        operands = [self.need(c) for c in node.named_children if c.type != "comment"]
        signs = [c.type for c in node.children if not c.is_named]
        line = self.line(node)
        pairs: list[Node] = [
            Operation(sign, [left, right], line)
            for sign, left, right in zip(signs, operands, operands[1:], strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else Operation("and", pairs, line)

    def on_conditional_expression(self, node: Tree) -> Node:
        """Lower `conditional_expression`."""
        then, test, other = [*(self.need(c) for c in node.named_children), None, None][:3]
        line = self.line(node)
        nothing = Num(None, line)
        return If(test or nothing, [then or nothing], [other or nothing], line)

    def on_call(self, node: Tree) -> Node:
        """Lower `call`."""
        arguments: list[Node] = []
        keywords: dict[str, Node] = {}
        given = node.child_by_field_name("arguments")
        if given is not None and given.type == "generator_expression":
            arguments.append(self.comprehension(given))
        else:
            for child in given.named_children if given is not None else ():
                if child.type == "keyword_argument":
                    keywords[self.spelling(child.child_by_field_name("name"))] = self.field(
                        child, "value"
                    )
                elif (made := self.one(child)) is not None:
                    arguments.append(made)
        line = self.line(node)
        callee = self.field(node, "function")
        if type(callee) is Spread:  # the grammar reads `*f(x)` in a list as `(*f)(x)`
            return Spread(Call(callee.value, arguments, line, keywords or None), line)
        return Call(callee, arguments, line, keywords or None)

    def as_print(self, node: Tree) -> Node:
        """Lower nodes of the kind `as_print`."""
        from assay.judges.complexity.ir import Name

        line = self.line(node)
        return Call(Name("print", line), self.many(node.named_children), line)

    def on_attribute(self, node: Tree) -> Node:
        """Lower `attribute`."""
        name = self.spelling(node.child_by_field_name("attribute"))
        return Member(self.field(node, "object"), name, self.line(node))

    def on_subscript(self, node: Tree) -> Node:
        """Lower `subscript`."""
        owner, line = self.field(node, "value"), self.line(node)
        inside = node.children_by_field_name("subscript")
        if len(inside) == 1 and inside[0].type == "slice":
            low, high = self._bounds(inside[0])
            return Slice(owner, low, high, line)
        parts = [self.need(child) for child in inside if child.type != "slice"]
        for part in parts:
            owner = Index(owner, part, line)
        return owner if parts else Slice(owner, None, None, line)

    def _bounds(self, node: Tree) -> tuple[Node | None, Node | None]:
        low: Node | None = None
        high: Node | None = None
        colons = 0
        for child in node.children:
            if child.type == ":":
                colons += 1
            elif child.is_named and colons == 0:
                low = self.one(child)
            elif child.is_named and colons == 1:
                high = self.one(child)
        return low, high

    def as_tuple(self, node: Tree) -> Node:
        """Lower nodes of the kind `as_tuple`."""
        return Items("tuple", self.many(node.named_children), self.line(node))

    def as_list(self, node: Tree) -> Node:
        """Lower nodes of the kind `as_list`."""
        return Items("list", self.many(node.named_children), self.line(node))

    def as_set(self, node: Tree) -> Node:
        """Lower nodes of the kind `as_set`."""
        return Items("set", self.many(node.named_children), self.line(node))

    def dictionary(self, node: Tree) -> Node:
        """Lower nodes of the kind `dictionary`."""
        values = [self.field(c, "value") for c in node.named_children if c.type == "pair"]
        return Items("map", values, self.line(node))

    def spread(self, node: Tree) -> Node:
        """Lower nodes of the kind `spread`."""
        return Spread(self.first(node) or Num(None, self.line(node)), self.line(node))

    def comprehension(self, node: Tree) -> Node:
        """Lower nodes of the kind `comprehension`."""
        clauses: list[tuple[Node, Node]] = []
        conditions: list[Node] = []
        for child in node.named_children:
            if child.type == "for_in_clause":
                clauses.append((self.field(child, "left"), self.field(child, "right")))
            elif child.type == "if_clause":
                conditions.extend(self.many(child.named_children))
        body = node.child_by_field_name("body")
        parts = (
            self.many(body.named_children) if body is not None and body.type == "pair" else
            [self.need(body)]
        )  # fmt: skip
        kind = {"s": "set", "d": "map", "g": "lazy"}.get(node.type[0], "list")
        return Comprehension(kind, parts, clauses, conditions, self.line(node))

    def on_lambda(self, node: Tree) -> Node:
        """Lower `lambda`."""
        parameters = self._parameters(node.child_by_field_name("parameters"))
        line = self.line(node)
        body: list[Node] = [Jump("return", self.field(node, "body"), line)]
        return function_of("", parameters, body, line)

    def on_function_definition(self, node: Tree) -> Function:
        """Lower `function_definition`."""
        return function_of(
            self.spelling(node.child_by_field_name("name")),
            self._parameters(node.child_by_field_name("parameters")),
            lambda: self.body(node.child_by_field_name("body")),
            self.line(node),
        )

    def _parameters(self, node: Tree | None) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for child in node.named_children if node is not None else ():
            if child.type == "identifier":
                found.append((self.spelling(child), ""))
            elif child.type in ("typed_parameter", "list_splat_pattern"):
                kind = self.spelling(child.child_by_field_name("type"))
                found.append((self.spelling(child.named_children[0]), kind))
            elif child.type in ("default_parameter", "typed_default_parameter"):
                kind = self.spelling(child.child_by_field_name("type"))
                found.append((self.spelling(child.child_by_field_name("name")), kind))
        return found

    def on_decorated_definition(self, node: Tree) -> Node | None:
        """Lower `decorated_definition`."""
        made = self.one(node.child_by_field_name("definition"))
        if isinstance(made, Function):
            made.decorators = [
                self.spelling(c)[1:].split("(")[0].split(".")[-1]
                for c in node.named_children
                if c.type == "decorator"
            ]
        return made

    def on_class_definition(self, node: Tree) -> Node:
        """Lower `class_definition`."""
        bases = node.child_by_field_name("superclasses")
        return class_of(
            self.spelling(node.child_by_field_name("name")),
            self.body(node.child_by_field_name("body")),
            [self.spelling(c) for c in bases.named_children] if bases is not None else [],
            self.line(node),
        )

    def on_for_statement(self, node: Tree) -> Node:
        """Lower `for_statement`."""
        loop = ForEach(
            self.field(node, "left"),
            self.field(node, "right"),
            self.body(node.child_by_field_name("body")),
            self.line(node),
        )
        return self._with_else(node, loop)

    def on_while_statement(self, node: Tree) -> Node:
        """Lower `while_statement`."""
        return self._with_else(node, super().on_while_statement(node))

    def _with_else(self, node: Tree, loop: Node) -> Node:
        other = node.child_by_field_name("alternative")
        return loop if other is None else Block([loop, *self.body(other)], loop.line)

    def clause(self, node: Tree) -> Node:
        """Lower nodes of the kind `clause`."""
        return Block(self.body(node.child_by_field_name("body")), self.line(node))

    def on_if_statement(self, node: Tree) -> Node:
        """Lower `if_statement`."""
        other: list[Node] = []
        for child in reversed(node.children_by_field_name("alternative")):
            if child.type == "else_clause":
                other = self.body(child)
            else:
                test = self.field(child, "condition")
                then = self.body(child.child_by_field_name("consequence"))
                other = [If(test, then, other, self.line(child))]
        test = self.field(node, "condition")
        then = self.body(node.child_by_field_name("consequence"))
        return If(test, then, other, self.line(node))

    def on_try_statement(self, node: Tree) -> Node:
        """Lower `try_statement`."""
        line = self.line(node)
        body = self.body(node.child_by_field_name("body"))
        handlers: list[Node] = []
        for child in node.named_children:
            if child.type in ("except_clause", "finally_clause", "else_clause"):
                handlers.extend(self.many([c for c in child.named_children if c.type == "block"]))
        return Block([*body, If(Num(None, line), handlers, [], line)], line)

    def on_with_statement(self, node: Tree) -> Node:
        """Lower `with_statement`."""
        return Block(self.body(node.child_by_field_name("body")), self.line(node))

    def on_assert_statement(self, node: Tree) -> Node | None:
        """Lower `assert_statement`."""
        return self.first(node)

    def on_delete_statement(self, node: Tree) -> Node | None:
        """Lower `delete_statement`."""
        return None
