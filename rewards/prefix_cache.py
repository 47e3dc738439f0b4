"""Keys and values of shared prefixes: taken from one forward pass, stacked for another."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

#: Keys and values of every layer for one prefix, each of shape (heads, tokens, head size).
Layers: TypeAlias = "list[tuple[Tensor, Tensor]]"


def forward(
    model: Any, ids: Tensor, *, cache: Any = None, use_cache: bool = False, **kwargs: Any
) -> tuple[Any, Any]:
    """A model's output and its cache, whichever name the installed transformers has for the latter.

    The argument is `cache` from transformers 5.24 on, `past_key_values` before.
    """
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    names = inspect.signature(inner.forward).parameters
    if "use_cache" in names:
        kwargs["use_cache"] = use_cache or cache is not None
    if cache is not None:
        kwargs["cache" if "cache" in names else "past_key_values"] = cache
    output = model(input_ids=ids, **kwargs)
    found = getattr(output, "cache", None) if use_cache else None
    if found is None and use_cache:
        found = getattr(output, "past_key_values", None)
    return output, found


def reusable(model: Any) -> bool:
    """Whether a prefix's keys and values, cut at any token, are all that later tokens need.

    Asked of the model itself: a forward pass over three tokens must leave a cache of plain
    full-attention layers, and its last token must not change what stands before it.
    """
    import torch
    from transformers.cache_utils import DynamicLayer

    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    names = inspect.signature(inner.forward).parameters
    if not {"cache", "past_key_values"} & names.keys() or "position_ids" not in names:
        return False
    device = next(model.parameters()).device
    try:
        caches = [
            forward(inner, torch.tensor([ids], device=device), use_cache=True)[1]
            for ids in ([1, 2, 1], [1, 2, 2])
        ]
        layers = [getattr(cache, "layers", None) or [] for cache in caches]
        if not layers[0] or any(type(layer) is not DynamicLayer for layer in layers[0]):
            return False
        first, second = layers[0][-1].keys[..., :2, :], layers[1][-1].keys[..., :2, :]
        return bool(torch.allclose(first, second, rtol=1e-3, atol=1e-3))
    except (TypeError, ValueError, AttributeError, IndexError):
        return False


def layers_of(cache: Any, row: int, length: int) -> Layers:
    """Keys and values of the first `length` tokens of one row."""
    return [(layer.keys[row, :, :length], layer.values[row, :, :length]) for layer in cache.layers]


def stacked(rows: Sequence[Layers | None], lengths: Sequence[int]) -> tuple[Any, Tensor | None]:
    """One cache for a batch whose rows continue different prefixes.

    Args:
        rows: Keys and values of each row's prefix, None where a row has none.
        lengths: Tokens of each row's prefix.

    Returns:
        The cache, prefixes padded on the left, and the mask of its tokens; None where every token
        of it is real.
    """
    import torch
    from transformers import DynamicCache

    longest = max(lengths)
    like = next(row for row in rows if row is not None)
    data = []
    for layer in range(len(like)):
        pair = []
        for kind in (0, 1):
            sample = like[layer][kind]
            if all(row is rows[0] for row in rows):
                pair.append(sample.unsqueeze(0).expand(len(rows), -1, -1, -1))
                continue
            block = sample.new_zeros((len(rows), sample.shape[0], longest, sample.shape[2]))
            for place, row in enumerate(rows):
                if row is not None:
                    block[place, :, longest - lengths[place] :] = row[layer][kind]
            pair.append(block)
        data.append((pair[0], pair[1]))
    past_mask = None
    if any(length < longest for length in lengths):
        past_mask = torch.tensor([[0] * (longest - n) + [1] * n for n in lengths])
    return DynamicCache(data), past_mask
