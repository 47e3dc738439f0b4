"""The cheapest walk over a grid from corner to corner."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "A grid has n rows of m costs. Walking only right and down, what is the cheapest way from "
    "the top left to the bottom right, both included? Input: n and m, then the rows (0 to "
    "1000). Output: the cost."
)

CONSTRAINTS = {"n": 1_000, "m": 1_000}

SHAPES = ("random", "equal")

TESTS = (
    ("2 2\n1 2\n3 4\n", "7\n"),
    ("1 3\n1 1 1\n", "3\n"),
    ("3 1\n1\n2\n3\n", "6\n"),
    ("3 3\n1 9 1\n1 9 1\n1 1 1\n", "5\n"),
    ("3 3\n1 1 9\n2 9 9\n1 1 1\n", "6\n"),
    ("1 1\n5\n", "5\n"),
)


def generate(n: int, m: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    rows = [array(m, seed * 1009 + i, shape, 0, 1000) for i in range(n)]
    return f"{n} {m}\n" + "".join(join(row) + "\n" for row in rows)


SOLUTIONS = {
    # One minimum a cell.
    "table": (
        "python",
        "n m",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, m = data[0], data[1]
best = [0] + [10**9] * (m - 1)
for i in range(n):
    at = 2 + i * m
    best[0] += data[at]
    for j in range(1, m):
        best[j] = min(best[j], best[j - 1]) + data[at + j]
print(best[-1])
""",
    ),
    # Cells in the order of their diagonals; the same n m minima.
    "by_diagonals": (
        "python",
        "n m",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, m = data[0], data[1]
best = {}
for s in range(n + m - 1):
    for i in range(max(0, s - m + 1), min(n, s + 1)):
        j = s - i
        before = [best[p] for p in ((i - 1, j), (i, j - 1)) if p in best]
        best[i, j] = data[2 + i * m + j] + (min(before) if before else 0)
print(best[n - 1, m - 1])
""",
    ),
}

WRONG = {
    # Always takes the cheaper next cell.
    "greedy_step": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, m = data[0], data[1]
i = j = 0
total = data[2]
while i < n - 1 or j < m - 1:
    down = data[2 + (i + 1) * m + j] if i < n - 1 else 10**9
    right = data[2 + i * m + j + 1] if j < m - 1 else 10**9
    if down < right:
        i += 1
    else:
        j += 1
    total += min(down, right)
print(total)
""",
    ),
}

TRICKS = {
    # Claims n + m steps; fills the table by a memo.
    "claims_sum": (
        "lying-comment",
        "python",
        "n m",
        """
import sys

sys.setrecursionlimit(1000000)
data = list(map(int, sys.stdin.read().split()))
n, m = data[0], data[1]
seen = {}
# walks one path only: O(n + m)
for i in range(n):
    for j in range(m):
        before = [seen[p] for p in ((i - 1, j), (i, j - 1)) if p in seen]
        seen[i, j] = data[2 + i * m + j] + (min(before) if before else 0)
print(seen[n - 1, m - 1])
""",
    ),
}
