"""The sum of gaps between neighbours in order of age."""

from __future__ import annotations

from examples.problems.shapes import ARRAYS, array, join

STATEMENT = (
    "n people line up by age. Print the sum of place times age over the line, places from 1, "
    "modulo 10^9 + 7. Input: n, then the ages (0 to 120). Output: the remainder."
)

CONSTRAINTS = {"n": 300_000}

SHAPES = ARRAYS

TESTS = (
    ("4\n30 10 20 10\n", "210\n"),
    ("1\n0\n", "0\n"),
    ("3\n120 120 120\n", "720\n"),
    ("5\n5 4 3 2 1\n", "55\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 0, 120))}\n"


SOLUTIONS = {
    # 121 counters; then each person is passed once.
    "counted": (
        "python",
        "n",
        """
import sys

count = [0] * 121
for age in list(map(int, sys.stdin.read().split()))[1:]:
    count[age] += 1
total = place = 0
for age in range(121):
    for _ in range(count[age]):
        place += 1
        total += place * age
print(total % 1000000007)
""",
    ),
    # A heap of n people.
    "queue_by_age": (
        "python",
        "n log n",
        """
import heapq
import sys

heap = list(map(int, sys.stdin.read().split()))[1:]
heapq.heapify(heap)
total = place = 0
while heap:
    place += 1
    total += place * heapq.heappop(heap)
print(total % 1000000007)
""",
    ),
    # The youngest of those left is searched n times.
    "pick_the_youngest": (
        "python",
        "n^2",
        """
import sys

ages = list(map(int, sys.stdin.read().split()))[1:]
n = len(ages)
for i in range(n):
    youngest = i
    for j in range(i + 1, n):
        if ages[j] < ages[youngest]:
            youngest = j
    ages[i], ages[youngest] = ages[youngest], ages[i]
print(sum((i + 1) * a for i, a in enumerate(ages)) % 1000000007)
""",
    ),
}

WRONG = {
    # Each age once.
    "different_ages": (
        "python",
        """
import sys

ages = sorted(set(map(int, sys.stdin.read().split()[1:])))
print(sum((i + 1) * a for i, a in enumerate(ages)) % 1000000007)
""",
    ),
}

TRICKS = {
    # Bubble sort that stops after a round without swaps: one round on sorted input.
    "bubbles": (
        "best-case",
        "python",
        "n^2",
        """
import sys

ages = list(map(int, sys.stdin.read().split()))[1:]
end = len(ages)
swapped = True
while swapped:
    swapped = False
    for i in range(1, end):
        if ages[i - 1] > ages[i]:
            ages[i - 1], ages[i] = ages[i], ages[i - 1]
            swapped = True
print(sum((i + 1) * a for i, a in enumerate(ages)) % 1000000007)
""",
    ),
}
