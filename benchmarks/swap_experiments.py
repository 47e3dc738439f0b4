"""Pairs with slot-biased labels, and models trained on them with and without the swap term.

A label says of the pair *as shown* which slot won: P(first) = sigmoid(s + b), s the true preference
of the first answer, b = 0.8 the annotators' bias towards the first slot. Held-out pairs are
labelled by the sign of s, without bias or noise.

Three trainings: `single` shows each pair in the one random order in which it was labelled,
`unlabelled` does too and lets the swap term also act on as many pairs without a label, `balanced`
has both orders of every pair in its loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.policy.order_metrics import PairwiseMetrics, pairwise_metrics

SLOT_BIAS = 0.8
WEIGHTS = (0.0, 0.1, 0.5, 2.0)
#: Training and weight of the swap term; without the term, unlabelled pairs do nothing.
TRAININGS = tuple(
    (objective, weight)
    for objective in ("single", "balanced", "unlabelled")
    for weight in WEIGHTS
    if weight or objective != "unlabelled"
)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """One trained model on held-out pairs."""

    weight: float
    objective: str
    seed: int
    metrics: PairwiseMetrics


@dataclass(frozen=True)
class FeaturePairs:
    """Pairs of feature vectors, one set a seed.

    Attributes:
        first: Features of the answer shown first, shape (seeds, pairs, features).
        second: Of the other one, the same shape.
        label: P(first wins), shape (seeds, pairs).
    """

    first: Floats
    second: Floats
    label: Floats


def train_networks(train: FeaturePairs, held_out: FeaturePairs, steps: int) -> list[Run]:
    """Networks with 32 hidden units: all of `TRAININGS` and all seeds at once.

    Each reads (f_first, f_second) in this order and gives the slot logit.
    """
    import torch

    from assay.rewards.losses import order_balanced_cross_entropy, swap_consistency_loss

    seeds, pairs, features = train.first.shape
    grid = [(w, o, s) for o, w in TRAININGS for s in range(seeds)]
    more = slice(sum(o != "unlabelled" for _, o, _ in grid), None)  # these stand last
    a, b, y = (_tensor(part) for part in (train.first, train.second, train.label))
    seed_of = torch.tensor([seed for _, _, seed in grid])
    weight_M1 = torch.tensor([[weight] for weight, _, _ in grid])
    single_M1 = torch.tensor([[float(objective != "balanced")] for _, objective, _ in grid])
    hidden = 32
    parameters = []
    for shape, scale in (
        ((2 * features, hidden), (2 * features) ** -0.5),
        ((1, hidden), 0.0),
        ((hidden, 1), hidden**-0.5),
        ((1, 1), 0.0),
    ):
        starts = []
        for _, _, seed in grid:  # the same start for every weight: paired comparisons
            generator = torch.Generator().manual_seed(seed)
            starts.append(torch.randn(*shape, generator=generator) * scale)
        parameters.append(torch.stack(starts).requires_grad_())
    w1, b1, w2, b2 = parameters

    def slot_logits(
        first: torch.Tensor, second: torch.Tensor, nets: slice = slice(None)
    ) -> torch.Tensor:
        x = torch.cat([first, second], dim=-1)
        return (torch.tanh(x @ w1[nets] + b1[nets]) @ w2[nets] + b2[nets]).squeeze(-1)

    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    order = torch.Generator().manual_seed(0)
    for _ in range(steps):
        batch = torch.randint(pairs, (128,), generator=order)
        first, second, target = (t[seed_of][:, batch] for t in (a, b, y))
        d_ab, d_ba = slot_logits(first, second), slot_logits(second, first)
        both = order_balanced_cross_entropy(d_ab, d_ba, target, reduction="none")
        one = torch.nn.functional.binary_cross_entropy_with_logits(d_ab, target, reduction="none")
        swap = swap_consistency_loss(d_ab, d_ba, reduction="none")
        # Answers against those of other training pairs: nobody labelled them.
        others = torch.randint(pairs, (128,), generator=order)
        own, foreign = first[more], b[seed_of[more]][:, others]
        extra = swap_consistency_loss(
            slot_logits(own, foreign, more), slot_logits(foreign, own, more), reduction="none"
        )
        swap = torch.cat([swap[: more.start], (swap[more] + extra) / 2])
        loss = single_M1 * one + (1 - single_M1) * both + weight_M1 * swap
        optimizer.zero_grad()
        loss.mean(1).sum().backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        first, second = (_tensor(x)[seed_of] for x in (held_out.first, held_out.second))
        held_ab, held_ba = slot_logits(first, second).numpy(), slot_logits(second, first).numpy()
    return [
        Run(w, o, seed, pairwise_metrics(held_ab[i], held_ba[i], held_out.label[seed]))
        for i, (w, o, seed) in enumerate(grid)
    ]


def drawn_pairs(seeds: int, pairs: int, bias: float | None, *, first_seed: int) -> FeaturePairs:
    """Answers that are 16 Gaussian numbers each; the quality is their mean, up to scale."""
    features = 16
    parts: list[list[Floats]] = [[], [], []]
    for seed in range(first_seed, first_seed + seeds):
        rng = np.random.default_rng(seed)
        a, b = rng.standard_normal((2, pairs, features))
        s = 2.0 * (a - b).sum(1) / np.sqrt(2 * features)
        for part, value in zip(parts, (a, b, slot_biased_labels(rng, s, bias)), strict=True):
            part.append(value)
    return FeaturePairs(*(np.stack(part) for part in parts))


def llama_model(weight: float, objective: Any, seed: int, steps: int, folder: str) -> Run:
    """A tiny Llama trained by `PairwiseRewardTrainer` on sequences `BOS a... SEP b... END`.

    An answer is six tokens, its quality the sum of their values.
    """
    unlabelled = objective == "unlabelled"

    import torch
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForSequenceClassification
    from trl import RewardConfig

    from assay.policy.pairwise_trainer import PairwiseRewardTrainer
    from examples.tiny_models import tiny_tokenizer

    train = _token_pairs(4000, SLOT_BIAS, seed)
    if unlabelled:
        crossed = _token_pairs(4000, SLOT_BIAS, 2000 + seed) | {"target": [math.nan] * 4000}
        train = {name: values + crossed[name] for name, values in train.items()}
    held_out = _token_pairs(1000, None, 1000 + seed)
    torch.manual_seed(seed)
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=32,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=0,
            num_labels=1,
        )
    )
    arguments = RewardConfig(
        folder,
        max_steps=steps,
        per_device_train_batch_size=96 if unlabelled else 48,
        per_device_eval_batch_size=500,
        gradient_checkpointing=False,
        learning_rate=4e-3,
        lr_scheduler_type="cosine",
        warmup_steps=steps // 15,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
        dataloader_pin_memory=False,
        seed=seed,
    )
    trainer = PairwiseRewardTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict(train),
        eval_dataset=Dataset.from_dict(held_out),
        processing_class=tiny_tokenizer(),
        swap_weight=weight,
        objective="single" if unlabelled else objective,
    )
    trainer.train()
    d = np.asarray(trainer.predict(trainer.eval_dataset).predictions, dtype=np.float64)
    return Run(weight, objective, seed, pairwise_metrics(d[:, 0], d[:, 1], held_out["target"]))


def _tensor(values: Floats) -> Any:
    import torch

    return torch.tensor(values, dtype=torch.float32)


def _token_pairs(pairs: int, bias: float | None, seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    values = np.linspace(-1, 1, 28)
    a, b = rng.integers(0, 28, (2, pairs, 6))
    s = 2.0 * (values[a].sum(1) - values[b].sum(1))

    def shown(first: NDArray[np.int64], second: NDArray[np.int64]) -> list[Any]:
        mark = np.ones((pairs, 1), dtype=np.int64)
        joined = np.concatenate([mark, first + 4, 2 * mark, second + 4, 3 * mark], axis=1)
        return list(joined.tolist())

    return {
        "chosen_ids": shown(a, b),
        "rejected_ids": shown(b, a),
        "target": list(slot_biased_labels(rng, s, bias).tolist()),
        "weight": [1.0] * pairs,
    }


def slot_biased_labels(rng: np.random.Generator, s: Floats, bias: float | None) -> Floats:
    """Drawn labels of the first slot with its bias; without a bias, the truth."""
    if bias is None:
        return (s > 0).astype(np.float64)
    return (rng.random(s.size) < 1 / (1 + np.exp(-(s + bias)))).astype(np.float64)
