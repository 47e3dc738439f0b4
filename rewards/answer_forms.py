"""Short answers as text, numbers and dates, and when two of them are the same."""

from __future__ import annotations

import calendar
import re
import unicodedata
from dataclasses import dataclass
from datetime import date

from assay.rewards.answer_numbers import Amount, amount_of, plain_text

_MARKED = re.compile(
    r"<answer>(.*?)(?:</answer>|\Z)"
    r"|^[*#_ \t]*(?:the )?(?:final answer|answer)[*_ \t]*(?:is)?[*_ \t]*:[*_ \t]*(.+?)[ \t]*$",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
#: The answer in a sentence; weaker than a mark.
_SAID = re.compile(
    r"\b(?:final |correct )?answer is(?: that)?:?[ \t]+(.+?)[.!]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
#: Signs that make another word of one (C++, C#), a minus, and what compares.
_KEPT = frozenset("+#\u2212<>\u2264\u2265\u2276")
_COMPARED = (("<=", "\u2264"), (">=", "\u2265"), ("!=", "\u2276"), ("\u2260", "\u2276"))
_MINUS = re.compile(r"(?<![\w.\u2212])[-\u2212\u2013](?=\.?\d)")
_ENCLOSED = re.compile(r"<([^<>]*)>")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
#: A relative tolerance up to this one is for rounding, and whole numbers are not rounded.
_ROUNDING = 1e-6
_MONTHS = {name.lower(): i for i, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): i for i, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d{1,2})(?:-(?P<d>\d{1,2}))?(?:t[\d:.z+-]*)?"),
    re.compile(rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<n>{_MONTH})\.?,? (?P<y>\d{{4}})"),
    re.compile(rf"(?P<n>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})"),
    re.compile(rf"(?P<n>{_MONTH})\.?,? (?P<y>\d{{4}})"),
    re.compile(r"(?P<y>\d{4})"),
)
_BEFORE = re.compile(
    r"^(?:on |in )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?(?:the )?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two answers may lie apart: relative and absolute for numbers, days for dates.

    Whole numbers in digits are the same or not: to them a relative tolerance applies only from
    above 1e-6 on.
    """

    relative: float = 1e-6
    absolute: float = 0.0
    days: int = 0


@dataclass(frozen=True, slots=True)
class Day:
    """A date, or as much of it as is said."""

    year: int
    month: int | None = None
    day: int | None = None


def final_answer_text(text: str) -> tuple[str, bool]:
    r"""The answer in a text, and whether something marks it.

    >>> final_answer_text("So be it.\nFinal answer: **42**")
    ('42', True)
    >>> final_answer_text(r"It is \boxed{\frac{1}{2}}.")
    ('\\frac{1}{2}', True)
    >>> final_answer_text("Paris"), final_answer_text("So the answer is Paris.")
    (('Paris', False), ('Paris', False))
    """
    marks = list(_MARKED.finditer(text)) if re.search("answer", text, re.I) else []
    box = text.rfind("\\boxed{")
    if box >= 0 and (not marks or marks[-1].start() < box):
        inside = _braced(text, box + len("\\boxed{"))
        if inside is not None:
            return inside.strip(), True
    if marks:
        found = marks[-1][1] if marks[-1][1] is not None else marks[-1][2]
        return found.strip().strip("*_` ").strip(), True
    said = _SAID.findall(text) if " is" in text else ()
    return (said[-1].strip("*_` ") if said else text.strip()), False


def normalised(text: str) -> str:
    """Lower case, without accents, punctuation, articles and extra space; minus, < and > stay.

    >>> normalised("  The Caf\u00e9-au-lait, 2nd!")
    'cafe au lait 2nd'
    >>> normalised("A."), normalised("C++"), normalised("x>=2") == normalised("x \u2264 2")
    ('a', 'c++', False)
    """
    text = plain_text(text).casefold()
    if enclosed := _ENCLOSED.fullmatch(text):
        text = enclosed[1]
    for form, sign in _COMPARED:
        text = text.replace(form, sign)
    text = _MINUS.sub("\u2212", text)
    plain = unicodedata.normalize("NFKD", text)
    kept = "".join(
        f" {ch} "
        if ch in "<>\u2264\u2265\u2276"
        else " "
        if unicodedata.category(ch)[0] in "PSZC" and ch not in _KEPT
        else ch
        for ch in plain
        if not unicodedata.combining(ch)
    )
    words = " ".join(_ARTICLES.sub(" ", kept).split())
    return words or " ".join(kept.split())


def day_of(text: str) -> Day | None:
    """The date that a text is, or None; months by name or in ISO order, never 4/7 or 7/4.

    >>> day_of("4 July 1776") == day_of("July 4th, 1776") == day_of("1776-07-04")
    True
    >>> day_of("in the summer") is None
    True
    """
    plain = _BEFORE.sub("", " ".join(text.lower().split()).strip(" ."))
    for form in _DATES if len(plain) <= 40 else ():
        match = form.fullmatch(plain)
        if match is None:
            continue
        parts = match.groupdict()
        month = (
            _MONTHS[parts["n"]] if parts.get("n") else int(parts["m"]) if parts.get("m") else None
        )
        day = int(parts["d"]) if parts.get("d") else None
        try:
            date(int(parts["y"]), month or 1, day or 1)
        except ValueError:
            return None
        return Day(int(parts["y"]), month, day)
    return None


def same_answer(answer: str, gold: str, tolerance: Tolerance) -> str:
    """How an answer equals the gold one, or an empty text.

    >>> same_answer("July 4, 1776", "1776-07-04", Tolerance()), same_answer("41", "42", Tolerance())
    ('the same date', '')
    """
    answer, gold = plain_text(answer), plain_text(gold)
    amount, wanted = amount_of(answer), amount_of(gold)
    if amount is not None and wanted is not None and amount.unit == wanted.unit:
        return "the same number" if _same_amount(amount, wanted, tolerance) else ""
    left, right = normalised(answer), normalised(gold)
    if (left and left == right) or answer.strip() == gold.strip():
        return "the same text"
    said, due = day_of(answer), day_of(gold)
    if said is not None and due is not None and _same_day(said, due, tolerance.days):
        return "the same date"
    return ""


def _same_amount(said: Amount, due: Amount, tolerance: Tolerance) -> bool:
    if said.currency and due.currency and said.currency != due.currency:
        return False
    relative = tolerance.relative
    if said.whole is not None and due.whole is not None and relative <= _ROUNDING:
        return abs(said.whole - due.whole) <= tolerance.absolute
    return abs(said.value - due.value) <= max(tolerance.absolute, relative * abs(due.value))


def _same_day(said: Day, due: Day, days: int) -> bool:
    """Of the answer, as much as the gold date says."""
    if due.month is None:
        return said.year == due.year
    if due.day is None or said.month is None or said.day is None:
        whole = said.month is not None and due.day is None
        return whole and (said.year, said.month) == (due.year, due.month)
    first, second = date(said.year, said.month, said.day), date(due.year, due.month, due.day)
    return abs((first - second).days) <= days


def _braced(text: str, start: int) -> str | None:
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start:position]
    return None
