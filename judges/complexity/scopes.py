"""Scopes of a program: which names it defines itself, and where.

Scopes are lexical. Members (fields, methods) form one space for the whole file, since the type of a
receiver is unknown: a method of the program that is named like one of a library's stands for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.judges.complexity.binding_languages import RULES
from assay.judges.complexity.binding_rules import Rules

if TYPE_CHECKING:
    from tree_sitter import Node

#: Leaves that are names.
NAMES = frozenset(
    {
        "identifier",
        "type_identifier",
        "field_identifier",
        "namespace_identifier",
        "statement_identifier",
        "property_identifier",
        "private_property_identifier",
        "shorthand_property_identifier",
        "shorthand_property_identifier_pattern",
        "shorthand_field_identifier",
        "package_identifier",
        "label_name",
    }
)
WORD = re.compile(r"[A-Za-z_]\w*")
_TYPES_WITH_BODY = frozenset(
    {"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"}
)
_IMPORTED = frozenset({"aliased_import", "import_specifier", "use_as_clause", "import_spec"})
_NO_NAMES = ("type", "condition")
_GO_ASSIGNED = frozenset({"range_clause", "receive_statement"})
_RUST_PATTERNS = frozenset({"match_arm", "let_condition", "let_declaration", "for_expression"})


@dataclass(eq=False)
class Scope:
    """A region in which names are bound; `outer` holds Python's global and nonlocal names."""

    number: int
    parent: Scope | None
    kind: str
    title: str = ""
    names: set[str] = field(default_factory=set)
    outer: dict[str, str] = field(default_factory=dict)


