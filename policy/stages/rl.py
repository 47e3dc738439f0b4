"""Runs GRPO for any RL stage: data, filter, reward, trainer, checkpoints, result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.fingerprint import fingerprint_of
from assay.groups import world
from assay.policy.checkpoints import resume_point, train_from, write_json_file
from assay.policy.config_keys import trl_arguments
from assay.policy.data.difficulty import DifficultyFilter, MeetsBound, Solved
from assay.policy.rollouts import Decoding, kept_samples, weights_mark
from assay.policy.stages.models import (
    device_settings,
    load_policy,
    load_tokenizer,
    lora_config,
    sampled,
    save_policy,
)
from assay.policy.stages.progress_log import quiet, read_log, stage_callbacks
from assay.policy.stages.rl_config import RLConfig, RolloutFilter
from assay.policy.stages.rl_data import as_columns, own_rows, training_prompts
from assay.policy.stages.rl_rewards import reward_functions, stage_reward
from assay.policy.stages.stage_config import StageResult
from assay.reward import Reward

#: Which problems the difficulty filter kept, in the stage's folder.
FILTER_FILE = "filter.json"


def run_rl(
    config: RLConfig,
    own: Callable[[], Reward],
    *,
    criterion: Callable[[RolloutFilter], Any] = lambda rule: Solved(),
    wrap: Callable[[Reward], Reward] = lambda reward: reward,
    rows: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None,
    tokenizer_hook: Callable[[Any], None] = lambda tokenizer: None,
    trainer_class: Any = None,
    trainer_settings: Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
) -> StageResult:
    """Train the policy of `config` on its reward; continues from the last checkpoint.

    Args:
        config: The stage.
        own: Makes the reward of the stage's own rows where the configuration names none.
        criterion: What the difficulty filter counts.
        wrap: Put around the whole reward.
        rows: Completes the stage's own rows as they were read.
        tokenizer_hook: Called with the tokenizer.
        trainer_class: In place of `PolicyTrainer`.
        trainer_settings: Further arguments of the trainer.
        columns: Columns that every row has, and their values in rows that lack them.

    Raises:
        ConfigError: Settings that cannot work together, or checkpoints of other settings.
        DataError: Rows that the reward cannot score, or none left.
    """
    from datasets import Dataset
    from trl import GRPOConfig

    from assay.policy.stages.rl_trainer import PolicyTrainer

    start = time.monotonic()
    tokenizer = load_tokenizer(config.model, config.chat_template)
    tokenizer_hook(tokenizer)
    reward = wrap(stage_reward(config, own, [tokenizer.eos_token_id]))
    functions, weights = reward_functions(config, reward)
    arguments = trl_arguments(GRPOConfig, config.trl, _own_settings(config, weights), {})
    _require_aligned_saves(arguments)
    mark = fingerprint_of((config.mark(), reward.fingerprint(), [Path(f) for f in config.files()]))
    checkpoint = resume_point(config.output_dir, mark, resume=config.resume)
    found = own_rows(config, rows)
    if config.filter is not None:
        found = filtered(config, found, reward, tokenizer, criterion(config.filter))
    prompts = training_prompts(config, found, _prompt_count(config, arguments, len(found)))
    prompts = [dict(columns or {}) | row for row in prompts]
    reward.check(prompts)
    model = load_policy(config.model, arguments.model_init_kwargs, all_weights=config.lora is None)
    arguments.model_init_kwargs = None
    _require_room(config, model)
    trainer = (trainer_class or PolicyTrainer)(
        model=model,
        reward_funcs=functions,
        args=arguments,
        train_dataset=Dataset.from_list(as_columns(prompts)),
        processing_class=tokenizer,
        peft_config=lora_config(config.lora),
        callbacks=stage_callbacks(config.output_dir),
        drop_zero_variance=config.drop_zero_variance,
        **(trainer_settings or {}),
    )
    quiet(trainer)
    train_from(trainer, checkpoint)
    save_policy(trainer, tokenizer, config.output_dir, merge_lora=config.merge_lora)
    result = StageResult(
        Path(config.output_dir),
        config.STAGE,
        _totals(config.output_dir) if trainer.is_world_process_zero() else {},
        trainer.state.global_step,
        time.monotonic() - start,
        "" if checkpoint is None else Path(checkpoint).name,
    )
    if trainer.is_world_process_zero():
        result.save()
    return result


def filtered(
    config: RLConfig,
    rows: Sequence[dict[str, Any]],
    reward: Reward,
    tokenizer: Any,
    criterion: Any,
) -> list[dict[str, Any]]:
    """The problems of which some rollouts of the stage's first checkpoint meet the criterion.

    Rollouts are kept in the folder `filter`, so that a run that goes on does not sample again.
    Each rank samples and scores its share of the problems; all ranks decide on all of them.

    Raises:
        DataError: No problem is left.
    """
    rule = config.filter
    if rule is None:
        return list(rows)
    rank, ranks = world()
    decoding = Decoding(
        n=rule.n,
        max_new_tokens=config.max_completion_length,
        temperature=float(config.trl.get("temperature", 1.0)),
        top_p=float(config.trl.get("top_p", 1.0)),
        batch_size=4 * config.num_generations,
        seed=config.seed + rank,
    )
    own = rows[rank::ranks]
    by_vllm = config.vllm != "off"
    rollouts, scores = kept_samples(
        Path(config.output_dir) / "filter" / f"{rank}-of-{ranks}",
        lambda: sampled(config.model, tokenizer, own, decoding, vllm=by_vllm),
        own,
        decoding,
        reward,
        checkpoint=weights_mark(config.model),
    )
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for uid, score in _from_all_ranks(
        [
            (str(rollout["uid"]), _unwrapped(score, config.domain))
            for rollout, score in zip(rollouts, scores, strict=True)
        ]
    ):
        groups.setdefault(uid, []).append(score)
    decided = DifficultyFilter(criterion, rule.n, rule.low, rule.high)(groups)
    about_file = Path(config.output_dir) / FILTER_FILE
    if rank == 0:
        about = {
            "problems": len(groups),
            "kept": len(decided.kept),
            "counts": dict(decided.counts),
            "solved": {uid: list(span) for uid, span in decided.solved.items()},
        }
        write_json_file(about_file, about)
    kept = set(decided.kept)
    left = [row for row in rows if row["uid"] in kept]
    if not left:
        raise DataError(
            f"the difficulty filter kept none of {len(rows)} problems ({about_file} has the "
            "counts); widen low and high, train the stage before longer, or drop the filter"
        )
    return left


def bound_criterion(rule: RolloutFilter) -> MeetsBound:
    """Stage 2's criterion: the complexity bound is met, by default in a correct program."""
    return MeetsBound(require_correct=rule.require_correct)


