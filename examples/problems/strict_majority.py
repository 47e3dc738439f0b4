"""A value that more than half of the list holds."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Print the value that occurs more than n / 2 times among n integers, or -1 if there is "
    "none. Input: n, then the integers (0 to 10^9). Output: the value or -1."
)

CONSTRAINTS = {"n": 300_000}

SHAPES = ("random", "sorted", "equal")

TESTS = (
    ("5\n3 1 3 2 3\n", "3\n"),
    ("4\n1 1 2 2\n", "-1\n"),
    ("1\n9\n", "9\n"),
    ("7\n5 5 5 5 1 2 3\n", "5\n"),
    ("3\n1 2 3\n", "-1\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape))}\n"


SOLUTIONS = {
    # Two passes with constant work each: the vote, then the check.
    "vote": (
        "python",
        "n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
count = 0
kept = -1
for x in values:
    if count == 0:
        kept = x
    count += 1 if x == kept else -1
total = 0
for x in values:
    if x == kept:
        total += 1
print(kept if total * 2 > len(values) else -1)
""",
    ),
    # Sorting decides; the majority, if any, stands in the middle and is counted in one pass.
    "middle": (
        "python",
        "n log n",
        """
import sys

values = sorted(map(int, sys.stdin.read().split()[1:]))
x = values[len(values) // 2]
print(x if values.count(x) * 2 > len(values) else -1)
""",
    ),
    # `count` walks the whole list for every value until one is found; without majority n times.
    "count_each": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
answer = -1
for x in values:
    total = 0
    for y in values:
        if y == x:
            total += 1
    if total * 2 > n:
        answer = x
        break
print(answer)
""",
    ),
}

WRONG = {
    # Prints the most frequent value, majority or not.
    "most_common": (
        "python",
        """
import sys
from collections import Counter

print(Counter(map(int, sys.stdin.read().split()[1:])).most_common(1)[0][0])
""",
    ),
}

TRICKS = {
    # Called a vote, but it sorts.
    "claims_vote": (
        "lying-comment",
        "python",
        "n log n",
        """
import sys

# Boyer-Moore voting, O(n) time and O(1) space
votes = sorted(map(int, sys.stdin.read().split()[1:]))
winner = votes[len(votes) // 2]
support = 0
for v in votes:
    support += v == winner
print(winner if support * 2 > len(votes) else -1)
""",
    ),
}
