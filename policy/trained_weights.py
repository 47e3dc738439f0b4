"""Saves the weights of a trained model, LoRA merged, also where the ranks share them out.

Merging is arithmetic on whole weights. Under FSDP or DeepSpeed every rank takes part in gathering
them; the first then merges in a model of its own, while the others wait.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.judges.ranks import whole_models


def save_weights(trainer: Any, folder: str | Path, *, merge_lora: bool) -> None:
    """Save the trained model so that `from_pretrained` loads it; every rank calls this.

    Args:
        trainer: Its model cannot be trained further if it is merged.
        folder: Gets the whole model; with a LoRA that is not merged, the adapter.
        merge_lora: Add a LoRA to the weights, and save the adapter in `adapter` beside them.

    Raises:
        ConfigError: Quantised weights that the ranks share are to be merged.
    """
    folder = Path(folder)
    model = trainer.accelerator.unwrap_model(trainer.model)
    if not merge_lora or not hasattr(model, "merge_and_unload"):
        trainer.save_model(str(folder))
        trainer.accelerator.wait_for_everyone()
        return
    trainer.save_model(str(folder / "adapter"))
    if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
        if getattr(model.get_base_model(), "is_quantized", False):
            raise ConfigError(
                f"a LoRA over quantised weights that {trainer.accelerator.num_processes} ranks "
                f"share cannot be merged; the adapter is in {folder / 'adapter'}: set "
                "merge_lora = false, or train on one GPU"
            )
        prepared = trainer.model_wrapped if trainer.is_deepspeed_enabled else trainer.model
        weights = trainer.accelerator.get_state_dict(prepared)
        if trainer.is_world_process_zero():
            merged_copy(model, weights).save_pretrained(folder)
    elif trainer.is_world_process_zero():
        model.merge_and_unload().save_pretrained(folder)
    trainer.accelerator.wait_for_everyone()


def merged_copy(shared: Any, weights: Mapping[str, Any]) -> Any:
    """`shared`, a model with a LoRA, merged in main memory from `weights`, all of its weights.

    They keep their dtypes. The copy can be saved, not run: buffers that are not saved stay empty.

    Raises:
        ConfigError: Some weights are missing.
    """
    import torch

    base, adapter = shared.get_base_model(), shared.active_adapter
    lora = copy.deepcopy(shared.peft_config[adapter])
    lora.init_lora_weights = False  # the weights are given; some ways to begin need the base's
    with whole_models():  # else the other ranks would be asked for their parts
        with torch.device("meta"):
            bare = _class_of(base)(copy.deepcopy(base.config))
            model = _class_of(shared)(bare, lora, adapter, autocast_adapter_dtype=False)
        tied = _tied_names(model)
        model.load_state_dict(weights, strict=False, assign=True)
        for first, *others in tied:  # they came as several tensors, or one of them alone
            found = [model.get_parameter(name) for name in (first, *others)]
            whole = next((parameter for parameter in found if not parameter.is_meta), found[0])
            for name in (first, *others):
                place, _, last = name.rpartition(".")
                setattr(model.get_submodule(place), last, whole)
        empty = [name for name, parameter in model.named_parameters() if parameter.is_meta]
        if empty:
            raise ConfigError(
                f"the LoRA cannot be merged: {len(empty)} weights were not gathered from the ranks "
                f"({empty[:3]}); the adapter is saved: set merge_lora = false"
            )
        merged = model.merge_and_unload()
    if merged.can_generate():
        merged.generation_config = copy.deepcopy(base.generation_config)
    return merged


def _tied_names(model: Any) -> list[list[str]]:
    """Names of the same parameter."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return [several for several in names.values() if len(several) > 1]


def _class_of(model: Any) -> Any:
    """The class that the model had before FSDP 2 put its own in front."""
    from torch.distributed.fsdp import FSDPModule

    return next(kind for kind in type(model).__mro__ if not issubclass(kind, FSDPModule))
