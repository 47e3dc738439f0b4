"""Figures of sampled answers, each with an interval over prompts.

A prompt is the unit everywhere: its samples are drawn together or not at all, so that many samples
of few prompts do not pass for many observations.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.calibration import Interval, clustered_bootstrap
from assay.errors import DataError

#: Subsets drawn per prompt where all of them are too many.
_SUBSETS = 200


def pass_at_k(n: int, passed: int, k: int) -> float:
    """Probability that at least one of k of the n samples passes, 1 - C(n - c, k) / C(n, k).

    Args:
        n: Samples of a prompt.
        passed: Those that pass, c.
        k: At most n.

    Raises:
        DataError: k > n, or counts that cannot be.

    Source: Chen et al., Evaluating Large Language Models Trained on Code, arXiv:2107.03374,
    equation 1: unbiased, while 1 - (1 - c/n)^k is not.

    >>> pass_at_k(5, 2, 1), round(pass_at_k(5, 2, 3), 4)
    (0.4, 0.9)
    """
    if not 0 <= passed <= n or not 1 <= k <= n:
        raise DataError(
            f"pass@k needs 0 <= passed <= n and 1 <= k <= n, got passed={passed}, n={n}, k={k}; "
            "sample more answers or ask for a smaller k"
        )
    return 1.0 - math.comb(n - passed, k) / math.comb(n, k)


def mean_interval(
    by_prompt: Sequence[float], *, level: float = 0.95, seed: int = 0, share: bool = True
) -> Interval:
    """Mean over prompts, each counted once, with the bootstrap's interval.

    Where all prompts agree the bootstrap has nothing to vary and would say that the figure is
    certain: on 0 or 1 of a share the interval is Wilson's then, and of anything else its ends are
    NaN.

    Args:
        by_prompt: Value of each prompt.
        level: Of the interval.
        seed: Of the bootstrap.
        share: The values lie in [0, 1]; False for counts, such as tokens.

    >>> found = mean_interval([0.0, 1.0] * 20)
    >>> found.estimate, found.low > 0.3, found.high < 0.7
    (0.5, True, True)
    """
    from assay.calibration import wilson_interval

    if not by_prompt:
        return Interval(math.nan, math.nan, math.nan, level, "no prompts", 0)
    first = by_prompt[0]
    if all(value == first for value in by_prompt):
        if share and first in (0.0, 1.0):
            return wilson_interval(first * len(by_prompt), len(by_prompt), level)
        return Interval(first, math.nan, math.nan, level, "all prompts alike", len(by_prompt))
    rows = np.column_stack([np.asarray(by_prompt, dtype=np.float64), np.ones(len(by_prompt))])
    (found,) = clustered_bootstrap(rows, lambda s: s[:, 0] / s[:, 1], level=level, seed=seed)
    return found


def pass_curve(
    counts: Mapping[str, tuple[int, int]], ks: Sequence[int]
) -> dict[int, tuple[Interval, dict[str, float]]]:
    """pass@k for each k that every prompt has samples enough for, and its value by prompt.

    Args:
        counts: Samples and passes (n, c) of each prompt.
        ks: Wanted.
    """
    least = min((n for n, _ in counts.values()), default=0)
    found = {}
    for k in sorted({k for k in ks if 1 <= k <= least}):
        values = {uid: pass_at_k(n, c, k) for uid, (n, c) in counts.items()}
        found[k] = (mean_interval(list(values.values())), values)
    return found


def best_of(values: Sequence[float], selector: Sequence[float], n: int) -> float:
    """Expected value of the answer that `selector` ranks first among n drawn without replacement.

    Exact over all subsets: the answer at rank i (from 0) of N is first in C(N - 1 - i, n - 1) of
    the C(N, n) subsets. Answers that the selector ties are worth their mean.

    Args:
        values: What the answers are worth, shape (N,).
        selector: What picks; the values themselves for the best case.
        n: Answers drawn.

    >>> best_of([0.0, 1.0, 0.0], [3.0, 2.0, 1.0], 1)
    0.3333333333333333
    >>> best_of([0.0, 1.0, 0.0], [3.0, 2.0, 1.0], 3)
    0.0
    """
    total = len(values)
    if len(selector) != total or not 1 <= n <= total:
        raise DataError(
            f"best-of-n needs one selector score per value and 1 <= n <= {total}, got "
            f"{len(selector)} scores and n={n}"
        )
    tied: dict[float, list[float]] = {}
    for value, score in zip(values, selector, strict=True):
        tied.setdefault(score, []).append(value)
    expected, rank = 0.0, 0
    for score in sorted(tied, reverse=True):
        mean = math.fsum(tied[score]) / len(tied[score])
        for _ in tied[score]:
            expected += mean * math.comb(total - 1 - rank, n - 1)
            rank += 1
    return expected / math.comb(total, n)


def majority(keys: Sequence[str | None], right: Sequence[bool], n: int, seed: int = 0) -> float:
    """Share of draws of n answers whose most frequent answer is right.

    Answers without a key (nothing was found) do not vote. Ties between the most frequent are worth
    the share of them that is right. All subsets are counted where there are few, else 200 drawn.

    Args:
        keys: The answers, in a form in which equal ones are equal.
        right: Whether each is right.
        n: Answers drawn without replacement.
        seed: Of the drawing.

    Source: Wang et al., Self-consistency, arXiv:2203.11171.

    >>> majority(["4", "4", "5"], [True, True, False], 3)
    1.0
    """
    from itertools import combinations

    total = len(keys)
    if len(right) != total or not 1 <= n <= total:
        raise DataError(f"majority needs 1 <= n <= {total} and a key per answer, got n={n}")
    if math.comb(total, n) <= _SUBSETS:
        draws = list(combinations(range(total), n))
    else:
        coin = random.Random(f"{seed}/{n}")
        draws = [tuple(coin.sample(range(total), n)) for _ in range(_SUBSETS)]
    return math.fsum(_majority_of(draw, keys, right) for draw in draws) / len(draws)


def _majority_of(draw: Sequence[int], keys: Sequence[str | None], right: Sequence[bool]) -> float:
    votes = Counter(keys[i] for i in draw if keys[i] is not None)
    if not votes:
        return 0.0
    most = max(votes.values())
    leaders = [key for key, count in votes.items() if count == most]
    good = {keys[i] for i in draw if right[i]}
    return sum(key in good for key in leaders) / len(leaders)


def powers(limit: int) -> list[int]:
    """1, 2, 4, ... up to `limit`, and `limit` itself.

    >>> powers(6)
    [1, 2, 4, 6]
    """
    found = [1 << i for i in range(limit.bit_length()) if 1 << i <= limit]
    return found if not found or found[-1] == limit else [*found, limit]


def figure(found: Interval, **more: Any) -> dict[str, Any]:
    """An interval as JSON."""
    return found.as_json() | more
