"""Traces that prove nothing by their replay: they hold the answer, or speak of having seen it."""

from __future__ import annotations

import re

from assay.policy.data.preference_duplicates import shingles, words_of

#: Words that say an answer without a reason for it.
_SAYING = frozenset(
    ("the", "final", "answer", "solution", "result", "is", "so", "thus", "therefore", "boxed")
)
#: A trace that speaks of the answer it was shown.
_TOLD = re.compile(
    r"\b(?:the\s+)?(?:given|provided|correct|reference|known|expected)\s+(?:final\s+)?"
    r"(?:answer|solution)\b",
    re.IGNORECASE,
)


def trace_fault(trace: str, task: str, answer: str, longest: int) -> str:
    """Why a trace is not even replayed; empty where it is.

    Args:
        trace: What a model wrote that was shown the answer.
        task: What it is about; words of it may come again.
        answer: Of the task. One of fewer than 40 characters may stand in its trace, but not alone.
        longest: Characters of a trace at most.

    >>> trace_fault("The answer is 42.", "6 times 7?", "42", 100)
    'says the answer and no reasoning'
    """
    if not trace:
        return "empty"
    if len(trace) > longest:
        return f"longer than {longest} characters"
    told = _TOLD.search(trace)
    if told and not _TOLD.search(task):
        return f"speaks of the answer that it was shown: {told[0]!r}"
    if len(answer) >= 40:
        copied = _copied(answer, trace)
        return "holds the whole answer, so its replay would prove nothing" if copied else ""
    reasons = set(words_of(trace)) - set(words_of(answer)) - _SAYING
    return "" if reasons else "says the answer and no reasoning"


def _copied(answer: str, trace: str) -> bool:
    """Whether a long answer stands in the trace, whatever its spacing, case and punctuation."""
    told, written = words_of(answer), words_of(trace)
    if not told:
        return answer in trace
    if f" {' '.join(told)} " in f" {' '.join(written)} ":
        return True
    grams = shingles(answer)
    return len(told) >= 20 and len(grams & shingles(trace)) >= 0.9 * len(grams)
