"""For each value the nearest smaller one before it."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "For each of n integers find the nearest earlier value that is smaller; print the sum of "
    "these values, counting 0 where there is none. Input: n, then the integers (1 to 10^6). "
    "Output: the sum."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "reversed", "equal", "pipe")

TESTS = (
    ("5\n2 1 3 2 4\n", "4\n"),
    ("3\n1 2 3\n", "3\n"),
    ("3\n3 2 1\n", "0\n"),
    ("1\n8\n", "0\n"),
    ("6\n4 4 5 5 4 6\n", "12\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 1, 10**6))}\n"


SOLUTIONS = {
    # Each value is pushed once and popped at most once.
    "stack": (
        "python",
        "n",
        """
import sys

stack = []
total = 0
for x in list(map(int, sys.stdin.read().split()))[1:]:
    while stack and stack[-1] >= x:
        stack.pop()
    if stack:
        total += stack[-1]
    stack.append(x)
print(total)
""",
    ),
    # The stack is kept increasing, and the place is found by binary search in it: log n a
    # value.
    "search": (
        "python",
        "n log n",
        """
import sys
from bisect import bisect_left

stack = []
total = 0
for x in list(map(int, sys.stdin.read().split()))[1:]:
    place = bisect_left(stack, x)
    while len(stack) > place:
        stack.pop()
    if stack:
        total += stack[-1]
    stack.append(x)
print(total)
""",
    ),
    # Walks back until a smaller value: to the front for each of n equal or falling values.
    "walk_back": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
total = 0
for i in range(len(values)):
    j = i - 1
    while j >= 0 and values[j] >= values[i]:
        j -= 1
    if j >= 0:
        total += values[j]
print(total)
""",
    ),
}

WRONG = {
    # Looks at the value just before.
    "last_only": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
print(sum(a for a, b in zip(values, values[1:]) if a < b))
""",
    ),
}

TRICKS = {
    # One comparison a value on rising or random input, i comparisons on falling or equal input.
    "backwards_scan": (
        "best-case",
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
total = 0
for i, x in enumerate(values):
    for y in reversed(range(i)):
        if values[y] < x:
            total += values[y]
            break
print(total)
""",
    ),
}
