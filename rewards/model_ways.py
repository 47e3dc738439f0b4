"""What may be done with a model without changing its scores: asked of the model itself.

Padding is harmless to most models, but an encoder reads its first token, some models their last
one whatever stands there, and rotary positions may be scaled by the longest row of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.rewards.micro_batch import MicroBatch
from assay.rewards.prefix_cache import reusable

if TYPE_CHECKING:
    from assay.rewards.engine import Batching
    from assay.rewards.heads import Head


@dataclass(frozen=True)
class Ways:
    """How rows may share forward passes of one model.

    Attributes:
        reuse: Keys and values of a prefix may be used again.
        side: Where rows are padded.
        max_padding: Largest share of padding; 0 where only rows of one length may share a batch.
        max_rows: Largest number of rows; None: any.
        scaled: Its positions depend on the longest row that it has seen.
    """

    reuse: bool
    side: str
    max_padding: float
    max_rows: int | None
    scaled: bool = False


def ways_of(head: Head, model: Any, batching: Batching) -> Ways:
    """Ask a model, in a few passes over a handful of tokens.

    Args:
        head: How its scores are read.
        model: In evaluation mode.
        batching: What was asked for; kept where it is harmless.
    """
    if positions_scale_with_length(model):
        rows = None if head.pads(model) else 1
        return Ways(False, batching.padding_side, 0.0, rows, scaled=True)
    reuse = batching.reuse_prefix and reusable(model)
    if not head.pads(model):
        return Ways(reuse, batching.padding_side, batching.max_padding, 1)
    other = "left" if batching.padding_side == "right" else "right"
    for side in (batching.padding_side, other):
        if _harmless(head, model, side):
            return Ways(reuse, side, batching.max_padding, None)
    return Ways(reuse, batching.padding_side, 0.0, None)


def positions_scale_with_length(model: Any) -> bool:
    """Whether rotary positions change with the length of a batch (dynamic NTK, LongRoPE).

    transformers scales them by the longest row of a batch and, with `dynamic`, of earlier ones.
    """
    config = model.config
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    found: list[object] = [
        getattr(text, name, None) for name in ("rope_parameters", "rope_scaling")
    ]
    kinds: list[str] = []
    while found:
        value = found.pop()
        if isinstance(value, Mapping):
            kinds.append(str(value.get("rope_type", value.get("type", ""))))
            found += [part for part in value.values() if isinstance(part, Mapping)]
    return any("dynamic" in kind or kind == "longrope" for kind in kinds)


def forget_lengths(model: Any) -> None:
    """Bring dynamic rotary positions back to where the model was loaded: no earlier row counts."""
    for module in model.modules():
        original = getattr(module, "original_max_seq_len", None)
        if original is None:
            continue
        for name in [name for name in vars(module) if name.endswith("max_seq_len_cached")]:
            prefix = name.removesuffix("max_seq_len_cached")
            frequencies = getattr(module, f"{prefix}original_inv_freq", None)
            current = getattr(module, f"{prefix}inv_freq", None)
            if frequencies is not None and current is not None:
                own = frequencies.to(current.device, copy=True)  # LongRoPE writes into it
                setattr(module, f"{prefix}inv_freq", own)
                setattr(module, name, original)


def _harmless(head: Head, model: Any, side: str) -> bool:
    """Whether a short row says the same alone and beside a longer one, padded on `side`."""
    pad = head.pad_id(model)
    end = getattr(model.config, "eos_token_id", None)
    words = getattr(model.config, "vocab_size", None) or 0
    last = [end] if isinstance(end, int) and end != pad and end < words else []
    a, b = [token for token in range(1, 5) if token not in (pad, end)][:2]
    short, long = [a, b, a, *last], [b, a, b, a, b, b, a, *last]
    try:
        alone = MicroBatch.of(head, model, [short]).read(head, model, None)[0]
        both = MicroBatch.of(head, model, [short, long], side=side).read(head, model, None)
    except (IndexError, TypeError, ValueError, RuntimeError):
        return False
    return _near(alone, both[0], max(map(abs, [*alone, *both[0], *both[1]])), model)


def _near(first: Sequence[float], second: Sequence[float], scale: float, model: Any) -> bool:
    import torch

    exact = next(model.parameters()).dtype in (torch.float32, torch.float64)
    most = (1e-3 if exact else 0.1) * scale
    return all(abs(x - y) <= most or x != x for x, y in zip(first, second, strict=True))
