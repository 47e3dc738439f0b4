"""Subsets whose sum is a multiple of seven."""

from __future__ import annotations

from examples.problems.shapes import ARRAYS, array, join

STATEMENT = (
    "How many of the 2^n subsets of n numbers (by position, the empty one included) have a sum "
    "that is a multiple of 7? Print the number modulo 10^9 + 7. Input: n, then the numbers (0 "
    "to 10^6). Output: the number."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ARRAYS

TESTS = (
    ("3\n1 2 4\n", "2\n"),
    ("1\n7\n", "2\n"),
    ("2\n3 4\n", "2\n"),
    ("4\n7 14 21 28\n", "16\n"),
    ("5\n1 1 1 1 1\n", "1\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 0, 10**6))}\n"


SOLUTIONS = {
    # Seven counts, updated for each number in constant time.
    "remainders": (
        "python",
        "n",
        """
import sys

count = [1, 0, 0, 0, 0, 0, 0]
for x in list(map(int, sys.stdin.read().split()))[1:]:
    count = [(count[r] + count[(r - x) % 7]) % 1000000007 for r in range(7)]
print(count[0])
""",
    ),
    # Each number is in or out: 2^n leaves, constant work each.
    "branch": (
        "python",
        "2^n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]


def count(i, r):
    if i == len(values):
        return 1 if r % 7 == 0 else 0
    return count(i + 1, r) + count(i + 1, r + values[i])


print(count(0, 0) % 1000000007)
""",
    ),
    # 2^n masks, each summed over n numbers.
    "every_mask": (
        "python",
        "n 2^n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
good = 0
for mask in range(1 << n):
    total = 0
    for i in range(n):
        if mask >> i & 1:
            total += values[i]
    if total % 7 == 0:
        good += 1
print(good % 1000000007)
""",
    ),
}

WRONG = {
    # Leaves the empty subset out.
    "not_empty": (
        "python",
        """
import sys

count = [1, 0, 0, 0, 0, 0, 0]
for x in list(map(int, sys.stdin.read().split()))[1:]:
    count = [(count[r] + count[(r - x) % 7]) % 1000000007 for r in range(7)]
print(count[0] - 1)
""",
    ),
}

TRICKS = {
    # The table is written and never read.
    "claims_memo": (
        "lying-comment",
        "python",
        "2^n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
memo = {}


def count(i, r):
    # memoised: O(7 n)
    if i == len(values):
        return int(r == 0)
    memo[i, r] = count(i + 1, r) + count(i + 1, (r + values[i]) % 7)
    return memo[i, r]


print(count(0, 0) % 1000000007)
""",
    ),
}
