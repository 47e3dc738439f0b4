"""A model's shape without its weights: built on the meta device, counted, not computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.errors import ConfigError


@dataclass(frozen=True)
class ModelShape:
    """What memory and FLOPs depend on.

    Attributes:
        parameters: All of them.
        embedding_parameters: Of the input embedding, which costs memory and no FLOPs.
        largest_layer: Parameters of the largest block, which a sharded model gathers whole.
        layers: Transformer blocks.
        hidden: Width.
        heads: Query heads.
        kv_heads: Key-value heads.
        head_dim: Width of a head.
        intermediate: Width of the MLP.
        vocabulary: Tokens.
        context: Longest context.
        linear_weights: Parameters of linear layers inside blocks by (inputs, outputs), for LoRA.
    """

    parameters: int
    embedding_parameters: int
    largest_layer: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    context: int
    linear_weights: tuple[tuple[int, int], ...] = ()

    @cached_property
    def kv_bytes_per_token(self) -> int:
        """Key-value cache of one token in bf16: 2 x layers x KV heads x head width x 2 bytes."""
        return 2 * self.layers * self.kv_heads * self.head_dim * 2

    def kv_cache_bytes(self, tokens: int, sequences: int = 1) -> int:
        """Key-value cache of whole sequences."""
        return self.kv_bytes_per_token * tokens * sequences

    def lora_parameters(self, rank: int) -> int:
        """Parameters of adapters of this rank on all linear layers of the blocks."""
        return sum(rank * (inputs + outputs) for inputs, outputs in self.linear_weights)

    def forward_flops(self, tokens: float, sequence: float) -> float:
        """FLOPs of a forward pass over `tokens`, in causal sequences of `sequence` tokens.

        2 per parameter and token, and 2 x layers x heads x head width x sequence for the attention
        (4 for its two products, half of them masked).
        """
        dense = 2 * (self.parameters - self.embedding_parameters)
        attention = 2 * self.layers * self.heads * self.head_dim * sequence
        return (dense + attention) * tokens

    def activation_bytes(self, tokens: int, *, checkpointing: bool) -> int:
        """Activations of a forward pass kept for the backward pass, in bf16, head left out.

        With checkpointing each block keeps its input, and one block at a time all it computes.
        Counted per token of a block: input, two norms, query, keys and values, attention's output,
        its projection, gate, up and their product, and the down projection.
        """
        attention = self.heads * self.head_dim
        inside = (
            2
            * tokens
            * (
                5 * self.hidden
                + 2 * attention
                + 2 * self.kv_heads * self.head_dim
                + 4 * self.intermediate
            )
        )
        kept = 2 * tokens * self.hidden
        if checkpointing:
            return self.layers * kept + 2 * inside  # the block's own gradients are as large
        return self.layers * (kept + inside) + inside


def shape_of(architecture: Mapping[str, Any] | str) -> ModelShape:
    """The shape of a Llama with these settings, or of the model in a folder.

    Args:
        architecture: Fields of `transformers.LlamaConfig`, or a folder with a `config.json`.

    Raises:
        ConfigError: Neither.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig

    if isinstance(architecture, str):
        if not (Path(architecture) / "config.json").is_file():
            raise ConfigError(
                f"the shape of {architecture!r} is not known here: give [model.architecture] in "
                "the recipe, or a folder with a config.json"
            )
        config = AutoConfig.from_pretrained(architecture)
    else:
        config = LlamaConfig(**dict(architecture))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    inner = model.get_decoder()
    blocks = [sum(p.numel() for p in block.parameters()) for block in inner.layers]
    linear = [
        (module.in_features, module.out_features)
        for block in inner.layers
        for module in block.modules()
        if isinstance(module, torch.nn.Linear)
    ]
    heads = int(config.num_attention_heads)
    return ModelShape(
        parameters=sum(p.numel() for p in model.parameters()),
        embedding_parameters=model.get_input_embeddings().weight.numel()
        if not config.tie_word_embeddings
        else 0,
        largest_layer=max(blocks),
        layers=len(blocks),
        hidden=int(config.hidden_size),
        heads=heads,
        kv_heads=int(config.num_key_value_heads or heads),
        head_dim=int(getattr(config, "head_dim", None) or config.hidden_size // heads),
        intermediate=int(config.intermediate_size),
        vocabulary=int(config.vocab_size),
        context=int(config.max_position_embeddings),
        linear_weights=tuple(linear),
    )
