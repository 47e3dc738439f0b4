"""How many divisors a number has."""

from __future__ import annotations

STATEMENT = (
    "Print the number of divisors of n. Input: n (1 to 10^12). Output: how many numbers divide it."
)

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("exact", "odd")

TESTS = (
    ("12\n", "6\n"),
    ("1\n", "1\n"),
    ("7\n", "2\n"),
    ("36\n", "9\n"),
    ("100\n", "9\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    return f"{n if shape == 'exact' else n | 1}\n"


SOLUTIONS = {
    # Divisors come in pairs around the root, so all numbers up to it are tried.
    "pairs": (
        "python",
        "sqrt n",
        """
n = int(input())
count = 0
d = 1
while d * d <= n:
    if n % d == 0:
        count += 1 if d * d == n else 2
    d += 1
print(count)
""",
    ),
    # All numbers up to n are tried.
    "all_numbers": (
        "python",
        "n",
        """
n = int(input())
count = 0
for d in range(1, n + 1):
    if n % d == 0:
        count += 1
print(count)
""",
    ),
}

WRONG = {
    # Counts the root of a square twice.
    "squares_twice": (
        "python",
        """
n = int(input())
print(sum(2 for d in range(1, int(n**0.5) + 1) if n % d == 0))
""",
    ),
}

TRICKS = {
    # Says up to the root, and runs up to n / 2.
    "claims_root": (
        "lying-comment",
        "python",
        "n",
        """
n = int(input())
count = 1
d = 1
while d <= n // 2:  # only up to sqrt(n)
    if n % d == 0:
        count += 1
    d += 1
print(count if n > 1 else 1)
""",
    ),
}
