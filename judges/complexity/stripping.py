"""Removes comments and docstrings and blanks string contents, so that only the program is left.

What a program says about itself (a comment that claims O(1), a string that asks for a good verdict)
is no evidence. Paths in imports and includes are kept: they are names of libraries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.syntax import tree_of

if TYPE_CHECKING:
    from tree_sitter import Node

#: Nodes that hold the text of a string, between its delimiters.
CONTENTS = frozenset(
    {
        "string_content",
        "raw_string_content",
        "string_fragment",
        "multiline_string_fragment",
        "escape_sequence",
        "interpreted_string_literal_content",
        "raw_string_literal_content",
        "raw_string_delimiter",
    }
)
_CHARACTERS = frozenset({"char_literal", "character_literal", "rune_literal"})
_IMPORTS = frozenset(
    {
        "preproc_include",
        "import_declaration",
        "import_statement",
        "export_statement",
        "extern_modifier",
        "linkage_specification",
    }
)
#: Languages in which a comment that spans lines ends a statement.
_LINE_ENDS = frozenset({"javascript", "go"})
_MACRO_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes `start` to `end` become `text`."""

    start: int
    end: int
    text: str


def strip(source: str, language: str) -> str:
    r"""`source` without comments, docstrings and blank lines, every string emptied.

    Args:
        source: A program.
        language: One of `assay.syntax.GRAMMARS`.

    Raises:
        ConfigError: Unknown language.

    >>> strip('def f(x):  # O(1)!\n    "Constant time."\n    return g("hi", x)\n', "python")
    'def f(x):\n    return g("", x)\n'
    """
    data = source.encode("utf-8", "replace")
    root = tree_of(source, language).root_node
    return tidy(apply(data, list(_edits(root, data, language))))


def apply(data: bytes, edits: list[Edit]) -> str:
    """The text of `data` after `edits`; of two that overlap the earlier and longer one counts."""
    parts: list[bytes] = []
    position = 0
    for edit in sorted(edits, key=lambda e: (e.start, -e.end)):
        if edit.start < position:
            continue
        parts += [data[position : edit.start], edit.text.encode()]
        position = edit.end
    parts.append(data[position:])
    return b"".join(parts).decode("utf-8", "replace")


def tidy(text: str) -> str:
    """Without trailing white space and without blank lines (but those that end a macro)."""
    lines: list[str] = []
    for line in text.splitlines():
        line = line.rstrip()
        if line or (lines and lines[-1].endswith("\\")):
            lines.append(line)
    return "\n".join(lines) + "\n" if lines else ""


def is_comment(node: Node) -> bool:
    """Whether `node` is a comment of its language."""
    return "comment" in node.type or node.type == "hash_bang_line"


def is_docstring(node: Node) -> bool:
    """Whether `node` is a Python statement that is nothing but a string without interpolation."""
    if node.type != "expression_statement" or node.named_child_count != 1:
        return False
    stack = [node.named_children[0]]
    if stack[0].type not in ("string", "concatenated_string"):
        return False
    while stack:
        inner = stack.pop()
        if inner.type == "interpolation":
            return False
        stack += inner.children
    return True


def _edits(root: Node, data: bytes, language: str) -> Iterator[Edit]:
    stack: list[tuple[Node, Node | None, Node | None]] = [(root, None, None)]
    while stack:  # with its parent and the parent's: tree-sitter searches both from the root
        node, parent, around = stack.pop()
        kind = node.type
        if is_comment(node):
            yield _without_comment(node, data, language)
        elif kind in CONTENTS:
            yield Edit(node.start_byte, node.end_byte, "")
        elif kind in _CHARACTERS:
            opening = max(0, data[node.start_byte : node.end_byte].find(b"'"))
            yield Edit(node.start_byte + opening, node.end_byte, "'_'")
        elif kind == "regex_pattern":
            yield Edit(node.start_byte, node.end_byte, "_")
        elif kind == "preproc_arg":
            text = _MACRO_TEXT.sub(_blank_macro, _slice(data, node))
            yield Edit(node.start_byte, node.end_byte, text)
        elif language == "python" and is_docstring(node):
            yield _without_docstring(node, parent)
        elif not _names_library(node, parent, around, data):
            stack += [(child, node, parent) for child in node.children]


def _slice(data: bytes, node: Node) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _names_library(node: Node, parent: Node | None, call: Node | None, data: bytes) -> bool:
    """Whether `node` is the string of an import, an include or a `require`."""
    if "string" not in node.type or node.child_count == 0 or parent is None:
        return False
    if parent.type in _IMPORTS or parent.type == "import_spec":
        return True
    if parent.type != "arguments" or call is None:
        return False
    function = call.child_by_field_name("function")
    return function is not None and _slice(data, function) == "require"


def _without_comment(node: Node, data: bytes, language: str) -> Edit:
    text = _slice(data, node)
    if text.endswith("\n") or ("\n" in text and language in _LINE_ENDS):
        return Edit(node.start_byte, node.end_byte, "\n")
    return Edit(node.start_byte, node.end_byte, "" if language == "python" else " ")


def _without_docstring(node: Node, block: Node | None) -> Edit:
    """Removed, with the semicolon after it; `pass` where nothing else would be in the block."""
    statements = [] if block is None else [n for n in block.named_children if not is_comment(n)]
    is_block = block is not None and block.type == "block"
    if is_block and all(is_docstring(statement) for statement in statements):
        first = statements[0].start_byte == node.start_byte
        if first:
            return Edit(node.start_byte, node.end_byte, "pass")
    follower = node.next_sibling
    if follower is not None and follower.type == ";":
        end = follower.end_byte
        after = follower.next_sibling
        return Edit(node.start_byte, end if after is None else _gap(follower, after), "")
    return Edit(node.start_byte, node.end_byte, "")


def _gap(semicolon: Node, after: Node) -> int:
    """Where the statement after a semicolon starts, if it is on the same line."""
    same_line = semicolon.end_point[0] == after.start_point[0]
    return after.start_byte if same_line else semicolon.end_byte


def _blank_macro(match: re.Match[str]) -> str:
    return '""' if match[0].startswith('"') else " "
