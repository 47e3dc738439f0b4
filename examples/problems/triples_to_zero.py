"""Triples of values that cancel out."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Given n different integers, count the triples i < j < k with a_i + a_j + a_k = 0. Input: "
    "n, then the integers (-10^6 to 10^6). Output: the number of triples. (Equal values, if "
    "present, count by position.)"
)

CONSTRAINTS = {"n": 3_000}

SHAPES = ("random", "sorted", "equal")

TESTS = (
    ("6\n-1 0 1 2 -2 3\n", "3\n"),
    ("3\n1 2 3\n", "0\n"),
    ("3\n-5 2 3\n", "1\n"),
    ("1\n0\n", "0\n"),
    ("7\n-3 -2 -1 0 1 2 3\n", "5\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, -(10**6), 10**6))}\n"


SOLUTIONS = {
    # For each middle position, the pairs ending in it are looked up among later values: n (n -
    # 1) / 2 lookups.
    "counted_pairs": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
later = {}
total = 0
for j in range(n - 1, -1, -1):
    for i in range(j):
        total += later.get(-values[i] - values[j], 0)
    later[values[j]] = later.get(values[j], 0) + 1
print(total)
""",
    ),
    # All n (n - 1) (n - 2) / 6 triples.
    "three_loops": (
        "python",
        "n^3",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
total = 0
for i in range(n):
    for j in range(i + 1, n):
        for k in range(j + 1, n):
            if values[i] + values[j] + values[k] == 0:
                total += 1
print(total)
""",
    ),
}

WRONG = {
    # Counts a value with itself.
    "repeats": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
there = set(values)
print(sum(-a - b in there for a in values for b in values) // 6)
""",
    ),
}

TRICKS = {
    # The innermost search is a loop over a list.
    "claims_square": (
        "lying-comment",
        "python",
        "n^3",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
lookup = values  # constant-time lookup table, so O(n^2) in total
n = len(values)
total = 0
for i in range(n):
    for j in range(i + 1, n):
        need = -values[i] - values[j]
        for at in range(j + 1, n):
            if lookup[at] == need:
                total += 1
print(total)
""",
    ),
}
