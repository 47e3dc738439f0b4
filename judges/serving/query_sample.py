"""OpenRLHF's reward call as samples, and scores as its logs: for the server and for a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.messages import Sample
from assay.reward import Score


def sample_of(query: str, prompt: str, label: Any, column: str) -> Sample:
    """A sample from one query.

    Args:
        query: Prompt and completion; special tokens may stand before the prompt.
        prompt: What is cut off the query; empty: nothing.
        label: Of the data set's row.
        column: Where it goes.

    Raises:
        DataError: The query does not hold the prompt, so nobody knows where the completion begins.

    >>> sample_of("<s>2+2? 4", "2+2?", "4", "answer").completion[0].content
    ' 4'
    """
    _, found, completion = query.partition(prompt) if prompt else ("", "", query)
    if prompt and not found:
        raise DataError(
            f"the query does not hold its prompt, so the completion is not told apart: the prompt "
            f"begins {prompt[:40]!r}, the query {query[:40]!r}; send prompts as they are in the "
            "queries, or none"
        )
    columns: dict[str, Any] = {} if label is None else {column: label}
    values = label
    if isinstance(label, str) and label.lstrip().startswith("{"):
        try:
            values = json.loads(label)
        except (ValueError, RecursionError):
            values = None
    if isinstance(values, Mapping):
        columns |= {str(key): value for key, value in values.items()}
    return Sample.of(prompt or (), completion, columns)


def score_logs(scores: Sequence[Score]) -> dict[str, list[float | None]]:
    """Values of the components and full marks, one number a row, under names all rows have."""
    logs: dict[str, list[float | None]] = {}
    shared = set.intersection(*(set(score.parts) for score in scores)) if scores else set()
    for name in sorted(shared):
        values = [score.parts[name].value for score in scores]
        if None not in values:
            logs[name] = values
    if scores and all(score.passed is not None for score in scores):
        logs["passed"] = [float(bool(score.passed)) for score in scores]
    return logs
