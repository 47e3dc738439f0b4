"""What a pair-wise reward model gets right in each order, and what the order alone decides.

With `d` the slot logit, p = sigmoid(d) = P(the answer shown first wins).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import DataError

Floats = NDArray[np.float64]
BINS = 10


@dataclass(frozen=True, slots=True)
class PairwiseMetrics:
    """Metrics over pairs that were scored in both orders; NaN where nothing can be counted.

    No metric depends on which answer of a pair is called A. Accuracies leave ties out and count an
    undecided score (d = 0) as half.

    Attributes:
        pairs: How many.
        ties: Share of pairs whose label is .5.
        accuracy: Of one pass in a random order: the mean of the next two.
        accuracy_preferred_first: Where the preferred answer is shown first.
        accuracy_preferred_second: Where it is shown second. A slot bias pulls the two apart.
        accuracy_both: Of the sign of (d_AB - d_BA) / 2, both orders together.
        accuracy_agree: Where both orders name the same answer.
        flip_rate: Share of pairs of which both orders pick the same slot.
        swap_gap: Mean |p_AB + p_BA - 1|.
        slot_bias: Mean p_AB + p_BA - 1; > 0 favours the first slot.
        first_slot_rate: Share of passes that pick the first slot.
        resolution: Sum_k n_k/N (ybar_k - .5)^2 over ten bins of (p_AB + 1 - p_BA) / 2, each pair in
            both orientations: how far predictions part the labels, at most .25. A constant 0.5 has
            no swap gap and no resolution.
        cross_entropy: 1/2 [CE(d_AB, y) + CE(d_BA, 1-y)].
        brier: Mean ((p_AB + 1 - p_BA) / 2 - y)^2.
    """

    pairs: int
    ties: float
    accuracy: float
    accuracy_preferred_first: float
    accuracy_preferred_second: float
    accuracy_both: float
    accuracy_agree: float
    flip_rate: float
    swap_gap: float
    slot_bias: float
    first_slot_rate: float
    resolution: float
    cross_entropy: float
    brier: float

    def to_json(self) -> dict[str, float]:
        """By name; a metric that could not be counted is left out."""
        return {name: value for name, value in asdict(self).items() if not np.isnan(value)}


def pairwise_metrics(d_ab: ArrayLike, d_ba: ArrayLike, label: ArrayLike) -> PairwiseMetrics:
    """Metrics of slot logits in both orders.

    Args:
        d_ab: Logit that the first-shown answer wins, A shown first, shape (N,).
        d_ba: The same with B shown first, shape (N,).
        label: P(A preferred) in [0, 1], shape (N,).

    Raises:
        DataError: Shapes differ, no pairs, a logit that is not finite, or a label outside [0, 1].

    Source: Murphy, "A new vector partition of the probability score",
    1973 (resolution).

    >>> found = pairwise_metrics([2.0, 1.0], [-2.0, 1.0], [1.0, 0.0])
    >>> found.flip_rate, found.accuracy_preferred_first, found.accuracy_preferred_second
    (0.5, 1.0, 0.5)
    """
    ab, ba, y = (np.asarray(values, dtype=np.float64) for values in (d_ab, d_ba, label))
    if not ab.shape == ba.shape == y.shape or ab.ndim != 1 or not ab.size:
        raise DataError(
            "pairwise_metrics needs three arrays of one shape (N,) with N >= 1, got "
            f"{ab.shape}, {ba.shape} and {y.shape}"
        )
    if not (np.isfinite(ab).all() and np.isfinite(ba).all()):
        raise DataError("logits must be finite; look for overflow in the model")
    if not ((y >= 0) & (y <= 1)).all():
        raise DataError(f"labels must lie in [0, 1], got {y.min()} to {y.max()}")
    p_ab, p_ba = _sigmoid(ab), _sigmoid(ba)
    gap = p_ab + p_ba - 1
    mean = (p_ab + 1 - p_ba) / 2
    decided = y != 0.5
    a_wins = y > 0.5
    right_ab, right_ba = _right(ab, a_wins), _right(-ba, a_wins)
    first = np.where(a_wins, right_ab, right_ba)[decided]
    second = np.where(a_wins, right_ba, right_ab)[decided]
    both = _right(ab - ba, a_wins)[decided]
    same_slot = ((ab > 0) & (ba > 0)) | ((ab < 0) & (ba < 0))
    agree = (ab * ba < 0)[decided]
    entropy = (_entropy(ab, y) + _entropy(ba, 1 - y)) / 2
    return PairwiseMetrics(
        pairs=int(y.size),
        ties=float(1 - decided.mean()),
        accuracy=(_mean(first) + _mean(second)) / 2,
        accuracy_preferred_first=_mean(first),
        accuracy_preferred_second=_mean(second),
        accuracy_both=_mean(both),
        accuracy_agree=_mean(both[agree]),
        flip_rate=float(same_slot.mean()),
        swap_gap=float(np.abs(gap).mean()),
        slot_bias=float(gap.mean()),
        first_slot_rate=float((_right(ab, True) + _right(ba, True)).mean() / 2),
        resolution=_resolution(mean, y),
        cross_entropy=float(entropy.mean()),
        brier=float(((mean - y) ** 2).mean()),
    )


def cross_entropy(logits: ArrayLike, label: ArrayLike) -> float:
    """Mean cross-entropy of sigmoid(logits) with soft labels."""
    z, y = np.asarray(logits, dtype=np.float64), np.asarray(label, dtype=np.float64)
    return float(_entropy(z, y).mean())


def _sigmoid(z: Floats) -> Floats:
    return np.exp(-np.logaddexp(0.0, -z))


def _entropy(z: Floats, y: Floats) -> Floats:
    found: Floats = np.logaddexp(0.0, -z) * y + np.logaddexp(0.0, z) * (1 - y)
    return found


def _right(z: Floats, positive: NDArray[np.bool_] | bool) -> Floats:
    """1 where the sign of z is as wanted, .5 where it has none."""
    return np.where(z == 0, 0.5, (z > 0) == positive).astype(np.float64)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")


def _resolution(predicted: Floats, y: Floats) -> float:
    p, labels = np.concatenate([predicted, 1 - predicted]), np.concatenate([y, 1 - y])
    # Rounded, so that 1 - (1 - p) falls into the bin of p.
    edges = np.linspace(0, 1, BINS + 1)[1:-1]
    bins = np.digitize(np.round(p, 12), np.round(edges, 12))
    total = 0.0
    for k in range(BINS):
        inside = labels[bins == k]
        if inside.size:
            total += inside.size / labels.size * (float(inside.mean()) - 0.5) ** 2
    return total
