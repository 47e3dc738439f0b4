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
    outs: list[int | None] = [None]
    if len(table) % 2:
        fewest = min(byes)
        outs = [i for i in reversed(table) if byes[i] == fewest]
    budget = [_SEARCH]
    for out in outs:
        found = _fresh([i for i in table if i != out], met, budget)
        if found is not None:
            return found
    rest = [i for i in table if i != outs[0]]
    pairs = []
    while rest:
        first = rest.pop(0)
        second = next((j for j in rest if _pair(first, j) not in met), rest[0])
        rest.remove(second)
        pairs.append(_pair(first, second))
    return pairs


#: Steps of the search for a round without repeats.
_SEARCH = 5_000


def _fresh(
    table: list[int], met: set[tuple[int, int]], budget: list[int]
) -> list[tuple[int, int]] | None:
    """Pairs of neighbours who have not met, by backtracking; None where there are none."""
    pairs: list[tuple[int, int]] = []
    tried = [(table, 0)]  # who is left, and how many partners of the first of them were tried
    while tried:
        left, place = tried.pop()
        if not left:
            return pairs
        if not place:
            budget[0] -= 1
        if budget[0] < 0:
            return None
        del pairs[len(tried) :]
        first, *others = left
        for number in range(place, len(others)):
            pair = _pair(first, others[number])
            if pair not in met:
                pairs.append(pair)
                tried.append((left, number + 1))
                tried.append((others[:number] + others[number + 1 :], 0))
                break
    return None


def _pair(i: int, j: int) -> tuple[int, int]:
    return (min(i, j), max(i, j))
