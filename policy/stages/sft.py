"""Supervised fine-tuning: conversations, masked by turn, mixed by weight, packed.

config = SftConfig.of(model="my/base", data="chats.jsonl", output_dir="sft")
main(config)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from assay.errors import ConfigError, DataError
from assay.policy.checkpoints import resume_point, train_from, write_json_file
from assay.policy.config_keys import trl_arguments
from assay.policy.data.sources import by_share, read_sources
from assay.policy.stages.models import (
    device_settings,
    load_policy,
    load_tokenizer,
    lora_config,
    save_policy,
)
from assay.policy.stages.progress_log import quiet, stage_callbacks
from assay.policy.stages.sft_rows import SftRenderer, TokenAccount, render_all
from assay.policy.stages.stage_config import StageConfig, StageResult

#: Rows and tokens of each source, in the output folder.
TOKENS_FILE = "tokens.json"


@dataclass(frozen=True)
class SftConfig(StageConfig):
    """Fine-tuning on conversations with TRL's SFTTrainer.

    Args:
        max_length: Longest row, in tokens; packing fills rows up to it.
        too_long: `drop` longer conversations, or `cut` their end off.
        tokens: Tokens drawn from weighted sources; None: as many as the sources hold together.
        packing: Join short conversations; off for sequence parallelism, which cannot pack.

    Source: Nanbeige4.1-3B report (arXiv:2602.13367): contexts of 32k, 64k and 256k.
    """

    OWN: ClassVar[Mapping[str, str]] = {
        **StageConfig.OWN,
        "max_length": "max_length",
        "packing": "packing",
    }

    max_length: int = 32_768
    too_long: Literal["drop", "cut"] = "drop"
    tokens: int | None = None
    packing: bool = False

    __hash__ = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_length < 8:
            raise ConfigError(f"max_length must be >= 8 tokens, got {self.max_length}")
        if self.too_long not in ("drop", "cut"):
            raise ConfigError(f"too_long must be 'drop' or 'cut', got {self.too_long!r}")


def main(
    config: SftConfig,
    *,
    rows: Mapping[str, Sequence[Any]] | None = None,
    stage: str = "sft",
    finish: Callable[[Path], Mapping[str, float]] = lambda folder: {},
) -> StageResult:
    """Fine-tune the model that `config` names; continues from its last checkpoint.

    Args:
        config: The settings.
        rows: Rows by source in place of the files in `config.data`.
        stage: Kind of the stage, for its result.
        finish: Called on the first rank with the folder of the saved model, before the stage counts
            as finished; gives further metrics. A try that is killed within it does it again.

    Raises:
        ConfigError: Settings that cannot work together, or checkpoints of other settings.
        DataError: Rows that cannot be read, or none to train on.
    """
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    start = time.monotonic()
    arguments = trl_arguments(
        SFTConfig,
        config.trl,
        {
            "report_to": "none",
            "output_dir": config.output_dir,
            "seed": config.seed,
            "max_length": config.max_length,
            "packing": config.packing,
            "logging_steps": 1,
            "disable_tqdm": True,
            **device_settings(),
        },
        {},
    )
    checkpoint = resume_point(config.output_dir, config.mark(), resume=config.resume)
    tokenizer = load_tokenizer(config.model, config.chat_template)
    prepared, accounts = training_rows(config, tokenizer, rows)
    model = load_policy(config.model, arguments.model_init_kwargs, all_weights=config.lora is None)
    arguments.model_init_kwargs = None
    trainer = SFTTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list(prepared),
        processing_class=tokenizer,
        peft_config=lora_config(config.lora),
        callbacks=stage_callbacks(config.output_dir),
    )
    quiet(trainer)
    train_from(trainer, checkpoint)
    save_policy(trainer, tokenizer, config.output_dir, merge_lora=config.merge_lora)
    folder = Path(config.output_dir)
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    metrics = {
        "loss": float(losses[-1]) if losses else float("nan"),
        "tokens": float(sum(account.tokens for account in accounts.values())),
        "trained_tokens": float(sum(account.trained for account in accounts.values())),
    }
    if trainer.is_world_process_zero():
        write_json_file(folder / TOKENS_FILE, {n: asdict(a) for n, a in accounts.items()})
        metrics |= finish(folder)
    result = StageResult(
        folder,
        stage,
        {name: value for name, value in metrics.items() if value == value},
        trainer.state.global_step,
        time.monotonic() - start,
        "" if checkpoint is None else Path(checkpoint).name,
    )
    if trainer.is_world_process_zero():
        result.save()
    return result


def training_rows(
    config: SftConfig, tokenizer: Any, rows: Mapping[str, Sequence[Any]] | None = None
) -> tuple[list[dict[str, list[int]]], dict[str, TokenAccount]]:
    """Rows of ids and labels, mixed by the sources' weights in tokens, and each source's account.

    Raises:
        DataError: Nothing to train on.
    """
    found = read_sources(config.data, limit=config.limit) if rows is None else rows
    base = SftRenderer(tokenizer, config.max_length, config.too_long, config.system_prompt)
    rendered: dict[str, list[dict[str, list[int]]]] = {}
    accounts: dict[str, TokenAccount] = {}
    for name, source in found.items():
        renderer = replace(base, account=TokenAccount())
        rendered[name] = list(render_all(source, renderer))
        accounts[name] = renderer.account
        if not rendered[name]:
            raise DataError(
                f"source {name!r} holds nothing to train on: of {len(source)} rows "
                f"{renderer.account.too_long} are longer than max_length {config.max_length}"
            )
    weights = {source.name: source.weight for source in config.data}
    if rows is not None or any(weight is None for weight in weights.values()):
        return [row for part in rendered.values() for row in part], accounts
    total = config.tokens or sum(account.tokens for account in accounts.values())
    shares = {name: float(weight or 0) for name, weight in weights.items()}
    picked = by_share(rendered, shares, total, config.seed, lambda row: len(row["input_ids"]))
    accounts = {name: TokenAccount(too_long=account.too_long) for name, account in accounts.items()}
    for name, row in picked:
        accounts[name].add(row)
    return [row for _, row in picked], accounts
