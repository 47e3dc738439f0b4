"""The trace of the square of a matrix."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Given an n by n matrix A, print the sum of the entries on the diagonal of A times A. "
    "Input: n, then the rows (-100 to 100). Output: the sum."
)

CONSTRAINTS = {"n": 400}

SHAPES = ("random", "equal")

TESTS = (
    ("2\n1 2\n3 4\n", "29\n"),
    ("1\n5\n", "25\n"),
    ("3\n1 0 0\n0 1 0\n0 0 1\n", "3\n"),
    ("2\n0 1\n-1 0\n", "-2\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    rows = [array(n, seed * 1009 + i, shape, -100, 100) for i in range(n)]
    return f"{n}\n" + "".join(join(row) + "\n" for row in rows)


SOLUTIONS = {
    # Only n entries are needed, n products each; reading is n^2 too.
    "diagonal_only": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
a = [data[1 + i * n : 1 + (i + 1) * n] for i in range(n)]
total = 0
for i in range(n):
    for j in range(n):
        total += a[i][j] * a[j][i]
print(total)
""",
    ),
    # All n^2 entries of the product, n products each.
    "whole_product": (
        "python",
        "n^3",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
a = [data[1 + i * n : 1 + (i + 1) * n] for i in range(n)]
square = [[0] * n for _ in range(n)]
for i in range(n):
    for j in range(n):
        for k in range(n):
            square[i][j] += a[i][k] * a[k][j]
print(sum(square[i][i] for i in range(n)))
""",
    ),
}

WRONG = {
    # Squares the diagonal.
    "squares_of_diagonal": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
print(sum(data[1 + i * n + i] ** 2 for i in range(n)))
""",
    ),
}

TRICKS = {
    # Claims the diagonal only, and computes every entry before it throws most away.
    "claims_diagonal": (
        "lying-comment",
        "python",
        "n^3",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
a = [data[1 + i * n : 1 + (i + 1) * n] for i in range(n)]
total = 0
# only the diagonal is computed: n^2 steps
for i in range(n):
    for j in range(n):
        entry = 0
        for k in range(n):
            entry += a[i][k] * a[k][j]
        if i == j:
            total += entry
print(total)
""",
    ),
}
