"""Values of the shapes that inferred inputs take: arrays, texts, trees, edges."""

from __future__ import annotations

import random
from collections.abc import Sequence

#: Shapes of every inferred input; a part that has no such shape takes the nearest.
SHAPES = ("random", "sorted", "reversed", "equal", "pipe")
_CHILDREN = {"sorted": "path", "reversed": "star", "equal": "star", "pipe": "binary"}


def integers(n: int, rng: random.Random, shape: str, low: int, high: int) -> list[int]:
    """`n` integers in [low, high].

    >>> integers(3, random.Random(0), "equal", 5, 5)
    [5, 5, 5]
    """
    if shape == "equal":
        return [rng.randint(low, high)] * n
    values = rng.choices(range(low, high + 1), k=n)
    if shape == "random":
        return values
    return _ordered(sorted(values), shape)


def permutation(n: int, rng: random.Random, shape: str) -> list[int]:
    """1..n in some order."""
    values = list(range(1, n + 1))
    if shape in ("random", "equal"):
        rng.shuffle(values)
        return values
    return _ordered(values, shape)


def text(n: int, rng: random.Random, shape: str, letters: Sequence[str]) -> str:
    """`n` letters."""
    if shape == "equal":
        return letters[0] * n
    if shape == "pipe":
        return ("".join(letters[:2]) * n)[:n]
    drawn = rng.choices(letters, k=n)
    if shape != "random":
        drawn.sort(reverse=shape == "reversed")
    return "".join(drawn)


def parents(n: int, rng: random.Random, shape: str) -> list[int]:
    """Parents of the vertices 2..n of a tree with root 1.

    >>> parents(4, random.Random(0), "sorted")
    [1, 2, 3]
    """
    kind = _CHILDREN.get(shape)
    if kind == "path":
        return list(range(1, n))
    if kind == "star":
        return [1] * (n - 1)
    if kind == "binary":
        return [v // 2 for v in range(2, n + 1)]
    return [rng.randint(1, v - 1) for v in range(2, n + 1)]


def edges(v: int, e: int, rng: random.Random, shape: str) -> list[tuple[int, int]]:
    """`e` pairs of different vertices 1..v (equal ones where there is one vertex only)."""
    if v < 2:
        return [(1, 1)] * e
    found = []
    for i in range(e):
        if shape == "sorted":
            a = i % (v - 1) + 1
            b = a + 1
        elif shape in ("reversed", "equal"):
            a, b = 1, i % (v - 1) + 2
        else:
            a = rng.randint(1, v - 1)
            b = rng.randint(a + 1, v)
        found.append((a, b))
    return found


def _ordered(rising: list[int], shape: str) -> list[int]:
    if shape == "reversed":
        return rising[::-1]
    if shape == "pipe":
        return rising[::2] + rising[1::2][::-1]
    return rising
