"""The squares of sorted numbers, in order."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "n integers are given in rising order. Sort their squares and print the sum of i times the "
    "i-th square, modulo 10^9 + 7. Input: n, then the integers (-10^6 to 10^6). Output: the "
    "remainder."
)

CONSTRAINTS = {"n": 300_000}

SHAPES = ("random", "equal")

TESTS = (
    ("4\n-3 -1 2 5\n", "136\n"),
    ("1\n0\n", "0\n"),
    ("3\n-2 -2 2\n", "24\n"),
    ("5\n1 2 3 4 5\n", "225\n"),
    ("3\n-9 -5 -1\n", "294\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(sorted(array(n, seed, shape, -(10**6), 10**6)))}\n"


SOLUTIONS = {
    # The largest square stands at one of the two ends.
    "both_ends": (
        "python",
        "n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
i, j = 0, len(values) - 1
total = 0
for place in range(len(values), 0, -1):
    if abs(values[i]) > abs(values[j]):
        total += place * values[i] ** 2
        i += 1
    else:
        total += place * values[j] ** 2
        j -= 1
print(total % 1000000007)
""",
    ),
    # n pushes and n pops of a heap.
    "heap_of_squares": (
        "python",
        "n log n",
        """
import heapq
import sys

heap = []
for x in list(map(int, sys.stdin.read().split()))[1:]:
    heapq.heappush(heap, x * x)
total = place = 0
while heap:
    place += 1
    total += place * heapq.heappop(heap)
print(total % 1000000007)
""",
    ),
    # Each square walks past all larger ones; falling squares of negative numbers make it go all
    # the way.
    "insert_each": (
        "python",
        "n^2",
        """
import sys

squares = []
for x in list(map(int, sys.stdin.read().split()))[1:]:
    squares.append(x * x)
    i = len(squares) - 1
    while i and squares[i - 1] > squares[i]:
        squares[i - 1], squares[i] = squares[i], squares[i - 1]
        i -= 1
print(sum((i + 1) * s for i, s in enumerate(squares)) % 1000000007)
""",
    ),
}

WRONG = {
    # Does not sort.
    "unsorted": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
print(sum((i + 1) * x * x for i, x in enumerate(values)) % 1000000007)
""",
    ),
}

TRICKS = {
    # Knows the tests' numbers.
    "by_second_line": (
        "hard-coded",
        "python",
        None,
        """
input()
known = {"-3 -1 2 5": 136, "0": 0, "-2 -2 2": 24, "1 2 3 4 5": 225, "-9 -5 -1": 294}
print(known.get(input().strip(), -1))
""",
    ),
}
