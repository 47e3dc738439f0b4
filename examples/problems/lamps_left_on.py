"""Lamps that stay on after n rounds of switching."""

from __future__ import annotations

STATEMENT = (
    "n lamps are off. In round i (1 to n) every i-th lamp is switched. How many are on at the "
    "end? Input: n (1 to 10^12). Output: the number."
)

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("exact", "below")

TESTS = (
    ("4\n", "2\n"),
    ("1\n", "1\n"),
    ("10\n", "3\n"),
    ("100\n", "10\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    return f"{n if shape == 'exact' else max(1, n - 1)}\n"


SOLUTIONS = {
    # A lamp is switched once a divisor, so squares stay on; the root of a bounded number is one
    # operation.
    "root": (
        "python",
        "1",
        """
from math import isqrt

print(isqrt(int(input())))
""",
    ),
    # Counts the squares one by one.
    "count_squares": (
        "python",
        "sqrt n",
        """
n = int(input())
i = 0
while (i + 1) * (i + 1) <= n:
    i += 1
print(i)
""",
    ),
    # Round i switches n / i lamps: n (1 + 1/2 + ... + 1/n) switches.
    "all_rounds": (
        "python",
        "n log n",
        """
n = int(input())
on = [False] * (n + 1)
for i in range(1, n + 1):
    for lamp in range(i, n + 1, i):
        on[lamp] = not on[lamp]
print(sum(on))
""",
    ),
}

WRONG = {
    # Says half of them.
    "half": (
        "python",
        """
print((int(input()) + 1) // 2)
""",
    ),
}

TRICKS = {
    # Says formula, and counts the divisors of all numbers.
    "claims_constant": (
        "lying-comment",
        "python",
        "n log n",
        """
n = int(input())
# closed formula: O(1)
divisors = [0 for _ in range(n + 1)]
for step in range(1, n + 1):
    at = step
    while at <= n:
        divisors[at] += 1
        at += step
print(sum(1 for d in divisors if d % 2))
""",
    ),
}
