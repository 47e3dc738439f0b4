"""Where a reward model lives, and what memory that takes, computed without loading any weight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.rewards.model_handle import InMemory, ModelHandle

GIB = float(1 << 30)
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Memory:
    """Memory of one copy of a reward model while it scores, in bytes.

    Attributes:
        parameters: Number of parameters.
        weights: Their bytes.
        prefix_cache: Keys and values of `Batching.prefix_budget` tokens, as they are kept and once
            more as the rows of a micro-batch continue them; 0 without `reuse_prefix`.
        micro_batch: Hidden states, keys and values and the widest layer of one micro-batch.
        dtype: Of weights and activations.
    """

    parameters: int
    weights: int
    prefix_cache: int
    micro_batch: int
    dtype: str

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.prefix_cache + self.micro_batch

    def table(self, ranks: int = 1) -> str:
        """What every placement costs, for a job of `ranks` processes."""
        active = self.total - self.weights
        rows = [  # memory of accelerators between calls and while scoring, and copies in the host's
            ("one copy per rank", "device=None", ranks * self.weights, ranks * self.total, 0),
            ("offloaded between steps", "offload=True", 0, ranks * self.total, ranks),
            ("spread over devices", "device_map='auto'", self.weights, self.total, 0),
            ("behind a server", "RemotePointwiseModel", 0, 0, 0),
        ]
        lines = [
            f"{self.parameters / 1e9:.2f} B parameters in {self.dtype}: weights "
            f"{self.weights / GIB:.2f} GiB, working memory {active / GIB:.2f} GiB; "
            f"{ranks} rank{'s' if ranks > 1 else ''} need",
            f"{'placement':26}{'setting':24}{'between calls':>14}{'scoring':>14}{'host':>14}",
        ]
        for name, setting, idle, scoring, host in rows:
            cells = "".join(f"{x / GIB:10.2f} GiB" for x in (idle, scoring, host * self.weights))
            lines.append(f"{name:26}{setting:24}{cells}")
        return "\n".join(lines)


def memory_of(handle: ModelHandle) -> Memory:
    """Memory of a handle's model; reads its configuration and builds it on the meta device.

    Of an adapter it is that of the base model: the adapter's own weights are few.

    Raises:
        RewardError: The configuration could not be loaded.
    """
    if isinstance(handle.model, InMemory):
        model = handle.model.model
        return _memory(handle, model, model.config)
    import transformers

    from assay.errors import RewardError
    from assay.rewards.model_loading import base_of, is_adapter

    try:
        adapter = handle.adapter is None and is_adapter(handle.model)
        config = transformers.AutoConfig.from_pretrained(
            base_of(handle.model) if adapter else handle.model,
            revision=None if adapter else handle.revision,
            trust_remote_code=handle.trust_remote_code,
        )
    except (OSError, ValueError) as error:
        raise RewardError(f"cannot read the configuration of {handle.model!r}: {error}") from error
    return memory_of_config(config, handle)


def memory_of_config(config: Any, handle: ModelHandle | None = None) -> Memory:
    """Memory of a model that a transformers configuration describes, built on the meta device.

    Args:
        config: A transformers configuration.
        handle: Its dtype and budgets; defaults if None.
    """
    import torch
    import transformers

    loader: Any = transformers.AutoModelForSequenceClassification
    if getattr(handle, "head", "") == "verdict":  # the vocabulary's head is a large part of it
        loader = transformers.AutoModelForCausalLM
    with torch.device("meta"):
        model = loader.from_config(config)
    return _memory(handle or ModelHandle("config", dtype="bfloat16"), model, config)


def _memory(handle: ModelHandle, model: Any, config: Any) -> Memory:
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    parameters = sum(parameter.numel() for parameter in model.parameters())
    saved = str(getattr(config, "dtype", None) or "float32").removeprefix("torch.")
    dtype = saved if handle.dtype == "auto" else handle.dtype
    if isinstance(handle.model, InMemory):
        dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    size = _BYTES.get(dtype, 4)
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    head_size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    cached = 2 * text.num_hidden_layers * heads * head_size * size  # keys and values of a token
    wide = getattr(text, "intermediate_size", None) or text.hidden_size * 4
    width = 4 * text.hidden_size + 3 * (max(wide) if isinstance(wide, list | tuple) else wide)
    prefixes = 2 * handle.batching.prefix_budget if handle.batching.reuse_prefix else 0
    budget = handle.batching.token_budget or 32_768
    return Memory(
        parameters,
        parameters * size,
        cached * prefixes,
        budget * (cached + width * size),
        dtype,
    )


def allocated() -> Mapping[str, int]:
    """Bytes that torch holds on every accelerator of this process now; empty without one."""
    import torch

    if not torch.cuda.is_available():
        return {}
    return {
        f"cuda:{index}": int(torch.cuda.memory_allocated(index))
        for index in range(torch.cuda.device_count())
    }
