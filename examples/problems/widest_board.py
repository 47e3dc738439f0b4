"""The largest rectangle under a skyline."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "n planks of width 1 stand side by side; plank i has height h_i. Find the largest area of "
    "an upright rectangular board that can be cut from neighbouring planks. Input: n, then the "
    "heights (0 to 10^6). Output: the area."
)

CONSTRAINTS = {"n": 100_000}

SHAPES = ("random", "sorted", "reversed", "equal", "pipe")

TESTS = (
    ("6\n2 1 5 6 2 3\n", "10\n"),
    ("1\n4\n", "4\n"),
    ("4\n3 3 3 3\n", "12\n"),
    ("5\n1 2 3 4 5\n", "9\n"),
    ("3\n0 0 0\n", "0\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 0, 10**6))}\n"


SOLUTIONS = {
    # Each plank is pushed and popped once.
    "stack": (
        "python",
        "n",
        """
import sys

heights = list(map(int, sys.stdin.read().split()))[1:] + [0]
stack = []
best = 0
for i, h in enumerate(heights):
    start = i
    while stack and stack[-1][1] >= h:
        start, high = stack.pop()
        if high * (i - start) > best:
            best = high * (i - start)
    stack.append((start, h))
print(best)
""",
    ),
    # For each left end the right end runs on, with the lowest height so far.
    "lowest_so_far": (
        "python",
        "n^2",
        """
import sys

heights = list(map(int, sys.stdin.read().split()))[1:]
n = len(heights)
best = 0
for i in range(n):
    low = heights[i]
    for j in range(i, n):
        if heights[j] < low:
            low = heights[j]
        if low * (j - i + 1) > best:
            best = low * (j - i + 1)
print(best)
""",
    ),
}

WRONG = {
    # Takes the lowest plank over the whole width only.
    "whole_width": (
        "python",
        """
import sys

heights = list(map(int, sys.stdin.read().split()))[1:]
print(min(heights) * len(heights))
""",
    ),
}

TRICKS = {
    # Each plank stretches both ways while its neighbours are as high: n steps each when all are
    # equal, few on random input.
    "stretch_both_ways": (
        "best-case",
        "python",
        "n^2",
        """
import sys

heights = list(map(int, sys.stdin.read().split()))[1:]
n = len(heights)
best = 0
for i in range(n):
    left = right = i
    while left and heights[left - 1] >= heights[i]:
        left -= 1
    while right + 1 < n and heights[right + 1] >= heights[i]:
        right += 1
    best = max(best, heights[i] * (right - left + 1))
print(best)
""",
    ),
}
