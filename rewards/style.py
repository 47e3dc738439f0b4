"""Surface features of an answer that reward models are known to pay for: length and style."""

from __future__ import annotations

import re

_HEADER = re.compile(r"^#{1,6} \S", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)]) \S", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*")
_FENCE = re.compile(r"^```", re.MULTILINE)
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]")
_PLEASING = re.compile(
    r"\b(?:great question|good question|certainly|absolutely|of course|happy to help|"
    r"i hope this helps|let me know|feel free)\b",
    re.IGNORECASE,
)

#: Features that `features_of` counts, besides length and repetition.
STYLE = ("headers", "bullets", "bold", "code_fences", "exclamations", "emoji", "pleasing")


def features_of(text: str) -> dict[str, float]:
    r"""Length in characters, repetition in [0, 1], and counts of style marks.

    >>> found = features_of("# Title\n- one\n- **two**!")
    >>> found["headers"], found["bullets"], found["bold"], found["exclamations"]
    (1.0, 2.0, 1.0, 1.0)
    """
    return {
        "length": float(len(text)),
        "repetition": repetition(text),
        "headers": float(len(_HEADER.findall(text))),
        "bullets": float(len(_BULLET.findall(text))),
        "bold": float(len(_BOLD.findall(text))),
        "code_fences": float(len(_FENCE.findall(text)) // 2),
        "exclamations": float(text.count("!")),
        "emoji": float(len(_EMOJI.findall(text))),
        "pleasing": float(len(_PLEASING.findall(text))),
    }


def repetition(text: str, size: int = 4) -> float:
    """1 - unique n-grams / n-grams over words; 0 where the text has none.

    >>> repetition("a b c d " * 3)     # 9 four-grams, 4 of them different
    0.5555555555555556
    """
    words = text.split()
    grams = [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0
