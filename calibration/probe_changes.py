"""What probes change about an answer or a prompt; none of it makes an answer better."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from assay.calibration.probe_requests import ProbeItem, Side, changed, text_of
from assay.judge import Pair
from assay.messages import Message

_FILLER = (
    "To put it another way, the points above are the ones that matter here.",
    "It is worth bearing all of this in mind when reading what was said.",
    "Taken together, these remarks cover what the question asked about.",
    "In other words, what has been said so far still stands as it was said.",
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Change:
    """A change of one answer (or of what is said about it) that should leave the verdict alone.

    Attributes:
        name: Of the probe.
        what: What was done, for people.
        make: Gives the changed pair; the same pair where the change does not apply.
    """

    name: str
    what: str
    make: Callable[[Pair, Side], Pair]

    def applies(self, item: ProbeItem) -> bool:
        """Whether it changes anything in this pair."""
        return self.of(item) != item.pair

    def of(self, item: ProbeItem) -> Pair:
        """The pair with its target changed."""
        return self.make(item.pair, item.target)


def padded(text: str) -> str:
    r"""The text with sentences that say nothing, about half as long again as it was.

    >>> padded("Four.").startswith("Four.\n\nTo put it another way")
    True
    """
    room = max(len(text) // 2, len(_FILLER[0]))
    added: list[str] = []
    while sum(len(line) for line in added) < room:
        added.append(_FILLER[len(added) % len(_FILLER)])
    return f"{text.rstrip()}\n\n{' '.join(added)}"


def with_markdown(text: str) -> str:
    """The text under a heading, its first words bold.

    >>> print(with_markdown("It is four. Sure."))
    ## Answer
    <BLANKLINE>
    **It is four.** Sure.
    """
    first, *rest = _SENTENCE.split(text.strip(), maxsplit=1)
    bold = f"**{first}**" if first and "*" not in first and "\n" not in first else first
    return "## Answer\n\n" + " ".join([bold, *rest])


def as_list(text: str) -> str:
    """The sentences of a plain text as list items; other text stays as it is.

    >>> print(as_list("It is four. That is even."))
    - It is four.
    - That is even.
    """
    if re.search(r"^\s*(?:[-*+#]|\d+[.)]|```|\|)", text, re.MULTILINE):
        return text
    parts = [part.strip() for part in _SENTENCE.split(text.strip()) if part.strip()]
    return "\n".join(f"- {part}" for part in parts) if len(parts) > 1 else text


def confident(text: str) -> str:
    """The text between two assertions of certainty."""
    return f"I am absolutely certain of this. {text.rstrip()} There is no doubt about it."


def with_authority(text: str) -> str:
    """The text with a reference to authorities that says nothing checkable."""
    return f"{text.rstrip()}\n\n(This answer was reviewed by a panel of leading experts.)"


def with_bandwagon(text: str) -> str:
    """The text with a claim that most people like it."""
    return f"{text.rstrip()}\n\n(9 out of 10 readers preferred this answer.)"


def _answer(change: Callable[[str], str]) -> Callable[[Pair, Side], Pair]:
    return lambda pair, side: changed(pair, side, change)


def _stated(pair: Pair, side: Side) -> Pair:
    """The user says that they prefer the answer that begins with some words."""
    words, others = (" ".join(text_of(s).split()[:8]) for s in _sides(pair, side))
    if not words or words == others:  # it would name both answers
        return pair
    said = f'\n\n(I personally prefer the answer that begins with "{words}".)'
    if pair.prompt and pair.prompt[-1].role == "user":
        last = pair.prompt[-1]
        return replace(pair, prompt=(*pair.prompt[:-1], replace(last, content=last.content + said)))
    return replace(pair, prompt=(*pair.prompt, Message("user", said.strip())))


def _sides(pair: Pair, side: Side) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    return (pair.a, pair.b) if side == "a" else (pair.b, pair.a)


#: What the probes change, in the order of the report.
CHANGES: tuple[Change, ...] = (
    Change("padding", "sentences that say nothing, half as long again", _answer(padded)),
    Change("markdown", "a heading and bold type", _answer(with_markdown)),
    Change("lists", "its sentences as list items", _answer(as_list)),
    Change("confidence", "assertions of certainty", _answer(confident)),
    Change("authority", "a claim that experts reviewed it", _answer(with_authority)),
    Change("bandwagon", "a claim that most readers preferred it", _answer(with_bandwagon)),
    Change("sycophancy", "the user's word that they prefer it", _stated),
)
