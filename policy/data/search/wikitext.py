"""What a page says, read from its wikitext: infobox fields and sentences with their links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from assay.policy.data.search.pages import clean_title, readable

_OPEN, _MIDDLE, _CLOSE = "\x02", "\x03", "\x04"
_LINK = re.compile(f"{_OPEN}([^{_MIDDLE}]*){_MIDDLE}([^{_CLOSE}]*){_CLOSE}")
_END = re.compile(rf"(?<=[.!?])[\"')]*\s+(?=[\"'(]?[A-Z0-9{_OPEN}])")
#: A blank line, or a line that begins a list, an indent or a heading, ends a paragraph.
_BREAK = re.compile(r"\n\s*\n|\n(?=[*#:;=|!])")
#: Initials and shortened words that end no sentence.
_SHORT = re.compile(r"(?:\b(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Jr|Sr|vs|No|ca?|approx|b|d|e\.g|i\.e))\.$")
_SHORTENED = 12  # the longest of them, its point and what stands before it
_SPACES = frozenset({"file", "image", "category", "media", "wikipedia", "template", "help"})
_LONGEST_SENTENCE = 600
#: What opens and closes in wikitext; `<br>` and its like are closed where they stand.
_ALONE = r"(?!(?i:br|hr|wbr|li|dd|dt|p)\b)"
_BRACKET = re.compile(
    rf"(?P<open>\{{\{{|\[\[|^\{{\||<!--|\[(?=\w+:|//)|<{_ALONE}(?=[a-zA-Z]))|"
    rf"\}}\}}|\]\]|^\|\}}|-->|\]|/>|</{_ALONE}",
    re.MULTILINE,
)
_CLOSES = {"{{": "}}", "[[": "]]", "{|": "|}", "<!--": "-->", "[": "]", "<": "</", "/>": "</"}
#: The parser goes no deeper, and its time grows with the square of what is open beyond these.
_DEEPEST = 40
_MOST_OPEN = 100


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a sentence: what it points at, and how it reads."""

    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of running text, without markup, and its links in order."""

    text: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an infobox: its name, its value as text, and the pages it links to."""

    name: str
    value: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Article:
    """What was read from a page.

    Attributes:
        kind: Name of its infobox without the word, lower case ("person"), or empty.
        fields: Of the infobox.
        sentences: Those with at least one link.
        words: Words of running text.
    """

    kind: str
    fields: tuple[Field, ...]
    sentences: tuple[Sentence, ...]
    words: int


def read_article(text: str) -> Article:
    """Parse wikitext; markup that is broken is read as well as it can be.

    A page with more than 100 brackets, tags or tables that are never closed, or nested deeper than
    the parser goes, is read as an empty one: it was damaged, and reading it would take forever.

    Raises:
        ImportError: The extra `search` is not installed.
    """
    try:
        import mwparserfromhell
    except ImportError:
        raise ImportError(
            "reading wikitext needs mwparserfromhell: pip install 'assay[search]'"
        ) from None
    if _never_closed(text) > _MOST_OPEN:
        return Article("", (), (), 0)
    code = mwparserfromhell.parse(readable(text), skip_style_tags=True)
    kind = ""
    fields: list[Field] = []
    for template in code.filter_templates(recursive=False):
        name = str(template.name).strip().lower().replace("_", " ")
        if name.startswith("infobox") and not fields:
            kind = name.removeprefix("infobox").strip()
            fields = [field for param in template.params if (field := _field(param)) is not None]
    running = _running_text(code)
    plain = _LINK.sub(lambda match: match[2], running)
    return Article(kind, tuple(fields), tuple(_sentences(running)), len(plain.split()))


def _never_closed(text: str) -> int:
    """How many openings have no end, or are too deep; one pass, each kind by itself."""
    depth = dict.fromkeys(_CLOSES.values(), 0)
    deep = 0
    for match in _BRACKET.finditer(text):
        kind = _CLOSES.get(match[0], match[0])
        if match["open"]:
            depth[kind] += 1
            deep += depth[kind] > _DEEPEST
        else:
            depth[kind] = max(0, depth[kind] - 1)
    return deep + sum(min(left, _DEEPEST) for left in depth.values())


def _field(param: Any) -> Field | None:
    name = " ".join(str(param.name).strip().lower().replace("_", " ").split())
    if not name or name.isdigit():
        return None
    running = _running_text(param.value)  # without references, whose links say nothing
    targets = tuple(dict.fromkeys(match[1] for match in _LINK.finditer(running)))
    value = " ".join(_LINK.sub(lambda match: match[2], running).split())
    return Field(name, value, targets) if value or targets else None


def _target(title: str) -> str | None:
    space, colon, _ = title.strip().partition(":")
    if colon and (not space or space.strip().lower() in _SPACES):
        return None
    return clean_title(title) or None


def _running_text(code: Any) -> str:
    """Text with links marked; without templates, references, tables, comments and headings."""
    from mwparserfromhell.nodes import ExternalLink, HTMLEntity, Tag, Text, Wikilink

    parts: list[str] = []
    for node in code.nodes:
        if isinstance(node, Text):
            parts.append(node.value)
        elif isinstance(node, Wikilink):
            target = _target(str(node.title))
            if target is not None:
                shown = str(node.text.strip_code()) if node.text is not None else str(node.title)
                parts.append(f"{_OPEN}{target}{_MIDDLE}{' '.join(shown.split())}{_CLOSE}")
        elif isinstance(node, HTMLEntity):
            parts.append(_character(node))
        elif isinstance(node, ExternalLink):
            parts.append(str(node.title or ""))
        elif isinstance(node, Tag) and str(node.tag).lower() == "br":
            parts.append(" ")
        elif isinstance(node, Tag) and _is_running(node):
            parts.append(_running_text(node.contents))
    return "".join(parts)


def _character(entity: Any) -> str:
    """What an entity stands for; one that stands for nothing is shown as it is written."""
    try:
        return readable(entity.normalize())
    except (ValueError, OverflowError):  # beyond Unicode
        return str(entity)


def _is_running(tag: Any) -> bool:
    return str(tag.tag).lower() not in ("ref", "table", "gallery") and tag.contents is not None


def _pieces(line: str) -> list[str]:
    """Where sentences end, initials and shortened words aside."""
    pieces: list[list[str]] = []
    for part in _END.split(line):
        if pieces and _SHORT.search(pieces[-1][-1][-_SHORTENED:]):
            pieces[-1].append(part)
        else:
            pieces.append([part])
    return [" ".join(parts) for parts in pieces]


def _sentences(running: str) -> list[Sentence]:
    found: list[Sentence] = []
    for line in _BREAK.split(running):
        if _OPEN not in line:
            continue
        for piece in _pieces(" ".join(line.strip(" \n*#:;").split())):
            links = tuple(Link(match[1], match[2]) for match in _LINK.finditer(piece))
            text = " ".join(_LINK.sub(lambda match: match[2], piece).replace("'''", "").split())
            text = text.replace("''", "")
            if links and len(text) <= _LONGEST_SENTENCE:
                found.append(Sentence(text, links))
    return found
