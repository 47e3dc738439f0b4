"""What comparisons tell the trainer's log: win rates, order gaps, flips, groups without signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.messages import Sample
from assay.reward import Score


def duel_figures(samples: Sequence[Sample], scores: Sequence[Score]) -> dict[str, float]:
    """Figures over the rows of one call, from the `info` of rewards that compare answers.

    Args:
        samples: Rows of the call; their groups say which rollouts share a prompt.
        scores: Their scores.

    Returns:
        `win_rate/<opponent>`; `order_gap`, the mean signed gap, and `order_gap_size`, the mean of
        its absolute value; `flip_rate`, the share of comparisons in which both orders picked one
        slot; `over_order_gap`, the share over the limit where there is one;
        `zero_variance_groups`, the share of groups of two or more scored rollouts whose values are
        all equal: a group-relative advantage learns nothing from them. Names without any row are
        left out.
    """
    outcomes: dict[str, list[float]] = {}
    gaps: list[float] = []
    flips = over = limited = 0
    groups: dict[str, list[float]] = {}
    for sample, score in zip(samples, scores, strict=True):
        if score.value is not None and sample.group is not None:
            groups.setdefault(sample.group, []).append(score.value)
        for name, value in score.info.get("opponents", {}).items():
            if value is not None:
                outcomes.setdefault(name, []).append(value)
        found = score.info.get("order_gaps", ())
        found = found.values() if isinstance(found, Mapping) else found
        gaps += found
        flips += score.info.get("flips", 0)
        if "over_order_gap" in score.info:
            over += score.info["over_order_gap"]
            limited += len(found)
    figures = {f"win_rate/{name}": sum(v) / len(v) for name, v in sorted(outcomes.items())}
    if gaps:
        figures["order_gap"] = sum(gaps) / len(gaps)
        figures["order_gap_size"] = sum(map(abs, gaps)) / len(gaps)
        figures["flip_rate"] = flips / len(gaps)
    if limited:
        figures["over_order_gap"] = over / limited
    several = [values for values in groups.values() if len(values) > 1]
    if several:
        equal = sum(max(values) == min(values) for values in several)
        figures["zero_variance_groups"] = equal / len(several)
    return figures