def _own_settings(config: RLConfig, weights: list[float] | None) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "report_to": "none",
        "output_dir": config.output_dir,
        "seed": config.seed,
        "num_generations": config.num_generations,
        "max_completion_length": config.max_completion_length,
        "beta": config.beta,
        "mask_truncated_completions": config.truncated == "mask",
        "reward_weights": weights,
        "shuffle_dataset": False,  # shuffled already, so that every batch holds each share
        "logging_steps": 1,
        "disable_tqdm": True,
        **device_settings(),
    }
    if config.vllm != "off":
        settings |= {"use_vllm": True, "vllm_mode": config.vllm}
    return settings


def _require_aligned_saves(arguments: Any) -> None:
    """Checkpoints lie between generations: within one, a resumed run would sample other rollouts.

    Raises:
        ConfigError: `save_steps` lies within.
    """
    used = arguments.steps_per_generation * arguments.num_iterations
    period = used // math.gcd(used, arguments.gradient_accumulation_steps)
    saves = arguments.save_steps
    by_steps = str(arguments.save_strategy) in ("steps", "SaveStrategy.STEPS")
    if by_steps and saves >= 1 and saves % period:
        raise ConfigError(
            f"save_steps = {saves:g} lies within a generation batch, which serves {period} steps; "
            f"set it to a multiple of {period}, so that a resumed run ends where an uninterrupted "
            "one does"
        )


def _require_room(config: RLConfig, model: Any) -> None:
    """Completions as long as the context leave no room for a prompt.

    Raises:
        ConfigError: They are.
    """
    context = getattr(model.config, "max_position_embeddings", None)
    if context is not None and config.max_completion_length >= context:
        raise ConfigError(
            f"max_completion_length = {config.max_completion_length} leaves no room for a prompt "
            f"in the model's context of {context} tokens; lower it"
        )


def _prompt_count(config: RLConfig, arguments: Any, rows: int) -> int:
    """Prompts of the whole stage: what `max_steps` needs, or one pass over the own rows."""
    share = 1 - sum(replay.share for replay in config.replay)
    once = round(rows / share)
    if arguments.max_steps <= 0:
        return once
    group = int(arguments.generation_batch_size) // config.num_generations
    if group < 1:
        raise ConfigError(
            f"a generation batch of {arguments.generation_batch_size} holds no group of "
            f"{config.num_generations}; raise per_device_train_batch_size or "
            "gradient_accumulation_steps in [trl]"
        )
    return max(once, int(arguments.max_steps) * group)


def _unwrapped(score: Mapping[str, Any], domain: str) -> Mapping[str, Any]:
    """The score of the stage's own reward inside a route and beside the overlong punishment."""
    for name in ("task", domain):
        score = score["parts"].get(name, score)
    return score


def _totals(folder: str) -> dict[str, float]:
    """Means over the last quarter of the logged steps, and totals of tokens and seconds."""
    entries = [entry for entry in read_log(folder) if "reward" in entry]
    last = entries[-max(1, len(entries) // 4) :]
    found = {}
    for key in ("reward", "reward_std", "completions/mean_length", "completions/clipped_ratio"):
        values = [entry[key] for entry in last if key in entry]
        if values:
            found[key] = sum(values) / len(values)
    for key in ("time/rewards_s", "time/rollouts_s", "step_time"):
        found[f"total {key}"] = sum(entry.get(key, 0.0) for entry in entries)
    if entries:
        found["tokens"] = entries[-1].get("num_tokens", 0.0)
    return found


def _from_all_ranks(items: list[Any]) -> list[Any]:
    if world()[1] == 1:
        return items
    from accelerate.utils import gather_object

    return list(gather_object(items))
