"""Finds the code in an answer: fenced Markdown blocks, read in linear time.

Rule: the last block tagged with the wanted language counts; where none is tagged so, the last
untagged block. A text without any block is code only if the caller says `bare=True`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Tags that mean a language, lower case. A language that is not listed is known by its own name.
ALIASES: dict[str, frozenset[str]] = {
    "python": frozenset({"python", "py", "python3", "py3"}),
    "c": frozenset({"c", "c11", "c17", "c99"}),
    "cpp": frozenset({"cpp", "c++", "cc", "cxx", "cpp17", "cpp20", "c++17", "c++20"}),
    "java": frozenset({"java"}),
    "javascript": frozenset({"javascript", "js", "node", "nodejs", "mjs"}),
    "go": frozenset({"go", "golang"}),
    "rust": frozenset({"rust", "rs"}),
}

#: A closing fence stands at most so many columns right of its opening one, as in CommonMark: one in
#: an indented docstring belongs to the code.
DEEPEST = 3
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_TAG = re.compile(r"[\w+#]+")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One fenced block: its tag (lower case, or empty), its code, and whether it was closed."""

    tag: str
    code: str
    closed: bool


@dataclass(frozen=True, slots=True)
class Extraction:
    """What `extract_code` found.

    Attributes:
        code: The code, or None.
        wanted: How many blocks carry a tag of the wanted language.
        closed: Whether the chosen block was closed by its fence (True for bare code).
        tagged: Whether the chosen block carries a tag of the wanted language.
        note: Why this block, or why none.
    """

    code: str | None
    wanted: int
    closed: bool
    tagged: bool
    note: str


def code_blocks(text: str) -> list[CodeBlock]:
    """All fenced blocks of `text`, in order; an unclosed last block runs to the end."""
    blocks: list[CodeBlock] = []
    fence = ""
    tag = ""
    indent = 0
    lines: list[str] = []
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        match = _FENCE.match(line)
        if not fence:
            if match and not (match[1][0] == "`" and "`" in match[2]):
                fence = match[1]
                indent = match.start(1)
                found = _TAG.search(match[2])
                tag = found[0].lower() if found else ""
                lines = []
        elif (
            match
            and match[1][0] == fence[0]
            and len(match[1]) >= len(fence)
            and match.start(1) <= indent + DEEPEST
            and not match[2].strip()
        ):
            blocks.append(CodeBlock(tag, "\n".join(lines), closed=True))
            fence = ""
        else:
            lines.append(line[indent:] if not line[:indent].strip() else line)
    if fence:
        blocks.append(CodeBlock(tag, "\n".join(lines), closed=False))
    return blocks


def extract_code(answer: str, language: str, *, bare: bool = False) -> Extraction:
    r"""The code of `language` in `answer`.

    Args:
        answer: The final answer, without the reasoning.
        language: `python`, `cpp`, ...
        bare: Take an answer without any block as code.

    >>> extract_code("```python\nprint(1)\n```", "python").code
    'print(1)'
    >>> extract_code("print(1)", "python").note
    'no code block'
    """
    blocks = code_blocks(answer)
    tags = ALIASES.get(language, frozenset({language.lower()}))
    wanted = [block for block in blocks if block.tag in tags]
    chosen = wanted or [block for block in blocks if not block.tag]
    if not chosen:
        if bare and not blocks and answer.strip():
            return Extraction(answer, 0, closed=True, tagged=False, note="bare code")
        others = sorted({block.tag for block in blocks})
        note = f"no {language} block, only {', '.join(others)}" if others else "no code block"
        return Extraction(None, 0, closed=False, tagged=False, note=note)
    block = chosen[-1]
    notes = []
    if len(wanted) > 1:
        notes.append(f"{len(wanted)} {language} blocks, the last one counts")
    elif not wanted:
        notes.append("untagged block")
    if not block.closed:
        notes.append("the block is not closed")
    return Extraction(
        block.code, len(wanted), closed=block.closed, tagged=bool(wanted), note="; ".join(notes)
    )
