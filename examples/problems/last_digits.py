"""The last digits of a power."""

from __future__ import annotations

STATEMENT = "Print 7 to the power n, modulo 10^9. Input: n (0 to 10^18). Output: the remainder."

CONSTRAINTS = {"n": 1_000_000_000_000_000_000}

SHAPES = ("exact", "odd")

TESTS = (
    ("2\n", "49\n"),
    ("0\n", "1\n"),
    ("11\n", "977326743\n"),
    ("100\n", "928060001\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    return f"{n if shape == 'exact' else n | 1}\n"


SOLUTIONS = {
    # One squaring a bit of n, on numbers below 10^9.
    "squaring": (
        "python",
        "log n",
        """
n = int(input())
base, result = 7, 1
while n:
    if n & 1:
        result = result * base % 10**9
    base = base * base % 10**9
    n >>= 1
print(result)
""",
    ),
    # n multiplications.
    "multiply_on": (
        "python",
        "n",
        """
n = int(input())
result = 1
for _ in range(n):
    result = result * 7 % 10**9
print(result)
""",
    ),
}

WRONG = {
    # Forgets the modulus for the first factor.
    "plain_digits": (
        "python",
        """
n = int(input())
print(7 * n % 10**9)
""",
    ),
}

TRICKS = {
    # Counts to 20000 first; what follows grows with the bits of n only.
    "constant_overhead": (
        "padding",
        "python",
        "log n",
        """
n = int(input())
overhead = 0
while overhead < 20000:
    overhead += 1
base, result = 7, 1
while n:
    for _ in range(300):
        pass
    if n & 1:
        result = result * base % 10**9
    base = base * base % 10**9
    n >>= 1
print(result)
""",
    ),
}
