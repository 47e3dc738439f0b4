"""Loads what a model handle names: transformers models, PEFT adapters, tokenizers, replicas."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from assay.errors import ConfigError, RewardError
from assay.rewards.model_handle import InMemory, ModelHandle

Task = Literal["classification", "causal"]


def load_tokenizer(handle: ModelHandle) -> Any:
    """The tokenizer of a handle, loaded once in this process."""
    if isinstance(handle.model, InMemory):
        return handle.model.tokenizer
    return handle.opened("tokenizer", lambda: _tokenizer(handle))


def load_models(handle: ModelHandle, task: Task) -> list[Any]:
    """The model on its device, or one copy for each of `handle.replicas`.

    Raises:
        ConfigError: transformers is not installed, or the folder is neither model nor adapter.
        RewardError: The model could not be loaded.
    """
    if isinstance(handle.model, InMemory):
        return _replicas(handle, handle.model.model)
    try:
        model = _load(handle, task)
    except (OSError, ValueError) as error:
        raise RewardError(f"cannot load {handle.model!r} for {task}: {error}") from error
    model.eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return _replicas(handle, model)


def longest_input(handle: ModelHandle, model: Any, tokenizer: Any) -> int:
    """Tokens that model and tokenizer take, at most `handle.max_length`."""
    config = model.config
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    limits = [
        handle.max_length,
        getattr(text, "max_position_embeddings", None),
        getattr(tokenizer, "model_max_length", None),
    ]
    return min(limit for limit in (*limits, 1 << 20) if limit and limit > 0)


def home_device(handle: ModelHandle) -> str:
    """Where one copy lives: `handle.device`, else this rank's accelerator, else the CPU."""
    import torch

    if handle.device:
        return handle.device
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % count}"
    return "cpu"


@contextmanager
def on_device(handle: ModelHandle, models: list[Any]) -> Iterator[None]:
    """Bring an offloaded model to its device for the time of a call, then back to main memory."""
    if not handle.offload:
        yield
        return
    import torch

    homes = list(handle.replicas) or [home_device(handle)]
    for model, home in zip(models, homes, strict=True):
        model.to(home)
    try:
        yield
    finally:
        for model in models:
            model.to("cpu")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _tokenizer(handle: ModelHandle) -> Any:
    transformers = _transformers()
    sources = [handle.tokenizer] if handle.tokenizer else [handle.adapter, handle.model]
    problem: Exception | None = None
    for source in sources:
        if source is None:
            continue
        try:
            return transformers.AutoTokenizer.from_pretrained(
                source,
                revision=handle.revision if source == handle.model else None,
                trust_remote_code=handle.trust_remote_code,
            )
        except (OSError, ValueError) as error:
            problem = error
    raise RewardError(f"cannot load a tokenizer from {sources}: {problem}; set tokenizer=")


def _load(handle: ModelHandle, task: Task) -> Any:
    transformers = _transformers()
    assert isinstance(handle.model, str)
    base, adapter, revision = handle.model, handle.adapter, handle.revision
    if adapter is None and (Path(base) / "adapter_config.json").is_file():
        from peft import PeftConfig

        adapter, revision = base, None
        base = PeftConfig.from_pretrained(adapter).base_model_name_or_path
        if not base:
            raise ConfigError(f"adapter {adapter!r} names no base model; give it as model=")
    settings: dict[str, Any] = {
        "revision": revision,
        "dtype": handle.dtype,
        "trust_remote_code": handle.trust_remote_code,
    }
    if handle.attn_implementation:
        settings["attn_implementation"] = handle.attn_implementation
    if handle.device_map:
        settings["device_map"] = handle.device_map
    if task == "classification":
        config = transformers.AutoConfig.from_pretrained(
            base, revision=revision, trust_remote_code=handle.trust_remote_code
        )
        if adapter is not None and "SequenceClassification" not in str(config.architectures):
            settings["num_labels"] = 1  # the head is the adapter's
        loader = transformers.AutoModelForSequenceClassification
    else:
        loader = transformers.AutoModelForCausalLM
    model = loader.from_pretrained(base, **settings)
    if adapter is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, adapter)
    return model


def _replicas(handle: ModelHandle, model: Any) -> list[Any]:
    import copy

    if handle.replicas:
        copies = [model] + [copy.deepcopy(model) for _ in handle.replicas[1:]]
        if handle.offload:
            return [one.to("cpu") for one in copies]
        return [one.to(home) for one, home in zip(copies, handle.replicas, strict=True)]
    if handle.device_map or (isinstance(handle.model, InMemory) and not handle.device):
        return [model]
    return [model.to("cpu" if handle.offload else home_device(handle))]


def _transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise ConfigError(
            "reward models need torch and transformers: pip install 'assay[models]'"
        ) from error
    return transformers
