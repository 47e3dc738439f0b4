"""Stretches of a list that add up to zero."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Count the stretches of one or more consecutive values whose sum is 0. Input: n, then n "
    "integers (-100 to 100). Output: the number."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "equal", "sorted")

TESTS = (
    ("5\n1 -1 2 -2 0\n", "6\n"),
    ("1\n0\n", "1\n"),
    ("3\n1 2 3\n", "0\n"),
    ("4\n0 0 0 0\n", "10\n"),
    ("6\n3 -1 -2 3 -3 3\n", "6\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, -100, 100))}\n"


SOLUTIONS = {
    # One lookup in a hash table for each prefix.
    "equal_prefixes": (
        "python",
        "n",
        """
import sys

seen = {0: 1}
total = prefix = 0
for x in list(map(int, sys.stdin.read().split()))[1:]:
    prefix += x
    total += seen.get(prefix, 0)
    seen[prefix] = seen.get(prefix, 0) + 1
print(total)
""",
    ),
    # Sorting the prefixes; equal ones stand together.
    "sorted_prefixes": (
        "python",
        "n log n",
        """
import sys

prefixes = [0]
for x in list(map(int, sys.stdin.read().split()))[1:]:
    prefixes.append(prefixes[-1] + x)
prefixes.sort()
total = run = 0
for i in range(1, len(prefixes)):
    run = run + 1 if prefixes[i] == prefixes[i - 1] else 0
    total += run
print(total)
""",
    ),
    # Each start runs to the end with a running sum.
    "all_ends": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
total = 0
for i in range(len(values)):
    s = 0
    for j in range(i, len(values)):
        s += values[j]
        total += s == 0
print(total)
""",
    ),
}

WRONG = {
    # Counts single zeros.
    "single_zeros": (
        "python",
        """
import sys

print(sys.stdin.read().split()[1:].count("0"))
""",
    ),
}

TRICKS = {
    # A hash table up to 300 values, all stretches above.
    "table_when_small": (
        "size-switch",
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
total = 0
if len(values) < 300:
    seen = {0: 1}
    prefix = 0
    for x in values:
        prefix += x
        total += seen.get(prefix, 0)
        seen[prefix] = seen.get(prefix, 0) + 1
else:
    for i in range(len(values)):
        s = 0
        for j in range(i, len(values)):
            s += values[j]
            if s == 0:
                total += 1
print(total)
""",
    ),
}
