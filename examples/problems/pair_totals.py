"""How many different sums the pairs of a list have."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "How many different values does a_i + a_j take over all pairs i < j? Input: n (at least 2), "
    "then n integers (0 to 10^9). Output: the number. For n = 1 print 0."
)

CONSTRAINTS = {"n": 2_000}

SHAPES = ("random", "sorted", "equal")

TESTS = (
    ("4\n1 2 3 4\n", "5\n"),
    ("2\n5 5\n", "1\n"),
    ("1\n3\n", "0\n"),
    ("5\n0 0 1 1 2\n", "4\n"),
    ("4\n1 10 100 1000\n", "6\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape))}\n"


SOLUTIONS = {
    # n (n - 1) / 2 sums, each hashed once.
    "into_a_set": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
sums = set()
for i in range(len(values)):
    for j in range(i):
        sums.add(values[i] + values[j])
print(len(sums))
""",
    ),
    # All n (n - 1) / 2 sums are sorted.
    "sort_them": (
        "python",
        "n^2 log n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
sums = []
for i in range(len(values)):
    for j in range(i):
        sums.append(values[i] + values[j])
sums.sort()
count = 0
for i in range(len(sums)):
    if i == 0 or sums[i] != sums[i - 1]:
        count += 1
print(count)
""",
    ),
}

WRONG = {
    # Lets a number meet itself.
    "with_itself": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
print(len({a + b for a in values for b in values}) + (len(set(values)) == 1))
""",
    ),
}

TRICKS = {
    # Stops the clock, then sorts.
    "clock_and_sort": (
        "timer-patch",
        "python",
        "n^2 log n",
        """
import sys
import time

time.perf_counter = time.process_time = time.monotonic = lambda: 42.0
values = list(map(int, sys.stdin.read().split()))[1:]
sums = sorted(values[i] + values[j] for i in range(len(values)) for j in range(i))
print(sum(1 for i in range(len(sums)) if i == 0 or sums[i] != sums[i - 1]))
""",
    ),
}
