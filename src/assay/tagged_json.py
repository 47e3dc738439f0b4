"""Finds `<tag>...</tag>` spans around JSON in a model's text, in linear time.

A closing tag inside a JSON string does not close. What is broken is kept and said: an opening tag
that nothing closes, one that another opening tag cuts short, a closing tag that closes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Span:
    """One span: offsets of the whole, of its body, and what is wrong with its tags (or empty)."""

    start: int
    body: int
    body_end: int
    end: int
    problem: str = ""


def tag_spans(text: str, tag: str) -> list[Span]:
    """All spans of `tag`, in order, not overlapping.

    Strings are JSON's: they begin and end with an unescaped quote and never run past their line.
    A string that its line leaves open hides no closing tag.

    >>> [(s.body, s.body_end) for s in tag_spans('<c>{"a": "</c>"}</c>', "c")]
    [(3, 16)]
    >>> tag_spans("<c>1", "c")[0].problem
    'no </c> follows'
    """
    opening, closing = f"<{tag}>", f"</{tag}>"
    if opening not in text and closing not in text:
        return []
    tags = re.compile(f"{re.escape(opening)}|{re.escape(closing)}")
    inside = re.compile(rf'\\.|["\n]|{tags.pattern}')
    spans: list[Span] = []
    at = 0
    while match := tags.search(text, at):
        start, body = match.span()
        if match[0] == closing:
            span = Span(start, body, body, body, f"{closing} closes nothing")
        else:
            span = _read_body(text, start, body, inside, closing)
        spans.append(span)
        at = span.end
    return spans


def _read_body(text: str, start: int, body: int, inside: re.Pattern[str], closing: str) -> Span:
    """The span whose opening tag stands at `start`.

    Linear over all spans: what is read beyond the end of a span is at most the rest of a line, and
    there the next spans see every quote the other way round, so that none of them reads on as far.
    """
    quoted = False
    hidden: re.Match[str] | None = None  # the first closing tag inside the current string
    for match in inside.finditer(text, body):
        token = match[0]
        if token == '"':
            quoted = not quoted
            hidden = None
        elif token == "\n":
            if hidden:
                break
            quoted = False
        elif token == closing:
            if not quoted:
                return Span(start, body, match.start(), match.end())
            hidden = hidden or match
        elif token[0] == "<" and not quoted:
            where = match.start()
            return Span(start, body, where, where, f"no {closing} before the next {token}")
    if hidden:
        return Span(start, body, hidden.start(), hidden.end())
    return Span(start, body, len(text), len(text), f"no {closing} follows")


class Lines:
    r"""Tells offsets of a text as line and column, both from 1; indexes the text when first asked.

    >>> Lines("ab\ncd").at(4)
    'line 2, column 2'
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def at(self, offset: int) -> str:
        """`line L, column C` of an offset."""
        line = bisect_right(self._starts, offset)
        return f"line {line}, column {offset - self._starts[line - 1] + 1}"

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]
