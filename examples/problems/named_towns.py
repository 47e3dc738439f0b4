"""Roads whose ends are given by numbers from a sorted register."""

from __future__ import annotations

import random

STATEMENT = (
    "A register lists V town numbers in rising order. E roads are given by the numbers of their "
    "two ends; a road counts if both ends are in the register. How many roads count? Input: V "
    "and E, the register (0 to 10^9), then E lines a b. Output: the number."
)

CONSTRAINTS = {"V": 100_000, "E": 200_000}

SHAPES = ("random", "absent")

TESTS = (
    ("3 2\n2 5 9\n2 9\n2 3\n", "1\n"),
    ("1 1\n4\n4 4\n", "1\n"),
    ("2 0\n1 2\n", "0\n"),
    ("4 3\n1 3 5 7\n1 7\n2 3\n5 3\n", "2\n"),
)


def generate(V: int, E: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    rng = random.Random(f"{seed} {V} {E} {shape}")
    towns = sorted(rng.sample(range(10**9), V))
    ends = rng.choices(towns, k=2 * E) if shape == "random" else rng.choices(range(10**9), k=2 * E)
    lines = "".join(f"{ends[2 * i]} {ends[2 * i + 1]}\n" for i in range(E))
    return f"{V} {E}\n{' '.join(map(str, towns))}\n{lines}"


SOLUTIONS = {
    # V insertions, at most two lookups a road.
    "hashed": (
        "python",
        "V + E",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
towns = set(data[2 : 2 + v])
count = 0
for i in range(2 + v, 2 + v + 2 * e, 2):
    if data[i] in towns and data[i + 1] in towns:
        count += 1
print(count)
""",
    ),
    # Two binary searches in V numbers for each of E roads.
    "by_halving": (
        "python",
        "V + E log V",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
towns = data[2 : 2 + v]


def known(x):
    lo, hi = 0, v
    while lo < hi:
        mid = (lo + hi) // 2
        if towns[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo < v and towns[lo] == x


count = 0
for i in range(2 + v, 2 + v + 2 * e, 2):
    a, b = known(data[i]), known(data[i + 1])
    count += a and b
print(count)
""",
    ),
    # Walks the register for the ends of every road.
    "walk": (
        "python",
        "V E + V",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
count = 0
for i in range(2 + v, 2 + v + 2 * e, 2):
    found = 0
    for t in range(2, 2 + v):
        found += data[t] == data[i]
        found += data[t] == data[i + 1]
    count += found == 2
print(count)
""",
    ),
}

WRONG = {
    # One end is enough.
    "one_end": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v = data[0]
towns = set(data[2 : 2 + v])
print(sum(a in towns or b in towns for a, b in zip(data[2 + v :: 2], data[3 + v :: 2])) + (v == 1))
""",
    ),
}

TRICKS = {
    # Knows the first lines of the tests.
    "by_header": (
        "hard-coded",
        "python",
        None,
        """
print({"3 2": 1, "1 1": 1, "2 0": 0, "4 3": 2}.get(input().strip(), 123456789))
""",
    ),
}
