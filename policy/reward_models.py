"""Trains reward models: point-wise with TRL's RewardTrainer, pair-wise with our subclass of it.

    >>> config = PairwiseConfig.of(model="my/model", data="pairs.jsonl", output_dir="rm")
    >>> config.swap_weight
    0.5

`main(config)` trains, evaluates on held-out pairs, fits a temperature there, and saves a folder
that a plain `from_pretrained` loads, with a model card. `trained_model(folder)` gives it back as
the object that scores, judges and rewards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.fingerprint import fingerprint_of
from assay.policy.checkpoints import resume_point, train_from
from assay.policy.config_keys import trl_arguments
from assay.policy.data.crossed_pairs import unlabelled_pairs
from assay.policy.data.preferences import Preference
from assay.policy.reward_model_config import PairwiseConfig, PointwiseConfig, RewardModelConfig
from assay.policy.reward_model_data import (
    in_training_order,
    pair_text,
    pairwise_rows,
    pointwise_rows,
    split_preferences,
    unlabelled_rows,
)
from assay.policy.reward_model_evaluation import evaluate_held_out, side_by_side
from assay.policy.reward_model_files import SETTINGS_FILE, card_of, save_model, trained_model
from assay.policy.stages.models import with_dtype
from assay.policy.stages.progress_log import quiet

__all__ = [
    "SETTINGS_FILE",
    "PairwiseConfig",
    "PointwiseConfig",
    "TrainedRewardModel",
    "main",
    "trained_model",
]


@dataclass(frozen=True)
class TrainedRewardModel:
    """What a training left behind.

    Attributes:
        folder: Loads with `from_pretrained` and with `trained_model`.
        metrics: On held-out pairs; empty if there were none.
        temperature: None if there were none, or if none fits them.
        train_rows: Pairs trained on.
        held_out_rows: Pairs held out.
        dropped: Preferences left out, by reason.
        resumed_from: The checkpoint that training continued from, or empty.
        steps: Optimiser steps, those of earlier tries included.
    """

    folder: Path
    metrics: Mapping[str, float]
    temperature: float | None
    train_rows: int
    held_out_rows: int
    dropped: Mapping[str, int]
    resumed_from: str = ""
    steps: int = 0

    __hash__ = None  # type: ignore[assignment]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "folder": str(self.folder),
            "metrics": dict(self.metrics),
            "temperature": self.temperature,
            "train_rows": self.train_rows,
            "held_out_rows": self.held_out_rows,
            "dropped": dict(self.dropped),
            "resumed_from": self.resumed_from,
            "steps": self.steps,
        }


def main(
    config: PointwiseConfig | PairwiseConfig,
    *,
    preferences: Iterable[Preference] | None = None,
    model: Any = None,
    tokenizer: Any = None,
    callbacks: Sequence[Any] = (),
) -> TrainedRewardModel:
    """Train the reward model that `config` describes.

    Args:
        config: Its class says which kind.
        preferences: In place of the files in `config.data`.
        model: A loaded model in place of `config.model` (which then only names it).
        tokenizer: Its tokenizer.
        callbacks: For the trainer, which then leaves printing to them.

    Raises:
        ConfigError: Settings that cannot work together, or an `output_dir` with the checkpoints of
            another configuration.
        DataError: Preferences that cannot be read, or none.
        ImportError: trl is not installed; names the pip command.
    """
    trainer_class, arguments = _arguments(config)
    pairwise = isinstance(config, PairwiseConfig)
    split = split_preferences(config, decided=not pairwise, given=preferences)
    checkpoint = _checkpoint(config)
    tokenizer, model = _loaded(config, arguments, tokenizer, model)
    settings: dict[str, Any] = {}
    if isinstance(config, PairwiseConfig):
        text = pair_text(config)
        train = in_training_order(split.train, config)
        held_out = in_training_order(split.held_out, config)
        rows = [
            list(pairwise_rows(p, text, tokenizer, config.max_length)) for p in (train, held_out)
        ]
        extra = unlabelled_pairs(train, config.unlabelled_pairs, config.seed)
        rows[0] += unlabelled_rows(extra, text, tokenizer, config.max_length)
        settings = {
            "swap_weight": config.swap_weight,
            "space": config.space,
            "objective": config.objective,
        }
        if config.head == "verdict":
            settings["verdict_ids"] = text.verdict_ids(tokenizer, config.labels)
    else:
        held_out = split.held_out
        rows = [
            list(pointwise_rows(p, tokenizer, config.max_length, margin=config.margin))
            for p in (split.train, held_out)
        ]
        settings = {"preprocess_logits_for_metrics": side_by_side}
    trainer = _trainer(config, trainer_class, arguments, rows, tokenizer, model, settings)
    for callback in callbacks:
        trainer.add_callback(callback)
    if callbacks:
        quiet(trainer)
    train_from(trainer, checkpoint)
    metrics, calibration = evaluate_held_out(trainer, held_out, pairwise=pairwise)
    folder = save_model(config, trainer, tokenizer, calibration)
    if trainer.is_world_process_zero():
        card_of(config, split, metrics, calibration).write(folder)
    trainer.accelerator.wait_for_everyone()
    return TrainedRewardModel(
        folder,
        metrics,
        None if calibration is None or calibration.problem else calibration.temperature,
        len(split.train),
        len(rows[1]),
        split.dropped,
        "" if checkpoint is None else Path(checkpoint).name,
        trainer.state.global_step,
    )


def _arguments(config: RewardModelConfig) -> tuple[Any, Any]:
    """The trainer's class and TRL's configuration."""
    import torch
    from trl import RewardConfig, RewardTrainer

    from assay.policy.pairwise_trainer import PairwiseRewardTrainer

    settings: dict[str, Any] = {"report_to": "none", "max_length": None, "seed": config.seed}
    if not torch.cuda.is_available():
        settings |= {"use_cpu": True, "bf16": False, "dataloader_pin_memory": False}
    if isinstance(config, PointwiseConfig):
        settings["center_rewards_coefficient"] = config.center_weight or None
    settings["output_dir"] = config.output_dir
    arguments = trl_arguments(RewardConfig, config.trl, settings, {})
    pairwise = isinstance(config, PairwiseConfig)
    return (PairwiseRewardTrainer if pairwise else RewardTrainer), arguments


def _checkpoint(config: RewardModelConfig) -> str | None:
    """The checkpoint to continue from; refuses one of another configuration."""
    # What does not change the weights may change between a run and its continuation.
    free = ("resume", "merge_lora", "licence", "data_licence", "output_dir")
    settings = {k: v for k, v in config.to_json().items() if k not in free}
    files = [Path(file) for file in (*config.data, *config.held_out_data)]
    written = json.dumps(settings, sort_keys=True, default=str)
    mark = fingerprint_of((type(config).__name__, written, files))
    return resume_point(config.output_dir, mark, resume=config.resume)


def _loaded(config: Any, arguments: Any, tokenizer: Any, model: Any) -> tuple[Any, Any]:
    """Tokenizer and model, the head's new weights drawn from the seed."""
    from transformers import (
        AutoModelForCausalLM,
        AutoModelForSequenceClassification,
        AutoTokenizer,
        set_seed,
    )

    settings = with_dtype(arguments.model_init_kwargs, all_weights=config.lora is None)
    trust = arguments.trust_remote_code
    if tokenizer is None:
        tokenizer = AutoTokenizer.from_pretrained(
            config.model, revision=settings.get("revision"), trust_remote_code=trust
        )
    if model is None:
        set_seed(config.seed)
        settings.setdefault("trust_remote_code", trust)
        if isinstance(config, PairwiseConfig) and config.head == "verdict":
            model = AutoModelForCausalLM.from_pretrained(config.model, **settings)
        else:
            settings["num_labels"] = 1
            model = AutoModelForSequenceClassification.from_pretrained(config.model, **settings)
    arguments.model_init_kwargs = None  # used: the trainer gets a model, not a name
    return tokenizer, model


