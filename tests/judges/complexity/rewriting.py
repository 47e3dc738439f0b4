"""Programs with other names, comments and strings, and the same meaning: in every language."""

from __future__ import annotations

import random

from assay.judges.complexity.binding import Key, uses
from assay.judges.complexity.stripping import Edit, apply, is_comment
from assay.syntax import tree_of

_TEMPTING = (
    "binarySearch", "constant", "hashLookup", "logn", "fast", "memo", "visited", "sqrtOfN", "dp",
    "heap", "sorted_once", "exponential", "tree", "cache",
)  # fmt: skip
_CLAIMS = ("O(1)", "O(log n)", "runs in n^3", "for (;;) while (true)", "exponential!", "sort()")
_PATHS = frozenset({"import_spec", "interpreted_string_literal"})  # Go's imports
_CONTENTS = frozenset({"string_content", "string_fragment", "interpreted_string_literal_content"})


def rewritten(source: str, language: str, seed: int) -> str:
    """The program with its own names, its comments and its longer strings replaced.

    Strings of one character stay that long: a separator is one piece of data to a program.
    """
    chooser = random.Random(f"{seed} {language}")
    data = source.encode()
    root = tree_of(source, language).root_node
    names: dict[Key, str] = {}

    def named(key: Key) -> str:
        if key not in names:
            names[key] = f"{chooser.choice(_TEMPTING)}_{len(names)}"
        return names[key]

    edits = []
    for use in uses(root, data, language):
        new = f"{named(use.member) if use.member else use.text}: " if use.shorthand else ""
        new += named(use.key) if use.key else use.text
        old = data[use.start : use.end].decode()
        if use.key is not None and not old.startswith("#"):
            edits.append(Edit(use.start, use.end, new))
    stack = [root]
    while stack:
        node = stack.pop()
        text = data[node.start_byte : node.end_byte]
        if is_comment(node):
            opening = "//" if text[:2] in (b"//", b"/*") else "#"
            closing = "*/" if text[:2] == b"/*" else ""
            new = f"{'/*' if closing else opening} {chooser.choice(_CLAIMS)} {closing}"
            edits.append(Edit(node.start_byte, node.end_byte, new + "\n" * text.endswith(b"\n")))
            continue
        path = node.parent is not None and node.parent.type in _PATHS
        if node.type in _CONTENTS and len(text) > 1 and not set(text) & set(b"%\\{") and not path:
            new = f"claims {chooser.choice(_CLAIMS)}"
            edits.append(Edit(node.start_byte, node.end_byte, new))
        stack.extend(node.children)
    lines = apply(data, sorted(edits, key=lambda edit: edit.start)).splitlines()
    mark = "#" if language == "python" else "//"
    return "\n".join(f"{line}  {mark} {chooser.choice(_CLAIMS)}" for line in lines) + "\n"
