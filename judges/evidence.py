"""What a run has seen so far, and what a turn states or passes on that came from nowhere.

Only what leaves a trace is looked at: identifiers (`HAT136`, `user_42`, long numbers, addresses)
and numbers of three digits or more that numbers seen do not give: no sum, difference or product of
two, and no sum or mean of the values of a field. Everything is case-insensitive and linear in the
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.judges.computed_numbers import Figures

#: What parts words; `_`, `-`, `.`, `@` and `#` stay inside identifiers.
_PARTING = str.maketrans(
    dict.fromkeys("\"'()[]{}<>,;:!?*/\\|=~`$%^&+\u201c\u201d\u2018\u2019\u2014", " ")
)
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)")
_THOUSANDS = re.compile(r",\d{3}")
_PIECE = re.compile(r"[^\W_]+")
#: Not identifiers: ordinals, sizes and times; dates; versions of common words (GPT-4o, utf-8).
_PLAIN = re.compile(
    r"\d+(?:st|nd|rd|th|s|[a-z]{1,3})|\d{4}-\d\d-\d\d(?:t[\d:.]*\w*)?|\d{1,4}(?:-\d{1,4}){1,2}"
    r"|[a-z]+-?\d{1,2}[a-z]?|\d+(?:\.\d+)*|v\d[\d.]*|(?:\d+-)[a-z]+(?:-[a-z]+)*"
)
_LETTER = re.compile(r"[^\W\d_]")
_LARGEST = 20_000  # numbers kept to look for sums


class Seen:
    """The traces in what a run was told: user, system and tool messages, not its own words."""

    def __init__(self) -> None:
        self._codes: set[str] = set()
        self._numbers: set[float] = set()
        self._figures = Figures()

    def add(self, text: str) -> None:
        """Take in a text."""
        self._figures.add(text)
        for token in tokens(text):
            low = token.lower()
            if low in self._codes:
                continue
            self._codes.add(low)
            if not low.isalnum():
                pieces = _PIECE.findall(low)
                self._codes.update(pieces)
                self._codes.add("".join(pieces))
            number = _number(low)
            if number is not None and len(self._numbers) < _LARGEST:
                self._numbers.add(number)
        if len(self._numbers) < _LARGEST:
            self._numbers.update(_grouped(text))

    def add_value(self, value: Any) -> None:
        """Take in the strings and numbers of a JSON value."""
        for text in _strings(value):
            self.add(text)

    def name(self, arguments: Mapping[str, Any]) -> None:
        """Take in the arguments of a call: no evidence, but they say which records matter."""
        self._figures.name(arguments)

    def has(self, code: str) -> bool:
        """Whether an identifier, or all of its pieces, were seen."""
        if code in self._codes:
            return True
        pieces = [piece for piece in _PIECE.findall(code) if not piece.isalpha()]
        return bool(pieces) and all(
            piece in self._codes or (len(piece) < 3 and _PLAIN.fullmatch(piece)) for piece in pieces
        )

    def explains(self, number: float) -> bool:
        """Whether a number was seen, or numbers that were seen give it.

        Two of them by a sum, a difference or a product; one and a small count; or the values
        of a field of records, see `Figures`.
        """
        seen = self._numbers
        if number in seen or -number in seen:
            return True
        for other in seen:
            if round(number - other, 6) in seen or round(number + other, 6) in seen:
                return True
            if other and (quotient := number / other) in seen:
                return True
            if other > 1 and quotient == int(quotient) and quotient <= 12:
                return True
        return self._figures.explains(number)

    def rests_on(self, number: float, unknown: float) -> bool:
        """Whether a number that was not seen is an unknown one and a seen one, added or taken off.

        Chance explains many a number: what is left of 500 after an unknown price is as unknown.
        """
        seen = self._numbers
        around = (number + unknown, number - unknown, unknown - number)
        return number not in seen and any(round(one, 6) in seen for one in around)


def tokens(text: str) -> list[str]:
    """Words that are not letters alone, as they stand.

    >>> tokens('{"id": "credit_card_42", "price": 3.50}, e.g. May.')
    ['credit_card_42', '3.50', 'e.g']
    """
    return [
        word
        for part in text.translate(_PARTING).split()
        if not part.isalpha() and (word := part.strip(".-")) and not word.isalpha()
    ]


def identifiers(text: str) -> list[str]:
    """Tokens that look like names of records: letters with two digits or more, long numbers.

    >>> identifiers("Flight HAT136 on May 20th at 10am, card 4421486, GPT-4o")
    ['hat136', '4421486']
    """
    found = []
    for token in tokens(text):
        low = token.lower().strip("-")
        digits = sum(ch.isdigit() for ch in low)
        if digits < 2 or len(low) < 5:
            continue
        if not _LETTER.search(low):
            if low.isdigit() and 5 <= len(low) <= 20:
                found.append(low)
        elif not _PLAIN.fullmatch(low):
            found.append(low)
    return found


def argument_identifiers(arguments: Mapping[str, Any]) -> list[str]:
    """Identifiers that are whole argument values: free text, code, queries and links are left out.

    >>> argument_identifiers({"id": "HAT136", "query": "cheap flights 2024 HAT999"})
    ['hat136']
    """
    found = []
    for text in _strings(arguments):
        if len(text) <= 80 and "://" not in text and not any(ch.isspace() for ch in text):
            whole = identifiers(text)
            if len(whole) == 1 and len(whole[0]) >= len(text) - 2:
                found += whole
    return found


def large_numbers(text: str) -> list[float]:
    """Numbers with three significant digits or more that are no years.

    >>> large_numbers("In 1767 it cost $1,250.50, then 40")
    [1250.5]
    """
    plain = _GROUPED.sub(" ", text) if _THOUSANDS.search(text) else text
    found = [n for token in tokens(plain) if (n := _number(token)) is not None]
    found = [*_grouped(text), *found]
    return [n for n in found if n >= 100 and not (1000 <= n <= 2100 and n == int(n))]


def _number(token: str) -> float | None:
    """The number that a token is."""
    if token[0].isdigit() and len(token) <= 15 and token.isascii():
        whole, _, part = token.partition(".")
        if whole.isdigit() and (not part or part.isdigit()):
            return float(token)
    return None


def _grouped(text: str) -> Iterator[float]:
    """Numbers with commas between thousands."""
    if _THOUSANDS.search(text):  # a fixed first character, so that most texts are passed over fast
        for match in _GROUPED.findall(text):
            if len(match) <= 20:
                yield float(match.replace(",", ""))


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            stack.extend(reversed(list(one.values())))
        elif isinstance(one, list | tuple):
            stack.extend(reversed(one))
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield str(one)
