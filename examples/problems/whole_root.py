"""The whole part of a square root."""

from __future__ import annotations

STATEMENT = "Print the largest r with r * r <= n. Input: n (0 to 10^12). Output: r."

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("exact", "square")

TESTS = (
    ("10\n", "3\n"),
    ("0\n", "0\n"),
    ("1\n", "1\n"),
    ("99\n", "9\n"),
    ("100\n", "10\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    r = int(n**0.5)
    return f"{n if shape == 'exact' else r * r}\n"


SOLUTIONS = {
    # Halves an interval of length n.
    "bisection": (
        "python",
        "log n",
        """
n = int(input())
lo, hi = 0, n
while lo < hi:
    mid = (lo + hi + 1) // 2
    if mid * mid <= n:
        lo = mid
    else:
        hi = mid - 1
print(lo)
""",
    ),
    # Tries every root in turn.
    "count_up": (
        "python",
        "sqrt n",
        """
n = int(input())
r = 0
while (r + 1) * (r + 1) <= n:
    r += 1
print(r)
""",
    ),
}

WRONG = {
    # Rounds instead of cutting.
    "rounded": (
        "python",
        """
print(round(int(input()) ** 0.5))
""",
    ),
}

TRICKS = {
    # Says Newton; subtracts odd numbers one by one.
    "claims_newton": (
        "lying-comment",
        "python",
        "sqrt n",
        """
n = int(input())
# Newton's iteration, O(log n)
guess, odd = 0, 1
while n >= odd:
    n -= odd
    odd += 2
    guess += 1
print(guess)
""",
    ),
}
