"""The minima of all stretches added up."""

from __future__ import annotations

from examples.problems.shapes import ARRAYS, array, join

STATEMENT = (
    "Add up the smallest values of all n (n + 1) / 2 stretches of consecutive values, modulo "
    "10^9 + 7. Input: n, then the integers (0 to 10^6). Output: the remainder."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ARRAYS

TESTS = (
    ("3\n3 1 2\n", "9\n"),
    ("1\n4\n", "4\n"),
    ("4\n1 1 1 1\n", "10\n"),
    ("4\n1 2 3 4\n", "20\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, 0, 10**6))}\n"


SOLUTIONS = {
    # Each value is pushed and popped once; the sum of the minima that end here is kept.
    "sums_on_a_stack": (
        "python",
        "n",
        """
import sys

stack = []
here = total = 0
for x in list(map(int, sys.stdin.read().split()))[1:]:
    width = 1
    while stack and stack[-1][0] >= x:
        y, w = stack.pop()
        here -= y * w
        width += w
    stack.append((x, width))
    here += x * width
    total += here
print(total % 1000000007)
""",
    ),
    # Each start runs to the end with the minimum so far.
    "running_minimum": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
total = 0
for i in range(len(values)):
    low = values[i]
    for j in range(i, len(values)):
        if values[j] < low:
            low = values[j]
        total += low
print(total % 1000000007)
""",
    ),
    # Each stretch is searched anew.
    "minimum_each": (
        "python",
        "n^3",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
total = 0
for i in range(n):
    for j in range(i, n):
        low = values[i]
        for t in range(i, j + 1):
            if values[t] < low:
                low = values[t]
        total += low
print(total % 1000000007)
""",
    ),
}

WRONG = {
    # Stretches of one or two values only.
    "pairs_only": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
print((sum(values) + sum(map(min, values, values[1:]))) % 1000000007 + (len(values) == 1))
""",
    ),
}

TRICKS = {
    # Says stack; `min` of a slice in two loops.
    "claims_stack": (
        "lying-comment",
        "python",
        "n^3",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
stack_total = 0  # monotonic stack, O(n)
for i in range(len(values)):
    for j in range(i + 1, len(values) + 1):
        stack_total += min(values[t] for t in range(i, j))
print(stack_total % 1000000007)
""",
    ),
}
