"""Shapes of random input that the problems' generators share.

Every function is deterministic in its seed. Shapes matter because the time of a program depends on
more than the size of its input: insertion sort is linear on sorted lists, and quicksort is not.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

#: Shapes of `array`.
ARRAYS = ("random", "sorted", "reversed", "equal", "pipe")
#: Shapes of `text`.
TEXTS = ("random", "equal", "sorted", "periodic")
#: Shapes of `tree`.
TREES = ("random", "path", "star", "binary")
#: Shapes of `graph`.
GRAPHS = ("random", "layers", "hub")


def join(values: Iterable[object]) -> str:
    """The values in one line."""
    return " ".join(map(str, values))


def array(n: int, seed: int, shape: str, low: int = 0, high: int = 10**9) -> list[int]:
    """A list of `n` integers in [low, high]."""
    rng = random.Random(f"{seed} {n} {shape}")
    if shape == "equal":
        return [rng.randint(low, high)] * n
    values = rng.choices(range(low, high + 1), k=n)
    if shape == "random":
        return values
    values.sort()
    if shape == "reversed":
        values.reverse()
    elif shape == "pipe":
        values = values[::2] + values[1::2][::-1]
    return values


def permutation(n: int, seed: int, shape: str) -> list[int]:
    """The numbers 1..n in some order."""
    if shape == "random":
        rng = random.Random(f"{seed} {n}")
        values = list(range(1, n + 1))
        rng.shuffle(values)
        return values
    values = list(range(1, n + 1))
    if shape == "reversed":
        values.reverse()
    elif shape == "pipe":
        values = values[::2] + values[1::2][::-1]
    return values


def text(n: int, seed: int, shape: str, alphabet: str = "abcdefghijklmnopqrstuvwxyz") -> str:
    """A string of `n` letters."""
    rng = random.Random(f"{seed} {n} {shape}")
    if shape == "equal":
        return alphabet[0] * n
    if shape == "periodic":
        return ("".join(alphabet[:2]) * n)[:n]
    letters = rng.choices(alphabet, k=n)
    if shape == "sorted":
        letters.sort()
    return "".join(letters)


def tree(n: int, seed: int, shape: str) -> list[int]:
    """Parents of the vertices 2..n of a rooted tree whose root is 1; each is a smaller number."""
    rng = random.Random(f"{seed} {n} {shape}")
    if shape == "path":
        return list(range(1, n))
    if shape == "star":
        return [1] * (n - 1)
    if shape == "binary":
        return [v // 2 for v in range(2, n + 1)]
    return [rng.randint(1, v - 1) for v in range(2, n + 1)]


def graph(v: int, e: int, seed: int, shape: str) -> list[tuple[int, int]]:
    """`e` edges (a, b) with a < b on the vertices 1..v, parallel edges allowed."""
    rng = random.Random(f"{seed} {v} {e} {shape}")
    if v < 2:
        return []
    edges = []
    for i in range(e):
        if shape == "layers":  # a long path first, then short hops
            a = i % (v - 1) + 1
            b = min(v, a + (1 if i < v - 1 else rng.randint(1, 3)))
        elif shape == "hub":
            a, b = 1, i % (v - 1) + 2
            if i >= v - 1:
                a, b = sorted(rng.sample(range(1, v + 1), 2))
        else:
            a = rng.randint(1, v - 1)
            b = rng.randint(a + 1, v)
        edges.append((a, b))
    return edges


def pairs(items: Iterable[tuple[int, ...]]) -> str:
    """One tuple a line, each line ended."""
    return "".join(join(item) + "\n" for item in items)
