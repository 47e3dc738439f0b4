"""Losses: hand arithmetic, finite differences, invariances, the toy experiment by quadrature."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from assay.errors import ConfigError, DataError

torch = pytest.importorskip("torch")

from assay.rewards import losses  # noqa: E402

SPACES: list[losses.Space] = ["logit", "prob", "signed"]


def test_bradley_terry_by_hand() -> None:
    chosen, rejected = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])
    plain = [math.log1p(math.exp(-1)), math.log1p(math.exp(2))]
    assert losses.bradley_terry_loss(chosen, rejected, reduction="none").tolist() == pytest.approx(
        plain
    )
    # margin .5: -log sig(1 - .5), -log sig(-2 - .5); centering .01 * (1, 4)
    expected = [math.log1p(math.exp(-0.5)) + 0.01, math.log1p(math.exp(2.5)) + 0.04]
    got = losses.bradley_terry_loss(chosen, rejected, 0.5, 0.01, reduction="none")
    assert got.tolist() == pytest.approx(expected)
    # The example of the contract notes: difference -.011, margin .5 -> .981
    got = losses.bradley_terry_loss(torch.tensor([0.0]), torch.tensor([0.011]), 0.5)
    assert got.item() == pytest.approx(0.981, abs=5e-4)


def test_bradley_terry_equals_trls_formula() -> None:
    torch.manual_seed(0)
    chosen, rejected, margin = torch.randn(3, 16)
    trl = -torch.nn.functional.logsigmoid(chosen - rejected - margin).mean()
    trl = trl + 0.01 * torch.mean((chosen + rejected) ** 2)
    assert losses.bradley_terry_loss(chosen, rejected, margin, 0.01).item() == pytest.approx(
        trl.item(), rel=1e-6
    )


def test_order_balanced_cross_entropy_of_ties_and_votes() -> None:
    zero = torch.zeros(3)
    # Knowing nothing costs log 2 whatever the label.
    got = losses.order_balanced_cross_entropy(
        zero, zero, torch.tensor([0.0, 0.5, 1.0]), reduction="none"
    )
    assert got.tolist() == pytest.approx([math.log(2)] * 3)
    # A tie is best predicted by 0 in both orders, a 3:1 vote by log 3 and -log 3.
    for y in (0.5, 0.75):
        best = math.log(y / (1 - y))
        at = [
            losses.order_balanced_cross_entropy(
                torch.tensor([d]), torch.tensor([-d]), torch.tensor([y])
            ).item()
            for d in (best - 0.1, best, best + 0.1)
        ]
        assert at[1] == min(at)


@pytest.mark.parametrize("space", SPACES)
def test_swap_term_by_hand(space: losses.Space) -> None:
    s, b = 1.5, 0.4
    d_ab, d_ba = torch.tensor([s + b]), torch.tensor([-s + b])

    def sig(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    prob = (sig(s + b) - sig(s - b)) ** 2
    expected = {"logit": 4 * b * b, "prob": prob, "signed": 4 * prob}[space]
    slot = losses.swap_consistency_loss(d_ab, d_ba, space=space)
    candidate = losses.swap_consistency_loss(d_ab, -d_ba, space=space, convention="candidate")
    assert slot.item() == pytest.approx(expected, rel=1e-5)
    assert candidate.item() == pytest.approx(expected, rel=1e-5)


def test_two_order_identity() -> None:
    # 1/2 [(a-y)^2 + (c-y)^2] = (m-y)^2 + delta^2, and the penalty is (2 delta)^2.
    d_ab, d_ba, y = 0.7, 0.2, 1.0
    a, c = 1 / (1 + math.exp(-d_ab)), 1 - 1 / (1 + math.exp(-d_ba))
    delta = (a - c) / 2
    assert 0.5 * ((a - y) ** 2 + (c - y) ** 2) == pytest.approx(((a + c) / 2 - y) ** 2 + delta**2)
    penalty = losses.swap_consistency_loss(
        torch.tensor([d_ab]), torch.tensor([d_ba]), space="prob"
    ).item()
    assert penalty == pytest.approx((2 * delta) ** 2)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("convention", ["slot", "candidate"])
def test_swapping_a_and_b_changes_nothing(
    space: losses.Space, convention: losses.Convention
) -> None:
    torch.manual_seed(1)
    d_ab, d_ba = torch.randn(2, 32)
    y = torch.rand(32)
    sign = 1 if convention == "slot" else -1
    loss = losses.pairwise_loss(d_ab, d_ba, y, space=space, convention=convention)
    swapped = losses.pairwise_loss(
        sign * d_ba, sign * d_ab, 1 - y, space=space, convention=convention
    )
    permuted = torch.randperm(32)
    again = losses.pairwise_loss(
        d_ab[permuted], d_ba[permuted], y[permuted], space=space, convention=convention
    )
    assert swapped.item() == pytest.approx(loss.item(), rel=1e-5)
    assert again.item() == pytest.approx(loss.item(), rel=1e-5)


def test_saturated_probabilities_keep_their_gap() -> None:
    d = torch.tensor([-40.0], requires_grad=True)
    loss = losses.swap_consistency_loss(d, torch.tensor([40.0]), space="prob", check=False)
    assert loss.item() == 0.0
    loss = losses.swap_consistency_loss(
        torch.tensor([-40.0]), torch.tensor([41.0]), space="prob", reduction="sum"
    )
    assert loss.item() > 0  # in float32, sig(-40) + sig(41) - 1 would have been exactly 0


CASES: dict[str, Callable[..., torch.Tensor]] = {
    "bradley_terry": lambda a, b, y: losses.bradley_terry_loss(a, b, y, 0.1),
    "cross_entropy": losses.order_balanced_cross_entropy,
    **{
        f"{space}-{convention}": lambda a, b, y, s=space, c=convention: losses.pairwise_loss(
            a, b, y, swap_weight=0.7, space=s, convention=c, check=False
        )
        for space in SPACES
        for convention in ("slot", "candidate")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_equal_finite_differences(name: str) -> None:
    torch.manual_seed(2)
    a, b = torch.randn(2, 5, dtype=torch.float64)
    y = torch.rand(5, dtype=torch.float64)
    a.requires_grad_()
    b.requires_grad_()
    CASES[name](a, b, y).backward()
    step = 1e-6
    for tensor in (a, b):
        assert tensor.grad is not None
        for i in range(5):
            with torch.no_grad():
                tensor[i] += step
                up = CASES[name](a, b, y).item()
                tensor[i] -= 2 * step
                down = CASES[name](a, b, y).item()
                tensor[i] += step
            assert tensor.grad[i].item() == pytest.approx((up - down) / (2 * step), abs=1e-8)


# --- The toy experiment: x ~ N(0,1), d = w x + b, true slope 2, labels with slot bias +.8,
# cross-entropy on one order, the population optimum by Gauss-Hermite quadrature.


def _toy(weight: float, form: str) -> tuple[float, float]:
    """Accuracy and flip rate at the population optimum."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    x = torch.tensor(nodes)
    w = torch.tensor(weights / weights.sum())
    label = torch.sigmoid(2 * x + 0.8)
    slope = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([slope], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        d_ab, d_ba = slope[0] * x + slope[1], -slope[0] * x + slope[1]
        ce = torch.nn.functional.binary_cross_entropy_with_logits(d_ab, label, reduction="none")
        if form == "printed":  # the printed difference, read over slots
            swap = losses.swap_consistency_loss(
                d_ab, d_ba, convention="candidate", reduction="none", check=False
            )
        else:
            swap = losses.swap_consistency_loss(
                d_ab,
                d_ba,
                space="prob" if form == "prob" else "logit",
                reduction="none",
                check=False,
            )
        loss = (w * (ce + weight * swap)).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    a, b = slope.tolist()
    assert a > 0
    # |w x| < |b| flips; a wrong sign of w x + b on one side of 0 is half of that.
    flip = math.erf(abs(b) / a / math.sqrt(2))
    return 1 - flip / 2, flip


@pytest.mark.parametrize(
    ("form", "weight", "accuracy", "flip"),
    [
        ("logit", 0.0, 0.845, 0.311),
        ("logit", 0.5, 0.994, 0.013),
        ("prob", 2.0, 0.960, 0.079),
        ("printed", 0.1, 0.538, 0.923),
    ],
)
def test_toy_experiment(form: str, weight: float, accuracy: float, flip: float) -> None:
    got = _toy(weight, form)
    assert got == pytest.approx((accuracy, flip), abs=1.5e-3)


def test_toy_experiment_sorts_right_from_wrong() -> None:
    assert _toy(0.0, "logit")[1] > 0.25
    assert _toy(0.5, "logit")[1] < 0.03
    assert _toy(2.0, "prob")[1] < 0.12
    assert _toy(0.1, "printed")[0] < 0.60


def test_both_orders_in_the_loss_leave_no_slot_bias() -> None:
    """Started with a slot bias of 1: the loss itself is symmetric, and b goes to 0."""
    x = torch.linspace(-3, 3, 61, dtype=torch.float64)
    y = torch.sigmoid(2 * x)
    parameters = torch.tensor([1.0, 1.0], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([parameters], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        w, b = parameters
        loss = losses.order_balanced_cross_entropy(w * x + b, -w * x + b, y)
        loss.backward()
        return loss

    optimiser.step(closure)
    assert parameters.tolist() == pytest.approx([2.0, 0.0], abs=1e-3)


# --- Warnings and errors


def test_antisymmetric_head_is_told_that_its_term_is_zero() -> None:
    difference = torch.randn(16)
    with pytest.warns(UserWarning, match="identically 0.*antisymmetric"):
        losses.swap_consistency_loss(difference, -difference)
    with pytest.warns(UserWarning, match="identically 0"):
        losses.swap_consistency_loss(difference, difference, convention="candidate")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses.swap_consistency_loss(torch.zeros(4), torch.zeros(4))  # a head before training
        losses.swap_consistency_loss(difference, -difference, check=False)


def test_slot_scores_given_as_candidate_scores_are_noticed() -> None:
    torch.manual_seed(3)
    s, b = 2 * torch.randn(64), 0.3 * torch.randn(64)
    with pytest.warns(UserWarning, match="negatively correlated.*convention='slot'"):
        losses.swap_consistency_loss(s + b, -s + b, convention="candidate")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses.swap_consistency_loss(s + b, -s + b)  # right for slots
        losses.swap_consistency_loss(s + b, s - b, convention="candidate")
        losses.swap_consistency_loss((s + b)[:4], (-s + b)[:4], convention="candidate")


def test_messages() -> None:
    one, two = torch.zeros(1), torch.zeros(2)
    with pytest.raises(DataError, match=r"one shape, got .*squeeze"):
        losses.bradley_terry_loss(one, two)
    with pytest.raises(DataError, match=r"\[0, 1\].*from 0.0 to 2.0"):
        losses.order_balanced_cross_entropy(two, two, torch.tensor([0.0, 2.0]))
    with pytest.raises(ConfigError, match="space must be one of .*, got 'odds'"):
        losses.swap_consistency_loss(one, one, space="odds")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="swap_weight must be finite and >= 0, got -1"):
        losses.pairwise_loss(one, one, one, swap_weight=-1)
    with pytest.raises(ConfigError, match="reduction must be one of"):
        losses.bradley_terry_loss(one, one, reduction="max")  # type: ignore[arg-type]
