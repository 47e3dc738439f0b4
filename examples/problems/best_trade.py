"""The best day to buy and a later day to sell."""

from __future__ import annotations

from examples.problems.shapes import ARRAYS, array, join

STATEMENT = (
    "Given the prices of n days, find the largest gain from buying on one day and selling on a "
    "later one, or 0. Input: n, then the prices (0 to 10^9). Output: the gain."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ARRAYS

TESTS = (
    ("5\n3 1 4 1 5\n", "4\n"),
    ("1\n9\n", "0\n"),
    ("4\n4 3 2 1\n", "0\n"),
    ("3\n2 2 2\n", "0\n"),
    ("6\n5 1 2 9 0 7\n", "8\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape))}\n"


SOLUTIONS = {
    # One pass with the lowest price so far.
    "lowest_so_far": (
        "python",
        "n",
        """
import sys

prices = list(map(int, sys.stdin.read().split()))[1:]
low, best = prices[0], 0
for p in prices:
    if p < low:
        low = p
    elif p - low > best:
        best = p - low
print(best)
""",
    ),
    # T(n) = 2 T(n/2) + O(n): the least of the left half and the greatest of the right are
    # searched.
    "halves": (
        "python",
        "n log n",
        """
import sys


def solve(a, lo, hi):
    if hi - lo < 2:
        return 0
    mid = (lo + hi) // 2
    low, high = a[lo], a[mid]
    for i in range(lo, mid):
        if a[i] < low:
            low = a[i]
    for i in range(mid, hi):
        if a[i] > high:
            high = a[i]
    return max(solve(a, lo, mid), solve(a, mid, hi), high - low)


prices = list(map(int, sys.stdin.read().split()))[1:]
print(solve(prices, 0, len(prices)))
""",
    ),
    # Every pair of days.
    "all_pairs": (
        "python",
        "n^2",
        """
import sys

prices = list(map(int, sys.stdin.read().split()))[1:]
best = 0
for i in range(len(prices)):
    for j in range(i + 1, len(prices)):
        if prices[j] - prices[i] > best:
            best = prices[j] - prices[i]
print(best)
""",
    ),
}

WRONG = {
    # Lets the sale come first.
    "any_order": (
        "python",
        """
import sys

prices = list(map(int, sys.stdin.read().split()))[1:]
print(max(prices) - min(prices))
""",
    ),
}

TRICKS = {
    # `min` of a slice inside the loop is a loop of its own.
    "claims_one_pass": (
        "lying-comment",
        "python",
        "n^2",
        """
import sys

prices = list(map(int, sys.stdin.read().split()))[1:]
best = 0
# single pass
for day, price in enumerate(prices):
    best = max(best, price - min(prices[: day + 1]))
print(best)
""",
    ),
}
