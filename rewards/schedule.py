"""Who meets whom in a tournament: every entrant as often as every other, nothing random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

Schedule: TypeAlias = Literal["all", "circular", "swiss"]
SCHEDULES: tuple[Schedule, ...] = ("all", "circular", "swiss")


def all_pairs(size: int) -> list[tuple[int, int]]:
    """Everybody meets everybody once, n (n - 1) / 2 pairs.

    >>> all_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(i, j) for i in range(size) for j in range(i + 1, size)]


def circular_pairs(size: int, rounds: int) -> list[tuple[int, int]]:
    """Everybody meets the next `rounds` entrants of the circle, and the `rounds` before.

    2 x rounds meetings each and size x rounds pairs, or all pairs where the circle is that small.

    >>> circular_pairs(4, 1)
    [(0, 1), (1, 2), (2, 3), (0, 3)]
    """
    if 2 * rounds >= size - 1:
        return all_pairs(size)
    pairs = [(i, (i + step) % size) for step in range(1, rounds + 1) for i in range(size)]
    return [(min(i, j), max(i, j)) for i, j in pairs]


def swiss_pairs(
    points: Sequence[float], met: set[tuple[int, int]], byes: Sequence[int]
) -> list[tuple[int, int]]:
    """The next round: neighbours in the table who have not met.

    With an odd number the lowest of those with fewest byes sits out.

    Args:
        points: Points so far.
        met: Pairs (i, j), i < j, that have met; they meet again only where nobody else is left.
        byes: How often each sat out.

    >>> swiss_pairs([1.0, 0.0, 1.0, 0.0], {(0, 1), (2, 3)}, [0, 0, 0, 0])
    [(0, 2), (1, 3)]
    """
    table = sorted(range(len(points)), key=lambda i: (-points[i], i))
    if len(table) % 2:
        fewest = min(byes)
        table.remove(next(i for i in reversed(table) if byes[i] == fewest))
    pairs = []
    while table:
        first = table.pop(0)
        fresh = (j for j in table if (min(first, j), max(first, j)) not in met)
        second = next(fresh, table[0])
        table.remove(second)
        pairs.append((min(first, second), max(first, second)))
    return pairs
