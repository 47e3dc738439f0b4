"""Whether a number is prime."""

from __future__ import annotations

STATEMENT = "Print 1 if n is prime, else 0. Input: n (1 to 10^12). Output: 1 or 0."

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("prime", "exact")

TESTS = (
    ("7\n", "1\n"),
    ("1\n", "0\n"),
    ("9\n", "0\n"),
    ("97\n", "1\n"),
    ("100\n", "0\n"),
    ("2\n", "1\n"),
)


def generate(n: int, seed: int, shape: str = "prime") -> str:
    """Fresh stdin of these sizes."""
    p = n
    if shape == "prime":
        p = max(n, 2)
        while not all(pow(a, p - 1, p) == 1 for a in (2, 3, 5, 7, 11, 13) if a < p):
            p += 1
    return f"{p}\n"


SOLUTIONS = {
    # A prime is divided by every number up to its root.
    "up_to_the_root": (
        "python",
        "sqrt n",
        """
n = int(input())
d = 2
prime = n > 1
while d * d <= n:
    if n % d == 0:
        prime = False
        break
    d += 1
print(int(prime))
""",
    ),
    # A prime is divided by every smaller number.
    "up_to_n": (
        "python",
        "n",
        """
n = int(input())
prime = n > 1
for d in range(2, n):
    if n % d == 0:
        prime = False
        break
print(int(prime))
""",
    ),
}

WRONG = {
    # Takes odd numbers for primes.
    "odd_numbers": (
        "python",
        """
n = int(input())
print(n % 2)
""",
    ),
}

TRICKS = {
    # Stops at the first divisor: at once on even numbers, after n divisions on primes.
    "stops_early": (
        "best-case",
        "python",
        "n",
        """
n = int(input())
d = 2
while d < n and n % d:
    d += 1
print(int(d == n))
""",
    ),
}
