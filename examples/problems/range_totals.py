"""Totals of many ranges."""

from __future__ import annotations

import random

from examples.problems.shapes import array, join

STATEMENT = (
    "Answer q questions about n integers: the total from position l to position r. Print the "
    "sum of the answers' remainders modulo 1000. Input: n and q, the integers (0 to 10^6), then "
    "q lines l r (1 <= l <= r <= n). Output: the sum."
)

CONSTRAINTS = {"n": 200_000, "q": 200_000}

SHAPES = ("random", "wide")

TESTS = (
    ("4 2\n1 2 3 4\n1 4\n2 3\n", "15\n"),
    ("1 1\n5\n1 1\n", "5\n"),
    ("3 3\n1000 1 999\n1 1\n1 2\n1 3\n", "1\n"),
    ("5 1\n5 5 5 5 5\n3 3\n", "5\n"),
)


def generate(n: int, q: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    rng = random.Random(f"{seed} {n} {q} {shape}")
    values = array(n, seed, "random", 0, 10**6)
    if shape == "wide":
        asked = [(1 + i % 2, n) for i in range(q)] if n > 1 else [(1, 1)] * q
    else:
        asked = [tuple(sorted(rng.choices(range(1, n + 1), k=2))) for _ in range(q)]
    return f"{n} {q}\n{join(values)}\n" + "".join(f"{a} {b}\n" for a, b in asked)


SOLUTIONS = {
    # One pass over n values, two lookups for each of q questions.
    "prefixes": (
        "python",
        "n + q",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, q = data[0], data[1]
prefix = [0]
for x in data[2 : 2 + n]:
    prefix.append(prefix[-1] + x)
total = 0
for i in range(2 + n, 2 + n + 2 * q, 2):
    total += (prefix[data[i + 1]] - prefix[data[i] - 1]) % 1000
print(total)
""",
    ),
    # Each question adds up to n values.
    "add_each": (
        "python",
        "n q",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, q = data[0], data[1]
values = data[2 : 2 + n]
total = 0
for i in range(2 + n, 2 + n + 2 * q, 2):
    answer = 0
    for j in range(data[i] - 1, data[i + 1]):
        answer += values[j]
    total += answer % 1000
print(total)
""",
    ),
}

WRONG = {
    # Leaves the last position out.
    "off_by_one": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, q = data[0], data[1]
values = data[2 : 2 + n]
print(sum(sum(values[data[i] - 1 : data[i + 1] - 1]) % 1000 for i in range(2 + n, len(data), 2)))
""",
    ),
}

TRICKS = {
    # Called prefix sums, but each prefix is summed on the spot.
    "claims_prefix": (
        "lying-comment",
        "python",
        "n q",
        """
import sys


def prefix(values, end):
    # O(1): precomputed prefix sums
    total = 0
    for i in range(end):
        total += values[i]
    return total


data = list(map(int, sys.stdin.read().split()))
n, q = data[0], data[1]
values = data[2 : 2 + n]
total = 0
for i in range(2 + n, 2 + n + 2 * q, 2):
    total += (prefix(values, data[i + 1]) - prefix(values, data[i] - 1)) % 1000
print(total)
""",
    ),
}
