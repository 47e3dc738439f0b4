"""The shortest round trip through all towns."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "n towns have one-way distances. Print the length of the shortest trip that starts in town "
    "1, visits every other town once and returns. Input: n, then n rows of n distances (1 to "
    "1000; the diagonal does not matter). Output: the length."
)

CONSTRAINTS = {"n": 16}

SHAPES = ("random", "equal")

TESTS = (
    ("3\n0 1 9\n9 0 2\n3 9 0\n", "6\n"),
    ("1\n0\n", "0\n"),
    ("2\n0 5\n7 0\n", "12\n"),
    ("4\n0 1 8 9\n9 0 1 8\n8 9 0 1\n1 8 9 0\n", "4\n"),
    ("3\n0 4 4\n4 0 4\n4 4 0\n", "12\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    rows = [array(n, seed * 1009 + i, shape, 1, 1000) for i in range(n)]
    for i in range(n):
        rows[i][i] = 0
    return f"{n}\n" + "".join(join(row) + "\n" for row in rows)


SOLUTIONS = {
    # For each set of visited towns and each last town, each next town.
    "subsets": (
        "python",
        "n^2 2^n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
d = [data[1 + i * n : 1 + (i + 1) * n] for i in range(n)]
full = 1 << n
best = [[10**9] * n for _ in range(full)]
best[1][0] = 0
for mask in range(1, full):
    for last in range(n):
        here = best[mask][last]
        for town in range(n):
            if not mask >> town & 1 and here + d[last][town] < best[mask | 1 << town][town]:
                best[mask | 1 << town][town] = here + d[last][town]
print(min(best[full - 1][i] + d[i][0] for i in range(n)) if n > 1 else 0)
""",
    ),
    # The towns after the first in all (n - 1)! orders, n steps each: n! in all.
    "all_orders": (
        "python",
        "n!",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
d = [data[1 + i * n : 1 + (i + 1) * n] for i in range(n)]
best = 10**9


def permute(order, k):
    global best
    if k == n:
        total = d[order[-1]][0]
        for i in range(n - 1):
            total += d[order[i]][order[i + 1]]
        if total < best:
            best = total
        return
    for i in range(k, n):
        order[k], order[i] = order[i], order[k]
        permute(order, k + 1)
        order[k], order[i] = order[i], order[k]


permute(list(range(n)), 1)
print(best if n > 1 else 0)
""",
    ),
}

WRONG = {
    # Always goes to the nearest town.
    "nearest_next": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
at, total, left = 0, 0, set(range(1, n))
while left:
    town = max(left, key=lambda t: -data[1 + at * n + t] + t / 10**6)
    total += data[1 + at * n + town] + 1
    left.remove(town)
    at = town
print(total + data[1 + at * n])
""",
    ),
}

TRICKS = {
    # Says dynamic programming; tries all orders.
    "claims_dynamic": (
        "lying-comment",
        "python",
        "n!",
        """
import sys
from itertools import permutations

data = list(map(int, sys.stdin.read().split()))
n = data[0]
# Held-Karp dynamic programming: O(n^2 2^n)
best = 10**9
for order in permutations(range(1, n)):
    at, length = 0, 0
    for town in order:
        length += data[1 + at * n + town]
        at = town
    best = min(best, length + data[1 + at * n])
print(best if n > 1 else 0)
""",
    ),
}
