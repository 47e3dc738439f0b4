"""Probabilities of verdict labels from the log-probabilities of a reply's tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.judges.client import TokenLogprob

_STRIPPED = " \t\r\n\"'`*{}[]:,.▁Ġ"


def label_probabilities(
    logprobs: Sequence[TokenLogprob] | None,
    labels: Sequence[str],
    span: tuple[int, int] | None = None,
) -> dict[str, float] | None:
    """P(label | the reply so far), at the last token that is a label, over the labels only.

    Args:
        logprobs: `Reply.logprobs`.
        labels: For example A, B, tie; a token counts as the label that it starts, when no other
            label starts so too.
        span: Characters of the reply in which the verdict stands (`Found.start`, `Found.end`).

    Returns:
        Probabilities that sum to 1, or None where the server gave none, no token is a label, or the
        labels carry no mass.

    >>> tokens = [TokenLogprob('"', 0.0), TokenLogprob("A", -0.1, {"A": -0.1, "B": -2.3})]
    >>> {k: round(v, 2) for k, v in label_probabilities(tokens, ["A", "B"]).items()}
    {'A': 0.9, 'B': 0.1}
    """
    if not logprobs:
        return None
    low, high = span if span is not None else (0, 1 << 62)
    position = 0
    chosen: TokenLogprob | None = None
    for token in logprobs:
        begin, position = position, position + len(token.token)
        if position > low and begin < high and _label(token.token, labels) is not None:
            chosen = token
    if chosen is None:
        return None
    mass = dict.fromkeys(labels, 0.0)
    for text, logprob in (chosen.top or {chosen.token: chosen.logprob}).items():
        label = _label(text, labels)
        if label is not None:
            mass[label] += math.exp(logprob)
    total = sum(mass.values())
    return {label: value / total for label, value in mass.items()} if total > 0 else None


def _label(token: str, labels: Sequence[str]) -> str | None:
    text = token.strip(_STRIPPED)
    if not text:
        return None
    if text in labels:
        return text
    starts = [label for label in labels if label.startswith(text)]
    return starts[0] if len(starts) == 1 else None
