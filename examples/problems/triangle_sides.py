"""Triples of rods that make a triangle."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Given the lengths of n rods, count the triples of rods of which each is shorter than the "
    "other two together. Input: n, then the lengths (1 to 10^6). Output: the number of triples."
)

CONSTRAINTS = {"n": 3_000}

SHAPES = ("random", "sorted", "equal")

TESTS = (
    ("4\n2 3 4 6\n", "2\n"),
    ("3\n1 2 3\n", "0\n"),
    ("1\n5\n", "0\n"),
    ("5\n3 3 3 3 3\n", "10\n"),
    ("5\n1 5 4 9 7\n", "3\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 1, 10**6))}\n"


SOLUTIONS = {
    # For each longest rod the two pointers meet after at most n steps.
    "two_pointers": (
        "python",
        "n^2",
        """
import sys

rods = sorted(map(int, sys.stdin.read().split()[1:]))
total = 0
for c in range(len(rods) - 1, 1, -1):
    a, b = 0, c - 1
    while a < b:
        if rods[a] + rods[b] > rods[c]:
            total += b - a
            b -= 1
        else:
            a += 1
print(total)
""",
    ),
    # A binary search for each of n (n - 1) / 2 pairs.
    "search_the_third": (
        "python",
        "n^2 log n",
        """
import sys

rods = sorted(map(int, sys.stdin.read().split()[1:]))
n = len(rods)
total = 0
for a in range(n):
    for b in range(a + 1, n):
        lo, hi = b + 1, n
        while lo < hi:
            mid = (lo + hi) // 2
            if rods[mid] < rods[a] + rods[b]:
                lo = mid + 1
            else:
                hi = mid
        total += lo - b - 1
print(total)
""",
    ),
    # All triples.
    "three_loops": (
        "python",
        "n^3",
        """
import sys

rods = sorted(map(int, sys.stdin.read().split()[1:]))
n = len(rods)
total = 0
for a in range(n):
    for b in range(a + 1, n):
        for c in range(b + 1, n):
            if rods[a] + rods[b] > rods[c]:
                total += 1
print(total)
""",
    ),
}

WRONG = {
    # Counts triples that lie flat.
    "flat_ones_too": (
        "python",
        """
import sys

rods = sorted(map(int, sys.stdin.read().split()[1:]))
n = len(rods)
print(sum(rods[a] + rods[b] >= rods[c] for c in range(n) for b in range(c) for a in range(b)))
""",
    ),
}

TRICKS = {
    # The search for the third rod goes on to the end.
    "claims_bisect": (
        "lying-comment",
        "python",
        "n^3",
        """
import sys

rods = sorted(map(int, sys.stdin.read().split()[1:]))
n = len(rods)


def bisect(limit, start):
    # O(log n)
    fit = 0
    for c in range(start, n):
        fit += rods[c] < limit
    return fit


total = 0
for a in range(n):
    for b in range(a + 1, n):
        total += bisect(rods[a] + rods[b], b + 1)
print(total)
""",
    ),
}
