"""The sum of the first n numbers."""

from __future__ import annotations

STATEMENT = "Print 1 + 2 + ... + n. Input: n (1 to 10^12). Output: the sum."

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("exact", "below")

TESTS = (
    ("4\n", "10\n"),
    ("1\n", "1\n"),
    ("10\n", "55\n"),
    ("999\n", "499500\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    return f"{n if shape == 'exact' else max(1, n - seed % 3)}\n"


SOLUTIONS = {
    # Two multiplications of bounded numbers, no loop.
    "formula": (
        "python",
        "1",
        """
n = int(input())
print(n * (n + 1) // 2)
""",
    ),
    # One addition for each number.
    "add_up": (
        "python",
        "n",
        """
n = int(input())
total = 0
for i in range(1, n + 1):
    total += i
print(total)
""",
    ),
}

WRONG = {
    # Stops before n.
    "off_by_one": (
        "python",
        """
n = int(input())
print(n * (n - 1) // 2)
""",
    ),
}

TRICKS = {
    # Says formula; `sum` of a range adds n numbers.
    "claims_formula": (
        "lying-comment",
        "python",
        "n",
        """
n = int(input())
# closed formula, O(1)
print(sum(i for i in range(n + 1)))
""",
    ),
}
