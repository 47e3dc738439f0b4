"""From loss masks to turns: one run of model tokens is one assistant message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def turn_ids(mask: Tensor) -> Tensor:
    """Index of the turn that each token belongs to, -1 outside all turns.

    Args:
        mask: Shape (B, T), 1 on tokens that the model wrote, 0 on tool results and padding.

    Returns:
        Shape (B, T), whole numbers.

    >>> import torch
    >>> turn_ids(torch.tensor([[1, 1, 0, 1, 0, 0]])).tolist()
    [[0, 0, -1, 1, -1, -1]]
    """
    import torch

    inside = mask.bool()
    before = torch.nn.functional.pad(inside[:, :-1], (1, 0))
    starts = (inside & ~before).long()
    return torch.where(inside, starts.cumsum(1) - 1, -1)


def turn_counts(ids: Tensor) -> list[int]:
    """Number of turns of each row of `turn_ids`."""
    if not ids.size(1):
        return [0] * ids.size(0)
    return [int(last) + 1 for last in ids.amax(dim=1).tolist()]


def spread(rows: Sequence[Sequence[float]], ids: Tensor, outside: float = 0.0) -> Tensor:
    """A value per turn as a value per token.

    Args:
        rows: For each row, at least as many values as it has turns.
        ids: Shape (B, T), of `turn_ids`.
        outside: What tokens outside all turns get.

    Returns:
        Shape (B, T), float32, on the device of `ids`.

    >>> import torch
    >>> spread([[1.0, -2.0]], torch.tensor([[0, 0, -1, 1]])).tolist()
    [[1.0, 1.0, 0.0, -2.0]]
    """
    import torch

    width = max([1, *map(len, rows)])
    table = torch.tensor(
        [[*row, *([0.0] * (width - len(row)))] for row in rows],
        dtype=torch.float32,
        device=ids.device,
    )
    return torch.where(ids >= 0, table.gather(1, ids.clamp(min=0)), outside)
