"""Losses of point-wise and pair-wise reward models: pure torch functions.

Shape letters: B examples of a batch. In a pair-wise model `d(first, second)` is the slot logit,
sigmoid(d) = P(the answer shown first wins). Any d splits into d(A,B) = s + b and d(B,A) = -s + b,
with s the preference and b the slot bias.

This module loads torch; `assay.rewards` does not import it.
"""

from __future__ import annotations

import warnings
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from assay.errors import ConfigError, DataError

Space = Literal["logit", "prob", "signed"]
Convention = Literal["slot", "candidate"]
Reduction = Literal["mean", "sum", "none"]

#: Fewer pairs say nothing of a correlation.
MIN_PAIRS_FOR_CORRELATION = 8
#: Below this correlation, scores given as candidate-anchored are taken for slot scores.
SLOT_CORRELATION = -0.5


def bradley_terry_loss(
    chosen_B: Tensor,
    rejected_B: Tensor,
    margin: Tensor | float | None = None,
    center_weight: float = 0.0,
    *,
    reduction: Reduction = "mean",
) -> Tensor:
    """-log sigmoid(r_w - r_l - margin) + center_weight (r_w + r_l)^2.

    Args:
        chosen_B: Scores of the preferred answers, shape (B,).
        rejected_B: Scores of the others, shape (B,).
        margin: By how much the preferred one must win, a number or shape (B,).
        center_weight: >= 0; .01 is usual. It pins the scores' free constant near 0.
        reduction: `mean`, `sum`, or `none` for shape (B,).

    Source: Touvron et al., arXiv:2307.09288, eq. 2 (margin); Eisenstein et
    al., arXiv:2312.09244 (centering).

    >>> round(bradley_terry_loss(torch.tensor([1.0]), torch.tensor([0.0])).item(), 4)  # log(1+1/e)
    0.3133
    """
    _same_shape("bradley_terry_loss", chosen_B=chosen_B, rejected_B=rejected_B)
    _not_negative("center_weight", center_weight)
    difference_B = chosen_B - rejected_B
    if margin is not None:
        difference_B = difference_B - margin
    loss_B = -functional.logsigmoid(difference_B)
    if center_weight:
        loss_B = loss_B + center_weight * (chosen_B + rejected_B) ** 2
    return _reduce(loss_B, reduction)


def order_balanced_cross_entropy(
    d_ab_B: Tensor, d_ba_B: Tensor, target_B: Tensor, *, reduction: Reduction = "mean"
) -> Tensor:
    """1/2 [CE(d_AB, y) + CE(d_BA, 1 - y)], with y = P(A preferred).

    Args:
        d_ab_B: Slot logits with A shown first, shape (B,).
        d_ba_B: Slot logits of the same pairs with B shown first, shape (B,).
        target_B: y in [0, 1], shape (B,): 1 A wins, 0 B wins, .5 a tie; shares of votes are soft
            labels.
        reduction: `mean`, `sum`, or `none` for shape (B,).

    Source: cross-entropy averaged over both orders; the Nanbeige4.1-3B report, arXiv:2602.13367.

    >>> d = torch.tensor([2.0])
    >>> a = order_balanced_cross_entropy(d, -d, torch.tensor([1.0]))
    >>> round(a.item(), 4)  # log(1 + exp(-2)), the same in both orders
    0.1269
    """
    _same_shape("order_balanced_cross_entropy", d_ab_B=d_ab_B, d_ba_B=d_ba_B, target_B=target_B)
    target_B = _target(target_B, d_ab_B)
    first_B = functional.binary_cross_entropy_with_logits(d_ab_B, target_B, reduction="none")
    second_B = functional.binary_cross_entropy_with_logits(d_ba_B, 1 - target_B, reduction="none")
    return _reduce(0.5 * (first_B + second_B), reduction)


def swap_consistency_loss(
    d_ab: Tensor,
    d_ba: Tensor,
    *,
    space: Space = "logit",
    convention: Convention = "slot",
    reduction: Reduction = "mean",
    check: bool = True,
) -> Tensor:
    """How much a pair's score depends on the order in which its answers are shown.

    Both arguments are logits in every space.

    | space | convention `slot` | convention `candidate` | value |
    |---|---|---|---|
    | `logit` | (d_AB + d_BA)^2 | (q_1 - q_2)^2 | 4 b^2 |
    | `prob` | (p_AB + p_BA - 1)^2 | (p_1 - p_2)^2 | (sig(s+b) - sig(s-b))^2 |
    | `signed` | ((2p_AB-1) + (2p_BA-1))^2 | ((2p_1-1) - (2p_2-1))^2 | 4 x `prob` |

    All are 0 iff the slot bias b is 0. The report prints (r(x,yA,yB) - r(x,yB,yA))^2: right where
    both scores are of one candidate, wrong over slots, where it is 4 s^2 and erases the preference.

    Args:
        d_ab: `slot`: logit that the first-shown answer wins, A shown first, shape (B,).
            `candidate`: logit that candidate A wins, A shown first (q_1).
        d_ba: `slot`: logit that the first-shown answer wins, B shown first. `candidate`: logit that
            candidate A wins, A shown second (q_2).
        space: Where the difference is squared.
        convention: What the logits stand for.
        reduction: `mean`, `sum`, or `none` for shape (B,).
        check: Warn where the inputs look wrong: the term is exactly 0 although scores are not (an
            antisymmetric head such as r(A) - r(B) has no slot bias to penalise), or `candidate`
            scores that are strongly negatively correlated, which slot scores are and scores of
            one candidate are not.

    Source: the Nanbeige4.1-3B report, arXiv:2602.13367, whose printed form is discussed above.

    >>> d_ab, d_ba = torch.tensor([3.0]), torch.tensor([-1.0])    # s = 2, b = 1
    >>> swap_consistency_loss(d_ab, d_ba).item()                     # 4 b^2
    4.0
    >>> swap_consistency_loss(d_ab, -d_ba, convention="candidate").item()
    4.0
    """
    _same_shape("swap_consistency_loss", d_ab=d_ab, d_ba=d_ba)
    _one_of("space", space, Space)
    _one_of("convention", convention, Convention)
    if check:
        _warn_of_misuse(d_ab.detach(), d_ba.detach(), convention)
    if convention == "candidate":
        d_ba = -d_ba  # P(first-shown wins | A second) = 1 - P(A wins | A second)
    if space == "logit":
        gap = d_ab + d_ba
    else:
        # sig(a) + sig(b) - 1 = sig(a) - sig(-b): no cancellation where both are nearly 0 or 1.
        gap = torch.sigmoid(d_ab) - torch.sigmoid(-d_ba)
        if space == "signed":
            gap = 2 * gap
    return _reduce(gap**2, reduction)


