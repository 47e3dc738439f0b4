"""Which of m visitors are on a list of n."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "A list holds n ticket numbers; m visitors show theirs. How many hold a number on the list? "
    "Input: n and m, the n numbers, the m numbers (all 0 to 10^9). Output: the number of "
    "visitors."
)

CONSTRAINTS = {"n": 200_000, "m": 200_000}

SHAPES = ("random", "strangers")

TESTS = (
    ("3 2\n1 2 3\n3 4\n", "1\n"),
    ("1 1\n0\n0\n", "1\n"),
    ("2 3\n5 6\n6 6 6\n", "3\n"),
    ("4 2\n1 1 1 1\n2 3\n", "0\n"),
    ("3 4\n9 8 7\n7 8 9 10\n", "3\n"),
)


def generate(n: int, m: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    listed = array(n, seed, "random", 0, 10**8)
    low = 10**8 + 1 if shape == "strangers" else 0
    return f"{n} {m}\n{join(listed)}\n{join(array(m, seed + 1, 'random', low, low + 10**8))}\n"


SOLUTIONS = {
    # n insertions and m lookups, O(1) expected each.
    "hashed": (
        "python",
        "n + m",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
listed = set(data[2 : 2 + n])
total = 0
for x in data[2 + n :]:
    if x in listed:
        total += 1
print(total)
""",
    ),
    # Sorting, then a binary search in n numbers for each of m visitors.
    "sorted_list": (
        "python",
        "n log n + m log n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
listed = sorted(data[2 : 2 + n])
total = 0
for x in data[2 + n :]:
    lo, hi = 0, n
    while lo < hi:
        mid = (lo + hi) // 2
        if listed[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    if lo < n and listed[lo] == x:
        total += 1
print(total)
""",
    ),
    # A visitor who is not on the list is compared with all n numbers.
    "walk_the_list": (
        "python",
        "n m",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
listed = data[2 : 2 + n]
print(sum(1 for x in data[2 + n :] if x in listed))
""",
    ),
}

WRONG = {
    # Counts a number shown twice once.
    "different_visitors": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
print(len(set(data[2 : 2 + n]) & set(data[2 + n :])))
""",
    ),
}

TRICKS = {
    # The name says set; it is a tuple.
    "set_named_list": (
        "lying-comment",
        "python",
        "n m",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
listed_set = tuple(data[2 : 2 + n])  # hash set: O(1) membership
hits = 0
for x in data[2 + n :]:
    hits += x in listed_set
print(hits)
""",
    ),
}
