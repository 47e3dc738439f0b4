"""Every use of a name in a program, and which of the program's own names it is.

Names that the program does not define (libraries, built-ins) are left alone; an alias of an import
becomes the name that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.judges.complexity.scopes import NAMES, WORD, Scope, Scopes

if TYPE_CHECKING:
    from tree_sitter import Node

#: A name's identity: the number of its scope (-1 for members, -2 for labels) and its text.
Key = tuple[int, str]
MEMBER, LABEL = -1, -2
_PATHS = frozenset({"qualified_identifier", "scoped_identifier", "scoped_type_identifier"})
_SHORTHAND = frozenset(
    {
        "shorthand_property_identifier",
        "shorthand_property_identifier_pattern",
        "shorthand_field_identifier",
    }
)


@dataclass(frozen=True, slots=True)
class Use:
    """One occurrence of a name.

    Attributes:
        start: First byte.
        end: Byte after the last.
        key: Whose name it is; None for a name from outside.
        text: The name, or what an import's alias stands for.
        shorthand: It also names a member, as in `{x}`.
        member: That member, where the program defines it.
    """

    start: int
    end: int
    key: Key | None
    text: str
    shorthand: bool = False
    member: Key | None = None


def uses(root: Node, data: bytes, language: str) -> Iterator[Use]:
    """Uses of names in document order.

    Args:
        root: A tree of `assay.syntax.tree_of`.
        data: Its source in UTF-8.
        language: One of `assay.syntax.GRAMMARS`.
    """
    scopes = Scopes(root, data, language)
    for node, scope in scopes.walk(skip=True):
        if node.type in scopes.rules.skipped:
            yield from _aliases(node, scopes)
        elif node.type == "preproc_arg":
            yield from _macro_words(node, scope, scopes)
        elif node.type in NAMES and node.child_count == 0:
            yield _use(node, scope, scopes)


def _use(node: Node, scope: Scope, scopes: Scopes) -> Use:
    text = scopes.text(node)
    key = _key(node, text, scope, scopes)
    kept = scopes.aliases.get(text, text) if key is None and not scopes.is_member(node) else text
    parent = scopes.parent(node)
    shorthand = node.type in _SHORTHAND or (
        parent is not None and parent.type == "shorthand_field_initializer"
    )
    member = (MEMBER, text) if shorthand and text in scopes.members else None
    return Use(node.start_byte, node.end_byte, key, kept, shorthand, member)


def _key(node: Node, text: str, scope: Scope, scopes: Scopes) -> Key | None:
    parent = scopes.parent(node)
    kind = parent.type if parent is not None else ""
    member = (MEMBER, text) if text in scopes.members else None
    if node.type in scopes.rules.labels or kind in scopes.rules.labels:
        return (LABEL, text)
    if scopes.is_member(node):
        return member
    if parent is None:
        return _lookup(text, scope, scopes)
    if kind == "keyword_argument" and parent.child_by_field_name("name") == node:
        return _keyword(parent, text, scopes)
    if kind in _PATHS:
        return _path(node, text, scope, scopes)
    if kind == "token_tree" and _after_dot(node, scopes):
        return member
    holder = scopes.parent(parent)
    if (
        kind == "literal_element"
        and holder is not None
        and holder.child_by_field_name("key") == parent
        and member is not None
    ):
        return member
    if member is not None and scopes.names_member(parent, node):
        return member
    if scopes.names_scope(parent) and parent.child_by_field_name("name") == node:
        scope = scope.parent or scope
        if kind in ("function_item", "method_declaration") and member is not None:
            return member
    return _lookup(text, scope, scopes)


def _lookup(text: str, scope: Scope, scopes: Scopes) -> Key | None:
    found = scopes.find(text, scope)
    if found is not None:
        return (MEMBER, text) if found.kind == "class" else (found.number, text)
    return (MEMBER, text) if scopes.rules.implicit and text in scopes.members else None


def _path(node: Node, text: str, scope: Scope, scopes: Scopes) -> Key | None:
    """A part of `a::b::c`: the first is looked up, the others belong to what it names."""
    top = node
    while (around := scopes.parent(top)) is not None and around.type in _PATHS:
        top = around
    first = top
    while first.child_count:
        first = first.children[0]
    if first == node:
        return _lookup(text, scope, scopes)
    owner = scopes.text(first)
    own = owner in ("Self", "self", "crate", "super", "::")
    if not own and scopes.find(owner, scope) is None:
        return None
    if text in scopes.members:
        return (MEMBER, text)
    return _lookup(text, scope, scopes)


def _after_dot(node: Node, scopes: Scopes) -> bool:
    """Whether a token of a Rust macro follows a dot."""
    return scopes.data[max(0, node.start_byte - 64) : node.start_byte].rstrip().endswith(b".")


def _keyword(argument: Node, text: str, scopes: Scopes) -> Key | None:
    """The parameter that a keyword argument of Python names, if the callee is the program's."""
    holder = scopes.parent(argument)
    call = None if holder is None else scopes.parent(holder)
    callee = call.child_by_field_name("function") if call is not None else None
    if callee is None:
        return None
    name = scopes.text(callee.child_by_field_name("attribute") or callee)
    owner = scopes.functions.get(name)
    if owner is not None and owner.kind == "class":
        owner = scopes.functions.get(f"{name}.__init__", owner)
    if owner is None or text not in owner.names:
        return None
    return (MEMBER, text) if owner.kind == "class" else (owner.number, text)


def _aliases(node: Node, scopes: Scopes) -> Iterator[Use]:
    """Aliases of an import: each becomes what it stands for, and is left out where that is all."""
    stack = [node]
    found: list[tuple[Node, Node | None, bool]] = []
    while stack:
        part = stack.pop()
        before = part.type == "import_spec"  # Go writes the alias first
        origin = part.child_by_field_name("path") or part.child_by_field_name("name")
        for alias in part.children_by_field_name("name" if before else "alias"):
            found.append((alias, origin, before))
        stack += part.children
    for alias, origin, before in sorted(found, key=lambda item: item[0].start_byte):
        name = scopes.aliases.get(scopes.text(alias), scopes.text(alias))
        if origin is not None and before:
            yield Use(alias.start_byte, origin.start_byte, None, "")
        elif origin is not None and scopes.text(origin) == name:
            yield Use(origin.end_byte, alias.end_byte, None, "")
        else:
            yield Use(alias.start_byte, alias.end_byte, None, name)


def _macro_words(node: Node, scope: Scope, scopes: Scopes) -> Iterator[Use]:
    """Names in the body of a macro, which the grammar leaves as text."""
    text = scopes.text(node)
    for match in WORD.finditer(text):
        before = text[: match.start()]
        start = node.start_byte + len(before.encode())
        if before.rstrip().endswith((".", "->")):
            key = (MEMBER, match[0]) if match[0] in scopes.members else None
        else:
            key = _lookup(match[0], scope, scopes)
        yield Use(start, start + len(match[0].encode()), key, match[0])
