"""A row turned k places."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "A row of n numbers is turned k times: each time the first number goes to the end. Print "
    "the sum of place times number, places from 1, modulo 10^9 + 7. Input: n and k, then the "
    "numbers (0 to 10^6). Output: the remainder."
)

CONSTRAINTS = {"n": 100_000, "k": 100_000}

SHAPES = ("random", "sorted")

TESTS = (
    ("3 1\n1 2 3\n", "11\n"),
    ("1 5\n7\n", "7\n"),
    ("4 0\n1 1 2 2\n", "17\n"),
    ("5 12\n5 4 3 2 1\n", "50\n"),
)


def generate(n: int, k: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n} {k}\n{join(array(n, seed, shape, 0, 10**6))}\n"


SOLUTIONS = {
    # The place after k turns is a remainder.
    "remainder": (
        "python",
        "n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1] % data[0]
total = 0
for i in range(n):
    total += ((i - k) % n + 1) * data[2 + i]
print(total % 1000000007)
""",
    ),
    # k turns of a queue in constant time each, then one pass.
    "queue": (
        "python",
        "n + k",
        """
import sys
from collections import deque

data = list(map(int, sys.stdin.read().split()))
row = deque(data[2:])
for _ in range(data[1]):
    row.append(row.popleft())
print(sum((i + 1) * x for i, x in enumerate(row)) % 1000000007)
""",
    ),
    # Every turn moves all n numbers.
    "move_all": (
        "python",
        "n + n k",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
row = data[2:]
for _ in range(data[1]):
    first = row[0]
    for i in range(1, len(row)):
        row[i - 1] = row[i]
    row[-1] = first
print(sum((i + 1) * x for i, x in enumerate(row)) % 1000000007)
""",
    ),
}

WRONG = {
    # Turns the other way.
    "other_way": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1] % data[0]
print(sum(((i + k) % n + 1) * data[2 + i] for i in range(n)) % 1000000007 + (n == 1))
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
print({"3 1": 11, "1 5": 7, "4 0": 17, "5 12": 50}.get(input().strip(), -5))
""",
    ),
}
