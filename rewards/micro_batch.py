"""One micro-batch on its way through a model: padding, masks, positions, pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.rewards.prefix_cache import Layers, forward, stacked

if TYPE_CHECKING:
    from torch import Tensor

    from assay.rewards.heads import Head


@dataclass
class MicroBatch:
    """Rows that go through the model together.

    Attributes:
        ids: Token ids, shape (rows, width).
        mask: 1 for real tokens, prefix included, shape (rows, past + width); None where all are.
        positions: Place of every token in its own sequence, shape (rows, width); None where the
            model's own count is right.
        cache: Keys and values of the rows' prefixes, or None.
        past: Tokens of the cache.
        ends: Where each row's last token stands, an index into the width.
        reads: Where each row's score is read at the latest cut, an index into the width.
    """

    ids: Tensor
    mask: Tensor | None
    positions: Tensor | None
    cache: Any
    past: int
    ends: list[int]
    reads: list[int]

    @classmethod
    def of(
        cls,
        head: Head,
        model: Any,
        sequences: Sequence[Sequence[int]],
        prefixes: Sequence[Layers | None] | None = None,
        starts: Sequence[int] | None = None,
        side: str = "right",
    ) -> MicroBatch:
        """Pad `sequences`, which continue `prefixes` of `starts` tokens, on one side."""
        import torch

        device = head.device(model)
        width = max(map(len, sequences))
        gaps = [width - len(sequence) for sequence in sequences]
        pad = head.pad_id(model) if any(gaps) else 0
        left = side == "left"
        rows = [
            [pad] * gap + list(s) if left else list(s) + [pad] * gap
            for s, gap in zip(sequences, gaps, strict=True)
        ]
        ids = torch.tensor(rows, device=device)
        mask = None
        if any(gaps):
            ones = [[0] * g + [1] * (width - g) for g in gaps]
            mask = torch.tensor([o if left else o[::-1] for o in ones], device=device)
        positions, cache, past_mask, past = None, None, None, 0
        starts = starts or [0] * len(rows)
        if prefixes is not None and any(layers is not None for layers in prefixes):
            cache, past_mask = stacked(prefixes, starts)
            past = max(starts)
        if past_mask is not None or (mask is not None and left):
            counted = torch.ones_like(ids) if mask is None else mask
            offset = torch.tensor(starts, device=device).unsqueeze(1)
            positions = (counted.cumsum(1) - 1).clamp(min=0) + offset
        if mask is not None or past_mask is not None:
            here = torch.ones_like(ids) if mask is None else mask
            before = (
                torch.ones((len(rows), past), dtype=here.dtype) if past_mask is None else past_mask
            )
            mask = torch.cat([before.to(device), here], dim=1)
        ends = [width - 1 if left else len(s) - 1 for s in sequences]
        reads = [
            end - (len(s) - 1) + head.last(model, s) for end, s in zip(ends, sequences, strict=True)
        ]
        return cls(ids, mask, positions, cache, past, ends, reads)

    def read(self, head: Head, model: Any, chunk: int | None) -> list[list[float]]:
        """The head's numbers of every row."""
        import torch

        start = 0
        if chunk is not None and (self.mask is None or self.positions is None):
            last = min(self.reads)  # no row may be read before the last piece
            while start + chunk <= last:
                self._advance(head, model, start, start + chunk)
                start += chunk
        width = self.ids.shape[1]
        places = torch.tensor([end - start for end in self.ends], device=self.ids.device)
        values = head.outputs(model, self.ids[:, start:], places, self._arguments(start, width))
        return [[float(number) for number in row] for row in values.float().tolist()]

    def keys_and_values(self, head: Head, model: Any, chunk: int) -> Any:
        """Keys and values of every token; padded on the right, which no real token sees."""
        width = self.ids.shape[1]
        self.mask = None
        for start in range(0, width, chunk):
            self._advance(head, model, start, min(start + chunk, width))
        return self.cache

    def _advance(self, head: Head, model: Any, start: int, stop: int) -> None:
        arguments = self._arguments(start, stop)
        _, self.cache = forward(
            head.trunk(model), self.ids[:, start:stop], use_cache=True, **arguments
        )

    def _arguments(self, start: int, stop: int) -> dict[str, Any]:
        arguments: dict[str, Any] = {"cache": self.cache}
        if self.mask is not None:
            arguments["attention_mask"] = self.mask[:, : self.past + stop]
        if self.positions is not None:
            arguments["position_ids"] = self.positions[:, start:stop]
        return arguments