def _trainer(
    config: RewardModelConfig,
    trainer_class: Any,
    arguments: Any,
    rows: Sequence[Sequence[Mapping[str, Any]]],
    tokenizer: Any,
    model: Any,
    settings: Mapping[str, Any],
) -> Any:
    from datasets import Dataset

    train, held_out = (Dataset.from_list(list(part)) if part else None for part in rows)
    lora = None
    if config.lora is not None:
        from peft import LoraConfig

        causal = isinstance(config, PairwiseConfig) and config.head == "verdict"
        task = "CAUSAL_LM" if causal else "SEQ_CLS"
        defaults = {"task_type": task, "target_modules": "all-linear"}
        lora = LoraConfig(**(defaults | dict(config.lora)))
    if held_out is None and arguments.eval_strategy != "no":
        raise ConfigError(
            "[trl] sets eval_strategy, but no preferences are held out; set held_out > 0 or "
            "held_out_data"
        )
    trainer = trainer_class(
        model=model,
        args=arguments,
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        peft_config=lora,
        **settings,
    )
    if lora is not None and (arguments.bf16 or arguments.fp16) and not trainer.is_deepspeed_enabled:
        # A new head is trained whole, in 32 bits as other whole weights; autocast joins the dtypes.
        for parameter in trainer.model.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.float()
    return trainer
