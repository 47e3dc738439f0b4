"""The total length that intervals cover."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "n stretches of a road are painted, the i-th from a_i to b_i (a_i < b_i). How many metres "
    "are painted at least once? Input: n, then n lines a_i b_i (0 to 10^9). Output: the length."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "reversed", "equal")

TESTS = (
    ("3\n1 4\n2 6\n8 9\n", "6\n"),
    ("1\n0 10\n", "10\n"),
    ("2\n0 5\n5 7\n", "7\n"),
    ("3\n0 100\n10 20\n30 40\n", "100\n"),
    ("2\n3 4\n3 4\n", "1\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    starts = array(n, seed, shape, 0, 10**9 - 100_000)
    lines = "\n".join(join((s, s + 1 + s % 99_991)) for s in starts)
    return f"{n}\n{lines}\n"


SOLUTIONS = {
    # Sorting by start; one pass merges.
    "sweep": (
        "python",
        "n log n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
total = 0
reach = -1
for a, b in sorted(zip(data[1::2], data[2::2])):
    if a > reach:
        total += b - a
        reach = b
    elif b > reach:
        total += b - reach
        reach = b
print(total)
""",
    ),
    # From each covered end, the next start is looked for among all intervals; at most n times.
    "next_start_each": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
left = list(zip(data[1::2], data[2::2]))
total = 0
reach = -1
while left:
    first = left[0]
    for one in left:
        if one < first:
            first = one
    a, b = first
    rest = []
    skipped = False
    for one in left:
        if one == first and not skipped:
            skipped = True
        else:
            rest.append(one)
    left = rest
    if b > reach:
        total += b - max(a, reach)
        reach = b
print(total)
""",
    ),
}

WRONG = {
    # Counts metres painted twice, twice.
    "sum_of_lengths": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
print(sum(data[2::2]) - sum(data[1::2]))
""",
    ),
}

TRICKS = {
    # The "bucket" is a list that every interval is inserted into by walking it.
    "claims_linear": (
        "lying-comment",
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
bucket = []  # counting sort buckets, linear time
for one in zip(data[1::2], data[2::2]):
    bucket.append(one)
    i = len(bucket) - 1
    while i and bucket[i - 1] > bucket[i]:
        bucket[i - 1], bucket[i] = bucket[i], bucket[i - 1]
        i -= 1
total = 0
reach = -1
for a, b in bucket:
    if b > reach:
        total += b - max(a, reach)
        reach = b
print(total)
""",
    ),
}
