"""Repeated verdicts: stability, balanced scores and the diversity of answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.calibration.arrays import FloatArray, vector
from assay.errors import DataError


def repetition_stability(repeats: Sequence[Sequence[Any]]) -> float:
    """Mean over items of the share of the most frequent verdict.

    Args:
        repeats: For each item its verdicts or scores, at least one; None, NaN and '' are left out.

    Returns:
        In (0, 1], NaN without items. Guessing among k verdicts does not read 0: compare with
        `1 / k` or more for few repeats.

    Source: Shi et al., Judging the Judges, arXiv:2406.07791, section 3.

    Example:
        >>> repetition_stability(["AAA", "ABA", "BBB", "ABC"])
        0.75
    """
    shares = []
    for item in repeats:
        kept = [v for v in item if v is not None and v != "" and not _is_nan(v)]
        try:
            most = Counter(kept).most_common(1)
        except TypeError:
            raise DataError(
                f"verdicts must be words or numbers, got {kept[0]!r:.60}; map them to these"
            ) from None
        shares += [count / len(kept) for _, count in most]
    return float(np.mean(shares)) if shares else math.nan


def balanced_scores(scores_first: ArrayLike, scores_second: ArrayLike) -> float:
    """CS = sum of an answer's scores over both places / 2k (balanced position calibration).

    Args:
        scores_first: Its k scores as it stood first, shape (k,).
        scores_second: Its k scores as it stood second, shape (k,).

    Source: Wang et al., Large Language Models are not Fair Evaluators, arXiv:2305.17926, section 4.

    Example:
        >>> balanced_scores([9, 8], [6, 7]), balanced_scores([7, 7], [8, 9])
        (7.5, 7.75)
    """
    first, second = vector("scores_first", scores_first), vector("scores_second", scores_second)
    if first.shape != second.shape or not len(first):
        raise DataError(
            f"need as many scores in either place and at least one, got {first.shape} and "
            f"{second.shape}; repeat the missing ones"
        )
    return float(np.concatenate([first, second]).mean())


def verdict_entropy(counts: ArrayLike) -> float:
    """BPDE = -sum p ln p over the verdicts of all repeats and both orders, in nats.

    High where a judge is of several minds: those items are for people.

    Args:
        counts: How many of the verdicts were win, tie, lose (in any order), shape (k,).

    Returns:
        From 0 to ln k; NaN if all counts are 0.

    Source: Wang et al., arXiv:2305.17926, section 4 (balanced position diversity entropy).

    Example:
        >>> round(verdict_entropy([2, 0, 2]), 4), round(verdict_entropy([2, 1, 1]), 4)
        (0.6931, 1.0397)
    """
    c = vector("counts", counts, low=0)
    if c.sum() == 0:
        return math.nan
    p = c[c > 0] / c.sum()
    return abs(float(-(p * np.log(p)).sum()))


def preference_entropy(p_ab: ArrayLike, p_ba: ArrayLike) -> FloatArray:
    """Entropy in nats of the mean preference over both orders, shape (n,).

    h(m) with m = (p_AB + 1 - p_BA) / 2: 0 for a judge that is sure in both orders, ln 2 for one
    that contradicts itself. Lower is more certain; used to abstain.

    Source: SCOPE, arXiv:2602.13110 (bidirectional preference entropy).

    Example:
        >>> preference_entropy([1.0, 1.0], [0.0, 1.0]).round(4).tolist()
        [0.0, 0.6931]
    """
    ab = vector("p_ab", p_ab, low=0, high=1)
    m = (ab + 1 - vector("p_ba", p_ba, low=0, high=1, size=len(ab))) / 2
    entropy = np.zeros(len(m))
    for side in (m, 1 - m):
        inside = side > 0
        entropy[inside] -= side[inside] * np.log(side[inside])
    return np.abs(entropy)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and math.isnan(value)
