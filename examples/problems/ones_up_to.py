"""Binary ones in all numbers up to n."""

from __future__ import annotations

STATEMENT = (
    "Write down all numbers from 1 to n in binary; how many ones are there? Input: n (1 to "
    "10^12). Output: the number of ones."
)

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("exact", "ones")

TESTS = (
    ("5\n", "7\n"),
    ("1\n", "1\n"),
    ("8\n", "13\n"),
    ("100\n", "319\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    if shape == "ones":
        return f"{(1 << n.bit_length() - 1) - 1 or 1}\n"
    return f"{n}\n"


SOLUTIONS = {
    # For each of log2 n bits the ones are counted by a division.
    "bit_by_bit": (
        "python",
        "log n",
        """
n = int(input())
total = 0
bit = 1
while bit <= n:
    block = 2 * bit
    total += (n + 1) // block * bit + max(0, (n + 1) % block - bit)
    bit = block
print(total)
""",
    ),
    # A table: the ones of i are those of i // 2, and the last bit.
    "from_the_half": (
        "python",
        "n",
        """
n = int(input())
ones = [0] * (n + 1)
total = 0
for i in range(1, n + 1):
    ones[i] = ones[i >> 1] + (i & 1)
    total += ones[i]
print(total)
""",
    ),
    # Every number's log2 i bits are looked at.
    "every_bit": (
        "python",
        "n log n",
        """
n = int(input())
total = 0
for i in range(1, n + 1):
    while i:
        total += i & 1
        i >>= 1
print(total)
""",
    ),
}

WRONG = {
    # Counts the ones of n itself.
    "only_n": (
        "python",
        """
print(bin(int(input())).count("1"))
""",
    ),
}

TRICKS = {
    # Knows the tests.
    "four_answers": (
        "hard-coded",
        "python",
        None,
        """
print({5: 7, 1: 1, 8: 13, 100: 319}.get(int(input()), 0))
""",
    ),
}
