"""Loads what a stage starts from, and saves what the next one loads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from assay.judges.ranks import rank_device, whole_models
from assay.policy.chat import install_template
from assay.policy.config_keys import require_known
from assay.policy.config_types import require_types
from assay.policy.rollouts import Decoding, generate
from assay.policy.trained_weights import save_weights
from assay.policy.vllm_sampling import sample_apart


def load_tokenizer(model: str, chat_template: str | None = None, **settings: Any) -> Any:
    """The model's tokenizer, with `chat_template` in place of its own if one is given.

    Raises:
        ConfigError: There is no chat template at all.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model, **settings)
    install_template(tokenizer, chat_template)
    return tokenizer


def load_policy(
    model: str, settings: Mapping[str, Any] | None = None, *, all_weights: bool = False
) -> Any:
    """The causal language model.

    Args:
        model: Folder or hub id.
        settings: TRL's `model_init_kwargs`.
        all_weights: All of them are to be trained; see `with_dtype`.
    """
    from transformers import AutoModelForCausalLM

    given = with_dtype(settings, all_weights=all_weights)
    return AutoModelForCausalLM.from_pretrained(model, **given)


def ready_policy(model: str) -> Any:
    """The causal language model to sample from: whole, on this rank's GPU."""
    with whole_models():
        return load_policy(model).to(rank_device())


def sampled(
    model: str,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    decoding: Decoding,
    *,
    vllm: bool = False,
) -> list[dict[str, Any]]:
    """Rollouts of a checkpoint, by vLLM or by transformers; both give the GPU back.

    Args:
        model: Folder or hub id.
        tokenizer: Its tokenizer.
        rows: Problems.
        decoding: How to sample.
        vllm: By vLLM, in a process of its own.
    """
    if vllm:
        return sample_apart(model, tokenizer, rows, decoding)
    return generate(ready_policy(model), tokenizer, rows, decoding)


def with_dtype(settings: Mapping[str, Any] | None, *, all_weights: bool) -> dict[str, Any]:
    """Settings of `from_pretrained`, and the dtype in which to train where they name none.

    Args:
        settings: TRL's `model_init_kwargs`.
        all_weights: All of them are to be trained, and are loaded in 32 bits, as TRL does: a step
            at usual learning rates is smaller than the last bit of a weight in bf16. Else they have
            the dtype that they were saved with.

    >>> with_dtype({"revision": "main"}, all_weights=True)
    {'revision': 'main', 'dtype': 'float32'}
    """
    given = dict(settings or {})
    if "torch_dtype" not in given:  # the setting's older name
        given.setdefault("dtype", "float32" if all_weights else "auto")
    return given


def lora_config(lora: Mapping[str, Any] | None) -> Any:
    """Settings of LoRA for the trainer, or None for full training.

    Raises:
        ConfigError: An unknown setting, or one of another type.
    """
    if lora is None:
        return None
    from peft import LoraConfig

    require_lora_keys(lora)
    defaults = {"task_type": "CAUSAL_LM", "target_modules": "all-linear"}
    return LoraConfig(**(defaults | dict(lora)))


def require_lora_keys(lora: Mapping[str, Any]) -> None:
    """Refuse settings that peft's LoraConfig has not, and text where it wants a number.

    Raises:
        ConfigError: There is one.
    """
    from peft import LoraConfig

    require_known("lora", lora, [f.name for f in fields(LoraConfig)])
    require_types("lora", LoraConfig, lora, numbers_only=True)


def save_policy(
    trainer: Any, tokenizer: Any, folder: str | Path, *, merge_lora: bool = True
) -> None:
    """Save the trained model so that `from_pretrained` loads it on every rank's next stage."""
    save_weights(trainer, folder, merge_lora=merge_lora)
    if trainer.is_world_process_zero():
        tokenizer.save_pretrained(folder)
    trainer.accelerator.wait_for_everyone()


def device_settings() -> dict[str, Any]:
    """What TRL needs to be told on a machine without a GPU; bf16 where there is one."""
    import torch

    if torch.cuda.is_available():
        return {"bf16": True}
    return {"use_cpu": True, "bf16": False, "dataloader_pin_memory": False}
