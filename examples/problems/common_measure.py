"""The longest measure that fits two lengths."""

from __future__ import annotations

STATEMENT = (
    "Two rods have whole lengths a and b, both at most n. What is the longest whole length that "
    "measures both exactly? Input: a and b. Output: the length."
)

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("golden", "neighbours")

TESTS = (
    ("12 18\n", "6\n"),
    ("1 1\n", "1\n"),
    ("7 13\n", "1\n"),
    ("100 75\n", "25\n"),
    ("9 3\n", "3\n"),
)


def generate(n: int, seed: int, shape: str = "golden") -> str:
    """Fresh stdin of these sizes."""
    if shape == "golden":
        a, b = 1, 1
        while a + b <= n:
            a, b = a + b, a
        return f"{a} {b}\n"
    return f"{n} {max(1, n - 1)}\n"


SOLUTIONS = {
    # Euclid: two steps at least halve the larger number; neighbours in Fibonacci's row need the
    # most.
    "remainders": (
        "python",
        "log n",
        """
a, b = map(int, input().split())
while b:
    a, b = b, a % b
print(a)
""",
    ),
    # Euclid by subtraction: n - 1 and 1 are reached at once from n and n - 1, and then take n
    # steps.
    "subtract": (
        "python",
        "n",
        """
a, b = map(int, input().split())
while a != b:
    if a > b:
        a -= b
    else:
        b -= a
print(a)
""",
    ),
    # Tries every length from the shorter rod down; n steps where they share none.
    "try_down": (
        "python",
        "n",
        """
a, b = map(int, input().split())
d = min(a, b)
while a % d or b % d:
    d -= 1
print(d)
""",
    ),
}

WRONG = {
    # Takes the shorter rod.
    "smaller_rod": (
        "python",
        """
a, b = map(int, input().split())
print(min(a, b))
""",
    ),
}

TRICKS = {
    # Subtracts: few steps for the golden shape that is hardest for Euclid, n steps for
    # neighbours.
    "quick_on_golden": (
        "best-case",
        "python",
        "n",
        """
# Euclid's algorithm, O(log n)
a, b = map(int, input().split())
while b:
    while a >= b:
        a -= b
    a, b = b, a
print(a)
""",
    ),
}
