"""Before and after: the moment with most guests, by sorted map and bisect, or by two scans."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "n guests arrive and leave on the minutes of one day; guest i is present from minute s_i to "
    "minute e_i, both included. For each guest, count the guests present at some moment of that "
    "guest's stay (the guest included); print the sum of these counts. Minutes run from 0 to "
    "1439. Input: n, then n lines s_i e_i. Output: the sum."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "reversed", "equal")

TESTS = (
    ("3\n1 3\n2 5\n6 7\n", "5\n"),
    ("1\n0 0\n", "1\n"),
    ("2\n0 10\n10 20\n", "4\n"),
    ("4\n5 5\n5 5\n5 5\n6 6\n", "10\n"),
    ("3\n0 1439\n10 20\n30 40\n", "7\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    starts = array(n, seed, shape, 0, 1400)
    lines = "\n".join(join((s, s + i % 39)) for i, s in enumerate(starts))
    return f"{n}\n{lines}\n"


SOLUTIONS = {
    # One scan counts arrivals and departures by minute, the day is summed in 1440 steps, a
    # second scan reads two totals a guest.
    "two_scans": (
        "python",
        "n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
starts, ends = data[1::2], data[2::2]
come = [0] * 1441
gone = [0] * 1442
for s, e in zip(starts, ends):
    come[s] += 1
    gone[e + 1] += 1
for m in range(1, 1441):
    come[m] += come[m - 1]
    gone[m] += gone[m - 1]
total = 0
for s, e in zip(starts, ends):
    total += come[e] - gone[s]
print(total)
""",
    ),
    # Sorts both lists and makes two binary searches a guest.
    "sorted_and_bisect": (
        "python",
        "n log n",
        """
import sys
from bisect import bisect_left, bisect_right

data = list(map(int, sys.stdin.read().split()))
starts, ends = data[1::2], data[2::2]
by_start, by_end = sorted(starts), sorted(ends)
total = 0
for s, e in zip(starts, ends):
    total += bisect_right(by_start, e) - bisect_left(by_end, s)
print(total)
""",
    ),
    # Compares every guest with every guest.
    "every_pair": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
starts, ends = data[1::2], data[2::2]
n = len(starts)
total = 0
for i in range(n):
    for j in range(n):
        if starts[j] <= ends[i] and starts[i] <= ends[j]:
            total += 1
print(total)
""",
    ),
}

WRONG = {
    # Does not count a guest who leaves in the minute another arrives.
    "not_included": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
starts, ends = data[1::2], data[2::2]
print(sum(s < f and t < e for s, e in zip(starts, ends) for t, f in zip(starts, ends)))
""",
    ),
}

TRICKS = {
    # Two scans up to 1000 guests, every pair above.
    "pairs_when_many": (
        "size-switch",
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
starts, ends = data[1::2], data[2::2]
n = len(starts)
total = 0
if n <= 1000:
    come = [0] * 1441
    gone = [0] * 1442
    for s, e in zip(starts, ends):
        come[s] += 1
        gone[e + 1] += 1
    for m in range(1, 1441):
        come[m] += come[m - 1]
        gone[m] += gone[m - 1]
    for s, e in zip(starts, ends):
        total += come[e] - gone[s]
else:
    for i in range(n):
        for j in range(n):
            if starts[j] <= ends[i] and starts[i] <= ends[j]:
                total += 1
print(total)
""",
    ),
}
