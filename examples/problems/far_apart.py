"""The two vertices of a tree that lie farthest apart."""

from __future__ import annotations

from examples.problems.shapes import TREES, join, tree

STATEMENT = (
    "Roads join n villages into a tree: village i (2 to n) has a road to village p_i < i. Print "
    "the number of roads between the two villages that lie farthest apart. Input: n, then the n "
    "- 1 numbers p_i. Output: the number of roads."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = TREES

TESTS = (
    ("4\n1 1 2\n", "3\n"),
    ("1\n\n", "0\n"),
    ("5\n1 2 3 4\n", "4\n"),
    ("5\n1 1 1 1\n", "2\n"),
    ("7\n1 2 3 1 5 6\n", "6\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(tree(n, seed, shape))}\n"


SOLUTIONS = {
    # From the leaves up, each village passes on its depth once.
    "two_deepest": (
        "python",
        "n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
down = [0] * (n + 1)
best = 0
for i in range(n, 1, -1):
    p = data[i - 1]
    if down[p] + down[i] + 1 > best:
        best = down[p] + down[i] + 1
    if down[i] + 1 > down[p]:
        down[p] = down[i] + 1
print(best)
""",
    ),
    # A search from each of n villages passes all n - 1 roads.
    "search_from_each": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
near = [[] for _ in range(n + 1)]
for i in range(2, n + 1):
    near[i].append(data[i - 1])
    near[data[i - 1]].append(i)
best = 0
for start in range(1, n + 1):
    far = [-1] * (n + 1)
    far[start] = 0
    line = [start]
    for a in line:
        for b in near[a]:
            if far[b] < 0:
                far[b] = far[a] + 1
                line.append(b)
    best = max(best, far[line[-1]])
print(best)
""",
    ),
}

WRONG = {
    # The deepest village only.
    "deepest": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
depth = [0, 0]
for p in data[1:]:
    depth.append(depth[p] + 1)
print(max(depth))
""",
    ),
}

TRICKS = {
    # Linear up to 200 villages, a search from each above.
    "search_when_many": (
        "size-switch",
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
best = 0
if n <= 200:
    down = [0] * (n + 1)
    for i in range(n, 1, -1):
        p = data[i - 1]
        best = max(best, down[p] + down[i] + 1)
        down[p] = max(down[p], down[i] + 1)
else:
    near = [[] for _ in range(n + 1)]
    for i in range(2, n + 1):
        near[i].append(data[i - 1])
        near[data[i - 1]].append(i)
    for start in range(1, n + 1):
        far = [-1] * (n + 1)
        far[start] = 0
        line = [start]
        for a in line:
            for b in near[a]:
                if far[b] < 0:
                    far[b] = far[a] + 1
                    line.append(b)
        best = max(best, far[line[-1]])
print(best)
""",
    ),
}
