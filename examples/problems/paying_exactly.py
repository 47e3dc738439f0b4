"""Ways to pay an amount with given coins."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "There are n kinds of coins, each with a value; two kinds may have the same one. In how "
    "many ways can k be paid, each kind any number of times? Print the number modulo 10^9 + 7. "
    "Input: n and k, then the values. Output: the number."
)

CONSTRAINTS = {"n": 300, "k": 100_000}

SHAPES = ("random", "sorted", "reversed")

TESTS = (
    ("3 5\n1 2 5\n", "4\n"),
    ("1 3\n2\n", "0\n"),
    ("2 10\n3 5\n", "1\n"),
    ("2 4\n1 2\n", "3\n"),
    ("1 1\n1\n", "1\n"),
)


def generate(n: int, k: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n} {k}\n{join(array(n, seed, shape, 1, 5))}\n"


SOLUTIONS = {
    # One pass over k amounts for each of n coins.
    "coin_by_coin": (
        "python",
        "n k",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, coins = data[1], data[2:]
ways = [1] + [0] * k
for c in coins:
    for total in range(c, k + 1):
        ways[total] = (ways[total] + ways[total - c]) % 1000000007
print(ways[k])
""",
    ),
    # A new row for every coin; the same n k cells.
    "rows_of_amounts": (
        "python",
        "n k",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, coins = data[1], data[2:]
ways = [1] + [0] * k
for c in coins:
    new = []
    for total in range(k + 1):
        new.append((ways[total] + (new[total - c] if total >= c else 0)) % 1000000007)
    ways = new
print(ways[k])
""",
    ),
}

WRONG = {
    # Counts orders of paying as different ways.
    "ordered": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, coins = data[1], data[2:]
ways = [1] + [0] * k
for total in range(1, k + 1):
    for c in coins:
        if c <= total:
            ways[total] += ways[total - c]
print(ways[k])
""",
    ),
}

TRICKS = {
    # Replaces the clocks first.
    "no_clock": (
        "timer-patch",
        "python",
        "n k",
        """
import sys
import time

for name in ("time", "perf_counter", "monotonic", "process_time"):
    setattr(time, name, lambda: 1.0)
data = list(map(int, sys.stdin.read().split()))
k, coins = data[1], data[2:]
ways = [1] + [0] * k
for c in coins:
    for total in range(c, k + 1):
        ways[total] = (ways[total] + ways[total - c]) % 1000000007
print(ways[k])
""",
    ),
}
