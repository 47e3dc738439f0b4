"""Style of texts, and how much a judge's verdicts follow it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.calibration.arrays import FloatArray, vector
from assay.calibration.length import length_difference
from assay.calibration.logistic import LogisticFit, fit_logistic
from assay.errors import DataError

_MARKS: dict[str, re.Pattern[str]] = {
    "headers": re.compile(r"^#{1,6}\s", re.MULTILINE),
    "lists": re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE),
    "bold": re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__"),
    "code": re.compile(r"^```", re.MULTILINE),
}
STYLE_FEATURES = ("length", *_MARKS)


def style_counts(texts: Sequence[str]) -> dict[str, FloatArray]:
    r"""Characters, and Markdown headers, list items, bold spans and code fences of each text.

    >>> found = style_counts(["# Title\n- one\n- **two**"])
    >>> {name: int(values[0]) for name, values in found.items()}
    {'length': 23, 'headers': 1, 'lists': 2, 'bold': 1, 'code': 0}
    """
    counts = {"length": np.array([len(text) for text in texts], dtype=np.float64)}
    for name, mark in _MARKS.items():
        counts[name] = np.array([len(mark.findall(text)) for text in texts], dtype=np.float64)
    return counts


def style_differences(
    first: Mapping[str, ArrayLike], second: Mapping[str, ArrayLike]
) -> dict[str, FloatArray]:
    """First minus second of each feature: log ratio for length, (a - b) / (a + b) for the rest.

    Source: style control of Chatbot Arena (lmsys.org, August 2024), with a log ratio for length.

    Example:
        >>> found = style_differences({"lists": [3.0, 0.0]}, {"lists": [1.0, 0.0]})
        >>> found["lists"].tolist()
        [0.5, 0.0]
    """
    if set(first) != set(second):
        raise DataError(
            f"both sides need the same features, got {sorted(first)} and {sorted(second)}"
        )
    found = {}
    for name in first:
        if name == "length":
            found[name] = length_difference(first[name], second[name])
            continue
        a = vector(name, first[name], low=0)
        b = vector(name, second[name], low=0, size=len(a))
        found[name] = np.divide(a - b, a + b, out=np.zeros(len(a)), where=a + b > 0)
    return found


def fit_style_bias(
    wins_a: ArrayLike,
    differences: Mapping[str, ArrayLike],
    quality_gap: ArrayLike | None = None,
    *,
    prompts: Sequence[Any] | NDArray[Any] | None = None,
) -> LogisticFit:
    """Fit logit P(A wins) = strength + sum w_k difference_k + beta quality_gap, by Firth's penalty.

    A weight is a bias only as far as `quality_gap` (people, an independent reward model) holds
    quality fixed; without it longer answers may win because they are better. Features that are 0
    in every pair are left out.

    Args:
        wins_a: 1 where A won, .5 for a tie, shape (n,).
        differences: A minus B of each feature, from `style_differences`.
        quality_gap: s_A - s_B, shape (n,).
        prompts: Clusters, shape (n,).

    Example:
        >>> wins = [1, 1, 1, 0] * 20 + [0, 0, 0, 1] * 20
        >>> longer = [0.7] * 80 + [-0.7] * 80
        >>> fit = fit_style_bias(wins, {"length": longer})
        >>> fit["length"] > 1 and fit.p_value("length") < 1e-6
        True
    """
    y = vector("wins_a", wins_a, low=0, high=1)
    columns = {"strength": np.ones(len(y))}
    given = dict(differences)
    if quality_gap is not None:
        given["quality"] = quality_gap
    for name, values in given.items():
        column = vector(name, values, size=len(y))
        if column.any():
            columns[name] = column
    if len(columns) == 1:
        raise DataError("no feature differs in any pair; add pairs that differ in style or length")
    return fit_logistic(
        np.stack(list(columns.values()), axis=1), y, names=tuple(columns), clusters=prompts
    )
