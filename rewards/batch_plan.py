"""Which tokens are computed together: shared prefixes, and micro-batches under a token budget.

Plain Python on lists of token ids; knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Prefix:
    """The first `length` tokens that the sequences `rows` share; length 0 shares nothing."""

    length: int
    rows: tuple[int, ...]


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Number of leading tokens that two sequences share.

    >>> common_prefix([1, 2, 3], [1, 2, 4, 5])
    2
    """
    limit = min(len(a), len(b))
    low, high = 0, limit
    while low < high:  # slices compare in C, a loop over tokens does not
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def share_prefixes(
    sequences: Sequence[Sequence[int]],
    limits: Sequence[int] | None = None,
    min_length: int = 16,
) -> list[Prefix]:
    """Partition sequences so that computing each part's common prefix once saves most tokens.

    Sorted sequences with a common prefix stand side by side. A stretch of n of them with common
    prefix L either shares it, which saves (n - 1) L tokens, or is divided where neighbours have
    least in common, whichever saves more.

    Args:
        sequences: Token ids.
        limits: Longest prefix that may be taken from each sequence; by default all but the last
            token, because a score is read where a token is computed.
        min_length: A shorter prefix is not worth a forward pass of its own.

    Returns:
        Prefixes whose rows partition the sequences.

    >>> share_prefixes([[1, 2, 3, 9], [7], [1, 2, 3, 8, 8]], min_length=2)
    [Prefix(length=3, rows=(2, 0)), Prefix(length=0, rows=(1,))]
    """
    if limits is None:
        limits = [len(sequence) - 1 for sequence in sequences]
    order = sorted(range(len(sequences)), key=lambda row: tuple(sequences[row]))
    shared = [common_prefix(sequences[a], sequences[b]) for a, b in pairwise(order)]
    prefixes: list[Prefix] = []
    stack = [(0, len(order))] if order else []
    plans: dict[tuple[int, int], tuple[int, int | None]] = {}
    cuts: dict[tuple[int, int], int] = {}
    todo = list(stack)
    spans = []
    while todo:  # spans of the tree of least common prefixes, parents before children
        start, stop = todo.pop()
        spans.append((start, stop))
        if stop - start > 1:
            cut = min(range(start, stop - 1), key=lambda i: (shared[i], abs(2 * i - start - stop)))
            cuts[start, stop] = cut
            plans[start, stop] = (0, cut)
            todo += [(start, cut + 1), (cut + 1, stop)]
    saved: dict[tuple[int, int], int] = {}
    for start, stop in reversed(spans):
        if stop - start == 1:
            saved[start, stop] = 0
            continue
        cut = cuts[start, stop]
        whole = min(shared[cut], min(limits[order[i]] for i in range(start, stop)))
        apart = saved[start, cut + 1] + saved[cut + 1, stop]
        together = (stop - start - 1) * whole if whole >= min_length else 0
        if together > apart:
            plans[start, stop] = (whole, None)
        saved[start, stop] = max(together, apart)
    while stack:
        start, stop = stack.pop()
        length, split = plans.get((start, stop), (0, None))
        if split is None:
            prefixes.append(Prefix(length, tuple(order[start:stop])))
        else:
            stack += [(split + 1, stop), (start, split + 1)]
    return prefixes


def waves(prefixes: Sequence[Prefix], budget: int, parts: int = 1) -> list[list[Prefix]]:
    """Divide prefixes so that no wave keeps more than `budget` tokens of prefix in memory.

    Args:
        prefixes: As `share_prefixes` gives them.
        budget: Tokens; a longer single prefix is a wave of its own.
        parts: Replicas that work at the same time; a group that is too large for one of them is
            divided, its prefix then being computed by each.
    """
    most = max(1, -(-sum(len(prefix.rows) for prefix in prefixes) // max(parts, 1)))
    found: list[list[Prefix]] = []
    tokens = rows = 0
    for prefix in _divided(prefixes, most) if parts > 1 else prefixes:
        over = tokens + prefix.length > budget or (parts > 1 and rows + len(prefix.rows) > most)
        if not found or over:
            found.append([])
            tokens = rows = 0
        found[-1].append(prefix)
        tokens += prefix.length
        rows += len(prefix.rows)
    return found


def _divided(prefixes: Sequence[Prefix], most: int) -> list[Prefix]:
    """Prefixes of at most `most` rows each."""
    return [
        Prefix(prefix.length, prefix.rows[start : start + most])
        for prefix in prefixes
        for start in range(0, len(prefix.rows), most)
    ]


def micro_batches(
    lengths: Sequence[int],
    token_budget: int,
    max_padding: float = 0.05,
    max_rows: int | None = None,
    held: Sequence[int] | None = None,
    held_budget: int = 65_536,
) -> list[list[int]]:
    """Batches of similar length, longest first, of at most `token_budget` tokens with padding.

    Args:
        lengths: Tokens to compute of each item.
        token_budget: Rows x longest row; a longer single row is a batch of its own.
        max_padding: Largest share of padding in a batch.
        max_rows: Largest number of rows.
        held: Tokens that each item continues, whose keys and values a batch holds for every row.
        held_budget: Rows x longest `held` of a batch; a single row may be longer.

    >>> micro_batches([5, 100, 98, 5], token_budget=256)
    [[1, 2], [0, 3]]
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batches: list[list[int]] = []
    longest = real = behind = 0
    for index in order:
        length, own = lengths[index], held[index] if held else 0
        if batches:
            rows = len(batches[-1]) + 1
            area = longest * rows
            fits = area <= token_budget and area - real - length <= max_padding * area
            fits = fits and max(behind, own) * rows <= held_budget
            if fits and (max_rows is None or len(batches[-1]) < max_rows):
                batches[-1].append(index)
                real += length
                behind = max(behind, own)
                continue
        batches.append([index])
        longest = real = length
        behind = own
    return batches
