"""The largest h with h values of at least h."""

from __future__ import annotations

from examples.problems.shapes import ARRAYS, array, join

STATEMENT = (
    "A researcher wrote n papers; paper i was cited c_i times. Print the largest h such that at "
    "least h papers were cited at least h times. Input: n, then the counts (0 to 10^6). Output: "
    "h."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ARRAYS

TESTS = (
    ("5\n3 0 6 1 5\n", "3\n"),
    ("1\n0\n", "0\n"),
    ("4\n10 10 10 10\n", "4\n"),
    ("3\n1 1 1\n", "1\n"),
    ("6\n9 8 7 2 1 0\n", "3\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 0, 5))}\n"


SOLUTIONS = {
    # Counts above n are put into bucket n; then one pass over n + 1 buckets.
    "buckets": (
        "python",
        "n",
        """
import sys

counts = list(map(int, sys.stdin.read().split()))[1:]
n = len(counts)
bucket = [0] * (n + 1)
for c in counts:
    bucket[min(c, n)] += 1
papers = 0
h = n
while h:
    papers += bucket[h]
    if papers >= h:
        break
    h -= 1
print(h)
""",
    ),
    # Sorting, then one pass.
    "falling": (
        "python",
        "n log n",
        """
import sys

counts = sorted(map(int, sys.stdin.read().split()[1:]), reverse=True)
h = 0
while h < len(counts) and counts[h] > h:
    h += 1
print(h)
""",
    ),
    # Each h from n down counts the papers anew; the answer can be as small as 0 or n / 2.
    "try_each": (
        "python",
        "n^2",
        """
import sys

counts = list(map(int, sys.stdin.read().split()))[1:]
h = len(counts)
while True:
    papers = 0
    for c in counts:
        if c >= h:
            papers += 1
    if papers >= h:
        break
    h -= 1
print(h)
""",
    ),
}

WRONG = {
    # Wants more than h citations.
    "more_than": (
        "python",
        """
import sys

counts = sorted(map(int, sys.stdin.read().split()[1:]), reverse=True)
print(sum(c > i + 1 for i, c in enumerate(counts)))
""",
    ),
}

TRICKS = {
    # Knows one answer for each number of papers in the tests.
    "by_length": (
        "hard-coded",
        "python",
        None,
        """
print({"5": 3, "1": 0, "4": 4, "3": 1, "6": 3}.get(input().strip(), 7))
""",
    ),
}