def pairwise_loss(
    d_ab_B: Tensor,
    d_ba_B: Tensor,
    target_B: Tensor,
    *,
    swap_weight: float = 0.5,
    space: Space = "logit",
    convention: Convention = "slot",
    reduction: Reduction = "mean",
    check: bool = True,
) -> Tensor:
    """1/2 [CE(d_AB, y) + CE(d_BA, 1-y)] + swap_weight L_swap.

    Args:
        d_ab_B: As in `swap_consistency_loss`, shape (B,).
        d_ba_B: As in `swap_consistency_loss`, shape (B,).
        target_B: y = P(A preferred) in [0, 1], shape (B,).
        swap_weight: >= 0. The report gives no value; .5 is ours.
        space: Where the swap term is squared.
        convention: What the logits stand for, in both terms.
        reduction: `mean`, `sum`, or `none` for shape (B,).
        check: Warn of inputs that look wrong.

    Source: the Nanbeige4.1-3B report, arXiv:2602.13367.
    """
    _one_of("convention", convention, Convention)
    _not_negative("swap_weight", swap_weight)
    slot_ba_B = -d_ba_B if convention == "candidate" else d_ba_B
    loss = order_balanced_cross_entropy(d_ab_B, slot_ba_B, target_B, reduction=reduction)
    if not swap_weight:
        return loss
    return loss + swap_weight * swap_consistency_loss(
        d_ab_B, d_ba_B, space=space, convention=convention, reduction=reduction, check=check
    )


def _warn_of_misuse(d_ab: Tensor, d_ba: Tensor, convention: Convention) -> None:
    first, second = d_ab.flatten().float(), d_ba.flatten().float()
    if not first.numel():
        return
    gap = first + second if convention == "slot" else first - second
    scale = torch.maximum(first.abs(), second.abs())
    if bool(scale.max() > 0) and bool((gap.abs() <= 1e-6 * scale).all()):
        warnings.warn(
            "swap_consistency_loss is identically 0 on this batch although the scores are not: the "
            "head is antisymmetric (a difference r(A) - r(B) has no slot bias), or one order was "
            "computed from the other; drop the term, or give logits of two forward passes",
            UserWarning,
            stacklevel=3,
        )
        return
    if convention == "slot" or first.numel() < MIN_PAIRS_FOR_CORRELATION:
        return
    centred = torch.stack([first - first.mean(), second - second.mean()])
    norm = centred.norm(dim=1).prod()
    if bool(norm > 0) and float(centred[0] @ centred[1] / norm) < SLOT_CORRELATION:
        warnings.warn(
            "swap_consistency_loss got convention='candidate' with strongly negatively correlated "
            "scores, as slot logits are: the term would erase the preference and keep the slot "
            "bias; pass convention='slot', or two scores of the same candidate",
            UserWarning,
            stacklevel=3,
        )


def _target(target_B: Tensor, like: Tensor) -> Tensor:
    target_B = target_B.to(dtype=like.dtype, device=like.device)
    if target_B.numel() and not bool(((target_B >= 0) & (target_B <= 1)).all()):
        raise DataError(
            "target_B must lie in [0, 1] (1: A wins, .5: tie), got values from "
            f"{target_B.min().item()} to {target_B.max().item()}"
        )
    return target_B


def _same_shape(where: str, **tensors: Tensor) -> None:
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if len(set(shapes.values())) > 1:
        raise DataError(
            f"{where} needs tensors of one shape, got {shapes}; squeeze a trailing dimension of 1"
        )


def _not_negative(name: str, value: float) -> None:
    if not 0 <= value < float("inf"):
        raise ConfigError(f"{name} must be finite and >= 0, got {value}")


def _one_of(name: str, value: str, allowed: object) -> None:
    choices = get_args(allowed)
    if value not in choices:
        raise ConfigError(f"{name} must be one of {set(choices)}, got {value!r}")


def _reduce(loss: Tensor, reduction: Reduction) -> Tensor:
    _one_of("reduction", reduction, Reduction)
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss
