"""The longest strictly rising subsequence."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Find the length of the longest strictly rising subsequence of n integers (not necessarily "
    "neighbours). Input: n, then the integers (0 to 10^9). Output: the length."
)

CONSTRAINTS = {"n": 100_000}

SHAPES = ("random", "sorted", "reversed", "equal")

TESTS = (
    ("6\n3 1 4 1 5 9\n", "4\n"),
    ("4\n4 3 2 1\n", "1\n"),
    ("1\n1\n", "1\n"),
    ("5\n2 2 2 2 2\n", "1\n"),
    ("8\n1 5 2 6 3 7 4 8\n", "5\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape))}\n"


SOLUTIONS = {
    # One binary search a value in the list of best tails, whose length is at most n.
    "tails": (
        "python",
        "n log n",
        """
import sys
from bisect import bisect_left

tails = []
for x in list(map(int, sys.stdin.read().split()))[1:]:
    i = bisect_left(tails, x)
    if i == len(tails):
        tails.append(x)
    else:
        tails[i] = x
print(len(tails))
""",
    ),
    # best[i] looks at all earlier positions.
    "table": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
best = [1] * len(values)
for i in range(len(values)):
    for j in range(i):
        if values[j] < values[i] and best[j] >= best[i]:
            best[i] = best[j] + 1
print(max(best))
""",
    ),
}

WRONG = {
    # Allows equal neighbours.
    "not_strict": (
        "python",
        """
import sys
from bisect import bisect_right

tails = []
for x in list(map(int, sys.stdin.read().split()))[1:]:
    i = bisect_right(tails, x)
    tails[i : i + 1] = [x]
print(len(tails))
""",
    ),
}

TRICKS = {
    # Walks the tails instead of searching them: short on random input (2 sqrt n tails), n long
    # on sorted input.
    "walk_the_tails": (
        "best-case",
        "python",
        "n^2",
        """
import sys

tails = []
for x in list(map(int, sys.stdin.read().split()))[1:]:
    i = 0
    while i < len(tails) and tails[i] < x:
        i += 1
    if i == len(tails):
        tails.append(x)
    else:
        tails[i] = x
print(len(tails))
""",
    ),
}
