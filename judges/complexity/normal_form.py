"""Programs without what must not count: comments, strings, names and white space."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from assay.judges.complexity.binding import Key, uses
from assay.judges.complexity.stripping import CONTENTS, Edit, apply, is_comment, strip
from assay.syntax import tree_of

__all__ = ["normalise", "strip", "structure_hash"]

#: Languages in which a line's end and a semicolon mean the same.
_FREE_SEMICOLONS = frozenset({"python", "javascript", "go"})
_STRINGS = frozenset(
    {
        "string",
        "string_literal",
        "raw_string_literal",
        "template_string",
        "interpreted_string_literal",
    }
)
_QUOTES = frozenset({"string_start", "string_end", '"', "'", "`", '"""', 'R"', "(", ")"})
_NUMBERED = re.compile(r"v\d+")


def normalise(source: str, language: str) -> str:
    r"""`strip(source)` with the program's own names replaced by v0, v1, ... in order of appearance.

    Each binding gets its own name (two functions' `i` are two names), so that programs that differ
    only in the names they chose come out the same. Keywords, library names, built-ins, Python's
    dunder names and methods that a library calls (`compareTo`, `Less`, `main`) are kept, imports
    included: `import numpy as np` becomes `import numpy as numpy`, and `np.sort` `numpy.sort`.

    Args:
        source: A program.
        language: One of `assay.syntax.GRAMMARS`.

    Raises:
        ConfigError: Unknown language.

    >>> normalise('def total(xs):\n    return sum(x for x in xs)  # O(1)\n', "python")
    'def v0(v1):\n    return sum(v2 for v2 in v1)\n'
    """
    stripped = strip(source, language)
    data = stripped.encode()
    found = list(uses(tree_of(stripped, language).root_node, data, language))
    taken = {u.text for u in found if u.key is None and _NUMBERED.fullmatch(u.text)}
    names: dict[Key, str] = {}
    number = 0

    def name_of(key: Key | None, text: str) -> str:
        nonlocal number
        if key is None:
            return text
        if key not in names:
            while f"v{number}" in taken:
                number += 1
            names[key] = f"v{number}"
            number += 1
        return names[key]

    edits = []
    for use in found:
        text = data[use.start : use.end].decode()
        new = name_of(use.member, text) + ": " if use.shorthand else ""
        new += name_of(use.key, use.text)
        if text.startswith("#"):  # a private name of JavaScript
            new = f"#{new.lstrip('#')}"
        if use.shorthand and use.member is None and use.key is None:
            new = text
        if new != text:
            edits.append(Edit(use.start, use.end, new))
    return apply(data, edits)


def structure_hash(source: str, language: str) -> str:
    r"""A hash equal for programs that differ only in comments, strings, names and white space.

    It is taken over the syntax tree of `normalise(source)`: the key under which a program's
    complexity is cached, and how two solutions are known to be the same.

    Args:
        source: A program.
        language: One of `assay.syntax.GRAMMARS`.

    Returns:
        64 hexadecimal digits.

    Raises:
        ConfigError: Unknown language.

    >>> a = structure_hash("for i in range(n): print(i, 'hi')", "python")
    >>> a == structure_hash("for k in range(n):\n  print( k, 'ho' )  # line", "python")
    True
    >>> a == structure_hash("for i in range(n * n): print(i, 'hi')", "python")
    False
    """
    digest = hashlib.sha256(language.encode())
    for token in _tokens(normalise(source, language), language):
        digest.update(token.encode() + b"\0")
    return digest.hexdigest()


def _tokens(text: str, language: str) -> Iterator[str]:
    """The tree of `text` in brackets: node types, fields, and the text of leaves."""
    data = text.encode()
    cursor = tree_of(text, language).walk()
    string_depth: int | None = None
    while True:
        node = cursor.node
        assert node is not None
        kind, depth = node.type, cursor.depth
        if string_depth is not None and depth <= string_depth:
            string_depth = None
        silent = (
            is_comment(node)
            or (kind == ";" and language in _FREE_SEMICOLONS)
            or not kind.strip("\n\0")
            or (kind in CONTENTS and node.start_byte == node.end_byte)
            or (depth - 1 == string_depth and kind in _QUOTES)
        )
        descend = False
        if not silent:
            yield f"{cursor.field_name or ''}:{'string' if kind in _STRINGS else kind}"
            if node.child_count == 0 or kind in CONTENTS:
                yield data[node.start_byte : node.end_byte].decode("utf-8", "replace")
            else:
                if kind in _STRINGS:
                    string_depth = depth
                descend = cursor.goto_first_child()
                yield "(" if descend else ""
        while not descend and not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            yield ")"
        # a next sibling or a first child is current
