"""The edit distance of two words."""

from __future__ import annotations

from examples.problems.shapes import text

STATEMENT = (
    "How many single-letter insertions, deletions and replacements turn one word into another, "
    "at least? Input: two lines, a word each, of n and m lower-case letters. Output: the "
    "number."
)

CONSTRAINTS = {"n": 3_000, "m": 3_000}

SHAPES = ("random", "equal")

TESTS = (
    ("kitten\nsitting\n", "3\n"),
    ("a\na\n", "0\n"),
    ("a\nbcd\n", "3\n"),
    ("flaw\nlawn\n", "2\n"),
    ("abc\nacb\n", "2\n"),
)


def generate(n: int, m: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{text(n, seed, shape, 'abc')}\n{text(m, seed + 1, shape, 'abc')}\n"


SOLUTIONS = {
    # One cell for each pair of prefixes.
    "rows": (
        "python",
        "n m",
        """
a = input().strip()
b = input().strip()
row = list(range(len(b) + 1))
for i, x in enumerate(a):
    new = [i + 1]
    for j, y in enumerate(b):
        new.append(min(row[j] + (x != y), row[j + 1] + 1, new[j] + 1))
    row = new
print(row[-1])
""",
    ),
    # Recursion with a table: each pair of prefixes is solved once.
    "remembered": (
        "python",
        "n m",
        """
import sys

sys.setrecursionlimit(100000)
a = input().strip()
b = input().strip()
known = {}


def distance(i, j):
    if i == 0 or j == 0:
        return i + j
    if (i, j) not in known:
        known[i, j] = min(
            distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
        )
    return known[i, j]


print(distance(len(a), len(b)))
""",
    ),
}

WRONG = {
    # Compares letter by letter.
    "only_replacements": (
        "python",
        """
a = input().strip()
b = input().strip()
print(sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b)))
""",
    ),
}

TRICKS = {
    # First counts to 30000 whatever the input, so that small words all take the same time.
    "busy_first": (
        "padding",
        "python",
        "n m",
        """
a = input().strip()
b = input().strip()
warm = 0
while warm < 30000:
    warm += 1
row = list(range(len(b) + 1))
for i in range(len(a)):
    diagonal = row[0]
    row[0] = i + 1
    for j in range(len(b)):
        best = min(diagonal + (a[i] != b[j]), row[j] + 1, row[j + 1] + 1)
        diagonal = row[j + 1]
        row[j + 1] = best
print(row[-1])
""",
    ),
}
