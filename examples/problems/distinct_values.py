"""How many different values a list holds."""

from __future__ import annotations

from examples.problems.shapes import ARRAYS, array, join

STATEMENT = (
    "Count the different values among n integers. Input: n, then the integers (0 to 10^9). "
    "Output: how many different values."
)

CONSTRAINTS = {"n": 300_000}

SHAPES = ARRAYS

TESTS = (
    ("5\n1 2 1 3 2\n", "3\n"),
    ("1\n5\n", "1\n"),
    ("4\n7 7 7 7\n", "1\n"),
    ("6\n6 5 4 3 2 1\n", "6\n"),
    ("3\n0 1000000000 0\n", "2\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape))}\n"


SOLUTIONS = {
    # Each value is hashed once; O(1) expected each.
    "in_a_set": (
        "python",
        "n",
        """
import sys

print(len(set(map(int, sys.stdin.read().split()[1:]))))
""",
    ),
    # Sorting, then one pass over neighbours.
    "sorted_runs": (
        "python",
        "n log n",
        """
import sys

values = sorted(map(int, sys.stdin.read().split()[1:]))
print(1 + sum(a != b for a, b in zip(values, values[1:])))
""",
    ),
    # `in` on a list compares with up to all values kept; with different values that is n^2 / 2.
    "in_a_list": (
        "python",
        "n^2",
        """
import sys

kept = []
for x in map(int, sys.stdin.read().split()[1:]):
    if x not in kept:
        kept.append(x)
print(len(kept))
""",
    ),
}

WRONG = {
    # Counts changes between neighbours without sorting.
    "changes": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()[1:]))
print(1 + sum(a != b for a, b in zip(values, values[1:])))
""",
    ),
}

TRICKS = {
    # Knows the tests by their first two tokens and says 0 to anything else.
    "five_answers": (
        "hard-coded",
        "python",
        None,
        """
known = {"5": "3", "1": "1", "4": "1", "6": "6", "3": "2"}
print(known.get(input().strip(), "0"))
""",
    ),
}