class Scopes:
    """The scopes of one tree and the names bound in them."""

    def __init__(self, root: Node, data: bytes, language: str) -> None:
        self.root, self.data, self.language = root, data, language
        self.rules: Rules = RULES[language]
        self.file = Scope(0, None, "file")
        self.members: set[str] = set()
        self.aliases: dict[str, str] = {}
        self.functions: dict[str, Scope] = {}
        self._macros: set[str] = set()
        self._loose: list[tuple[str, Scope]] = []
        self._of_node: dict[int, Scope] = {}
        self._parents: dict[int, Node] = {}
        stack = [root]
        while stack:
            node = stack.pop()
            children = node.children
            self._parents.update((child.id, node) for child in children)
            stack += children
        for node, scope in self.walk():
            self._declare_special(node, scope)
            for fields, where in self.rules.binders.get(node.type, ()):
                if self._binds(node):
                    for name in self._targets(node, fields):
                        self._declare(name, node, scope, where)
        for text, scope in self._loose:
            if self.find(text, scope) is None:
                scope.names.add(text)

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def parent(self, node: Node) -> Node | None:
        """The node around `node`; tree-sitter's own `parent` searches from the root each time."""
        return self._parents.get(node.id)

    def walk(self, skip: bool = False) -> Iterator[tuple[Node, Scope]]:
        """Every node before its children, with the scope it is in (or opens).

        Args:
            skip: Do not go into imports.
        """
        stack = [(self.root, self.file)]
        while stack:
            node, scope = stack.pop()
            if node.type in self.rules.scopes and not self._is_macro_call(node):
                scope = self._scope_of(node, scope)
            yield node, scope
            if not (skip and node.type in self.rules.skipped):
                stack += [(child, scope) for child in reversed(node.children)]

    def find(self, text: str, scope: Scope) -> Scope | None:
        """The scope in which `text` is bound as seen from `scope`, or None."""
        current: Scope | None = scope
        while current is not None:
            if text in current.outer:
                current = self.file if current.outer[text] == "global" else current.parent
                continue
            hidden = current.kind == "class" and self.language == "python" and current is not scope
            if text in current.names and not hidden:
                return current
            current = current.parent
        return None

    def names_scope(self, node: Node) -> bool:
        """Whether the name of `node` is bound around the scope that it opens."""
        return any(where == "outside" for _, where in self.rules.binders.get(node.type, ()))

    def names_member(self, parent: Node, node: Node) -> bool:
        """Whether `node` is the name that `parent` gives to a new member."""
        return any(
            where == "member" and parent.child_by_field_name(name) == node
            for names, where in self.rules.binders.get(parent.type, ())
            for name in names
        )

    def is_member(self, node: Node) -> bool:
        """Whether a name stands where only a field or a method can."""
        if node.type in self.rules.members:
            return True
        parent = self.parent(node)
        if parent is None:
            return False
        if parent.type == "method_invocation" and parent.child_by_field_name("object") is None:
            return False
        if parent.type == "keyword_pattern":
            return parent.children[0] == node
        return any(
            parent.type == kind and parent.child_by_field_name(name) == node
            for kind, name in self.rules.member_fields
        )

    def _scope_of(self, node: Node, parent: Scope) -> Scope:
        if node.id not in self._of_node:
            kind = "function" if node.type in self.rules.functions else "block"
            kind = "class" if node.type in self.rules.classes else kind
            self._of_node[node.id] = Scope(len(self._of_node) + 1, parent, kind)
        return self._of_node[node.id]

    def _declare(self, name: Node, node: Node, scope: Scope, where: str) -> None:
        text = self.text(name)
        if where == "outside":
            outside = scope.parent or scope
            scope.title = text
            self.functions.setdefault(f"{outside.title}.{text}", scope)
            self.functions.setdefault(text, scope)
            scope = outside
        blank = text == "_" and self.language in ("go", "rust")
        if blank or (text.startswith("__") and text.endswith("__")):
            return
        if where in ("outside", "member") and text in self.rules.kept:
            return
        if self.language == "rust":
            if node.type in _RUST_PATTERNS and text[:1].isupper():
                return  # a constant or a variant in a pattern, not a new name
            if node.type == "function_item" and self._is_method(node):
                where = "member"
        if where == "function" or self._hoists(node):
            while scope.parent is not None and scope.kind not in ("function", "file"):
                scope = scope.parent
        if node.type == "assignment_expression" and name.type == "identifier":
            self._loose.append((text, self.file))  # an undeclared variable of JavaScript
        elif where == "member" or self.is_member(name):
            self.members.add(text)
        elif text not in scope.outer:
            scope.names.add(text)
            if scope.kind == "class":
                self.members.add(text)

    def _targets(self, node: Node, fields: tuple[str, ...]) -> Iterator[Node]:
        stack = _parts(node, fields)
        while stack:
            part = stack.pop()
            if part.child_count == 0 and part.type in NAMES:
                yield part
            elif part.type in self.rules.containers:
                stack += _parts(part, self.rules.containers[part.type])

    def _binds(self, node: Node) -> bool:
        """Exceptions to the table of binders."""
        kind = node.type
        if kind in _TYPES_WITH_BODY:
            return node.child_by_field_name("body") is not None
        if kind in _GO_ASSIGNED:
            return any(child.type == ":=" for child in node.children)
        if kind == "for_in_statement":
            return node.child_by_field_name("kind") is not None
        if kind == "pair":  # options handed to a call are the callee's names
            return self.language != "javascript" or not self._is_argument(node)
        if kind == "function_definition" and self.language == "cpp":  # a constructor has no type
            return node.child_by_field_name("type") is not None and not self._is_macro_call(node)
        return True

    def _declare_special(self, node: Node, scope: Scope) -> None:
        """What the tables cannot say."""
        kind = node.type
        if kind in ("global_statement", "nonlocal_statement"):
            for name in node.named_children:
                scope.outer[self.text(name)] = kind.removesuffix("_statement")
                if kind == "global_statement":
                    self.file.names.add(self.text(name))
        elif kind in _IMPORTED:
            go = kind == "import_spec"
            alias = node.child_by_field_name("name" if go else "alias")
            origin = node.child_by_field_name("path" if go or kind == "use_as_clause" else "name")
            words = [] if origin is None else WORD.findall(self.text(origin))
            if alias is not None and words:
                self.aliases[self.text(alias)] = words[-1]
        elif kind in ("case_pattern", "keyword_pattern"):
            last = node.named_children[-1] if node.named_children else node
            if last.type == "dotted_name" and last.named_child_count == 1:
                self._declare(last.named_children[0], node, scope, "here")
        elif kind == "shorthand_property_identifier" and not self._is_argument(node):
            self.members.add(self.text(node))
        elif kind == "preproc_function_def":
            self._macros.update(self.text(n) for n in node.children_by_field_name("name"))
        elif self._is_macro_call(node):
            for argument in _macro_arguments(node):
                self._loose.append((self.text(argument), scope))

    def _hoists(self, node: Node) -> bool:
        """Whether a declarator is a `var` of JavaScript, which belongs to the whole function."""
        parent = self.parent(node) if node.type == "variable_declarator" else None
        return parent is not None and parent.type == "variable_declaration"

    def _is_argument(self, node: Node) -> bool:
        """Whether the object that holds `node` is handed to a call."""
        holder = self.parent(node)
        around = None if holder is None else self.parent(holder)
        return around is not None and around.type == "arguments"

    def _is_method(self, node: Node) -> bool:
        body = self.parent(node)
        owner = None if body is None else self.parent(body)
        return owner is not None and owner.type in ("impl_item", "trait_item")

    def _is_macro_call(self, node: Node) -> bool:
        """A use of a macro of the program, which the grammar takes for a call or a function."""
        if not self._macros or node.type not in ("call_expression", "function_definition"):
            return False
        name = node.child_by_field_name("function")
        if name is None:
            declarator = node.child_by_field_name("declarator")
            name = declarator.child_by_field_name("declarator") if declarator else None
        return name is not None and self.text(name) in self._macros


def _parts(node: Node, fields: tuple[str, ...]) -> list[Node]:
    if not fields:  # all but what is no name: types, guards
        others = [n for name in _NO_NAMES for n in node.children_by_field_name(name)]
        return [part for part in node.named_children if part not in others]
    return [part for name in fields for part in node.children_by_field_name(name)]


def _macro_arguments(node: Node) -> Iterator[Node]:
    """Bare names handed to a macro, which may declare them: `rep(i, n)`."""
    holder = node.child_by_field_name("arguments")
    if holder is None:
        declarator = node.child_by_field_name("declarator")
        holder = declarator.child_by_field_name("parameters") if declarator else None
    for argument in holder.named_children if holder is not None else ():
        if argument.type == "parameter_declaration" and argument.named_child_count == 1:
            argument = argument.named_children[0]
        if argument.type in ("identifier", "type_identifier"):
            yield argument
