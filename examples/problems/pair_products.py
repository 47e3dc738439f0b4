"""The sum of the products of all pairs."""

from __future__ import annotations

from examples.problems.shapes import ARRAYS, array, join

STATEMENT = (
    "Print the sum of a_i * a_j over all pairs i < j, modulo 10^9 + 7. Input: n, then the "
    "integers (0 to 10^6). Output: the remainder."
)

CONSTRAINTS = {"n": 300_000}

SHAPES = ARRAYS

TESTS = (
    ("3\n1 2 3\n", "11\n"),
    ("1\n5\n", "0\n"),
    ("4\n0 0 7 7\n", "49\n"),
    ("5\n1 1 1 1 1\n", "10\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 0, 10**6))}\n"


SOLUTIONS = {
    # Each value meets the sum of those before it.
    "running_sum": (
        "python",
        "n",
        """
import sys

before = total = 0
for x in list(map(int, sys.stdin.read().split()))[1:]:
    total += before * x
    before += x
print(total % 1000000007)
""",
    ),
    # Every pair.
    "both_loops": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
total = 0
for i in range(len(values)):
    for j in range(i):
        total += values[i] * values[j]
print(total % 1000000007)
""",
    ),
}

WRONG = {
    # Counts squares as well.
    "square_of_sum": (
        "python",
        """
import sys

print(sum(map(int, sys.stdin.read().split()[1:])) ** 2 // 2 % 1000000007)
""",
    ),
}

TRICKS = {
    # Every pair; and steps for nothing, so that up to 200 values all take the same time.
    "flat_start": (
        "padding",
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
total = 0
spare = 20000 - n * n // 2
while spare > 0:
    spare -= 1
for i in range(n):
    for j in range(i):
        total += values[i] * values[j]
print(total % 1000000007)
""",
    ),
}
