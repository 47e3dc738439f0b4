"""Trains pair-wise reward models: TRL's RewardTrainer with both orders, our loss and our metrics.

This module loads trl; `assay.policy` does not import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from assay.errors import ConfigError, DataError
from assay.policy.order_metrics import PairwiseMetrics, pairwise_metrics
from assay.rewards.losses import Space, order_balanced_cross_entropy, swap_consistency_loss

try:
    from trl import RewardTrainer
    from trl.trainer.reward_trainer import DataCollatorForPreference
except ImportError as error:
    raise ImportError(
        "training a reward model needs trl; install it with: pip install 'assay[train]'"
    ) from error

Objective = Literal["balanced", "difference", "single"]

#: Columns that a row of the training set has.
COLUMNS = ("chosen_ids", "rejected_ids", "target", "weight")


@dataclass(frozen=True)
class PairCollator:
    """Batches rows of `COLUMNS`: A shown first in the first half, B shown first in the second."""

    pad_token_id: int
    pad_to_multiple_of: int | None = None

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """One batch; sequences are padded on the right."""
        collate = DataCollatorForPreference(
            pad_token_id=self.pad_token_id, pad_to_multiple_of=self.pad_to_multiple_of
        )
        batch: dict[str, Any] = collate(list(rows))
        batch["target"] = torch.tensor([float(row["target"]) for row in rows])
        batch["weight"] = torch.tensor([float(row["weight"]) for row in rows])
        return batch


class PairwiseRewardTrainer(RewardTrainer):  # type: ignore[misc]
    """TRL's RewardTrainer for a scorer of ordered pairs d(first, second).

    Rows hold the same pair twice, `chosen_ids` with A shown first and `rejected_ids` with B shown
    first (the names that TRL's stock trainer reads), `target` = P(A preferred) and `weight`.

    | objective | loss of a pair |
    |---|---|
    | `balanced` | 1/2 [CE(d_AB, y) + CE(d_BA, 1-y)] |
    | `difference` | CE(d_AB - d_BA, y): TRL's stock loss for y = 1 |
    | `single` | CE(d_AB, y): only the order in which the row has the pair |

    each plus `swap_weight` times the swap-consistency term. That term needs no label: a row whose
    `target` is NaN is a pair without one, on which only the term acts. The labelled pairs of a
    batch are averaged by themselves, so that such rows do not dilute their loss.

    Logged in training and evaluation: `PairwiseMetrics` over all labelled pairs since the last log
    (the whole set in evaluation), of all ranks.

    Args:
        *args: Those of RewardTrainer.
        swap_weight: >= 0. The report gives no value; .5 is ours.
        space: Where the swap term is squared (`swap_consistency_loss`).
        objective: See above.
        verdict_ids: Token ids of the verdicts "first" and "second" of a causal language model;
            d is the difference of their logits. None: the model has one label, which is d.
        **kwargs: Those of RewardTrainer.

    Raises:
        ConfigError: A weight or objective that is none.
        DataError: Rows without the columns above.

    Source: the Nanbeige4.1-3B report, arXiv:2602.13367 (swap consistency).
    Departure: `swap_consistency_loss` says which form.
    """

    def __init__(
        self,
        *args: Any,
        swap_weight: float = 0.5,
        space: Space = "logit",
        objective: Objective = "balanced",
        verdict_ids: tuple[int, int] | None = None,
        **kwargs: Any,
    ) -> None:
        if not 0 <= swap_weight < float("inf"):
            raise ConfigError(f"swap_weight must be finite and >= 0, got {swap_weight}")
        if objective not in get_args(Objective):
            raise ConfigError(f"objective must be one of {get_args(Objective)}, got {objective!r}")
        if space not in get_args(Space):
            raise ConfigError(f"space must be one of {get_args(Space)}, got {space!r}")
        self.swap_weight = swap_weight
        self.space: Space = space
        self.objective: Objective = objective
        self.verdict_ids = verdict_ids
        self._seen: dict[str, list[tuple[Tensor, ...]]] = {"train": [], "eval": []}
        model: Any = kwargs.get("model", args[0] if args else None)
        labels: int | None = model.config.num_labels if verdict_ids else None
        if labels is not None:
            model.config.num_labels = 1  # the stock trainer asks for it; a causal LM has none
        kwargs.setdefault("preprocess_logits_for_metrics", _side_by_side)
        try:
            super().__init__(*args, **kwargs)
        finally:
            if labels is not None:
                model.config.num_labels = labels
        pads_to = self.args.pad_to_multiple_of
        if kwargs.get("data_collator") is None:
            self.data_collator = PairCollator(
                self.processing_class.pad_token_id, pads_to if isinstance(pads_to, int) else None
            )

    def _prepare_dataset(
        self, dataset: Any, processing_class: Any, args: Any, dataset_name: str
    ) -> Any:
        """Rows are rendered within their token budget already: nothing is dropped here."""
        names = dataset.column_names
        if names is not None and (missing := [name for name in COLUMNS if name not in names]):
            raise DataError(
                f"the {dataset_name} set lacks columns {missing}, it has {sorted(names)}; make its "
                "rows with assay.policy.reward_models.pairwise_rows"
            )
        return dataset

    def _set_signature_columns_if_needed(self) -> None:
        self._signature_columns = list(COLUMNS)

    def slot_logits(self, model: Any, inputs: Mapping[str, Any]) -> Tensor:
        """Slot logit d of every sequence of a batch padded on the right, shape (sequences,)."""
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        if self.verdict_ids is None:
            scores: Tensor = model(input_ids=ids, attention_mask=mask, use_cache=False).logits
            return scores.squeeze(-1)
        places, which = torch.unique(mask.sum(1) - 1, return_inverse=True)
        output = model(
            input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=places
        ).logits
        last = output[torch.arange(len(ids), device=output.device), which]
        first, second = self.verdict_ids
        d: Tensor = last[:, first] - last[:, second]
        return d

    def compute_loss(
        self,
        model: Any,
        inputs: Mapping[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """Loss of a batch; both orders are always run, so that every metric can be logged."""
        mode = "train" if self.model.training else "eval"
        logits = self.slot_logits(model, inputs)
        d_ab, d_ba = torch.chunk(logits.float(), 2)
        target, weight = inputs["target"], inputs["weight"]
        loss = self._loss(d_ab, d_ba, target, weight)
        if mode == "train":
            tokens = self.accelerator.gather_for_metrics(inputs["attention_mask"].sum())
            self._total_train_tokens += tokens.sum().item() // self._tp_size
        self._metrics[mode]["num_tokens"] = [self._total_train_tokens]
        arrays = (d_ab.detach(), d_ba.detach(), target)
        gathered = self.accelerator.gather_for_metrics(arrays)
        self._seen[mode].append(tuple(tensor.cpu() for tensor in gathered))
        return (loss, {"logits": logits.unsqueeze(-1)}) if return_outputs else loss

    def _loss(self, d_ab: Tensor, d_ba: Tensor, target: Tensor, weight: Tensor) -> Tensor:
        labelled = ~target.isnan()
        known = torch.where(labelled, target, 0.5)
        if self.objective == "balanced":
            loss = order_balanced_cross_entropy(d_ab, d_ba, known, reduction="none")
        else:
            d = d_ab - d_ba if self.objective == "difference" else d_ab
            loss = functional.binary_cross_entropy_with_logits(d, known, reduction="none")
        total = (weight * loss * labelled).sum() / labelled.sum().clamp(min=1)
        if self.swap_weight:
            swap = swap_consistency_loss(d_ab, d_ba, space=self.space, reduction="none")
            total = total + self.swap_weight * (weight * swap).mean()
        return total

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log the metrics over all pairs seen since the last log of this mode."""
        mode = "train" if self.model.training else "eval"
        if self._seen[mode]:
            columns = zip(*self._seen[mode], strict=True)
            d_ab, d_ba, target = (torch.cat(column).double().numpy() for column in columns)
            self._seen[mode].clear()
            labelled = ~np.isnan(target)
            d_ab, d_ba, target = d_ab[labelled], d_ba[labelled], target[labelled]
            if labelled.any() and bool(np.isfinite(d_ab).all() and np.isfinite(d_ba).all()):
                found: PairwiseMetrics = pairwise_metrics(d_ab, d_ba, target)
                for name, value in found.to_json().items():
                    if name != "pairs":
                        self._metrics[mode][name] = [value]
        super().log(logs, start_time)


def _side_by_side(logits: Tensor, labels: Any = None) -> Tensor:
    """(2B, 1) slot logits of a batch as (B, 2), so that batches can be joined."""
    return torch.stack(torch.chunk(logits.squeeze(-1), 2), dim=1)
