"""The depths of all vertices of a tree added up."""

from __future__ import annotations

from examples.problems.shapes import TREES, join, tree

STATEMENT = (
    "A family tree has n people; person 1 is the root, and the parent p_i < i of persons 2 to n "
    "is given. Add up the distances of all people from the root. Input: n, then the n - 1 "
    "parents. Output: the sum."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = TREES

TESTS = (
    ("4\n1 1 2\n", "4\n"),
    ("1\n\n", "0\n"),
    ("5\n1 2 3 4\n", "10\n"),
    ("3\n1 1\n", "2\n"),
    ("6\n1 2 2 3 1\n", "9\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(tree(n, seed, shape))}\n"


SOLUTIONS = {
    # Parents come first, so each depth is one addition.
    "from_the_top": (
        "python",
        "n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
depth = [0] * (data[0] + 1)
total = 0
for i in range(2, data[0] + 1):
    depth[i] = depth[data[i - 1]] + 1
    total += depth[i]
print(total)
""",
    ),
    # Every person climbs to the root; on a path that is n (n - 1) / 2 steps.
    "climb": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
total = 0
for i in range(2, data[0] + 1):
    while i > 1:
        i = data[i - 1]
        total += 1
print(total)
""",
    ),
}

WRONG = {
    # Prints the greatest depth.
    "greatest_depth": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
depth = [0] * (data[0] + 1)
for i in range(2, data[0] + 1):
    depth[i] = depth[data[i - 1]] + 1
print(max(depth))
""",
    ),
}

TRICKS = {
    # Recursion without memory: about log n a person on random and binary trees, n on a path.
    "bushy_trees": (
        "best-case",
        "python",
        "n^2",
        """
import sys

sys.setrecursionlimit(10**6)
data = list(map(int, sys.stdin.read().split()))


def depth(i):
    # O(log n): trees are shallow
    return 0 if i == 1 else 1 + depth(data[i - 1])


print(sum(depth(i) for i in range(1, data[0] + 1)))
""",
    ),
}
