"""Sums over every s-th value, s being the root of n."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Let s be the whole part of the square root of n. For every position i add up the values at "
    "i, i + s, i + 2s, ...; print the largest of these n sums. Input: n, then n integers (0 to "
    "10^6). Output: the largest sum."
)

CONSTRAINTS = {"n": 100_000}

SHAPES = ("random", "sorted")

TESTS = (
    ("5\n1 2 3 4 5\n", "9\n"),
    ("1\n7\n", "7\n"),
    ("9\n1 0 0 1 0 0 1 0 9\n", "9\n"),
    ("4\n5 5 5 5\n", "10\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 0, 10**6))}\n"


SOLUTIONS = {
    # Each sum is its value and the sum s places on.
    "from_the_back": (
        "python",
        "n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
s = int(n**0.5)
for i in range(n - 1 - s, -1, -1):
    values[i] += values[i + s]
print(max(values))
""",
    ),
    # n sums of up to n / s = sqrt n values.
    "sum_each": (
        "python",
        "n sqrt n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
s = int(n**0.5)
best = 0
for i in range(n):
    total = 0
    for j in range(i, n, s):
        total += values[j]
    if total > best:
        best = total
print(best)
""",
    ),
}

WRONG = {
    # Looks at the first sum only.
    "first_stride": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
print(sum(values[:: int(len(values) ** 0.5)]) + (len(values) == 1))
""",
    ),
}

TRICKS = {
    # Says suffix sums; every one is added up anew.
    "claims_suffix": (
        "lying-comment",
        "python",
        "n sqrt n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
s = int(n**0.5)
# suffix sums, O(n)
best = 0
for start in range(n):
    at, suffix = start, 0
    while at < n:
        suffix += values[at]
        at += s
    best = max(best, suffix)
print(best)
""",
    ),
}
