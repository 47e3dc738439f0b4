"""Loads what a model handle names: transformers models, PEFT adapters, tokenizers, replicas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from assay.errors import ConfigError, RewardError
from assay.judges.ranks import rank_device, whole_models
from assay.rewards.device_state import lock_of
from assay.rewards.model_handle import InMemory, ModelHandle

Task = Literal["classification", "causal"]

#: Settings of a handle that its tokenizer and its weights depend on; handles that agree on them
#: share them.
_WORDS = ("model", "revision", "tokenizer", "adapter", "trust_remote_code")
_WEIGHTS = (
    *("model", "revision", "adapter", "dtype", "device", "device_map", "replicas", "offload"),
    *("attn_implementation", "trust_remote_code"),
)


def load_tokenizer(handle: ModelHandle) -> Any:
    """The tokenizer of a handle, loaded once in this process."""
    if isinstance(handle.model, InMemory):
        return handle.model.tokenizer
    return handle.opened("tokenizer", lambda: _tokenizer(handle), _WORDS)


def load_models(handle: ModelHandle, task: Task) -> list[Any]:
    """The model on its device, or one copy for each of `handle.replicas`; loaded once.

    Raises:
        ConfigError: transformers is not installed, the folder is neither model nor adapter, or its
            weights are those of another kind of model, so that a head would be random.
        RewardError: The model could not be loaded, or its device is not there.
    """
    if isinstance(handle.model, InMemory):
        return _placed(handle, handle.model.model)
    found: list[Any] = handle.opened(f"weights-{task}", lambda: _opened(handle, task), _WEIGHTS)
    return found


def _opened(handle: ModelHandle, task: Task) -> list[Any]:
    from safetensors import SafetensorError

    try:
        with whole_models():
            model = _load(handle, task)
    except (ConfigError, RewardError):
        raise
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise RewardError(
            f"cannot load {handle.model!r} for {task}: {error}; check that the files are all there"
        ) from error
    model.eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return _placed(handle, model)


def _placed(handle: ModelHandle, model: Any) -> list[Any]:
    try:
        return _replicas(handle, model)
    except (RuntimeError, AssertionError) as error:
        import torch

        there = torch.cuda.device_count()
        raise RewardError(
            f"cannot put {handle.model!r} on {handle.replicas or home_device(handle)!r}: {error}; "
            f"set device= to 'cpu' or one of the {there} accelerators that are here"
        ) from error


def longest_input(handle: ModelHandle, model: Any, tokenizer: Any) -> int:
    """Tokens that model and tokenizer take, at most `handle.max_length`."""
    config = model.config
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    limits = [
        handle.max_length,
        getattr(text, "max_position_embeddings", None),
        getattr(tokenizer, "model_max_length", None),
    ]
    if limits[1]:
        limits[1] -= _places_before_the_first(model)
    return min(limit for limit in (*limits, 1 << 20) if limit and limit > 0)


def _places_before_the_first(model: Any) -> int:
    """Rows of a position table that no token has: RoBERTa's kin count from the padding id + 1."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    for name, module in inner.named_modules():
        if name.endswith("embeddings.position_embeddings"):
            padding = getattr(module, "padding_idx", None)
            return 0 if padding is None else padding + 1
    return 0


def home_device(handle: ModelHandle) -> str:
    """Where one copy lives: `handle.device`, else this rank's accelerator, else the CPU."""
    return handle.device or rank_device()


@contextmanager
def on_device(handle: ModelHandle, models: list[Any]) -> Iterator[None]:
    """Bring an offloaded model to its device for the time of a call, then back to main memory."""
    if not handle.offload:
        yield
        return
    import torch

    homes = list(handle.replicas) or [home_device(handle)]
    with lock_of(models[0]):  # another thread must not take it away meanwhile
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
    named: list[Any] = [handle.tokenizer] if handle.tokenizer else [handle.adapter, handle.model]
    if not handle.tokenizer and handle.adapter is None and is_adapter(str(handle.model)):
        named.append(base_of(str(handle.model)))
    sources = [source for source in named if source is not None]
    problem: Exception | None = None
    for source in sources:
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
    if adapter is None and is_adapter(base):
        adapter, revision = base, None
        base = base_of(adapter)
    settings: dict[str, Any] = {
        "revision": revision,
        "dtype": handle.dtype,
        "trust_remote_code": handle.trust_remote_code,
    }
    if handle.attn_implementation:
        settings["attn_implementation"] = handle.attn_implementation
    if handle.device_map:
        settings["device_map"] = handle.device_map
    loader = getattr(transformers, _LOADERS[task])
    try:
        if task == "classification" and adapter is not None:
            config = transformers.AutoConfig.from_pretrained(
                base, revision=revision, trust_remote_code=handle.trust_remote_code
            )
            if "SequenceClassification" not in str(config.architectures):
                settings["num_labels"] = 1  # the head is the adapter's
        model, found = loader.from_pretrained(base, output_loading_info=True, **settings)
    except (OSError, ValueError) as error:
        if adapter is None:
            raise
        raise RewardError(
            f"cannot load {base!r}, the base model of adapter {adapter!r}: {error}; put it there, "
            "or give its place as model= and the adapter as adapter="
        ) from error
    missing = sorted(found["missing_keys"])
    if adapter is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, adapter)
        brought = set(model.active_peft_config.modules_to_save or ())
        missing = [key for key in missing if not brought & set(key.split("."))]
    if missing:
        raise ConfigError(
            f"{base!r} has no weights for {missing[:4]} of a {type(model).__name__}: they would be "
            f"random; {_OTHER_TASK[task]}"
        )
    return model


_LOADERS: dict[Task, str] = {
    "classification": "AutoModelForSequenceClassification",
    "causal": "AutoModelForCausalLM",
}
_OTHER_TASK: dict[Task, str] = {
    "classification": "give a model that was trained with a classification head, an adapter with "
    "one, or for a language model PairwiseModel(head='verdict')",
    "causal": "give a causal language model; for a model with a classification head set "
    "head='slot' or head='difference'",
}


def is_adapter(folder: str) -> bool:
    """Whether a folder holds a PEFT adapter rather than a model."""
    return (Path(folder) / "adapter_config.json").is_file()


def base_of(adapter: str) -> str:
    """The base model that an adapter's folder names.

    Raises:
        ConfigError: It names none.
    """
    from peft import PeftConfig

    base = PeftConfig.from_pretrained(adapter).base_model_name_or_path
    if not base:
        raise ConfigError(
            f"adapter {adapter!r} names no base model; give that as model= and the adapter as "
            "adapter="
        )
    return str(base)


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
